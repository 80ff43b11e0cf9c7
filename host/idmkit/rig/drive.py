"""A CiA 402 servo drive in cyclic synchronous position mode: state machine, objects, and the servo behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from idmkit.axis import Axis
from idmkit.rig.node import COMMUNICATION, OPERATIONAL, Node
from idmkit.rig.objects import VALUE_RANGE, Entry, SdoAbort
from idmkit.rig.servo import Servo

# States, as the bits of the status word under the mask 0x6F.
SWITCH_ON_DISABLED: Final = 0x40
READY_TO_SWITCH_ON: Final = 0x21
SWITCHED_ON: Final = 0x23
OPERATION_ENABLED: Final = 0x27
QUICK_STOP_ACTIVE: Final = 0x07
FAULT_REACTION: Final = 0x0F
FAULT: Final = 0x08

VOLTAGE_ENABLED: Final = 0x0010
REMOTE: Final = 0x0200
INTERNAL_LIMIT: Final = 0x0800
FOLLOWS_COMMAND: Final = 0x1000
FOLLOWING_ERROR: Final = 0x2000

FAULT_RESET: Final = 0x0080
NO_MODE, CYCLIC_SYNCHRONOUS_POSITION = 0, 8
FOLLOWING_ERROR_FAULT = 0x8611
ERROR_GENERIC = 0x01
GROUPS: Final = {0x2: 0x02, 0x3: 0x04, 0x4: 0x08, 0x8: COMMUNICATION}
"""Error register: current, voltage, temperature, communication."""
WINDOW_OFF = 0xFFFFFFFF

DEVICE_TYPE_SERVO = 0x00020192
DEVICE_NAME = "idmkit virtual servo drive"


def register_of(code: int) -> int:
    """The bits of the error register (0x1001) that belong to an error code: its group, beside "generic"."""
    return ERROR_GENERIC | GROUPS.get(code >> 12, 0)


class Drive(Node):
    """One axis's drive. `release_brake(released)` works the holding brake: on whenever the power stage is off."""

    RPDO_MAPPING = [(0x6040, 0), (0x607A, 0), (0x60B2, 0)]  # noqa: RUF012 - constants of the class
    TPDO_MAPPING = [(0x6041, 0), (0x6064, 0), (0x6078, 0)]  # noqa: RUF012

    def __init__(
        self,
        axis: Axis,
        index: int,
        servo: Servo,
        *,
        seed: int,
        cycle_time_s: float,
        release_brake: Callable[[bool], None],
    ) -> None:
        self.servo = servo
        self._axis = axis
        self._index = index
        self._seed = seed
        self._cycle_time_s = cycle_time_s
        self._release_brake = release_brake
        self._position = 0.0
        self._safe_torque_off = False
        super().__init__(axis.drive.node_id, cycle_time_s)

    def reset(self) -> None:
        """Power-on, or NMT reset: power stage off, brake on, everything at its default."""
        self._state = SWITCH_ON_DISABLED
        self._control_before = 0
        self._power(False)
        super().reset()
        self.servo.set_interpolation_time(self._cycle_time_s)
        self._update_status()

    def _build(self) -> None:
        super()._build()
        drive = self._axis.drive
        add = self.objects.add
        for index, sub, kind, value in (
            (0x1000, 0, "u32", DEVICE_TYPE_SERVO),
            (0x1018, 0, "u8", 4),
            (0x1018, 1, "u32", 0),
            (0x1018, 2, "u32", 402),
            (0x1018, 3, "u32", 1),
            (0x1018, 4, "u32", self._index + 1),
            (0x2036, 0, "u32", round(1000 * drive.peak_torque * drive.rated_current / drive.rated_torque)),
            (0x2039, 0, "u32", round(1000 * drive.rated_torque / drive.rated_current)),
            (0x6075, 0, "u32", round(1000 * drive.rated_current)),
            (0x6076, 0, "u32", round(1000 * drive.rated_torque)),
            (0x60C2, 0, "u8", 2),
            (0x6502, 0, "u32", 1 << (CYCLIC_SYNCHRONOUS_POSITION - 1)),
        ):
            add(Entry(index, sub, kind, value))
        self.objects.add_text(0x1008, DEVICE_NAME)
        self._error_code = add(Entry(0x603F, 0, "u16", 0, mappable=True))
        self._control = add(Entry(0x6040, 0, "u16", 0, writable=True, mappable=True, accept=self._command))
        self._status = add(Entry(0x6041, 0, "u16", 0, mappable=True))
        self._mode = add(Entry(0x6060, 0, "i8", NO_MODE, writable=True, accept=self._check_mode))
        self._mode_display = add(Entry(0x6061, 0, "i8", NO_MODE, mappable=True))
        self._actual = add(Entry(0x6064, 0, "i32", 0, mappable=True))
        self._window = add(Entry(0x6065, 0, "u32", WINDOW_OFF, writable=True))
        self._speed = add(Entry(0x606C, 0, "i32", 0, mappable=True))
        self._torque = add(Entry(0x6077, 0, "i16", 0, mappable=True))
        self._current = add(Entry(0x6078, 0, "i16", 0, mappable=True))
        self._target = add(Entry(0x607A, 0, "i32", 0, writable=True, mappable=True))
        self._offset = add(Entry(0x60B2, 0, "i16", 0, writable=True, mappable=True))
        self._following = add(Entry(0x60F4, 0, "i32", 0, mappable=True))
        self._period = add(Entry(0x60C2, 1, "u8", 1, writable=True, limits=(1, 255), accept=self._set_period_value))
        self._period_exponent = add(
            Entry(0x60C2, 2, "i8", -3, writable=True, limits=(-6, 0), accept=self._set_period_exponent)
        )

    def _set_period_value(self, value: int) -> None:
        self.servo.set_interpolation_time(value * 10.0**self._period_exponent.value)

    def _set_period_exponent(self, exponent: int) -> None:
        self.servo.set_interpolation_time(self._period.value * 10.0**exponent)

    def _check_mode(self, mode: int) -> None:
        if mode not in (NO_MODE, CYCLIC_SYNCHRONOUS_POSITION):
            raise SdoAbort(VALUE_RANGE)
        self._mode_display.value = mode

    # State machine

    @property
    def state(self) -> int:
        """The present state, one of this module's constants."""
        return self._state

    def _enter(self, state: int) -> None:
        powered = (OPERATION_ENABLED, QUICK_STOP_ACTIVE)
        if (state in powered) != (self._state in powered):
            self._power(state in powered)
        if state == QUICK_STOP_ACTIVE:
            self.servo.quick_stop()
        self._state = state
        self._update_status()

    def _power(self, on: bool) -> None:
        if on:
            self.servo.switch_on(self._position)
        else:
            self.servo.switch_off()
        self._release_brake(on)

    def _command(self, control: int) -> None:
        """One transition for one control word, as CiA 402 has it."""
        rising = control & ~self._control_before
        self._control_before = control
        state = self._state
        if state in (FAULT, FAULT_REACTION):
            if state == FAULT and rising & FAULT_RESET:
                self._clear_fault()
        elif not control & 0x02 or self._safe_torque_off:
            self._enter(SWITCH_ON_DISABLED)
        elif not control & 0x04:
            if state == OPERATION_ENABLED:
                self._enter(QUICK_STOP_ACTIVE)
            elif state in (READY_TO_SWITCH_ON, SWITCHED_ON):
                self._enter(SWITCH_ON_DISABLED)
        elif state != QUICK_STOP_ACTIVE:
            self._climb(state, control)

    def _climb(self, state: int, control: int) -> None:
        """Shutdown, switch on, enable and disable operation."""
        if not control & 0x01:
            self._enter(READY_TO_SWITCH_ON)
        elif state == READY_TO_SWITCH_ON:
            self._enter(SWITCHED_ON)
        elif state == SWITCHED_ON and control & 0x08:
            self._enter(OPERATION_ENABLED)
        elif state == OPERATION_ENABLED and not control & 0x08:
            self._enter(SWITCHED_ON)

    def set_safe_torque_off(self, opened: bool) -> None:
        """Opens the circuit of safe torque off: no power, whatever is commanded; or closes it."""
        self._safe_torque_off = opened
        if opened and self._state not in (FAULT, FAULT_REACTION):
            self._enter(SWITCH_ON_DISABLED)

    def mute(self, silent: bool) -> None:
        """Cuts the drive off its bus, or connects it again. Cut off, it comes to rest by itself."""
        self.silent = silent
        if silent:
            self.connection_lost()

    def fault(self, code: int) -> None:
        """Trips the drive: power stage off, brake on, emergency message with `code` (0x603F)."""
        self._error_code.value = code
        self.error_register.value |= register_of(code)
        self._enter(FAULT_REACTION)
        self.emergency(code)

    def _clear_fault(self) -> None:
        self._error_code.value = 0
        self.error_register.value &= COMMUNICATION
        self._enter(SWITCH_ON_DISABLED)
        self.emergency(0)

    def connection_lost(self) -> None:
        """The master is gone: brings a moving axis to rest, then off."""
        if self._state == OPERATION_ENABLED:
            self._enter(QUICK_STOP_ACTIVE)
        elif self._state in (READY_TO_SWITCH_ON, SWITCHED_ON):
            self._enter(SWITCH_ON_DISABLED)

    def _nmt_changed(self) -> None:
        if self.nmt_state != OPERATIONAL:
            self.connection_lost()

    def _rpdo_arrived(self) -> None:
        self._command(self._control.value)
        if self._state == OPERATION_ENABLED and self._mode_display.value == CYCLIC_SYNCHRONOUS_POSITION:
            self.servo.set_target(self._target.value, self._offset.value)

    def _update_status(self) -> None:
        status = self._state | VOLTAGE_ENABLED | REMOTE
        if self._state == OPERATION_ENABLED and self._mode_display.value == CYCLIC_SYNCHRONOUS_POSITION:
            status |= FOLLOWS_COMMAND
        if self.servo.limited:
            status |= INTERNAL_LIMIT
        if self._error_code.value == FOLLOWING_ERROR_FAULT:
            status |= FOLLOWING_ERROR
        self._status.value = status

    def sample(self, position: float, cycle: int) -> None:
        """End of a cycle: reads encoder and current, watches the following error, moves the states on."""
        self._position = position
        servo = self.servo
        counts = servo.counts(position)
        before, self._actual.value = self._actual.value, (counts + 2**31) % 2**32 - 2**31
        self._speed.value = round((self._actual.value - before) / self._cycle_time_s)
        self._current.value = self._torque.value = servo.torque_per_mille(self._seed, self._index, cycle)
        if self._state == FAULT_REACTION:
            self._state = FAULT
        elif self._state == QUICK_STOP_ACTIVE and servo.stopped:
            self._enter(SWITCH_ON_DISABLED)
        elif self._state == OPERATION_ENABLED:
            self._following.value = error = round(servo.reference) - counts
            if abs(error) > self._window.value != WINDOW_OFF:
                self.fault(FOLLOWING_ERROR_FAULT)
        self._update_status()
        servo.limited = False
