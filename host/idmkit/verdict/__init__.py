"""What an identification is worth: torque errors, findings with evidence and next step, the stored result."""

from idmkit.verdict.excitation import AxisFacts
from idmkit.verdict.judge import judge
from idmkit.verdict.result import AxisResult, ParameterResult, Result, Verdict, load_result
from idmkit.verdict.torque_errors import TorqueErrors, torque_errors

__all__ = [
    "AxisFacts",
    "AxisResult",
    "ParameterResult",
    "Result",
    "TorqueErrors",
    "Verdict",
    "judge",
    "load_result",
    "torque_errors",
]
