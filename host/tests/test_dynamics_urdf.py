"""The URDF reader and writer: folding, refusals, and that what is written reads back as the same model."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from arms import FLOOR, TX40, TX40_URDF, arm, random_inertial

from idmkit.dynamics.chain import Inertial
from idmkit.dynamics.rotations import from_rpy
from idmkit.dynamics.serial import serial_graph
from idmkit.dynamics.urdf import read_urdf
from idmkit.dynamics.urdf_write import write_urdf
from idmkit.errors import ModelError

BODY = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"/></inertial>'
)


def link(name, inner=BODY):
    return f'<link name="{name}">{inner}</link>'


def joint(name, parent, child, kind="revolute", inner='<axis xyz="0 0 1"/>', origin=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{origin}{inner}</joint>'


@pytest.fixture
def written(tmp_path):
    def write(*elements):
        path = tmp_path / "arm.urdf"
        path.write_text(f'<robot name="arm">{"".join(elements)}</robot>')
        return path

    return write


def test_dh_table_and_urdf_of_the_tx40_are_the_same_arm():
    """Same torque at random states, from the file and from its geometry in modified DH parameters."""
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-3, 3, (3, 20, 6))
    theta = rng.normal(size=60)
    torques = []
    for chain in (read_urdf(TX40_URDF, FLOOR).chain.renamed("123456"), arm(TX40, "modified")):
        graph = serial_graph(chain, terms=())
        regressor = graph.regressor()
        values = [theta[graph.keys.index(name)] for name in regressor.names]
        torques.append(regressor.torque(values, q, qd, qdd))
    # Both have exact right angles, so only rounding separates them.
    np.testing.assert_allclose(torques[0], torques[1], rtol=0, atol=1e-12 * np.abs(torques[0]).max())


def test_fixed_bodies_are_folded_into_the_link_that_carries_them(written):
    path = written(
        link("base"),
        link("stand"),
        link("arm"),
        link("tool"),
        joint("plate", "base", "stand", "fixed", "", '<origin xyz="0 0 0.5"/>'),
        joint("j1", "stand", "arm", origin='<origin xyz="0 0 0.1"/>'),
        joint("flange", "arm", "tool", "fixed", "", '<origin xyz="0 0.3 0" rpy="0 0 1.5708"/>'),
    )
    urdf = read_urdf(path, FLOOR)
    own = Inertial.from_centre(2, (0.1, 0, 0), np.diag([1.0, 2, 3]))
    carried = Inertial.from_centre(2, (0, 0.4, 0), np.diag([2.0, 1, 3]))
    np.testing.assert_allclose(urdf.chain.inertials[0].parameters, (own + carried).parameters, atol=1e-12)
    np.testing.assert_allclose(urdf.chain.joints[0].translation, [0, 0, 0.6], atol=1e-15)
    assert [body.link for body in urdf.bodies[0]] == ["arm", "tool"]
    assert any("1.5708 rad is taken as a right angle" in note for note in urdf.chain.notes)


def branched():
    return (
        link("base"),
        link("arm"),
        link("hand"),
        link("finger"),
        joint("j1", "base", "arm"),
        joint("j2", "arm", "hand", "prismatic"),
        joint("j3", "arm", "finger", "revolute", '<axis xyz="0 1 0"/><mimic joint="j2"/>'),
    )


def test_a_branch_needs_a_tip_and_the_rest_is_held(written):
    path = written(*branched())
    with pytest.raises(ModelError, match=r"branches at link 'arm'.*`tip`, one of the links hand, finger"):
        read_urdf(path, FLOOR)
    urdf = read_urdf(path, FLOOR, tip="hand")
    assert urdf.chain.names == ("j1", "j2")
    assert urdf.chain.inertials[0].mass == 4
    assert "joint 'j3' is not on the chain; it is taken to stand still at 0" in urdf.chain.notes
    with pytest.raises(ModelError, match="no link 'thumb'"):
        read_urdf(path, FLOOR, tip="thumb")
    with pytest.raises(ModelError, match="carries the moving joint j3"):
        write_urdf(urdf, path.with_name("copy.urdf"), urdf.chain.known_inertials())
    assert not path.with_name("copy.urdf").exists()


@pytest.mark.parametrize(
    ("elements", "sentence"),
    [
        ((link("a"), link("b"), joint("j", "a", "b", inner='<mimic joint="k"/>')), "joint 'j' mimics another joint"),
        ((link("a"), link("b"), joint("j", "a", "b", "planar")), "joint 'j' is of type 'planar'"),
        ((link("a"), link("b"), joint("j", "a", "b", "floating")), "joint 'j' is of type 'floating'"),
        ((link("a"), link("b", ""), joint("j", "a", "b")), r"link 'b' \(behind joint 'j'\): no <inertial>"),
        ((link("a"), link("b", "<inertial/>"), joint("j", "a", "b")), "link 'b': <inertial> lacks <mass>"),
        ((link("a"), link("b", BODY.replace('"2"', '"heavy"', 1)), joint("j", "a", "b")), "link 'b': mass must be 1"),
        ((link("a"), link("b"), joint("j", "a", "b", inner='<axis xyz="0 0 0"/>')), "joint 'j': <axis> must be"),
        ((link("a"), link("b"), joint("j", "a", "c")), "names the link 'c', which the file lacks"),
        ((link("a"), link("a")), "two links are called 'a'"),
        ((link("a"), link("b")), r"has 2 \(a, b\)"),
        ((link("a"), link("b"), joint("j", "a", "b", "fixed", "")), "no moving joint"),
        ((link("a"), link("b"), link("c"), joint("j", "a", "c"), joint("k", "b", "c")), "closed loop"),
        ((link("a"), link("b"), '<joint name="j" type="fixed"><parent link="a"/></joint>'), "lacks <child>"),
        ((link("a"), "<link/>"), "lacks the attribute 'name'"),
    ],
)
def test_what_cannot_be_represented_is_refused(written, elements, sentence):
    path = written(*elements)
    with pytest.raises(ModelError, match=sentence) as caught:
        read_urdf(path, FLOOR)
    assert str(path) in str(caught.value)


def test_files_that_are_no_urdf_are_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    with pytest.raises(ModelError, match="cannot be read"):
        read_urdf(path, FLOOR)
    path.write_text("")
    with pytest.raises(ModelError, match="is not XML"):
        read_urdf(path, FLOOR)
    path.write_text("<sdf/>")
    with pytest.raises(ModelError, match="outermost element is <sdf>"):
        read_urdf(path, FLOOR)


def test_missing_inertials_may_be_declared(written):
    path = written(link("a"), link("b", ""), joint("j", "a", "b"))
    chain = read_urdf(path, FLOOR, need_inertials=False).chain
    assert chain.inertials == (None,)
    assert any("no <inertial>" in note for note in chain.notes)
    with pytest.raises(ModelError, match="behind j"):
        chain.known_inertials()


def test_identified_inertials_read_back_from_the_copy(tmp_path):
    rng = np.random.default_rng(2)
    urdf = read_urdf(TX40_URDF, FLOOR)
    bodies = [random_inertial(rng) for _ in range(6)]
    copy = tmp_path / "identified.urdf"
    write_urdf(urdf, copy, bodies, viscous={"joint_1": 8.05}, coulomb={"joint_1": 7.14})
    read = read_urdf(copy, FLOOR).chain
    for ours, theirs in zip(bodies, read.known_inertials(), strict=True):
        # Written about the centre of mass with 17 digits: moving there and back rounds a few times.
        np.testing.assert_allclose(theirs.parameters, ours.parameters, rtol=0, atol=1e-13)
    dynamics = ET.parse(copy).getroot().find("joint[@name='joint_1']/dynamics")
    assert dynamics.attrib == {"damping": "8.05", "friction": "7.14"}
    assert [path.name for path in tmp_path.iterdir()] == ["identified.urdf"]


def test_what_was_folded_leaves_its_own_place_in_the_copy(written):
    elements = (
        link("base"),
        link("arm"),
        link("tool"),
        joint("j1", "base", "arm"),
        joint("flange", "arm", "tool", "fixed", ""),
    )
    path = written(*elements)
    urdf = read_urdf(path, FLOOR)
    total = urdf.chain.known_inertials()
    copy = path.with_name("copy.urdf")
    write_urdf(urdf, copy, total)
    np.testing.assert_allclose(read_urdf(copy, FLOOR).chain.known_inertials()[0].mass, total[0].mass)


def test_a_mass_that_cannot_be_is_not_written(tmp_path):
    urdf = read_urdf(TX40_URDF, FLOOR)
    bodies = list(urdf.chain.known_inertials())
    bodies[2] = Inertial(-1.0, np.zeros(3), np.eye(3))
    with pytest.raises(ModelError, match="link 'link_3': a URDF cannot hold a mass of -1 kg"):
        write_urdf(urdf, tmp_path / "copy.urdf", bodies)
    with pytest.raises(ModelError, match="no joint 'elbow'"):
        write_urdf(urdf, tmp_path / "copy.urdf", urdf.chain.known_inertials(), viscous={"elbow": 1.0})
    assert list(tmp_path.iterdir()) == []


def test_rpy_turns_about_the_fixed_axes_in_order():
    """Roll first: x goes to x, then pitch takes it down, then yaw about the fixed z."""
    roll, pitch, yaw = 0.3, -0.7, 1.1
    c, s = np.cos, np.sin
    Rz = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    Ry = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    Rx = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    np.testing.assert_allclose(from_rpy(roll, pitch, yaw), Rz @ Ry @ Rx, atol=1e-15)
