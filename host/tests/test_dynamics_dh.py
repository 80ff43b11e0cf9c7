"""DH tables: the two conventions, right angles as people write them, other zeros of the joints."""

import numpy as np
import pytest
from arms import FLOOR, PUMA, UR10E, arm, random_inertial, rows

from idmkit.dynamics.dh import chain_from_dh, in_joint_frame
from idmkit.dynamics.serial import serial_graph
from idmkit.errors import ModelError


@pytest.mark.parametrize("convention", [None, "craig"])
def test_a_table_without_a_convention_is_refused(convention):
    with pytest.raises(ModelError, match=r"two different arms.*'standard'.*'modified'"):
        chain_from_dh("puma", PUMA, convention, FLOOR)


def shifted(table):
    """The same products of matrices in the other convention: a and alpha move to the next row."""
    a, alpha = [0, *(row.a for row in table[:-1])], [0, *(row.alpha for row in table[:-1])]
    return rows("R" * len(table), a, alpha, [row.d for row in table], [row.theta for row in table])


def test_conventions_describe_the_same_arm_after_shifting_the_columns():
    standard, modified = arm(UR10E, "standard"), arm(shifted(UR10E), "modified")
    for ours, theirs in zip(standard.joints, modified.joints, strict=True):
        np.testing.assert_array_equal(ours.rotation, theirs.rotation)
        np.testing.assert_array_equal(ours.translation, theirs.translation)


def test_the_same_table_is_another_arm_in_the_other_convention():
    places = [arm(UR10E, convention).placement([0.1] * 6)[1] for convention in ("standard", "modified")]
    assert np.linalg.norm(places[0] - places[1]) > 0.1


def test_an_inertial_in_the_tables_frame_is_moved_to_the_joints_axis():
    """Standard convention: the table's frame i sits a along x of the joint's, turned by alpha."""
    body = random_inertial(np.random.default_rng(1))
    row = UR10E[1]
    moved = in_joint_frame(row, body, "standard")
    np.testing.assert_allclose(moved.centre, body.centre + np.array([row.a, 0, 0]), atol=1e-15)
    assert in_joint_frame(row, body, "modified") is body


def test_rounded_right_angles_are_exact_and_said():
    table = rows("RR", (0, 0), (0, -1.5708), (0.1, 0), (0, 0))
    chain = arm(table, "modified")
    np.testing.assert_array_equal(chain.joints[1].rotation, [[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    assert chain.notes == ("row 2: alpha = -1.5708 rad is taken as a right angle, 3.7e-06 off",)


def test_other_zeros_shift_positions_and_nothing_else():
    rng = np.random.default_rng(2)
    chain = arm(rows("RP", (0, 0.2), (0, -np.pi / 2), (0.1, 0), (0, 0.3)), "modified")
    offsets = np.array([-np.pi / 2, 0.25])
    q, qd, qdd = rng.uniform(-1, 1, (3, 10, 2))
    theta = rng.normal(size=20)

    def torque(chain, positions):
        graph = serial_graph(chain, terms=())
        regressor = graph.regressor()
        return regressor.torque([theta[graph.index(name)] for name in regressor.names], positions, qd, qdd)

    ours = torque(chain.with_zero(offsets), q)
    theirs = torque(chain, q + offsets)
    # A sine at the shifted angle, against a shifted frame: rounding only.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    with pytest.raises(ModelError, match="3 position offsets for 2 joints"):
        chain.with_zero([0.0, 0.0, 0.0])


def test_joints_take_the_names_of_the_axes():
    chain = arm(PUMA, "modified")
    assert chain.renamed("abcdef").names == tuple("abcdef")
    with pytest.raises(ModelError, match="2 axes for 6 joints"):
        chain.renamed("ab")
    with pytest.raises(ModelError, match="a name of its own"):
        chain.renamed("aaaaaa")
