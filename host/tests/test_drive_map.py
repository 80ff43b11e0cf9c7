"""Drive maps from MuJoCo's torques, recorded in amperes of motors that saturate, with and without a known load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machine_runs import ideal, loaded, measured, sines

from idmkit.cli.main import main
from idmkit.drive_map import fit_drive_maps
from idmkit.errors import IdentificationError
from idmkit.fitting import fit_record
from idmkit.records import import_tables, load_mapping, load_record, save_record
from idmkit.robot import load_robot

SECONDS = 8.0
SIGMAS = 4.0
"""Of 9 numbers in this file one in a thousand runs would be beyond; the seeds are fixed."""


def motor(axis, saturation=np.inf):
    """(torque of a current, current of a torque): K i, or K s tanh(i / s) for a motor whose iron saturates at s."""
    K = 1.13 * axis.drive.joint_rated_torque / axis.drive.rated_current
    if np.isinf(saturation):
        return (lambda i: K * i), (lambda torque: torque / K)
    return (lambda i: K * saturation * np.tanh(i / saturation)), (
        lambda torque: saturation * np.arctanh(torque / (K * saturation))
    )


def in_amperes(motion, motors, seed, noise=1.0):
    """What a drive records: positions, and currents with noise."""
    rng = np.random.default_rng(seed)
    record = measured(motion, seed, noise=0.0)
    channels = []
    for channel in record.channels:
        if channel.quantity == "torque":
            k = [axis.name for axis in motion.robot.axes].index(channel.axis)
            torque_of, current_of = motors[k]
            per_ampere = float(torque_of(1e-3)) / 1e-3
            samples = current_of(motion.torque[:, k])
            samples = samples + noise * motion.noise[k] / per_ampere * rng.standard_normal(len(samples))
            channel = replace(channel, name="current_feedback", quantity="current", unit="A", samples=samples)
        channels.append(channel)
    return replace(record, channels=tuple(channels))


def runs_of(name):
    """(robot, motion without load, motion with it, the load)."""
    robot = load_robot(name)
    heavy, carried = loaded(name)
    return robot, ideal(robot, sines(robot), SECONDS), ideal(heavy, sines(robot), SECONDS), carried


@pytest.fixture(scope="module")
def crank():
    return runs_of("crank")


def peak_current(motions, motors, k=0):
    return max(float(np.abs(motors[k][1](motion.torque[:, k])).max()) for motion in motions)


@pytest.mark.parametrize("name", ["crank", "two_link"])
def test_a_linear_motor_is_found_within_its_interval(name):
    robot, empty, full, carried = runs_of(name)
    motors = [motor(axis) for axis in robot.axes]
    maps, _ = fit_drive_maps([(in_amperes(empty, motors, 1), {}), (in_amperes(full, motors, 2), carried)], robot)
    assert [found.axis for found in maps] == [axis.name for axis in robot.axes]
    for found, (torque_of, _) in zip(maps, motors, strict=True):
        assert len(found.coefficients) == 1
        assert found.percent < 1
        assert abs(found.coefficients[0] - torque_of(1.0)) < SIGMAS * found.std(1.0)


@pytest.mark.parametrize("saturation", [1.8, 1.2])
def test_a_motor_that_saturates_is_followed_to_its_peak(crank, saturation):
    """`saturation` in parts of the peak current of a motor that does not saturate."""
    robot, empty, full, carried = crank
    peak = peak_current([empty, full], [motor(robot.axes[0])])
    motors = [motor(robot.axes[0], saturation=saturation * peak)]
    pairs = [(in_amperes(empty, motors, 3), {}), (in_amperes(full, motors, 4), carried)]
    [found], _ = fit_drive_maps(pairs, robot)
    assert len(found.coefficients) >= 2
    assert found.coefficients[1] < 0
    i = np.linspace(0.2, 1.0, 9) * found.current_max
    true = motors[0][0](i)
    # A line through the origin is off by what the iron loses; the map by its own deviation and the terms it leaves out.
    straight = true[0] / i[0] * i
    assert np.max(np.abs(straight / true - 1)) > 0.05
    assert np.max(np.abs(found.torque(i) / true - 1)) < 0.01


def test_noise_does_not_bias_the_map(crank):
    """Twenty times the drive's noise: least squares on the current would be low by its share of the power."""
    robot, empty, full, carried = crank
    motors = [motor(robot.axes[0])]
    true = float(motors[0][0](1.0))
    off = []
    for seed in range(8):
        pairs = [
            (in_amperes(empty, motors, 2 * seed, noise=20.0), {}),
            (in_amperes(full, motors, 2 * seed + 1, noise=20.0), carried),
        ]
        [found], _ = fit_drive_maps(pairs, robot)
        off.append((found.coefficients[0] - true) / float(found.std(1.0)))
    assert abs(np.mean(off)) < SIGMAS / np.sqrt(len(off))
    assert np.max(np.abs(off)) < SIGMAS


def test_a_load_that_noise_hides_is_refused_with_the_numbers(crank):
    robot, empty, _, carried = crank
    motors = [motor(robot.axes[0])]
    light = {key: 0.01 * value for key, value in carried.items()}
    pairs = [(in_amperes(empty, motors, 5, noise=20.0), {}), (in_amperes(empty, motors, 6, noise=20.0), light)]
    with pytest.raises(IdentificationError, match=r"the map would be .* only to \+- .*take a load .* times as large"):
        fit_drive_maps(pairs, robot)


def test_an_axis_without_a_map_does_not_take_those_of_others_away():
    """SCARA: the payload's inertia is little for the last axis."""
    robot, empty, full, carried = runs_of("scara")
    motors = [motor(axis) for axis in robot.axes]
    pairs = [(in_amperes(empty, motors, 3, noise=20.0), {}), (in_amperes(full, motors, 4, noise=20.0), carried)]
    maps, refused = fit_drive_maps(pairs, robot)
    assert [found.axis for found in maps] == ["j1", "j2", "j3"]
    assert "take a load" in refused["j4"]


def test_a_load_that_was_never_taken_off_is_refused(crank):
    robot, _, full, carried = crank
    motors = [motor(robot.axes[0])]
    with pytest.raises(IdentificationError, match="add a record of the same motion without the load"):
        fit_drive_maps([(in_amperes(full, motors, 7), carried)], robot)
    with pytest.raises(IdentificationError, match="at least one record with a known load"):
        fit_drive_maps([(in_amperes(full, motors, 7), {})], robot)
    with pytest.raises(IdentificationError, match="'mass' is no load of this robot"):
        fit_drive_maps([(in_amperes(full, motors, 7), {"mass": 1.0})], robot)


def test_a_constant_torque_on_an_axis_is_a_load(crank):
    """A weight on a drum: its torque is the same everywhere."""
    robot, empty, _, _ = crank
    motors = [motor(robot.axes[0])]
    pulled = replace(empty, torque=empty.torque + 5.0)
    [found], _ = fit_drive_maps(
        [(in_amperes(empty, motors, 8), {}), (in_amperes(pulled, motors, 9), {"crank": 5.0})], robot
    )
    assert abs(found.coefficients[0] - motors[0][0](1.0)) < SIGMAS * found.std(1.0)


def test_amperes_become_a_record_in_newton_metres(crank, tmp_path, capsys):
    """From the shell: the map, its mapping file, the table through it, and the parameters that MuJoCo was given."""
    robot, empty, full, carried = crank
    peak = peak_current([empty, full], [motor(robot.axes[0])])
    motors = [motor(robot.axes[0], saturation=1.8 * peak)]
    for name, motion, seed in (("empty", empty, 10), ("full", full, 11)):
        save_record(in_amperes(motion, motors, seed), tmp_path / f"{name}.npz")
    words = ["drive-map", str(tmp_path / "empty.npz"), "--robot", "crank", "--loaded", str(tmp_path / "full.npz")]
    words += [f"{key}={value}" for key, value in carried.items()]
    assert main([*words, "-o", str(tmp_path / "map.toml")]) == 0
    assert "crank: torque = " in capsys.readouterr().out

    other = in_amperes(empty, motors, 12)
    columns = [other.channel("crank", "position").samples, other.channel("crank", "current").samples]
    np.savetxt(tmp_path / "t.csv", np.column_stack(columns), delimiter=",", header="q,i", comments="")
    text = (tmp_path / "map.toml").read_text(encoding="utf-8").replace('column = "COLUMN"', 'column = "i"')
    position = '[[channels]]\ncolumn = "q"\naxis = "crank"\nquantity = "position"\nunit = "rad"\nside = "joint"\n'
    (tmp_path / "mapping.toml").write_text(f"schema = 1\nsample_rate_hz = 1000\n{position}{text}", encoding="utf-8")
    record, _ = import_tables([tmp_path / "t.csv"], load_mapping(tmp_path / "mapping.toml"))
    values = fit_record(record, robot).result.values()
    for key in ("I", "MgA", "Fc"):
        assert values[f"crank.{key}"] == pytest.approx(empty.truth[key], rel=0.02), key
    assert load_record(tmp_path / "empty.npz").find("crank", "torque") is None


def test_a_load_that_cannot_be_read(tmp_path, capsys):
    assert main(["drive-map", "none.npz", "--robot", "crank", "--loaded", "full.npz", "payload_mass"]) == 1
    assert "'payload_mass' is no load: write NAME=VALUE" in capsys.readouterr().err
