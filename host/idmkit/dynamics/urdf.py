"""Reads the serial chain of a URDF file. What the reader cannot represent is refused with a sentence.

The frames of the links are the file's own. Bodies on fixed joints are folded into the link that carries them. A
link of a moving joint without mass is said, because peers assume 1 kg or 0 there and go on.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from idmkit.dynamics.chain import Chain, Inertial, Joint, JointKind
from idmkit.dynamics.rotations import Array, distance_to_right_angle, from_rpy, unit_vector
from idmkit.errors import ModelError

MOVING: dict[str, JointKind] = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """One <joint>: names of joint, parent and child, its type, placement of the child and axis in the child."""

    name: str
    kind: str
    parent: str
    child: str
    rotation: Array
    translation: Array
    axis: Array | None
    mimic: bool


@dataclass(frozen=True)
class Carried:
    """A body that moves with a link of the chain: its name, inertial in the link's frame, and what holds it.

    `held` is the name of a moving joint, off the chain, that is assumed to stand still at 0; None where all
    joints in between are fixed.
    """

    link: str
    inertial: Inertial | None
    held: str | None


@dataclass(frozen=True)
class Urdf:
    """A parsed file: the chain and, for each of its links, the bodies that were folded into it (itself first)."""

    path: Path
    chain: Chain
    bodies: tuple[tuple[Carried, ...], ...]


def read_urdf(path: str | Path, gravity: Array, *, tip: str | None = None, need_inertials: bool = True) -> Urdf:
    """Reads the chain from the root link to the link `tip` (default: the file's only chain).

    `gravity` [3] in the frame of the root link, m/s^2. With `tip`, joints beside the chain are taken to stand
    still at 0 and are folded in, which the notes say. Raises ModelError for a file that is no URDF, branches
    without `tip`, has mimic, planar or floating joints on the chain, or, unless `need_inertials` is False, a
    moving link without mass.
    """
    return _Reader(Path(path)).chain(gravity, tip, need_inertials)


class _Reader:
    """The file's links and joints, checked to form one tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        root = self._parse()
        self.name = root.get("name") or path.stem
        self.links: dict[str, Inertial | None] = {}
        for element in root.findall("link"):
            name = self._attribute(element, "name", "a <link>")
            if name in self.links:
                self.fail(f"two links are called {name!r}")
            self.links[name] = self._inertial(element, f"link {name!r}")
        self.joints = [self._joint(element) for element in root.findall("joint")]
        self.children: dict[str, list[UrdfJoint]] = {name: [] for name in self.links}
        self._connect()

    def fail(self, message: str) -> NoReturn:
        raise ModelError(f"{self.path}: {message}")

    def _parse(self) -> ET.Element:
        try:
            root = ET.parse(self.path).getroot()
        except OSError as error:
            raise ModelError(f"{self.path}: cannot be read: {error.strerror}") from error
        except ET.ParseError as error:
            raise ModelError(f"{self.path}: is not XML: {error}; a xacro must be expanded first") from error
        if root.tag != "robot":
            raise ModelError(f"{self.path}: the outermost element is <{root.tag}>, a URDF has <robot>")
        return root

    def _attribute(self, element: ET.Element, name: str, what: str) -> str:
        value = element.get(name)
        if value is None:
            self.fail(f"{what} lacks the attribute {name!r}")
        return value

    def _numbers(self, text: str | None, count: int, what: str) -> Array:
        try:
            values = np.array([float(word) for word in (text or "").split()])
        except ValueError:
            values = np.array([])
        if len(values) != count or not np.all(np.isfinite(values)):
            self.fail(f"{what} must be {count} finite number{'s' if count > 1 else ''}, is {text!r}")
        return values

    def _origin(self, element: ET.Element, what: str) -> tuple[Array, Array]:
        origin = element.find("origin")
        if origin is None:
            return np.eye(3), np.zeros(3)
        rpy = self._numbers(origin.get("rpy", "0 0 0"), 3, f"{what}: rpy of <origin>")
        for angle in rpy:
            if distance_to_right_angle(angle) > 1e-9:
                self.notes.append(
                    f"{what}: {angle:.9g} rad is taken as a right angle, {distance_to_right_angle(angle):.1e} off"
                )
        return from_rpy(*rpy), self._numbers(origin.get("xyz", "0 0 0"), 3, f"{what}: xyz of <origin>")

    def _inertial(self, link: ET.Element, what: str) -> Inertial | None:
        element = link.find("inertial")
        if element is None:
            return None
        mass, tensor = element.find("mass"), element.find("inertia")
        if mass is None or tensor is None:
            self.fail(f"{what}: <inertial> lacks <{'mass' if mass is None else 'inertia'}>")
        m = float(self._numbers(mass.get("value"), 1, f"{what}: mass")[0])
        xx, xy, xz, yy, yz, zz = (
            self._numbers(tensor.get(key), 1, f"{what}: {key}")[0] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        R, p = self._origin(element, what)
        about_centre = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        return Inertial.from_centre(m, p, about_centre)

    def _joint(self, element: ET.Element) -> UrdfJoint:
        name = self._attribute(element, "name", "a <joint>")
        what = f"joint {name!r}"
        kind = self._attribute(element, "type", what)
        ends = []
        for tag in ("parent", "child"):
            end = element.find(tag)
            if end is None:
                self.fail(f"{what} lacks <{tag}>")
            ends.append(self._attribute(end, "link", f"{what}: <{tag}>"))
        rotation, translation = self._origin(element, what)
        axis = None
        if kind in MOVING:
            given = element.find("axis")
            text = "1 0 0" if given is None else given.get("xyz")
            axis = unit_vector(self._numbers(text, 3, f"{what}: <axis>"), f"{self.path}: {what}: <axis>")
        mimic = element.find("mimic") is not None
        return UrdfJoint(name, kind, ends[0], ends[1], rotation, translation, axis, mimic)

    def _connect(self) -> None:
        parent: dict[str, str] = {}
        for joint in self.joints:
            for link in (joint.parent, joint.child):
                if link not in self.links:
                    self.fail(f"joint {joint.name!r} names the link {link!r}, which the file lacks")
            if joint.child in parent:
                self.fail(
                    f"link {joint.child!r} is the child of joints {parent[joint.child]!r} and {joint.name!r}; "
                    "a closed loop cannot be read from a URDF"
                )
            parent[joint.child] = joint.name
            self.children[joint.parent].append(joint)
        roots = [name for name in self.links if name not in parent]
        if len(roots) != 1:
            found = ", ".join(roots) or "none"
            self.fail(f"a chain starts at one link that is nobody's child; this file has {len(roots)} ({found})")
        self.root = roots[0]

    def chain(self, gravity: Array, tip: str | None, need_inertials: bool) -> Urdf:
        path = self._only_path() if tip is None else self._path_to(tip)
        moving = [joint for joint in path if joint.kind != "fixed"]
        for joint in moving:
            self._check_supported(joint)
        if not moving:
            self.fail("no moving joint between the root link and the tip; nothing to identify")
        joints, bodies = [], []
        R, p = np.eye(3), np.zeros(3)
        for joint in path:
            p, R = p + R @ joint.translation, R @ joint.rotation
            if joint.axis is not None:
                joints.append(Joint(joint.name, MOVING[joint.kind], R, p, joint.axis))
                bodies.append(tuple(self._carried(joint.child, moving)))
                R, p = np.eye(3), np.zeros(3)
        inertials = tuple(_sum(group) for group in bodies)
        self._say_missing(joints, bodies, inertials, need_inertials)
        chain = Chain(self.name, tuple(joints), gravity, inertials, tuple(self.notes))
        return Urdf(self.path, chain, tuple(bodies))

    def _check_supported(self, joint: UrdfJoint) -> None:
        if joint.mimic:
            self.fail(
                f"joint {joint.name!r} mimics another joint; a coupled mechanism is not a serial chain. "
                "Name a `tip` in front of it, or describe the coupling by a joint-motor matrix"
            )
        if joint.kind not in MOVING:
            self.fail(
                f"joint {joint.name!r} is of type {joint.kind!r}; a serial chain has revolute, continuous, "
                "prismatic and fixed joints"
            )

    def _only_path(self) -> list[UrdfJoint]:
        """Joints from the root to the end of the file's only chain; fixed side branches do not count."""
        path: list[UrdfJoint] = []
        link = self.root
        while True:
            onward = [joint for joint in self.children[link] if self._moves(joint)]
            if len(onward) > 1:
                tips = ", ".join(name for name, joints in self.children.items() if not joints)
                self.fail(
                    f"the chain branches at link {link!r} (joints {', '.join(j.name for j in onward)}); "
                    f"say where it ends with `tip`, one of the links {tips}"
                )
            if not onward:
                return path
            path.append(onward[0])
            link = onward[0].child

    def _moves(self, joint: UrdfJoint) -> bool:
        return joint.kind != "fixed" or any(self._moves(child) for child in self.children[joint.child])

    def _path_to(self, tip: str) -> list[UrdfJoint]:
        if tip not in self.links:
            self.fail(f"there is no link {tip!r} for `tip`; there are {', '.join(self.links)}")
        above = {joint.child: joint for joint in self.joints}
        path: list[UrdfJoint] = []
        link = tip
        while link in above:
            path.insert(0, above[link])
            link = above[link].parent
        return path

    def _carried(self, link: str, chain: list[UrdfJoint]) -> list[Carried]:
        """The bodies that move with a link: itself, and what hangs on it beside the chain."""
        found: list[Carried] = []
        stack: list[tuple[str, Array, Array, str | None]] = [(link, np.eye(3), np.zeros(3), None)]
        while stack:
            name, R, p, held = stack.pop()
            body = self.links[name]
            found.append(Carried(name, None if body is None else body.seen_from(R, p), held))
            for joint in self.children[name]:
                if joint in chain:
                    continue
                holder = held
                if joint.kind != "fixed":
                    holder = joint.name
                    self.notes.append(f"joint {joint.name!r} is not on the chain; it is taken to stand still at 0")
                stack.append((joint.child, R @ joint.rotation, p + R @ joint.translation, holder))
        return found

    def _say_missing(
        self,
        joints: list[Joint],
        bodies: list[tuple[Carried, ...]],
        inertials: tuple[Inertial | None, ...],
        need_inertials: bool,
    ) -> None:
        missing = [
            f"link {group[0].link!r} (behind joint {joint.name!r})"
            for joint, group, body in zip(joints, bodies, inertials, strict=True)
            if body is None
        ]
        if not missing:
            return
        sentence = f"{', '.join(missing)}: no <inertial> with mass and inertia"
        if need_inertials:
            self.fail(
                f"{sentence}. Add it, or say that no CAD values are wanted (cad_inertials = false in the robot "
                "file); nothing is assumed in its place"
            )
        self.notes.append(sentence)


def _sum(bodies: tuple[Carried, ...]) -> Inertial | None:
    known = [body.inertial for body in bodies if body.inertial is not None]
    if not known:
        return None
    total = known[0]
    for other in known[1:]:
        total = total + other
    return total
