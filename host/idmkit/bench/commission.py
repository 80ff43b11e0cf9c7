"""A robot's whole way onto its board, step by step; the first refusal ends it and says what to do.

Every step is what the verb of its own does (idm flash-model, check, identify, delays, ...). After a refusal the board
is as it was before, or, once the model is stored, as it was stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from idmkit.bench.bench import Bench
from idmkit.bench.check import check
from idmkit.bench.delays import Delays, measure_delays, store_delays
from idmkit.bench.identify import AnyPlan, identification_record, record_cycles
from idmkit.bench.model import RobotModel
from idmkit.bench.prove import Proof, prove, switch_model
from idmkit.bench.thresholds import free_motion, no_collision, suggest_thresholds, write_thresholds
from idmkit.bench.write import flash_model, put_back, write_model, write_settings
from idmkit.board.drives import differences, read_drive
from idmkit.collision import Thresholds
from idmkit.errors import IdmError
from idmkit.finding import Finding, worst
from idmkit.fitting import Fit, fit_record
from idmkit.holdout import HoldOut, hold_out
from idmkit.link.images import read_image, store_applied
from idmkit.records import Record

Said = tuple[str, Sequence[Finding]]


@dataclass(frozen=True)
class Step:
    """A step that was taken: what it found, in a sentence, and findings."""

    name: str
    said: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """passed, passed with warnings, or refused."""
        return {"info": "passed", "warning": "passed with warnings", "refusal": "refused"}[worst(self.findings)]

    @property
    def refused(self) -> bool:
        """Whether the way ends here."""
        return self.verdict == "refused"


class Commission:
    """The steps, and what they have found so far; None where no step has come to it."""

    def __init__(
        self, bench: Bench, model: RobotModel, plan: AnyPlan | None = None, *, date: str = "",
        say: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.bench = bench
        self.robot = bench.robot
        self.record: Record | None = None
        self.fit: Fit | None = None
        self.delays: Delays | None = None
        self.seen: HoldOut | None = None
        self.without: Proof | None = None
        self.with_model: Proof | None = None
        self.thresholds: list[Thresholds] = []
        self._model, self._plan, self._date, self._say = model, plan, date, say
        self._good = read_image(bench.board, "applied")

    def steps(self) -> Iterator[Step]:
        """Takes the steps one after the other, up to the first that is refused."""
        for name, take in (
            ("board", self._board),
            ("model", self._flash),
            ("settings", self._settings),
            ("check", self._check),
            ("identification run", self._identify),
            ("verdict", self._judge),
            ("parameters", self._write),
            ("delays", self._delays),
            ("proof", self._prove),
            ("collision thresholds", self._thresholds),
        ):
            try:
                said, findings = take()
            except IdmError as problem:
                said, findings = "", [Finding(name.replace(" ", "_"), "refusal", "", str(problem))]
            step = Step(name, said, tuple(findings))
            if step.refused:
                # The refusal is what has to be heard; a board that is gone cannot be put back.
                with suppress(IdmError):
                    put_back(self.bench, self._good)
            yield step
            if step.refused:
                return

    def robot_file(self) -> list[str]:
        """What was measured, as lines for the robot file; all steps must have been taken."""
        assert self.delays is not None
        lines = [f"torque_lead_cycles = {self.delays.torque_lead:.3f}"]
        for axis, level in zip(self.delays.axes, self.thresholds, strict=True):
            lines += [
                f"# axis {axis.name}: [axes.drive], then [axes.guards]",
                *(f"{name} = {cycles}" for name, cycles in axis.robot_file().items()),
                *(f"{name} = {value:.4g}" for name, value in level.for_robot_file.items()),
            ]
        return lines

    def _board(self) -> Said:
        board = self.bench.board
        if board.mismatch is not None:
            raise board.mismatch
        hello, status = board.hello, board.status()
        if status.fault:
            raise IdmError(f"the board holds a fault: {board.describe_fault(status)} Then `idm info PORT --clear`")
        version = ".".join(str(part) for part in hello.firmware_version)
        return f"{hello.board}, firmware {version}, schema 0x{hello.schema_hash:08x}, {status.state}", []

    def _flash(self) -> Said:
        program = self._model.program
        if self.bench.board.hello.program_hash == program.hash:
            return f"the board has the program 0x{program.hash:08x} already", []
        self._say("compiling and sending the model")
        size = flash_model(self.bench.board, program)
        return f"program 0x{program.hash:08x}, {size} bytes, tested on the board and in use", []

    def _settings(self) -> Said:
        write_settings(self.bench)
        findings = [
            Finding("drive_differs", "warning", "", sentence)
            for k, axis in enumerate(self.robot.axes)
            for sentence in differences(axis, read_drive(self.bench.board, k))
        ]
        return f"settings of {self.robot.name} in force, its drives asked for their data", findings

    def _check(self) -> Said:
        jogs, slow = check(self.bench, self._say)
        findings = [finding for jog in jogs for finding in jog.findings] + slow
        return f"jogged and seen at a tenth of the speed: {', '.join(jog.axis for jog in jogs)}", findings

    def _identify(self) -> Said:
        seconds = record_cycles(self.bench, self._plan) * self.robot.cycle_time_s
        self._say(f"recording for {seconds:.0f} s")
        self.record = identification_record(self.bench, self._plan, date=self._date)
        return f"{self.record.rows} rows at {self.record.sample_rate_hz:.5g} Hz", []

    def _judge(self) -> Said:
        assert self.record is not None
        self.fit = fit_record(self.record, self.robot)
        errors = ", ".join(f"{axis.name} {axis.relative_error_percent:.2f} %" for axis in self.fit.result.axes)
        return f"{len(self.fit.result.parameters)} parameters, torque error {errors}", self.fit.result.verdict.findings

    def _write(self) -> Said:
        assert self.fit is not None
        written = write_model(self.bench, self._model.program, self._model.values(self.fit.result.values()))
        self._good = read_image(self.bench.board, "applied")
        return f"written, read back, stored as generation {written.generation} (CRC 0x{written.crc:08x})", []

    def _delays(self) -> Said:
        self.delays = measure_delays(self.bench, self._say)
        store_delays(self.bench)
        self._good = read_image(self.bench.board, "applied")
        axes = ", ".join(f"{axis.name} {axis.torque.samples:.2f}" for axis in self.delays.axes)
        return f"torque best sent after {axes} cycles; lead {self.delays.torque_lead:.3f}; stored", []

    def _prove(self) -> Said:
        """Another motion: does the model know its torque, and does it help?"""
        assert self.fit is not None
        proofs = []
        for on in (False, True):
            self._say("another motion, with the model" if on else "another motion, without the model")
            switch_model(self.bench, on)
            proofs.append(prove(self.bench))
        self.without, self.with_model = proofs
        self.seen = hold_out(self.fit, self.without.sine.record, self.robot, "another motion")
        findings = [finding for finding in self.seen.findings if finding.severity != "info"]
        for axis, before, after in zip(self.robot.axes, self.without.tracking, self.with_model.tracking, strict=True):
            if after.rms > before.rms:
                findings.append(
                    Finding(
                        "no_gain", "refusal", axis.name,
                        f"with the model the tracking error is {after.rms:.3g} rms, without it {before.rms:.3g}.",
                        {"with": after.rms, "without": before.rms},
                        "Do not use the model; identify from motion like the application's, and check the delays.",
                    )
                )  # fmt: skip
        gains = ", ".join(
            f"{axis.name} torque error {percent:.2f} %, tracking error {after.rms / before.rms:.3f} times that without"
            for axis, percent, before, after in zip(
                self.robot.axes, self.seen.percent, self.without.tracking, self.with_model.tracking, strict=True
            )
        )
        return f"another motion: {gains}", findings

    def _thresholds(self) -> Said:
        assert self.fit is not None
        self._say("free motion")
        values = self.fit.result.values()
        coulomb = [values.get(f"{axis.name}.Fc", 0.0) for axis in self.robot.axes]
        with no_collision(self.bench, "raise torque_error_max in the robot file's guards for this run."):
            levels = suggest_thresholds(self.bench, free_motion(self.bench), coulomb)
        write_thresholds(self.bench, levels)
        self._say("the proof's motion with the thresholds in force")
        with no_collision(self.bench, "its errors vary more than free motion showed; write higher ones by hand."):
            prove(self.bench)
        self.thresholds = levels
        store_applied(self.bench.board)
        written = ", ".join(
            f"{axis.name} {level.for_board['torque_error_max']:.3g} {'Nm' if axis.revolute else 'N'} in motion, "
            f"{level.rest:.3g} at rest"
            for axis, level in zip(self.robot.axes, self.thresholds, strict=True)
        )
        return f"{written}; stored", []
