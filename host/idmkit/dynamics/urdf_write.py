"""Writes identified inertials, damping and friction into a copy of a URDF file."""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

from idmkit.dynamics.chain import Inertial
from idmkit.dynamics.urdf import Carried, Urdf
from idmkit.errors import ModelError


def write_urdf(
    urdf: Urdf,
    target: str | Path,
    inertials: Sequence[Inertial],
    *,
    viscous: Mapping[str, float] | None = None,
    coulomb: Mapping[str, float] | None = None,
) -> None:
    """Copies the file of `urdf` to `target` with these inertials, one a link of the chain, base first.

    What is identified is a link together with everything fixed to it; so it goes into the link itself, and the
    <inertial> of what is fixed to it is taken out of the copy. `viscous` (Nm s/rad, N s/m) and `coulomb` (Nm, N)
    go into <dynamics> of the joints they name. The copy appears complete or not at all. Raises ModelError for
    masses that are not positive, and for links with moving parts beside the chain, whose share is unknown.
    """
    if len(inertials) != len(urdf.bodies):
        raise ModelError(f"{len(inertials)} inertials for {len(urdf.bodies)} links of {urdf.path}")
    tree = ET.parse(urdf.path, parser=ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))
    root = tree.getroot()
    links = {element.get("name"): element for element in root.findall("link")}
    joints = {element.get("name"): element for element in root.findall("joint")}
    for group, inertial in zip(urdf.bodies, inertials, strict=True):
        _check(urdf, group, inertial)
        _set_inertial(links[group[0].link], inertial)
        for carried in group[1:]:
            for old in links[carried.link].findall("inertial"):
                links[carried.link].remove(old)
    for attribute, values in (("damping", viscous), ("friction", coulomb)):
        for name, value in (values or {}).items():
            if name not in joints:
                raise ModelError(f"{urdf.path} has no joint {name!r} to write {attribute} to")
            dynamics = joints[name].find("dynamics")
            if dynamics is None:
                dynamics = ET.SubElement(joints[name], "dynamics")
            dynamics.set(attribute, f"{value:.9g}")
    ET.indent(tree)
    _replace(Path(target), ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def _check(urdf: Urdf, group: tuple[Carried, ...], inertial: Inertial) -> None:
    held = sorted({body.held for body in group if body.held is not None})
    if held:
        raise ModelError(
            f"link {group[0].link!r} of {urdf.path} carries the moving joint{'s' if len(held) > 1 else ''} "
            f"{', '.join(held)}; what was identified cannot be divided between them. Fix these joints in the URDF"
        )
    if not inertial.mass > 0:
        raise ModelError(
            f"link {group[0].link!r}: a URDF cannot hold a mass of {inertial.mass:g} kg; "
            "use a physically consistent estimate"
        )


def _set_inertial(link: ET.Element, inertial: Inertial) -> None:
    for old in link.findall("inertial"):
        link.remove(old)
    element = ET.SubElement(link, "inertial")
    # 17 digits: reading the copy back gives the same model.
    centre = " ".join(f"{value:.17g}" for value in inertial.centre)
    ET.SubElement(element, "origin", {"xyz": centre, "rpy": "0 0 0"})
    ET.SubElement(element, "mass", {"value": f"{inertial.mass:.17g}"})
    J = inertial.inertia_about_centre
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    ET.SubElement(element, "inertia", {name: f"{J[place]:.17g}" for name, place in names.items()})


def _replace(target: Path, text: str) -> None:
    """Writes a file at once: a reader sees the old content or the new, never a part."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
