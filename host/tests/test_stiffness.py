"""A delta's stiffness against the published vectors, the page's equations, and itself by other ways."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from idmkit.cli.main import main
from idmkit.dynamics.delta import DeltaGeometry
from idmkit.errors import IdentificationError, ModelError, RobotFileError
from idmkit.robot import load_robot
from idmkit.stiffness import (
    Compliant,
    Measurement,
    acceleration_time_of_move,
    fit_stiffness,
    jacobian,
    load_measurements,
    minimal_acceleration_time,
    platform_position,
    pose,
    rod_forces,
    soft_delta,
)
from idmkit.stiffness.workspace import sections

FILE = Path(__file__).parent / "data/delta_stiffness/delta.toml"
GEOMETRY = DeltaGeometry(0.2, 0.05, 0.3, 0.8)
POINT, SPEED = np.array([0.1, -0.05, -0.75]), np.array([0.6, 0.4, -0.3])
GRAVITY = np.array([0, 0, 9.80665])
ROBOT = Compliant(GEOMETRY, 8000.0, 2e6, 1.2)
X, Y, Z = np.eye(3)


def printed(*values):
    """Equal to the nine decimals that are printed."""
    return pytest.approx(values, abs=5.1e-10, rel=0)


def test_angles_speeds_and_rod_forces_are_those_of_the_test_vector():
    assert tuple(pose(GEOMETRY, POINT).angles) == printed(0.105380664, 0.473945808, 0.313873906)
    assert tuple(jacobian(GEOMETRY, POINT) @ SPEED) == printed(-0.059771026, 0.876074726, 2.269472042)
    forces = rod_forces(GEOMETRY, POINT, 0.9 * (np.array([8, -5, 12]) + GRAVITY))
    assert tuple(forces) == printed(-19.102906389, 4.988373857, -7.658756714)


@pytest.mark.parametrize(
    ("direction", "series_hz", "consistent_hz"),
    [(Z, 59.1281, 62.1235), (X, 30.4968, 30.5757), (Y, 28.7461, 28.7666)],
)
def test_resonances_are_those_of_the_test_vector(direction, series_hz, consistent_hz):
    assert ROBOT.at(POINT, direction, "series").resonance_hz == pytest.approx(series_hz, abs=5e-5)
    assert ROBOT.at(POINT, 3 * direction, "consistent").resonance_hz == pytest.approx(consistent_hz, abs=5e-5)


def test_stiffnesses_are_those_of_the_test_vector():
    found = ROBOT.at(POINT, Z, "series")
    assert found.rods == pytest.approx(3867641.126, abs=5e-4)
    assert found.joints == pytest.approx(173036.1159, abs=5e-5)
    assert ROBOT.at(POINT, Z, "consistent").rods == pytest.approx(found.rods)


def test_the_page_s_equations_give_the_same():
    """Eq. 5, 6, 10, 11 and 12, with J and rod forces taken one by one."""
    J, u = jacobian(GEOMETRY, POINT), np.array([1, 2, -2]) / 3
    K_q = J.T @ (8000 * np.eye(3)) @ J
    k_q = 1 / np.linalg.norm(np.linalg.solve(K_q, u))
    k_r = 2e6 / np.sum(rod_forces(GEOMETRY, POINT, u) ** 2)
    found = ROBOT.at(POINT, u, "series")
    assert (found.joints, found.rods) == pytest.approx((k_q, k_r))
    assert found.resonance_hz == pytest.approx(math.sqrt(k_q * k_r / (k_q + k_r) / 1.2) / (2 * math.pi))
    consistent = ROBOT.at(POINT, u, "consistent")
    assert consistent.joints == pytest.approx(1 / (u @ np.linalg.solve(K_q, u)))
    assert consistent.resonance_hz > found.resonance_hz


def test_platform_comes_back_from_its_angles():
    rng = np.random.default_rng(3)
    points = rng.uniform([-0.25, -0.25, -0.9], [0.25, 0.25, -0.65], (500, 3))
    # Two roots of quadratic equations, of lengths below 1 m.
    assert platform_position(GEOMETRY, pose(GEOMETRY, points).angles) == pytest.approx(points, abs=1e-13)


def test_jacobian_is_the_derivative_of_the_angles():
    h = 1e-6
    steps = pose(GEOMETRY, POINT + h * np.eye(3)).angles - pose(GEOMETRY, POINT - h * np.eye(3)).angles
    assert jacobian(GEOMETRY, POINT) == pytest.approx(steps.T / (2 * h), rel=1e-8)


def test_resonances_lie_between_the_lowest_and_the_highest():
    low, _, high = ROBOT.eigenfrequencies(POINT)
    rng = np.random.default_rng(4)
    for u in rng.standard_normal((50, 3)):
        assert low - 1e-9 <= ROBOT.at(POINT, u).resonance_hz <= high + 1e-9
    on_axis = ROBOT.eigenfrequencies([0, 0, -0.75])
    assert on_axis[0] == pytest.approx(on_axis[1])  # the axis of symmetry
    assert on_axis[2] == pytest.approx(ROBOT.at([0, 0, -0.75], Z).resonance_hz)


def test_acceleration_time_of_the_page():
    assert minimal_acceleration_time(25.0, 0.4) == pytest.approx(0.05)
    start, end = np.array([-0.1, 0, -0.8]), POINT
    ends = [ROBOT.at(p, end - start).resonance_hz for p in (start, end)]
    assert acceleration_time_of_move(ROBOT, start, end, 0.3) == pytest.approx(1 / (0.6 * min(ends)))
    with pytest.raises(ModelError, match="same point"):
        acceleration_time_of_move(ROBOT, start, start, 0.3)


def measured(rng, relative_noise, count=12, form="consistent"):
    found = []
    for _ in range(count):
        point = rng.uniform([-0.25, -0.25, -0.9], [0.25, 0.25, -0.65])
        u = rng.standard_normal(3)
        frequency = ROBOT.at(point, u, form).resonance_hz * (1 + relative_noise * rng.standard_normal())
        found.append(Measurement(tuple(point), tuple(u), frequency))
    return found


@pytest.mark.parametrize("form", ["consistent", "series"])
def test_both_constants_come_back_from_exact_resonances(form):
    fit = fit_stiffness(GEOMETRY, 1.2, measured(np.random.default_rng(5), 0.0, form=form), form)
    assert (fit.c_q.value, fit.c_r.value) == pytest.approx((8000, 2e6), rel=1e-9)
    assert fit.scatter_percent < 1e-6


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Rods twenty times softer than the robot's, so that both constants can be told from noise of 1 %."""
    soft, runs = Compliant(GEOMETRY, 8000.0, 1e5, 1.2), 200
    hits = np.zeros(2)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        exact = [
            Measurement(m.point, m.direction, soft.at(m.point, m.direction).resonance_hz) for m in measured(rng, 0.0)
        ]
        noisy = [Measurement(m.point, m.direction, m.frequency_hz * (1 + 0.01 * rng.standard_normal())) for m in exact]
        fit = fit_stiffness(GEOMETRY, 1.2, noisy)
        hits += [fit.c_q.low < 8000 < fit.c_q.high, fit.c_r.low < 1e5 < fit.c_r.high]
        assert 0.3 < fit.scatter_percent < 3
    # 95 % intervals: below and above this in one test of a thousand each.
    low, high = binom.ppf([1e-3, 1 - 1e-3], runs, 0.95)
    assert ((low <= hits) & (hits <= high)).all(), hits


def test_too_little_is_refused():
    few = measured(np.random.default_rng(6), 0.01, count=2)
    with pytest.raises(IdentificationError, match="measure at least 3"):
        fit_stiffness(GEOMETRY, 1.2, few)
    with pytest.raises(IdentificationError, match="cannot tell joints from rods"):
        fit_stiffness(GEOMETRY, 1.2, 4 * few[:1])
    rigid = [Measurement((0, 0, z), tuple(u), f) for z, u, f in [(-0.7, Z, 30.0), (-0.7, X, 60.0), (-0.8, X, 60.0)]]
    with pytest.raises(IdentificationError, match="cannot be told from rigid"):
        fit_stiffness(GEOMETRY, 1.2, rigid)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ROBOT.at([0.9, 0, -0.75], Z), "cannot reach the point"),
        (lambda: ROBOT.at(POINT, [0, 0, 0]), "not all 0"),
        (lambda: Compliant(GEOMETRY, 0.0, 1.0, 1.0), "c_q must be positive"),
        (lambda: minimal_acceleration_time(20.0, 1.5), "R_ext at most 1"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(ModelError, match=words):
        call()


def test_many_points_are_nan_out_of_reach():
    values = ROBOT.eigenfrequencies([[0, 0, -0.75], [2, 0, -0.75]])
    assert np.isfinite(values[0]).all()
    assert np.isnan(values[1]).all()
    assert ROBOT.resonances([POINT, POINT], Z) == pytest.approx(2 * [62.1235], abs=5e-5)


def test_sections_keep_to_the_workspace():
    delta = soft_delta(load_robot(FILE))
    flat, upright = sections(delta, points=41)
    inside = np.isfinite(flat.resonance_hz)
    x, y = np.meshgrid(flat.across, flat.along)
    assert (np.hypot(x, y)[inside] <= 0.4 + 1e-9).all()
    assert inside.sum() > 300
    # Mirrored in the x axis the three arms are the same.
    assert flat.resonance_hz == pytest.approx(flat.resonance_hz[::-1], nan_ok=True)
    assert np.nanmax(upright.resonance_hz) > np.nanmin(upright.resonance_hz)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("c_q = 8000", "c_q = 0", r"delta.toml:\d+: model.stiffness.c_q: must be greater than 0"),
        ("l_B = 0.8", "l_B = 0.1", r"geometry: .*check the four lengths"),
        ("R_ext = 0.3", "R_ex = 0.3", "is 'R_ex' meant for it"),
        ("z_max = -0.6", "z_max = -1.0", r"z_max: must be above z_min = -0.95"),
        ("M_P = 0.9", "M_P = 0.9\nM_BC = 0.4", r"M_BC: is 0.4 kg here and 0.3 kg in \[model.known\]"),
        ("[model.known]\nM_BC = 0.3", "", "model.stiffness.M_BC: is missing"),
        ('kind = "delta"', 'kind = "delta"\nstiffnes = 1', "unknown field"),
    ],
)
def test_broken_files_name_line_and_field(tmp_path, old, new, words):
    path = tmp_path / "delta.toml"
    path.write_text(FILE.read_text().replace(old, new))
    with pytest.raises(RobotFileError, match=words):
        load_robot(path)


def test_the_ready_delta_has_its_own():
    delta, robot = soft_delta(load_robot("delta")), load_robot("delta")
    assert delta.robot.geometry == robot.machine.delta_geometry
    assert delta.robot.mass == pytest.approx(0.85 + 0.3)
    space = delta.workspace
    assert (space.angle_min, space.angle_max) == (robot.axes[0].position_min, robot.axes[0].position_max)
    flat, _ = sections(delta, points=21)
    assert np.isfinite(flat.resonance_hz).sum() > 50


def test_payload_and_its_weight_count(tmp_path):
    path = tmp_path / "delta.toml"
    path.write_text(FILE.read_text().replace("M_P = 0.9", "M_P = 0.9\npayload = 0.5"))
    delta = soft_delta(load_robot(path))
    assert (delta.platform_mass, delta.robot.mass) == pytest.approx((1.4, 1.7))


def test_robots_without_this_stiffness_are_refused(tmp_path):
    with pytest.raises(RobotFileError, match="robot 'scara' is no delta"):
        soft_delta(load_robot("scara"))
    path = tmp_path / "delta.toml"
    text = FILE.read_text()
    path.write_text(text[: text.index("[model.stiffness]")] + text[text.index("[[axes]]") :])
    with pytest.raises(RobotFileError, match=r"has no table \[model.stiffness\]"):
        soft_delta(load_robot(path))


def test_a_workspace_out_of_reach_is_said(tmp_path):
    path = tmp_path / "delta.toml"
    path.write_text(FILE.read_text().replace("z_min = -0.95", "z_min = -3").replace("z_max = -0.6", "z_max = -2"))
    with pytest.raises(ModelError, match="there is no point that the arms reach"):
        sections(soft_delta(load_robot(path)))


def test_the_command_shows_fits_and_draws(tmp_path, capsys):
    picture, table = tmp_path / "map.png", tmp_path / "measured.csv"
    options = ["--at", "0.1", "-0.05", "-0.75", "--acceleration", "8", "-5", "12", "--to", "0", "0", "-0.8"]
    assert main(["delta-map", str(FILE), *options, "--map", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "62.1235" in out
    assert "59.1281" in out
    assert "10 % of Fr_max" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = [(*m.point, *m.direction, m.frequency_hz) for m in measured(np.random.default_rng(8), 0.0)]
    table.write_text("x,y,z,ux,uy,uz,f_hz\n" + "".join(",".join(map(repr, map(float, row))) + "\n" for row in rows))
    assert main(["delta-map", str(FILE), "--fit", str(table)]) == 0
    assert "c_q = 8000 +-" in capsys.readouterr().out


def test_points_out_of_reach_are_said(capsys):
    assert main(["delta-map", "delta", "--at", "0.9", "0", "-0.75"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("idm delta-map: the delta's arm 2 cannot reach the point (0.9, 0, -0.75) m")
    assert error.endswith("choose a point inside the workspace\n")


@pytest.mark.parametrize(
    ("text", "words"), [("x,y\n1,2\n", "lacks the column"), ("x,y,z,ux,uy,uz,f_hz\n1,2,3,4,5,6\n", "is not 7 numbers")]
)
def test_broken_measurements_are_refused(tmp_path, text, words):
    path = tmp_path / "measured.csv"
    path.write_text(text)
    with pytest.raises(IdentificationError, match=words):
        load_measurements(path)
