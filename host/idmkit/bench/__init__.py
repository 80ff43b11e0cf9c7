"""A bench: a board on a port, and the passing of time. Procedures that run unchanged on a virtual and a real one."""

from idmkit.bench.bench import Bench
from idmkit.bench.excite import identification_run
from idmkit.bench.model import RobotModel
from idmkit.bench.run import Run, capture_while
from idmkit.bench.write import check_model, flash_model, put_back, roll_back, write_model, write_settings

__all__ = [
    "Bench",
    "RobotModel",
    "Run",
    "capture_while",
    "check_model",
    "flash_model",
    "identification_run",
    "put_back",
    "roll_back",
    "write_model",
    "write_settings",
]
