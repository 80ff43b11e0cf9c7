"""Signal processing without phase shift: low-pass, derivatives, time skew, decimation."""

from idmkit.signals.decimation import decimation_factor
from idmkit.signals.derivative import shifted, spline_derivatives
from idmkit.signals.lowpass import FLAT, check_cutoff, edge_rows, low_pass
from idmkit.signals.periodic import Averaged, average_periods, central_derivatives, fourier_derivatives
from idmkit.signals.spectrum import highest_motion_frequency, position_noise

__all__ = [
    "FLAT",
    "Averaged",
    "average_periods",
    "central_derivatives",
    "check_cutoff",
    "decimation_factor",
    "edge_rows",
    "fourier_derivatives",
    "highest_motion_frequency",
    "low_pass",
    "position_noise",
    "shifted",
    "spline_derivatives",
]
