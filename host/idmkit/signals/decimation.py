"""Parallel decimation: what was low-passed at a cutoff is kept only as often as it carries new information."""

from __future__ import annotations


def decimation_factor(sample_rate_hz: float, cutoff_hz: float) -> int:
    """Every how many rows to keep: the Nyquist frequency of the kept rows is 1.25 times the cutoff, at least 1.

    n = 0.8 pi / (w_cutoff Ts), the rule of the identification literature. Torque and regressor must be filtered
    alike before, or the parts of the torque that the model cannot have fold down into its band.
    """
    return max(1, int(0.4 * sample_rate_hz / cutoff_hz))
