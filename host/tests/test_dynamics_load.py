"""The [model] table of a serial arm, and the conventions that are printed of it."""

import tomllib

import numpy as np
import pytest
from arms import TX40_URDF

from idmkit.dynamics.conventions import conventions
from idmkit.dynamics.load import read_serial_model
from idmkit.errors import ModelError

FOLDER = TX40_URDF.parent
AXES = [(f"j{k}", "revolute") for k in range(1, 7)]

TX40 = """
kind = "serial"
gravity_direction = [0, 0, -1]
urdf = "tx40.urdf"
position_offset = [0, -1.5708, 1.5708, 0, 0, 0]
joint_motor = [
    [32, 0, 0, 0, 0, 0], [0, 32, 0, 0, 0, 0], [0, 0, 45, 0, 0, 0],
    [0, 0, 0, -48, 0, 0], [0, 0, 0, 0, 45, 0], [0, 0, 0, 0, 32, 32],
]
"""

SCARA = """
kind = "serial"
gravity_direction = [0, 0, -1]
convention = "modified"
springs = ["z"]
dh = [
    { joint = "revolute", a = 0, alpha = 0, d = 0, theta = 0 },
    { joint = "revolute", a = 0.35, alpha = 0, d = 0, theta = 0 },
    { joint = "prismatic", a = 0.25, alpha = 0, d = 0, theta = 0 },
]
"""
SCARA_AXES = [("a", "revolute"), ("b", "revolute"), ("z", "prismatic")]


def read(text, axes):
    return read_serial_model(tomllib.loads(text), FOLDER, axes, 9.81)


def test_a_urdf_with_its_couplings():
    model = read(TX40, AXES)
    graph = model.graph()
    assert graph.axes == tuple(name for name, _ in AXES)
    assert len(model.base(graph).names) == 61
    assert {"j3.Ia", "j6.m"} <= set(model.base(graph, keep=["j6.m"]).names)
    assert model.urdf is not None
    np.testing.assert_array_equal(model.chain.gravity, [0, 0, -9.81])


def test_a_dh_table_with_a_spring():
    graph = read(SCARA, SCARA_AXES).graph()
    assert graph.revolute == (True, True, False)
    assert graph.parameters[graph.index("z.k")].unit == "N/m"


def test_conventions_are_said():
    text = conventions(read(TX40, AXES))
    for expected in (
        "staubli_tx40: serial arm, 6 joints (RRRRRR). Things fall along (0 0 -9.81) m/s^2",
        "m mx my mz Ixx Ixy Iyy Ixz Iyz Izz",
        "about the origin of its frame",
        "61 base parameters of 87: 11 have no influence, 15 act only together with others",
        "j5.my - j6.mz  [kg m]",
        "(0 0 0 0 32 32)",
        "Fvm     its viscous friction",
    ):
        assert expected in text
    assert "spring" not in text
    assert "z.k  [N/m]" in conventions(read(SCARA, SCARA_AXES))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("gravity_direction = [0, 0, -1]", "", "gravity_direction: is missing; say in which direction things fall"),
        ("gravity_direction = [0, 0, -1]", "gravity_direction = [0, 0]", "gravity_direction: must be 3 numbers"),
        ("[0, 0, -1]", "[0, 0, 0]", "not all zero"),
        ("springs", "spring", "spring: unknown field"),
        ('convention = "modified"', "", "the DH table names no convention"),
        ('convention = "modified"', 'urdf = "tx40.urdf"', "give the geometry either"),
        ('"prismatic", a', '"planar", a', "dh: a row is"),
        ("a = 0.35", 'a = "long"', "dh: a row is"),
        ('springs = ["z"]', 'springs = ["q"]', "springs on q"),
        ('springs = ["z"]', "joint_motor = [[1, 0], [0, 1]]", "2 rows for 3 joints"),
        ('"prismatic"', '"revolute"', "axis 'z' is prismatic, but the geometry has a revolute joint"),
        ('springs = ["z"]', "position_offset = [0, 1]", "position_offset: must be 3 numbers"),
    ],
)
def test_what_is_missing_or_wrong_is_said(old, new, sentence):
    assert old in SCARA
    with pytest.raises(ModelError, match=sentence):
        read(SCARA.replace(old, new), SCARA_AXES).graph()


def test_axes_and_joints_must_be_as_many():
    with pytest.raises(ModelError, match="2 axes for 3 joints"):
        read(SCARA, SCARA_AXES[:2])
