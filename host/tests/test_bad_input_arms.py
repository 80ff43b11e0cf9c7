"""Bad input to fits of arms: each a sentence that says what and where, an exit code, and nothing written."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from idmkit.cli.main import main

FOLDER = Path(__file__).parent / "data" / "dfki_double_pendulum"
ROBOT = (FOLDER / "arm.toml").read_text()
MAPPING = (FOLDER / "mapping.toml").read_text()
DH = ROBOT[ROBOT.index("convention") : ROBOT.index("[[axes]]")]
URDF = """<robot name="two">
  <link name="base"/>
  <link name="upper">{inertial}</link>
  <link name="lower">{inertial}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/></joint>
  <joint name="elbow" type="{kind}"><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/>
    <origin xyz="0.3 0 0"/>{mimic}</joint>
</robot>
"""
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def table(rows: int | None = None) -> np.ndarray:
    with gzip.open(FOLDER / "design_A.0_20220812_060329.csv.gz", "rt") as lines:
        cells = np.loadtxt(lines, delimiter=",", skiprows=1)
    return cells[:rows]


def written(path: Path, cells: np.ndarray, header: str = "time,pos1,pos2,vel1,vel2,tau1,tau2") -> Path:
    np.savetxt(path, cells, delimiter=",", header=header, comments="")
    return path


def refused(folder: Path, capsys, *, text=None, cells=None, mapping=MAPPING, robot=ROBOT, urdf=None) -> str:
    """Runs idm fit in `folder`, expects one sentence and no output; returns the sentence."""
    record = folder / "record.csv"
    if text is not None:
        record.write_text(text)
    else:
        written(record, table() if cells is None else cells)
    (folder / "map.toml").write_text(mapping)
    (folder / "arm.toml").write_text(robot)
    if urdf is not None:
        (folder / "arm.urdf").write_text(urdf)
    before = set(folder.iterdir())
    outputs = [
        "--json", str(folder / "r.json"), "--figure", str(folder / "r.png"), "--report", str(folder / "r.html"),
        "--urdf", str(folder / "out.urdf"),
    ]  # fmt: skip
    files = ["--mapping", str(folder / "map.toml"), "--robot", str(folder / "arm.toml")]
    assert main(["fit", str(record), *files, "--cutoff", "10", *outputs]) == 1
    assert set(folder.iterdir()) == before
    streams = capsys.readouterr()
    assert "Traceback" not in streams.err
    assert streams.out == ""
    return streams.err


def test_records_that_are_no_records(tmp_path, capsys):
    assert "record.csv is empty" in refused(tmp_path, capsys, text="")
    assert "does not advance: 1 row(s)" in refused(tmp_path, capsys, cells=table(1))
    assert "longest stretch without gaps is 0.5 s" in refused(tmp_path, capsys, cells=table(100))
    without = MAPPING[: MAPPING.index('[[channels]]\ncolumn = "tau2"')]
    assert "no measured torque of axis 'j2'; it has position, velocity" in refused(tmp_path, capsys, mapping=without)
    alone = MAPPING[: MAPPING.index('[[channels]]\ncolumn = "pos2"')]
    assert "no channel of axis 'j2'; it has axes j1" in refused(tmp_path, capsys, mapping=alone)


def test_columns_that_hold_something_else(tmp_path, capsys):
    cells = table()
    cells[:, 6] = np.nan
    assert "j2: torque holds no number in 1998 of 1998 rows" in refused(tmp_path, capsys, cells=cells)
    cells = table()
    cells[1000:, 0] -= 2.0
    assert "time goes backwards after row 1000" in refused(tmp_path, capsys, cells=cells)
    cells = table()
    cells[:, 1:3] = np.degrees(cells[:, 1:3])
    assert "It looks like degrees" in refused(tmp_path, capsys, cells=cells)
    cells = table()
    cells[:, 5:] *= 1000
    sentence = refused(tmp_path, capsys, cells=cells)
    assert "j1: torque reaches" in sentence
    assert "thousandths" in sentence


def test_efforts_in_amperes_are_no_torques(tmp_path, capsys):
    """As robots publish them: motor current under the name of effort."""
    amperes = MAPPING.replace('unit = "Nm"', 'unit = "A"')
    sentence = refused(tmp_path, capsys, mapping=amperes)
    assert "map.toml:" in sentence
    assert "amperes are not a torque: declare torque_per_ampere" in sentence


@pytest.mark.parametrize(
    ("robot", "urdf", "words"),
    [
        (ROBOT.replace('convention = "modified"\n', ""), None, "convention"),
        (ROBOT.replace("gravity_direction = [1, 0, 0]\n", ""), None, "gravity_direction: is missing"),
        (ROBOT.replace(DH, 'urdf = "arm.urdf"\n\n'), URDF.format(inertial="", kind="revolute", mimic=""), "'upper'"),
        (
            ROBOT.replace(DH, 'urdf = "arm.urdf"\n\n'),
            URDF.format(inertial=INERTIAL, kind="revolute", mimic='<mimic joint="shoulder"/>'),
            "mimic",
        ),
        (
            ROBOT.replace(DH, 'urdf = "arm.urdf"\n\n'),
            URDF.format(inertial=INERTIAL, kind="planar", mimic=""),
            "planar",
        ),
    ],
)
def test_descriptions_that_leave_something_open(tmp_path, capsys, robot, urdf, words):
    sentence = refused(tmp_path, capsys, robot=robot, urdf=urdf)
    assert words in sentence
    assert "arm.toml" in sentence
