"""The drive's loops: delays, limits, sensors. Crank of the ready robot file, 1 ms cycle, loops at 0.25 ms."""

import math
import statistics
from dataclasses import replace
from itertools import pairwise

import pytest

from idmkit.rig.servo import Servo, gaussian, torque_lag_s
from idmkit.rig.spec import SUBSTEP_S, read_rig_spec
from idmkit.robot import load_robot

ROBOT = load_robot("crank")
DRIVE = ROBOT.axes[0].drive
LOOPS = read_rig_spec(ROBOT).axes[0]
INERTIA = 0.12
SUBSTEPS = 4


class FreeAxis:
    """A servo that turns a bare inertia (semi-implicit Euler), so that the loops are tested alone."""

    def __init__(self, drive=DRIVE, **changes):
        self.servo = Servo(drive, replace(LOOPS, **changes), INERTIA)
        self.servo.set_interpolation_time(0.001)
        self.position = self.speed = self.load = 0.0
        self.torques = []
        self.servo.switch_on(0.0)

    def cycle(self, target=None, offset=0):
        if target is not None:
            self.servo.set_target(target, offset)
        for _ in range(SUBSTEPS):
            torque = self.servo.step(self.position)
            self.torques.append(torque)
            self.speed += (torque + self.load) / INERTIA * SUBSTEP_S
            self.position += self.speed * SUBSTEP_S


def test_noise_is_a_function_of_seed_axis_and_cycle_and_is_gaussian():
    assert gaussian(1, 0, 7) == gaussian(1, 0, 7)
    assert len({gaussian(1, 0, 7), gaussian(2, 0, 7), gaussian(1, 1, 7), gaussian(1, 0, 8)}) == 4
    count = 20000
    values = [gaussian(3, 2, cycle) for cycle in range(count)]
    # Four standard deviations of each estimate.
    assert abs(statistics.fmean(values)) < 4 / math.sqrt(count)
    assert abs(statistics.pvariance(values) - 1) < 4 * math.sqrt(2 / count)
    neighbours = statistics.fmean(a * b for a, b in pairwise(values))
    assert abs(neighbours) < 4 / math.sqrt(count)
    share = sum(abs(value) < 1.96 for value in values) / count
    assert abs(share - 0.95) < 4 * math.sqrt(0.95 * 0.05 / count)


def test_noise_of_axes_and_seeds_is_not_correlated():
    count = 20000
    for other in ((3, 1), (4, 0)):
        product = statistics.fmean(gaussian(3, 0, k) * gaussian(*other, k) for k in range(count))
        assert abs(product) < 4 / math.sqrt(count)


def test_a_target_is_due_four_cycles_later_two_of_them_in_the_buffer():
    """Cubic interpolation needs two more set-points; the buffer adds its own."""
    for buffer in (0, 2, 5):
        axis = FreeAxis(setpoint_buffer_cycles=buffer)
        references = []
        for cycle in range(40):
            axis.cycle(round(1000 * math.sin(cycle / 10)))
            axis.servo.step(axis.position)
            references.append(axis.servo.reference)
        for cycle in range(10, 40):
            # The step after cycle k shows the reference at the sample of SYNC k + 1.
            expected = round(1000 * math.sin((cycle + 1 - 2 - buffer) / 10))
            assert references[cycle] == pytest.approx(expected, abs=1e-9)


def test_a_torque_offset_acts_after_computation_and_current_lag():
    """Step of 100 per mille: one period of computation, then 1 - exp(-t/0.5 ms) at the ends of periods."""
    axis = FreeAxis(position_gain=1e-9, speed_loop_hz=1e-6)
    axis.cycle(0, 100)
    axis.cycle(0, 100)
    full = 0.1 * DRIVE.joint_rated_torque
    share = 1 - math.exp(-SUBSTEP_S / LOOPS.current_lag_s)
    expected = [full * (1 - (1 - share) ** period) for period in range(8)]
    assert axis.torques == pytest.approx(expected, rel=1e-6)
    area = sum(full - torque for torque in axis.torques) * SUBSTEP_S / full
    tail = (full - axis.torques[-1]) / full * SUBSTEP_S * (1 - share) / share
    assert area + tail == pytest.approx(torque_lag_s(LOOPS), rel=1e-6)


def test_torque_is_limited_to_the_peak_and_the_limit_shows():
    axis = FreeAxis()
    axis.load = -100.0
    for _ in range(50):
        axis.cycle(0)
    assert max(axis.torques) <= DRIVE.joint_peak_torque * (1 + 1e-12)
    assert max(axis.torques) == pytest.approx(DRIVE.joint_peak_torque, rel=1e-6)
    assert axis.servo.limited


def test_measured_torque_is_the_mean_over_the_cycle_in_whole_per_mille():
    axis = FreeAxis(torque_noise=0.0)
    for cycle in range(3):
        axis.cycle(0, 250)
        last = axis.torques[-SUBSTEPS:]
        assert len(set(last)) > 1
        expected = round(1000 * statistics.fmean(last) / DRIVE.joint_rated_torque)
        assert axis.servo.torque_per_mille(1, 0, cycle) == expected
    assert axis.servo.torque_per_mille(1, 0, 3) == 0


def test_a_torque_offset_waits_in_its_buffer():
    at_once, late = FreeAxis(speed_loop_hz=1e-6), FreeAxis(speed_loop_hz=1e-6, torque_buffer_cycles=3)
    for offset in (100, 200, -50, 0, 0, 0, 0):
        at_once.cycle(0, offset)
        late.cycle(0, offset)
    assert late.torques[3 * SUBSTEPS :] == pytest.approx(at_once.torques[: -3 * SUBSTEPS], rel=1e-6)
    assert not any(late.torques[: 3 * SUBSTEPS])


def test_torque_noise_has_the_stated_size():
    axis = FreeAxis(torque_noise=0.25)
    values = [axis.servo.torque_per_mille(1, 0, cycle) / 1000 * DRIVE.joint_rated_torque for cycle in range(4000)]
    rounding = DRIVE.joint_rated_torque / 1000 / math.sqrt(12)
    # Four standard deviations of an estimated standard deviation.
    assert statistics.pstdev(values) == pytest.approx(math.hypot(0.25, rounding), rel=4 / math.sqrt(2 * 4000))


def test_the_encoder_reads_whole_counts_on_the_motor_side():
    servo = FreeAxis().servo
    one_count = 1 / DRIVE.counts_per_unit
    assert [servo.counts(x * one_count) for x in (0.0, 0.5, 0.99, 1.01, -0.01)] == [0, 0, 0, 1, -1]
    assert servo.counts(2 * math.pi + one_count / 2) == 10 * 131072


def test_a_reversed_gear_is_the_same_loop_mirrored():
    forward, reversed_gear = FreeAxis(), FreeAxis(replace(DRIVE, gear_ratio=-10.0))
    for cycle in range(400):
        target = round(20000 * (1 - math.cos(cycle / 50)))
        forward.cycle(target)
        reversed_gear.cycle(-target)
    # Floor and its mirror differ by one count.
    assert reversed_gear.position == pytest.approx(forward.position, abs=4 / DRIVE.counts_per_unit)


def test_a_held_position_carries_a_load_without_error():
    axis = FreeAxis()
    axis.load = 3.0
    for _ in range(400):
        axis.cycle(0)
    # The integral ends within the encoder's counts.
    assert abs(axis.position) < 3 / DRIVE.counts_per_unit


def test_a_quick_stop_decelerates_as_set_and_ends_at_rest():
    axis = FreeAxis(quick_stop_deceleration=20.0)
    speed = 4.0
    for cycle in range(300):
        axis.cycle(round(speed * 0.001 * cycle * DRIVE.counts_per_unit))
    assert axis.speed == pytest.approx(speed, rel=1e-3)
    start = axis.position
    axis.servo.quick_stop()
    cycles = 0
    while not axis.servo.stopped:
        axis.cycle()
        cycles += 1
    assert cycles == pytest.approx(1000 * speed / 20.0, abs=2)
    for _ in range(100):
        axis.cycle()
    assert axis.position - start == pytest.approx(speed**2 / (2 * 20.0), rel=0.01)
    assert abs(axis.speed) < 0.01


def test_off_means_no_torque_at_once():
    axis = FreeAxis()
    axis.load = 3.0
    for _ in range(100):
        axis.cycle(0)
    axis.servo.switch_off()
    axis.servo.torque_per_mille(1, 0, 0)
    axis.torques.clear()
    axis.cycle()
    assert axis.torques == [0.0] * SUBSTEPS
    assert axis.servo.torque_per_mille(1, 0, 1) == round(
        1000 * LOOPS.torque_noise * gaussian(1, 0, 1) / DRIVE.joint_rated_torque
    )


def test_shorter_interpolation_than_the_cycle_waits_at_the_set_point():
    axis = FreeAxis(setpoint_buffer_cycles=0)
    axis.servo.set_interpolation_time(0.0005)
    for cycle in range(5):
        axis.servo.set_target(1000 * cycle, 0)
        for _ in range(SUBSTEPS):
            axis.servo.step(axis.position)
    assert axis.servo.reference == pytest.approx(3000)
