"""The plant is the mechanics that the robot file describes, friction and walls included."""

import math
from dataclasses import replace

import numpy as np
import pytest

from idmkit.errors import RigError
from idmkit.rig import truth
from idmkit.rig.axes_plant import AxesPlant
from idmkit.rig.spec import SUBSTEP_S, read_rig_spec
from idmkit.robot import load_robot


def plant_of(name, **changes):
    robot = load_robot(name)
    spec = read_rig_spec(robot)
    spec = replace(spec, axes=tuple(replace(axis, **changes) for axis in spec.axes))
    return robot, spec, AxesPlant(robot, spec)


def two_axes():
    crank, slide = load_robot("crank"), load_robot("slide")
    drive = replace(slide.axes[0].drive, node_id=2)
    return replace(
        crank,
        axes=(crank.axes[0], replace(slide.axes[0], drive_or_none=drive)),
        rig={"axes": crank.rig["axes"] + slide.rig["axes"]},
    )


def test_measured_truth_is_what_the_robot_file_describes():
    robot, spec, plant = plant_of("crank")
    link = spec.axes[0]
    found = truth.measure(robot, plant)["crank"]
    inertia = link.link_inertia + link.link_mass * link.centre_distance**2 + link.rotor_inertia * 10**2
    assert found["I"] == pytest.approx(inertia, rel=1e-9)
    assert found["MgA"] == pytest.approx(link.link_mass * 9.80665 * link.centre_distance, rel=1e-9)
    assert found["Fv"] == pytest.approx(link.viscous_friction, rel=1e-9)
    assert found["Fc"] == pytest.approx(link.coulomb_friction, rel=1e-9)
    assert found["residual"] < 1e-9


def test_measured_truth_of_the_tilted_slide():
    robot, spec, plant = plant_of("slide")
    link = spec.axes[0]
    found = truth.measure(robot, plant)["slide"]
    assert found["M"] == pytest.approx(link.link_mass + link.rotor_inertia * (2 * math.pi * 30) ** 2, rel=1e-9)
    assert found["Mgcos"] == pytest.approx(link.link_mass * 9.80665 * math.cos(math.radians(30)), rel=1e-9)
    assert found["Fv"] == pytest.approx(link.viscous_friction, rel=1e-9)
    assert found["Fc"] == pytest.approx(link.coulomb_friction, rel=1e-9)
    assert found["residual"] < 1e-9


def test_axes_in_one_model_do_not_disturb_each_other():
    robot = two_axes()
    both = truth.measure(robot, AxesPlant(robot, read_rig_spec(robot)))
    for name in ("crank", "slide"):
        alone = load_robot(name)
        single = truth.measure(alone, AxesPlant(alone, read_rig_spec(alone)))[name]
        for parameter in single.keys() - {"residual"}:
            assert both[name][parameter] == pytest.approx(single[parameter], rel=1e-9)
        assert both[name]["residual"] < 1e-9


def test_a_moved_crank_gives_its_friction_back_to_a_fit():
    """A record of free swinging, fitted with the mean torque and central differences.

    The bound of 1e-3 holds the whole chain: RK4 at 0.25 ms leaves below 1e-4 and central differences over
    0.25 ms (h^2/6 times the motion's frequency squared) less.
    """
    _, _, plant = plant_of("crank", brake_torque=0.0)
    count = 16000
    positions, torques = np.empty(count), np.empty(count)
    for step in range(count):
        time = step * SUBSTEP_S
        plant.force[0] = torques[step] = 4 * math.sin(7 * time) + 2 * math.sin(19 * time)
        positions[step] = plant.position[0]
        plant.step()
    speed = (positions[2:] - positions[:-2]) / (2 * SUBSTEP_S)
    acceleration = (positions[2:] - 2 * positions[1:-1] + positions[:-2]) / SUBSTEP_S**2
    torque = (torques[:-2] + torques[1:-1]) / 2
    moving = np.abs(speed) > 0.1
    columns = np.stack([acceleration, -np.sin(positions[1:-1]), speed, np.sign(speed)], axis=1)[moving]
    found = np.linalg.lstsq(columns, torque[moving], rcond=None)[0]
    np.testing.assert_allclose(found, [0.12003, 3.0008349, 0.08, 0.35], rtol=1e-3)


def test_friction_and_brake_hold_what_they_can_carry():
    _, _, plant = plant_of("crank")
    plant.position[0] = math.pi / 2
    for _ in range(4000):
        plant.step()
    assert plant.position[0] == pytest.approx(math.pi / 2, abs=1e-5)
    plant.set_brake(0, False)
    for _ in range(4000):
        plant.step()
    assert plant.position[0] > 2


@pytest.mark.parametrize(("name", "wall", "push"), [("crank", 0.7, 5.0), ("crank", -0.7, -5.0), ("slide", 0.1, 200.0)])
def test_a_wall_is_touched_where_it_was_placed_and_holds(name, wall, push):
    _, _, plant = plant_of(name, brake_torque=0.0)
    plant.place_wall(0, wall)
    plant.force[0] = push
    while not plant.contacts:
        before = plant.position[0]
        plant.step()
        assert abs(plant.position[0]) < 2 * abs(wall)
    step = abs(plant.speed[0]) * SUBSTEP_S
    assert before == pytest.approx(wall, abs=step + 1e-9)
    for _ in range(2000):
        plant.step()
    assert abs(plant.position[0] - wall) < 0.02
    plant.place_wall(0, None)
    assert not plant.contacts
    for _ in range(2000):
        plant.step()
    assert abs(plant.position[0]) > 2 * abs(wall)


def test_a_wall_cannot_stand_where_the_axis_is():
    _, _, plant = plant_of("crank")
    with pytest.raises(RigError, match="stands at 0"):
        plant.place_wall(0, 0.0)
