"""The control step on an emulated Cortex-M3: as even as it has to be, without an allocation (`make test-emulated`)."""

from __future__ import annotations

import board_step
import pytest

pytestmark = pytest.mark.emulated


def test_a_step_of_six_axes_is_even_and_allocates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # An allocation within the steps ends the script on the board, and this with its traceback.
    monkeypatch.setattr(board_step, "STEPS", 60)
    found = board_step.lines(board_step.on_cortex_m3("puma"))
    assert found["worst_to_median"] <= board_step.GOALS["worst_to_median"]
    # What stands beside the model does not grow unseen: an eighth above what has been measured.
    assert found["rest"] < 8_700
    assert max(found["motion_source"].values()) < 5_200
