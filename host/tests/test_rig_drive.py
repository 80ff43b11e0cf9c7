"""The drive's states (CiA 402), and drive and plant together, frame by frame."""

import math
import struct
from dataclasses import replace

import numpy as np
import pytest

from idmkit.rig import truth
from idmkit.robot import load_robot
from tests.rig_master import master_of, state


@pytest.fixture
def master():
    return master_of(load_robot("crank"))


def test_the_way_up_and_every_way_down(master):
    master.enable()
    assert master.status & 0x1000
    for control, expected in ((7, 0x23), (15, 0x27), (6, 0x21), (7, 0x23), (15, 0x27), (0, 0x40)):
        master.cycle(control=control)
        master.cycle()
        assert state(master.status) == expected
    for control, expected in ((15, 0x40), (6, 0x21), (2, 0x40), (6, 0x21), (7, 0x23), (2, 0x40)):
        master.cycle(control=control)
        master.cycle()
        assert state(master.status) == expected


def test_a_quick_stop_brings_a_moving_axis_to_rest_and_then_off(master):
    master.enable()
    start = master.counts
    for cycle in range(100):
        master.cycle(target=start + 4000 * cycle)
    master.cycle(control=2)
    master.cycle()
    assert state(master.status) == 0x07
    moving = master.counts
    while state(master.status) == 0x07:
        master.cycle()
    assert state(master.status) == 0x40
    rest = master.counts
    assert rest > moving
    for _ in range(50):
        master.cycle()
    assert abs(master.counts - rest) < 50  # the last of the loops' settling, then the brake


def test_a_disabled_axis_stands_on_its_brake(master):
    master.cell.plant.position[0] = 1.0
    master.nmt(1)
    master.cycle()
    before = master.counts
    for _ in range(500):
        master.cycle()
    assert abs(master.counts - before) <= 1


def test_an_injected_fault_sends_an_emergency_and_is_reset_by_a_rising_edge(master):
    master.enable()
    master.cell.drives[0].fault(0x2310)
    master.cycle()
    master.cycle()
    assert (0x081, struct.pack("<HB5x", 0x2310, 3)) in master.others
    assert state(master.status) == 0x08
    assert master.read(0x603F, 0, "H") == 0x2310
    master.cycle(control=0)
    master.cycle()
    assert state(master.status) == 0x08
    master.cycle(control=0x80)
    master.cycle()
    assert state(master.status) == 0x40
    assert master.read(0x603F, 0, "H") == 0
    master.cell.drives[0].fault(0x2310)
    for _ in range(3):
        master.cycle()
    assert state(master.status) == 0x08  # bit 7 stayed high: no edge


def test_a_following_error_beyond_its_window_trips_the_drive(master):
    assert master.write(0x6065, 0, "I", 2000) == 0
    master.enable()
    master.cycle(target=master.counts + 100_000)
    for _ in range(20):
        master.cycle()
    assert state(master.status) == 0x08
    assert master.status & 0x2000
    assert master.read(0x603F, 0, "H") == 0x8611


def test_a_silent_drive_says_nothing_and_comes_to_rest(master):
    master.enable()
    start = master.counts
    for cycle in range(100):
        master.cycle(target=start + 4000 * cycle)
    master.cell.drives[0].mute(True)
    master.status = 0
    master.others.clear()
    for _ in range(400):
        master.cycle()
    assert master.status == 0
    assert master.others == []
    assert abs(master.cell.plant.speed[0]) < 1e-3
    master.cell.drives[0].mute(False)
    master.cycle(control=0)
    master.cycle()
    assert state(master.status) == 0x40


def test_leaving_operational_stops_an_enabled_drive(master):
    master.enable()
    master.nmt(0x80)
    for _ in range(5):
        master.cycle()
    assert master.cell.drives[0].state == 0x40


# Plant and loops together


def test_a_held_crank_needs_its_gravity_torque(master):
    robot = load_robot("crank")
    rig = {"axes": [{**robot.rig["axes"][0], "start_position": 1.2, "torque_noise": 0.0, "coulomb_friction": 0.0}]}
    held = master_of(replace(robot, rig=rig))
    held.enable()
    for _ in range(500):
        held.cycle()
    torque = held.current / 1000 * robot.axes[0].drive.joint_rated_torque
    # -M g A sin(1.2) within half a per mille of the rated torque and a count's worth of loop gain.
    assert torque == pytest.approx(-3.0008349 * 0.932039, abs=0.03)


@pytest.mark.parametrize(("name", "cycle_time_us", "counts"), [("crank", 1000, 2**24), ("slide", 4000, 2**22)])
def test_what_the_drive_measures_fits_the_plant(name, cycle_time_us, counts):
    """Samples of position and torque, central differences, least squares: the measured truth comes out.

    Without noise and with a fine encoder what remains is the torque's step of a per mille and, at 4 ms, central
    differences of a 1 Hz sine (1e-4): below 2e-3 of each parameter.
    """
    robot = load_robot(name)
    axis, period = robot.axes[0], cycle_time_us * 1e-6
    drive = replace(axis.drive, encoder_counts_per_turn=counts)
    rig = {"axes": [{**robot.rig["axes"][0], "torque_noise": 0.0}]}
    robot = replace(robot, rig=rig, cycle_time_s=period, axes=(replace(axis, drive_or_none=drive),))
    bench = master_of(robot)
    bench.write(0x60C2, 1, "B", cycle_time_us // 1000)
    bench.enable()
    run, start = axis.identification, bench.counts
    omega = 2 * math.pi * run.frequency_hz
    swing = [run.amplitude * (1 - math.cos(omega * k * period)) for k in range(round(8 / period))]
    record = [bench.cycle(start + round(position * drive.counts_per_unit)) for position in swing]
    q = np.array([sample[1] for sample in record]) / drive.counts_per_unit
    torque = np.array([sample[2] for sample in record]) / 1000 * drive.joint_rated_torque
    # The torque of row k + 1 is the mean over the cycle between rows k and k + 1; so are these.
    speed = (q[2:-1] - q[1:-2]) / period
    acceleration = (q[3:] - q[2:-1] - q[1:-2] + q[:-3]) / (2 * period**2)
    gravity = -(np.sin(q[1:-2]) + np.sin(q[2:-1])) / 2 if axis.revolute else np.ones_like(speed)
    moving = np.abs(speed) > run.velocity_threshold
    columns = np.stack([acceleration, gravity, speed, np.sign(speed)], axis=1)[moving]
    found = np.linalg.lstsq(columns, torque[2:-1][moving], rcond=None)[0]
    expected = truth.measure(robot, bench.cell.plant)[name]
    del expected["residual"]
    np.testing.assert_allclose(found, list(expected.values()), rtol=2e-3)


def test_same_frames_same_bits_and_another_seed_other_noise():
    def run(seed):
        bench = master_of(load_robot("crank"), seed)
        bench.enable()
        return [bench.cycle(target=100 * cycle, offset=cycle % 50) for cycle in range(500)]

    first, again, other = run(1), run(1), run(2)
    assert first == again
    assert [current for _, _, current in first] != [current for _, _, current in other]


def test_a_collision_is_noted_in_its_cycle(master):
    master.enable()
    master.cell.place_wall(0, 0.3)
    assert master.cell.contact_cycle(0) is None
    start, target = master.counts, 0.6 * load_robot("crank").axes[0].drive.counts_per_unit
    touched = None
    for cycle in range(600):
        master.cycle(target=start + round(target * min(1.0, cycle / 500)))
        if touched is None and master.cell.plant.position[0] >= 0.3:
            touched = master.cell.cycle
    assert master.cell.contact_cycle(0) == pytest.approx(touched, abs=1)
    assert abs(master.current) > 500
    master.cell.place_wall(0, None)
    assert master.cell.contact_cycle(0) is None


def test_a_power_cycle_leaves_the_robot_where_its_brake_holds_it(master):
    master.enable()
    master.write(0x6065, 0, "I", 12345)
    for _ in range(50):
        master.cycle(target=master.counts)
    before, cycle = master.counts, master.cell.cycle
    master.cell.power_cycle()
    assert master.cell.cycle == cycle
    assert master.read(0x6065) == 0xFFFFFFFF
    assert abs(master.read(0x6064, 0, "i") - before) < 50
    master.enable()
