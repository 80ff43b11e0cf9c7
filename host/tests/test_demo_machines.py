"""A machine end to end: firmware, drives and MuJoCo's SCARA, identified, written back and proved by `idm demo`."""

import json

import cli
import pytest


@pytest.fixture(scope="module")
def scara(tmp_path_factory):
    done = cli.idm("demo", "scara", "--json", cwd=tmp_path_factory.mktemp("scara"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_four_axes_are_identified_at_once(scara):
    assert scara["verdict"]["accepted"]
    identified = [parameter for parameter in scara["parameters"] if parameter["std"] is not None]
    assert [parameter["name"] for parameter in identified][:9] == [*(f"P{k}" for k in range(1, 9)), "J34"]
    for parameter in identified:
        assert abs(parameter["value"] - parameter["true"]) <= 4 * parameter["std"], parameter["name"]


def test_the_model_on_the_board_takes_most_of_the_tracking_error_away(scara):
    performance = {way: [axis["tracking_rms"] for axis in axes] for way, axes in scara["performance"].items()}
    ways = [performance[way] for way in ("without model", "identified", "true")]
    for without, identified, true in zip(*ways, strict=True):
        # Measured: 1 to 3 % of the error are left.
        assert identified < 0.05 * without
        assert identified < 1.3 * true
