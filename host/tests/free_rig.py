"""A rig in this process whose time a thread grants without end, as `idm rig` does, for hosts in other processes."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

from idmkit.bench import RobotModel
from idmkit.cli.rig import grant
from idmkit.errors import RigError
from idmkit.fixedpoint import emit_viper
from idmkit.rig import Rig
from idmkit.robot import Robot


class FreeRig:
    """A context manager; `port` is what a host opens, `folder` holds the board's store."""

    def __init__(self, robot: Robot, folder: Path, *, with_model: bool = True) -> None:
        source = emit_viper(RobotModel.of(robot).program) if with_model else None
        self.rig = Rig(robot, folder=folder, model_source=source)
        self.port = self.rig.port
        self.folder = folder
        self.power_switch = folder / "power_switch"
        """A file: who makes it cuts the power; it is gone when the power is back."""
        self.failure = ""
        self._cycle_time_s = robot.cycle_time_s
        self._done = False
        self._thread = threading.Thread(target=self._grant, daemon=True)

    def __enter__(self) -> FreeRig:
        self.rig.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done = True
        self._thread.join()
        self.rig.close()

    def kill_the_board(self) -> None:
        """Ends the firmware; the port stays, as a UART's does."""
        self.rig._process.kill()

    def wait_for_cycle(self, cycle: int) -> None:
        """Waits until the rig is there."""
        while self.rig.cycle < cycle:
            time.sleep(0.01)

    def _grant(self) -> None:
        try:
            while not self._done:
                grant(
                    self.rig, self._cycle_time_s, realtime=False, done=lambda: self._done or self.power_switch.exists()
                )
                if self.power_switch.exists():
                    self.rig.restart()
                    self.power_switch.unlink()
        except RigError as problem:
            self.failure = str(problem)
