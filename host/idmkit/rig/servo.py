"""The control loops of one servo drive, at the drive's own period of 0.25 ms.

Bus set-points -> buffer -> cubic interpolation -> position loop (P) -> speed loop (PI) -> torque limit -> one
period of computation -> current lag -> motor. Speed feed-forward passes the same difference and the same filter as
the measured speed, or the mismatch would show as position error. Positions are encoder counts, torques are
motor-side Nm. Plain floats and slots: this runs four times a millisecond and axis.

Delays that follow from this: the target that comes with SYNC k is due at the sample of SYNC k + 2 +
`setpoint_buffer_cycles` (the cubic needs two more set-points). A torque offset waits `torque_buffer_cycles`; then,
held for a cycle, it is centred half a cycle and `torque_lag_s` (0.64 ms) later. `best_torque_delay` is what is left.
The measured torque is the mean over the cycle before, the measured position that of the instant.
"""

from __future__ import annotations

import math
from typing import Final

from idmkit.axis import Drive
from idmkit.rig.spec import SUBSTEP_S, RigAxis

OFF: Final = 0
FOLLOW: Final = 1
RAMP_DOWN: Final = 2

_MASK64 = (1 << 64) - 1


def _scramble(value: int) -> int:
    """The finaliser of splitmix64: 64 well mixed bits out of a counter."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK64
    return value ^ (value >> 31)


def gaussian(seed: int, axis: int, cycle: int) -> float:
    """A standard normal number that depends on nothing but (seed, axis, cycle): Box-Muller on hashed bits."""
    key = _scramble(((seed << 8) + axis + 1) * 0x9E3779B97F4A7C15 & _MASK64)
    bits = _scramble((key + cycle * 0x9E3779B97F4A7C15) & _MASK64)
    radius = math.sqrt(-2 * math.log(((bits >> 32) + 0.5) / 4294967296.0))
    return radius * math.cos(2 * math.pi * (bits & 0xFFFFFFFF) / 4294967296.0)


def torque_lag_s(axis: RigAxis) -> float:
    """Mean delay of a torque behind its offset: the area above the step response of computation and current lag."""
    return SUBSTEP_S / (1 - math.exp(-SUBSTEP_S / axis.current_lag_s))


def best_torque_delay(axis: RigAxis, cycle_time_s: float) -> float:
    """Cycles after a target at which its torque is best sent: AdditiveTorqueDelay less the fractional lead."""
    transport = 2 + axis.setpoint_buffer_cycles - axis.torque_buffer_cycles
    return transport - 0.5 - torque_lag_s(axis) / cycle_time_s


class Servo:
    """Loops and sensors of one drive, tuned for `inertia` (joint-side kg m2 or kg)."""

    __slots__ = (
        "_bend",
        "_counts_per_unit",
        "_current_share",
        "_filter_share",
        "_full_peak",
        "_integral_gain",
        "_integral_torque",
        "_last_counts",
        "_last_reference",
        "_mode",
        "_noise",
        "_offset",
        "_offsets",
        "_peak",
        "_phase",
        "_phase_step",
        "_position_gain",
        "_queue",
        "_ramp",
        "_rated",
        "_reference_step",
        "_shift",
        "_slope",
        "_speed_error",
        "_speed_gain",
        "_start",
        "_torque",
        "_torque_steps",
        "_torque_sum",
        "_transmission",
        "_twist",
        "limited",
        "reference",
    )

    def __init__(self, drive: Drive, axis: RigAxis, inertia: float) -> None:
        motor_inertia = inertia / drive.joint_torque_per_motor_torque**2
        radians_per_count = 2 * math.pi / drive.encoder_counts_per_turn
        self._counts_per_unit = drive.counts_per_unit
        self._transmission = drive.joint_torque_per_motor_torque
        self._rated = drive.rated_torque
        self._peak = self._full_peak = drive.peak_torque
        self._shift = 0
        self._noise = axis.torque_noise / abs(drive.joint_torque_per_motor_torque)
        self._position_gain = axis.position_gain
        self._speed_gain = motor_inertia * 2 * math.pi * axis.speed_loop_hz * radians_per_count
        self._integral_gain = self._speed_gain * SUBSTEP_S / axis.integral_time_s
        self._filter_share = (1 - math.exp(-SUBSTEP_S / axis.speed_filter_s)) / SUBSTEP_S
        self._current_share = 1 - math.exp(-SUBSTEP_S / axis.current_lag_s)
        self._ramp = axis.quick_stop_deceleration * abs(drive.counts_per_unit) * SUBSTEP_S**2
        self._phase_step = 1.0
        self._queue = [0.0] * (axis.setpoint_buffer_cycles + 4)
        self._offsets = [0.0] * axis.torque_buffer_cycles
        self._mode = OFF
        self.limited = False
        self._offset = self._torque = self._torque_sum = 0.0
        self._torque_steps = 0
        self._restart_loops(0)

    def _restart_loops(self, counts: int) -> None:
        """Everything stands at `counts`: no history, no integral."""
        self._queue[:] = [float(counts)] * len(self._queue)
        self._start = self.reference = self._last_reference = self._last_counts = float(counts)
        self._slope = self._bend = self._twist = 0.0
        self._phase = 0.0
        self._reference_step = 0.0
        self._speed_error = self._integral_torque = 0.0

    @property
    def stopped(self) -> bool:
        """Whether a quick-stop ramp has come to its end."""
        return self._mode == RAMP_DOWN and self._reference_step == 0.0

    def counts(self, position: float) -> int:
        """What the encoder reads at a joint position (rad or m)."""
        return math.floor(position * self._counts_per_unit) + self._shift

    def shift_encoder(self, counts: int) -> None:
        """The encoder reads so many counts more from now on."""
        self._shift += counts

    def limit_torque(self, share: float) -> None:
        """The current saturates at this share of what makes the peak torque."""
        self._peak = share * self._full_peak

    def torque_per_mille(self, seed: int, axis: int, cycle: int) -> int:
        """Measured torque, per mille of the rated one: the mean since it was asked for before, plus noise.

        A sample of one instant would tell of the loops' work within the cycle, which repeats in every cycle.
        """
        torque = self._torque_sum / max(1, self._torque_steps)
        self._torque_sum = 0.0
        self._torque_steps = 0
        if self._noise:
            torque += self._noise * gaussian(seed, axis, cycle)
        return max(-32768, min(32767, round(1000 * torque / self._rated)))

    def switch_on(self, position: float) -> None:
        """Closes the loops and holds the present position."""
        self._restart_loops(self.counts(position))
        self._offset = 0.0
        self._offsets[:] = [0.0] * len(self._offsets)
        self._mode = FOLLOW

    def switch_off(self) -> None:
        """Opens the power stage: no torque from now on."""
        self._mode = OFF
        self._offset = self._torque = 0.0

    def quick_stop(self) -> None:
        """Leaves the set-points and brings the reference to rest at the quick-stop deceleration."""
        if self._mode == FOLLOW:
            self._mode = RAMP_DOWN

    def set_interpolation_time(self, seconds: float) -> None:
        """Time over which one set-point is reached (0x60C2)."""
        self._phase_step = SUBSTEP_S / seconds

    def set_target(self, counts: int, torque_offset_per_mille: int) -> None:
        """A new set-point from the bus: the offset acts after its buffer, the position after buffer and cubic."""
        self._offsets.append(torque_offset_per_mille * self._rated / 1000)
        self._offset = self._offsets.pop(0)
        queue = self._queue
        queue.pop(0)
        queue.append(counts)
        # Catmull-Rom between the second and the third of four neighbouring set-points.
        p0, p1, p2, p3 = queue[:4]
        self._start = p1
        self._slope = (p2 - p0) / 2
        self._bend = p0 - 2.5 * p1 + 2 * p2 - 0.5 * p3
        self._twist = 1.5 * (p1 - p2) + 0.5 * (p3 - p0)
        self._phase = 0.0

    def step(self, position: float) -> float:
        """One period: joint position now (rad or m) -> joint torque for the coming 0.25 ms (Nm or N)."""
        torque = self._torque
        self._torque_sum += torque
        self._torque_steps += 1
        if self._mode == OFF:
            return 0.0
        if self._mode == FOLLOW:
            s = self._phase
            reference = self._start + s * (self._slope + s * (self._bend + s * self._twist))
            self._phase = min(1.0, s + self._phase_step)
        else:
            speed = self._reference_step
            speed = max(0.0, speed - self._ramp) if speed > 0 else min(0.0, speed + self._ramp)
            reference = self.reference + speed
        counts = math.floor(position * self._counts_per_unit) + self._shift
        step = reference - self._last_reference
        self._speed_error += self._filter_share * (step - (counts - self._last_counts) - SUBSTEP_S * self._speed_error)
        self._last_reference = self.reference = reference
        self._reference_step = step
        self._last_counts = counts
        error = self._position_gain * (reference - counts) + self._speed_error
        command = self._speed_gain * error + self._integral_torque + self._offset
        if command > self._peak:
            command = self._peak
            self.limited = True
        elif command < -self._peak:
            command = -self._peak
            self.limited = True
        else:
            # The integral stands still while the torque is limited, or it would wind up.
            self._integral_torque += self._integral_gain * error
        self._torque = torque + self._current_share * (command - torque)
        return torque * self._transmission
