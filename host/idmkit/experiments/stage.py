"""A virtual rig with its bench, and the two sets of parameters that experiments compare: identified and true."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idmkit.bench import Bench, RobotModel, flash_model, identification_run, write_model, write_settings
from idmkit.errors import IdentificationError
from idmkit.fitting import Fit, fit_record
from idmkit.link.client import Board
from idmkit.rig import Rig
from idmkit.robot import Robot

Values = Mapping[str, float]

ANSWER_S = 2.0
"""First wait for an answer: what else this machine does must not end an experiment."""


@dataclass(frozen=True)
class Stage:
    """A rig, its bench, and the robot's compiled model on the board where it has one."""

    robot: Robot
    model: RobotModel | None
    rig: Rig
    bench: Bench

    @property
    def compiled(self) -> RobotModel:
        """The model, of a stage that was made with one."""
        assert self.model is not None
        return self.model

    def identify(self) -> Fit:
        """The identification run of the robot file, without a model on, and what is fitted to it."""
        write_settings(self.bench)
        fit = fit_record(identification_run(self.bench).record, self.robot)
        refusals = [finding for finding in fit.result.verdict.findings if finding.severity == "refusal"]
        if refusals:
            raise IdentificationError(f"the identification of {self.robot.name} is refused: {refusals[0]}")
        return fit

    def identified(self, fit: Fit) -> dict[str, float]:
        """What a fit gives the board."""
        return self._complete(self.compiled.values(fit.result.values()))

    def true(self) -> dict[str, float]:
        """What the plant was measured to have, the parts that no motion shows as they are known."""
        whole = None if self.robot.model_kind == "axes" else self.robot.name
        known = {} if self.robot.machine is None else self.robot.machine.known
        measured = {
            name if owner == whole else f"{owner}.{name}": value
            for owner, values in self.rig.truth().items()
            for name, value in values.items()
        }
        return self._complete({**self.compiled.graph.no_payload(), **known, **measured})

    def _complete(self, values: Values) -> dict[str, float]:
        """All parameters of the program; those that are in nobody's list are 0, as in a set of base parameters."""
        return {parameter.key: values.get(parameter.key, 0.0) for parameter in self.compiled.program.parameters}

    def use(self, values: Values | None) -> None:
        """Puts parameters on the board and the model on, or takes the model off."""
        if values is None:
            write_settings(self.bench)
        else:
            write_model(self.bench, self.compiled.program, values, store=False)


@contextmanager
def stage(robot: Robot, seed: int, model: RobotModel | None) -> Iterator[Stage]:
    """A rig of its own, gone at the end, and `model` on its board, if there is one."""
    joints = [axis.joint for axis in robot.axes]
    with (
        tempfile.TemporaryDirectory(prefix="idmkit-") as folder,
        Rig(robot, seed=seed, folder=Path(folder)) as rig,
        Board.open(rig.port, joints, timeout_s=ANSWER_S) as board,
    ):
        if model is not None:
            flash_model(board, model.program)
        yield Stage(robot, model, rig, Bench(robot, board, rig.advance))
