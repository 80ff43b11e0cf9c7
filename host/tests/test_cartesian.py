"""Straight lines: Pinocchio (serial arms) and the rods' lengths (delta) say where the tool is, not this project."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import least_squares
from test_dynamics_rigid_body import pinocchio_model

from idmkit.cartesian.line import USED, plan_line
from idmkit.cartesian.pose import Tool
from idmkit.cartesian.spline import control_points, derivatives
from idmkit.errors import IdmError, ModelError
from idmkit.robot import load_robot
from idmkit.stiffness import soft_delta
from idmkit.stiffness.resonance import acceleration_time_of_move

POSES = {
    "scara": ([0.5, 1.2, -0.1, 0.3], [0.15, -0.3, 0.06]),
    "two_link": ([0.3, 0.9], [-0.2, 0.2, 0.0]),
    "puma": ([0.2, -0.9, 0.9, 0.4, 0.9, -0.3], [0.15, 0.2, -0.2]),
    "delta": ([0.4, 0.5, 0.6], [0.12, 0.15, -0.05]),
    "tx40": ([0.3, 0.2, 1.8, 0.1, 1.2, 0.0], [0.05, 0.1, -0.1]),
}
"""Axes where a line begins, and the way from there."""
TOUCH = 1e-9
"""Newton's method ends at 1e-11 m or rad; the oracles round."""


def serial_arm(name):
    """Pinocchio's model of the arm, written from its drawing, or from the chain that its URDF file makes."""
    if name == "tx40":
        return pinocchio_model(load_robot(name).serial.chain)
    model = pin.Model()
    lengths = load_robot(name).machine.geometry

    def add(kind, rotation, place):
        joint = model.addJoint(model.njoints - 1, kind, pin.SE3(rotation, np.array(place)), f"j{model.njoints}")
        model.appendBodyToJoint(joint, pin.Inertia.Identity(), pin.SE3.Identity())

    turned = np.eye(3)
    if name == "puma":
        # Craig's rows: about x by alpha and along it by a, then about z by the joint and along it by d.
        rows = ((0, 0, 0), (-1, 0, lengths["d2"]), (0, lengths["a2"], lengths["d3"]), (1, lengths["a3"], lengths["d4"]),
                (-1, 0, 0), (1, 0, 0))  # fmt: skip
        for quarters, a, d in rows:
            turned = pin.utils.rotate("x", quarters * math.pi / 2)
            add(pin.JointModelRZ(), turned, [a, *(turned[1:, 2] * d)])
        return model
    first, second = lengths.values()
    add(pin.JointModelRZ(), turned, [0, 0, 0])
    add(pin.JointModelRZ(), turned, [first, 0, 0])
    if name == "scara":
        add(pin.JointModelPZ(), turned, [second, 0, 0])
        add(pin.JointModelRZ(), turned, [0, 0, 0])
    else:
        model.addFrame(pin.Frame("tool", 2, 0, pin.SE3(turned, np.array([second, 0, 0])), pin.FrameType.OP_FRAME))
    return model


def seen_by_pinocchio(name, axes):
    """Positions [K, 3] and rotations [K, 3, 3] of the tool for axes [K, n]."""
    model = serial_arm(name)
    data = model.createData()
    places, rotations = [], []
    for q in axes:
        pin.framesForwardKinematics(model, data, q)
        placement = data.oMf[model.getFrameId("tool")] if name == "two_link" else data.oMi[model.njoints - 1]
        places.append(placement.translation.copy())
        rotations.append(placement.rotation.copy())
    return np.array(places), np.array(rotations)


def line_of(name, speed=0.5, **changes):
    robot = replace(load_robot(name), **changes)
    start, way = (np.array(part) for part in POSES[name])
    goal = Tool(robot).position(start) + way
    return robot, start, goal, plan_line(robot, start, goal, speed)


@pytest.mark.parametrize("name", ["scara", "two_link", "puma", "tx40"])
def test_the_knots_of_an_arm_lie_on_the_line_and_keep_the_orientation(name):
    _, start, goal, line = line_of(name)
    places, rotations = seen_by_pinocchio(name, line.knots)
    first, _ = seen_by_pinocchio(name, [start])
    along = (goal - first[0]) / np.linalg.norm(goal - first[0])
    ways = (places - first) @ along
    assert np.abs(places - first - np.outer(ways, along)).max() < TOUCH
    assert places[-1] == pytest.approx(goal, abs=TOUCH)
    assert np.all(np.diff(ways) > -TOUCH)
    if name != "two_link":
        assert np.abs(rotations - rotations[0]).max() < TOUCH


def test_the_knots_of_a_delta_lie_on_the_line():
    robot, start, goal, line = line_of("delta")
    g = robot.machine.geometry
    begin = Tool(robot).position(start)

    def rods(share, q):
        """How much too long the rods [3] would be with the platform at a share of the way."""
        out = np.array([[math.cos(turn), math.sin(turn), 0.0] for turn in (0, 2 * math.pi / 3, 4 * math.pi / 3)])
        elbows = (g["R_A"] + g["l_A"] * np.cos(q))[:, None] * out
        elbows[:, 2] -= g["l_A"] * np.sin(q)
        return np.linalg.norm(begin + share * (goal - begin) + g["R_P"] * out - elbows, axis=1) - g["l_B"]

    shares = []
    for q in line.knots:
        # One place on the line fits all three rods.
        grid = np.linspace(-0.01, 1.01, 100)
        near = grid[np.argmin([np.abs(rods(share, q)).max() for share in grid])]
        found = least_squares(lambda share, q=q: rods(share[0], q), [near], xtol=1e-15, ftol=1e-15, gtol=1e-15)
        shares.append(found.x[0])
        assert np.abs(rods(shares[-1], q)).max() < TOUCH
    assert np.all(np.diff(shares) > -TOUCH)
    assert shares[-1] == pytest.approx(1, abs=TOUCH)


@pytest.mark.parametrize("name", POSES)
def test_a_line_keeps_the_limits_of_the_axes(name):
    robot, start, _, line = line_of(name, speed=5.0)
    states = derivatives(line.points, start, 8 * robot.cycle_time_s)
    for values, kind in zip(states, ("velocity", "acceleration", "jerk"), strict=True):
        most = [getattr(axis, f"{kind}_max") for axis in robot.axes]
        assert np.all(np.abs(values).max(axis=0) <= USED * np.array(most) * (1 + 1e-12)), kind
    # So fast that some axis is at its limit, and the plan says which; the delta's resonance is the stricter one.
    assert line.speed < 5.0
    assert name == "delta" or line.limit.split(" of ")[1] in [axis.name for axis in robot.axes]
    # Slow enough, the speed is what was asked for.
    assert line_of(name, speed=0.05)[3].speed == pytest.approx(0.05, rel=1e-9)


def test_a_delta_on_a_line_accelerates_as_long_as_its_resonance_asks():
    robot, start, goal, line = line_of("delta", speed=0.5)
    delta = soft_delta(robot)
    least = acceleration_time_of_move(delta.robot, Tool(robot).position(start), goal, delta.excitation_ratio)
    assert line.speed / line.acceleration + line.acceleration / line.jerk >= least * (1 - 1e-9)
    stiffness = replace(robot.machine.stiffness, excitation_ratio=0.02)
    _, _, _, slow = line_of("delta", speed=0.5, machine=replace(robot.machine, stiffness=stiffness))
    assert slow.speed / slow.acceleration + slow.acceleration / slow.jerk >= 15 * least * (1 - 1e-9)


def test_the_spline_goes_through_its_knots():
    rng = np.random.default_rng(2)
    knots = np.cumsum(rng.normal(size=(30, 3)), axis=0)
    knots[1], knots[-2] = knots[0], knots[-1]
    points = control_points(knots)
    c = np.vstack([knots[:1]] * 3 + [points] + [points[-1:]] * 3)
    curve = (c[:-2] + 4 * c[1:-1] + c[2:]) / 6
    assert len(curve) == len(points) + 4
    assert curve[2 : len(knots) - 2] == pytest.approx(knots[2:-2], abs=1e-12)
    assert curve[0] == pytest.approx(knots[0])
    assert curve[len(knots) - 1] == pytest.approx(knots[-1])


@pytest.mark.parametrize(
    ("name", "start", "goal", "message"),
    [
        ("scara", [0.5, 1.2, -0.1, 0.3], [0.9, 0.3, -0.1], r"% of the way, it is out of reach|singular pose"),
        ("scara", [0.5, 1.2, -0.1, 0.3], [0.3, 0.3, 0.2], r"j3 would be at 0.01\d*, outside -0.2 .. 0.01"),
        ("two_link", [0.2, 2.0], [-0.3, -0.2, 0.0], "% of the way"),
        ("delta", [0.4, 0.5, 0.6], [0.6, 0.5, -1.0], r"at \(x 0.\d+, y 0.\d+, z -0.\d+\) m, \d+ % of the way"),
        ("puma", [0.2, -0.9, 0.9, 0.4, 0.0, -0.3], [0.3, 0.2, 0.3], "0 % of the way, the arm is in a singular pose"),
        ("scara", [0.5, 1.2, -0.1, 0.3], [math.nan, 0, 0], "give another goal"),
    ],
)
def test_where_the_tool_cannot_go_is_named(name, start, goal, message):
    with pytest.raises(IdmError, match=message):
        plan_line(load_robot(name), np.array(start), np.array(goal), 0.2)


def test_what_is_no_line_is_said():
    robot = load_robot("scara")
    start = np.array(POSES["scara"][0])
    with pytest.raises(IdmError, match="already; give another goal"):
        plan_line(robot, start, Tool(robot).position(start), 0.2)
    with pytest.raises(IdmError, match="give a speed above 0"):
        plan_line(robot, start, np.zeros(3), -1.0)
    with pytest.raises(ModelError, match="no common geometry"):
        plan_line(load_robot("crank"), np.zeros(1), np.zeros(3), 0.2)
