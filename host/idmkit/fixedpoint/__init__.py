"""From a dynamic model to int32 arithmetic with a known error.

trace (CasADi to formula) -> samples (how large values get, what each weighs) -> scaling (exponents and shifts, sums
as one thing) with widths (to an error budget) -> program, which viper.py writes for the board and emulator.py runs
on the host, bit for bit.
"""

from idmkit.fixedpoint.compiler import compile_program, compile_robot
from idmkit.fixedpoint.emulator import Emulator
from idmkit.fixedpoint.limits import Limits, robot_limits
from idmkit.fixedpoint.program import ParameterOutOfRange, Program
from idmkit.fixedpoint.report import ErrorReport, error_report
from idmkit.fixedpoint.viper import emit_viper

__all__ = [
    "Emulator",
    "ErrorReport",
    "Limits",
    "ParameterOutOfRange",
    "Program",
    "compile_program",
    "compile_robot",
    "emit_viper",
    "error_report",
    "robot_limits",
]
