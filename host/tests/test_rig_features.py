"""What the plants have beside rigid links: each feature against a closed form of its own."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from machine_runs import loaded

from idmkit.errors import RigError, RobotFileError
from idmkit.rig.cell import Cell
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.pushes import Push
from idmkit.rig.servo import OFF
from idmkit.rig.spec import SUBSTEP_S, read_rig_spec
from idmkit.robot import load_robot

INERTIA = 0.12003
"""Of the ready crank at its axis, rotor included (test_rig_plant)."""
ROTOR = 1.2e-4 * 10**2


def plant_of(name, *, loose=True, gravity=None, **changes):
    """The plant of a ready robot with other [rig.axes]; `loose`: brakes released."""
    robot = load_robot(name)
    rig = {**robot.rig, "axes": [{**entry, **changes} for entry in robot.rig["axes"]]}
    robot = replace(robot, rig=rig, gravity=robot.gravity if gravity is None else gravity)
    plant = build_plant(robot, read_rig_spec(robot))
    for index in range(len(robot.axes)):
        plant.set_brake(index, not loose)
    return plant


def rising_crossings(values):
    """Times in steps at which `values` pass 0 upwards, interpolated."""
    at = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
    return at - values[at] / (values[at + 1] - values[at])


# Elastic gears


@pytest.mark.parametrize("hz", [20.0, 40.0])
def test_the_link_swings_on_its_gear_as_a_spring_and_masses_do(hz):
    """Motor held: at the asked frequency. Motor free: faster by sqrt(1 + link / rotor), of two masses on a spring."""
    plant = plant_of("crank", gravity=0.0, gear_resonance_hz=hz, gear_damping_ratio=0.0, viscous_friction=0.0,
                     coulomb_friction=0.0)  # fmt: skip
    assert plant.resonances() == pytest.approx([hz], rel=1e-9)
    rotor = float(plant.model.dof_armature[0])
    for held, expected in ((True, hz), (False, hz * math.sqrt(1 + (INERTIA - rotor) / rotor))):
        plant.set_brake(0, held)
        plant.data.qpos[:] = 0.0, 0.001
        plant.data.qvel[:] = 0.0
        swing = np.empty(4000)
        for step in range(len(swing)):
            swing[step] = plant.data.qpos[1]
            plant.step()
        periods = np.diff(rising_crossings(swing))
        # RK4 at 0.25 ms: (omega dt)^4 / 120 of the phase, below 1e-5 at 130 Hz.
        assert 1 / (periods.mean() * SUBSTEP_S) == pytest.approx(expected, rel=1e-4)


def test_a_gear_winds_up_by_the_torque_over_its_stiffness_and_stays_out_of_the_encoder():
    plant = plant_of("crank", loose=False, gravity=0.0, gear_resonance_hz=30.0, gear_damping_ratio=0.2)
    stiffness = (INERTIA - plant.model.dof_armature[0]) * (2 * math.pi * 30.0) ** 2
    plant.pushes = [Push(0, 1, axis=0, effort=2.5)]
    for _ in range(8000):
        plant.step()
    assert plant.data.qpos[1] == pytest.approx(2.5 / stiffness, rel=1e-6)
    # A brake is stiff, not rigid: the swinging link has moved the rotor by a thousandth of the gear's deflection.
    assert plant.position[0] == pytest.approx(0.0, abs=2e-4)


@pytest.mark.parametrize("name", ["crank", "scara", "delta"])
def test_drives_find_the_same_robot_behind_elastic_gears(name):
    stiff, elastic = plant_of(name), plant_of(name, gear_resonance_hz=25.0)
    for index in range(len(stiff.position)):
        assert elastic.inertia(index) == pytest.approx(stiff.inertia(index), rel=1e-9)
    rng = np.random.default_rng(2)
    q, qd, qdd = (0.3 * rng.uniform(-1, 1, (5, len(stiff.position))) for _ in range(3))
    torques = [plant.torques(plant.released_copy(), q - 0.02, qd, qdd) for plant in (stiff, elastic)]
    np.testing.assert_allclose(torques[1], torques[0], rtol=1e-6, atol=1e-7)
    # Neighbours that give way, too, make the slowest swing slower than each alone, and the fastest faster.
    found = elastic.resonances()
    assert found[0] <= 25.0 * (1 + 1e-9)
    assert found[-1] >= 25.0 * (1 - 1e-9)


def test_gears_of_one_robot_are_all_elastic_or_none():
    robot = load_robot("scara")
    rig = {**robot.rig, "axes": [{**robot.rig["axes"][0], "gear_resonance_hz": 20.0}, *robot.rig["axes"][1:]]}
    with pytest.raises(RobotFileError, match="gear_resonance_hz for every axis, or for none"):
        read_rig_spec(replace(robot, rig=rig))


# Friction, ripple


def test_the_speed_under_a_torque_is_where_stribecks_curve_meets_it():
    friction = {"coulomb_friction": 0.4, "breakaway_friction": 0.7, "stribeck_speed": 0.5, "viscous_friction": 0.08}
    plant = plant_of("crank", gravity=0.0, **friction)
    plant.force[0] = 0.69
    for _ in range(2000):
        plant.step()
    assert plant.speed[0] == pytest.approx(0.0, abs=1e-4)
    for torque in (0.75, 1.2):
        plant.force[0] = torque
        for _ in range(60000):
            plant.step()
        speed = plant.speed[0]
        curve = 0.4 + 0.3 * math.exp(-((speed / 0.5) ** 2)) + 0.08 * speed
        assert curve == pytest.approx(torque, rel=1e-4)


def test_ripple_exchanges_energy_with_the_turning_motor():
    """Without friction I v^2 / 2 = I v0^2 / 2 + A (1 - cos(k q)) / k for a torque A sin(k q)."""
    plant = plant_of("crank", gravity=0.0, torque_ripple=0.5, ripple_periods=6, viscous_friction=0.0,
                     coulomb_friction=0.0)  # fmt: skip
    rate = 6 * 10.0
    plant.speed[0] = start = 2.0
    seen = []
    for _ in range(4000):
        plant.step()
        energy = 0.5 * (1 - math.cos(rate * plant.position[0])) / rate
        expected = math.sqrt(start**2 + 2 * energy / INERTIA)
        seen.append(plant.speed[0])
        # The torque is held over a step: half a step of phase at 120 rad/s of ripple.
        assert plant.speed[0] == pytest.approx(expected, rel=2e-3)
    assert max(seen) - min(seen) > 0.05


# End stops, walls, pushes


@pytest.mark.parametrize("gear", [0.0, 30.0])
def test_an_end_stop_is_met_in_free_fall_time_and_carries_what_presses(gear):
    plant = plant_of("crank", gravity=0.0, end_stops=[-6.1, 6.1], viscous_friction=0.0, coulomb_friction=0.0,
                     gear_resonance_hz=gear)  # fmt: skip
    plant.force[0] = 4.0
    steps = 0
    while plant.data.qpos.sum() < 6.1:
        plant.step()
        steps += 1
    # A gear swings while the link accelerates: by up to twice its static deflection.
    late = 0.0 if not gear else 0.01
    assert steps * SUBSTEP_S == pytest.approx(math.sqrt(2 * 6.1 * INERTIA / 4.0), abs=SUBSTEP_S + late)
    for _ in range(20000):
        plant.step()
    assert plant.data.qpos.sum() == pytest.approx(6.1, abs=1e-4)
    deflection = -4.0 / (INERTIA - plant.model.dof_armature[0]) / (2 * math.pi * gear) ** 2 if gear else 0.0
    assert plant.position[0] == pytest.approx(6.1 - deflection, abs=2e-4)


def test_end_stops_inside_the_range_are_refused():
    with pytest.raises(RobotFileError, match="end stop lies behind position_min or position_max"):
        plant_of("crank", end_stops=[-0.1, 7.0])


@pytest.mark.parametrize(
    ("name", "axis", "wall"),
    [("two_link", 0, 0.5), ("two_link", 1, -0.8), ("scara", 1, 0.6), ("scara", 2, -0.05), ("puma", 2, 1.9)],
)
def test_a_machines_tip_meets_a_wall_at_the_joint_position(name, axis, wall):
    plant = plant_of(name, gravity=0.0)
    for index in range(len(plant.position)):
        plant.set_brake(index, index != axis)
    start = float(plant.position[axis])
    plant.place_wall(axis, wall)
    push = math.copysign(0.3, wall - start) * load_robot(name).axes[axis].drive.joint_peak_torque
    for _ in range(20000):
        before = float(plant.position[axis])
        plant.force[axis] = push
        plant.step()
        if plant.contacts:
            break
    assert plant.contacts == {axis}
    step = abs(plant.speed[axis]) * SUBSTEP_S
    assert before == pytest.approx(wall, abs=step + 1e-4)
    for _ in range(2000):
        plant.step()
    assert abs(plant.position[axis] - wall) < 0.02
    plant.place_wall(axis, None)
    assert not plant.contacts


def test_a_pushed_axis_gains_the_pushs_impulse():
    robot = load_robot("crank")
    rig = {"axes": [{**robot.rig["axes"][0], "viscous_friction": 0.0, "coulomb_friction": 0.0}]}
    cell = Cell(replace(robot, rig=rig, gravity=0.0), seed=1)
    cell.plant.set_brake(0, False)
    cell.push(Push(5, 10, axis=0, effort=1.5))
    cell.push(Push(5, 5, axis=0, effort=-0.5))
    speeds = []
    for _ in range(20):
        cell.answer_sync()
        speeds.append(float(cell.plant.speed[0]))
    gained = np.array([0] * 5 + list(range(1, 11)) + [10] * 5) * 1.5
    gained -= np.array([0] * 5 + list(range(1, 6)) + [5] * 10) * 0.5
    np.testing.assert_allclose(speeds, gained * robot.cycle_time_s / INERTIA, rtol=1e-9)
    assert cell.drives[0].servo._mode == OFF


def test_a_force_at_the_tool_acts_through_the_jacobian():
    """At rest, without gravity: M qdd = J^T F, for the two-link arm in closed form."""
    friction = {"viscous_friction": 0.0, "coulomb_friction": 0.0}
    plant = plant_of("two_link", gravity=0.0, **friction)
    q = np.array([0.4, -1.1])
    plant.position[:] = q
    force = np.array([3.0, -2.0, 5.0])
    mujoco.mj_forward(plant.model, plant.data)
    l1, l2 = (load_robot("two_link").machine.geometry[name] for name in ("l1", "l2"))
    s1, c1, s12, c12 = math.sin(q[0]), math.cos(q[0]), math.sin(q.sum()), math.cos(q.sum())
    jacobian = np.array([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])
    R, M2, M1 = 2.2 * 0.14 * 0.4, 0.02 + 2.2 * 0.14**2, 0.06 + 4.0 * 0.19**2 + 0.05 + 2.2 * 0.4**2
    cross = M2 + R * math.cos(q[1])
    mass = np.array([[M1 + M2 + 2 * R * math.cos(q[1]), cross], [cross, M2]])
    expected = np.linalg.solve(mass, jacobian.T @ force[:2])
    plant.pushes = [Push(0, 1, force=tuple(force))]
    plant.step()
    np.testing.assert_allclose(plant.speed / SUBSTEP_S, expected, rtol=1e-4)


def test_independent_axes_have_no_tool():
    plant = plant_of("crank")
    plant.pushes = [Push(0, 1, force=(1.0, 0.0, 0.0))]
    with pytest.raises(RigError, match="push one of the axes"):
        plant.step()


# Payload


@pytest.mark.parametrize("name", ["crank", "slide", "scara", "two_link", "delta"])
def test_what_is_picked_up_weighs_as_if_it_had_been_built_in(name):
    robot, carried = loaded(name)
    built_in = build_plant(robot, read_rig_spec(robot))
    plant = plant_of(name)
    values = {key.rsplit(".", 1)[-1]: value for key, value in carried.items()}
    rng = np.random.default_rng(3)
    q, qd, qdd = (0.3 * rng.uniform(-1, 1, (5, len(plant.position))) for _ in range(3))
    without = plant.torques(plant.released_copy(), q, qd, qdd)
    plant.pick_up(values["payload_mass"], values.get("payload_inertia", 0.0), 0)
    carrying = plant.torques(plant.released_copy(), q, qd, qdd)
    expected = built_in.torques(built_in.released_copy(), q, qd, qdd)
    np.testing.assert_allclose(carrying, expected, rtol=1e-6, atol=1e-7)
    assert np.abs(carrying - without).max() > 0.1
    plant.pick_up(0.0, 0.0, 0)
    np.testing.assert_array_equal(plant.torques(plant.released_copy(), q, qd, qdd), without)


# Coupled motors


def test_a_motor_of_two_joints_loads_both():
    """Of u = qd5 + qd6 both joints feel 0.0096 du/dt + 0.616 u + 1.6 sign(u)."""
    robot = load_robot("tx40_rig")
    coupled = build_plant(robot, read_rig_spec(robot))
    last = {key: value for key, value in robot.rig["axes"][5].items() if not key.startswith("coupled_")}
    free = replace(robot, rig={**robot.rig, "axes": [*robot.rig["axes"][:5], last]})
    plain = build_plant(free, read_rig_spec(free))
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, 6))
    u, rate = qd[:, 4] + qd[:, 5], qdd[:, 4] + qdd[:, 5]
    expected = np.zeros((5, 6))
    expected[:, 4:] = (0.0096 * rate + 0.616 * u + 1.6 * np.sign(u))[:, None]
    difference = coupled.torques(coupled.released_copy(), q, qd, qdd) - plain.torques(plain.released_copy(), q, qd, qdd)
    np.testing.assert_allclose(difference, expected, atol=1e-8)


def test_what_only_coupled_motors_have_is_refused_elsewhere():
    with pytest.raises(RobotFileError, match="the motor of 'j1' turns one"):
        plant_of("puma", coupled_inertia=0.01)
