"""The virtual rig as a whole: a port for the host, the firmware behind it, drives and a robot behind that."""

from __future__ import annotations

import os
import select
import socket
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from idmkit.board.firmware import find_firmware
from idmkit.errors import RigError
from idmkit.rig import truth
from idmkit.rig.cell import Cell
from idmkit.rig.drive import OPERATION_ENABLED
from idmkit.rig.mishaps import BusMishaps, DriveMishaps
from idmkit.rig.process import DYING_S, find_micropython, unix_process
from idmkit.rig.pushes import Push
from idmkit.rig.qemu import MPS2, qemu_process
from idmkit.rig.slcan import Decoder, encode_all
from idmkit.robot import Robot

MODEL_FILE = "model.py"
STALL_S = 30.0
"""Wall time without a single cycle after which `advance` gives up."""
_CHUNK = 65536


class Rig:
    """Runs the firmware against drives and a robot in granted time; a context manager that starts and closes it.

    `port` is what a host opens. `folder` holds the board's store and its stderr (a temporary one by default).
    `model_source` is a compiled model (a viper module) that the board finds as MODEL_FILE in its folder. `firmware`
    is another main script than the project's. `clock` is "sync" (the board's time are the rig's SYNC answers) or
    "timer". `emulator` "mps2" runs the firmware on a Cortex-M3 in QEMU instead, its file system in the file flash.bin
    of `folder`. Same robot, seed and host commands at the same cycles: same bits.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        seed: int = 1,
        folder: Path | None = None,
        micropython: Path | None = None,
        model_source: str | None = None,
        firmware: Path | None = None,
        clock: str = "sync",
        emulator: str | None = None,
    ) -> None:
        self._robot = robot
        self._cell = Cell(robot, seed=seed)
        micropython = micropython or find_micropython()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="idmkit-rig-")
            folder = Path(self._temporary.name)
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        if model_source is not None:
            (self.folder / MODEL_FILE).write_text(model_source)
        if emulator is None:
            script, path = (firmware.resolve(), [firmware.resolve().parent]) if firmware else find_firmware()
            self._process = unix_process(micropython, script, path, self.folder, clock)
        elif emulator == MPS2 and firmware is None and clock == "sync":
            self._process = qemu_process(micropython, self.folder, MODEL_FILE)
        else:
            raise RigError(f"an emulated board is {MPS2!r}, with its own firmware and the rig's time (clock 'sync')")
        self.port = self._process.port
        self._change = threading.Condition()
        self._granted = 0
        self._closing = False
        self._failure: str | None = None
        self._thread: threading.Thread | None = None
        self._wake_read, self._wake_write = os.pipe()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def cycle(self) -> int:
        """SYNCs answered so far, over all restarts."""
        return self._cell.cycle

    @property
    def waiting(self) -> bool:
        """True where the board runs cycles and waits for time to be granted."""
        with self._change:
            if self._failure is not None:
                raise RigError(self._failure)
            return self._cell.sync_waiting

    @property
    def powered(self) -> bool:
        """True where a drive is on: somebody uses the robot."""
        with self._change:
            return any(drive.state == OPERATION_ENABLED for drive in self._cell.drives)

    def start(self) -> None:
        """Switches the board on. It boots and sends its first SYNC without a grant."""
        if self._thread is not None:
            raise RigError("the rig runs already")
        self._closing = False
        self._failure = None
        self._granted = 0
        buses = self._process.start(len(self._cell.buses))
        self._thread = threading.Thread(target=self._serve, args=(buses,), name="rig bus", daemon=True)
        self._thread.start()

    def _stop(self) -> None:
        self._closing = True
        if self._thread is not None:
            os.write(self._wake_write, b"c")
            self._thread.join()
            self._thread = None
        self._process.kill()

    def restart(self) -> None:
        """A power cycle of board and drives: the process is killed and started again on the same folder."""
        self._stop()
        self._cell.power_cycle()
        self.start()

    def close(self) -> None:
        """Ends the firmware and gives everything back."""
        if self._wake_read < 0:
            return
        self._stop()
        self._process.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._wake_read = -1
        if self._temporary:
            self._temporary.cleanup()

    def advance(self, cycles: int) -> None:
        """Grants `cycles` and returns when the firmware has finished the last of them (its next SYNC has come)."""
        if self._thread is None:
            raise RigError("the rig is not running; call start() first")
        with self._change:
            self._granted += cycles
            os.write(self._wake_write, b"g")
            while self._failure is None and (self._granted or not self._cell.sync_waiting):
                before = self.cycle
                if not self._change.wait(STALL_S) and self.cycle == before:
                    self._granted = 0
                    raise RigError(
                        f"the firmware sent no SYNC for {STALL_S:g} s after cycle {before}; its process "
                        f"{self._process.last_words(0)}"
                    )
            if self._failure is not None:
                raise RigError(self._failure)

    def truth(self) -> dict[str, dict[str, float]]:
        """Per axis what the plant was measured to have, see rig.truth.measure."""
        with self._change:
            return truth.measure(self._robot, self._cell.plant)

    def place_wall(self, axis: int, position: float | None) -> None:
        """Puts a wall in the way of `axis` (its number), touched at joint `position`; None takes it away."""
        with self._change:
            self._cell.place_wall(axis, position)

    def contact_cycle(self, axis: int) -> int | None:
        """The value of `cycle` after the cycle in which `axis` first touched its wall; None if it never did."""
        with self._change:
            return self._cell.contact_cycle(axis)

    def push(self, axis: int, effort: float, *, cycles: int, from_cycle: int | None = None) -> None:
        """Pushes the link of `axis` with `effort` (Nm or N) for `cycles`, from `cycle` == `from_cycle` on (now)."""
        self._push(Push(self.cycle if from_cycle is None else from_cycle, cycles, axis=axis, effort=effort))

    def push_tool(self, force: Sequence[float], *, cycles: int, from_cycle: int | None = None) -> None:
        """Pushes a machine's tool with `force` (N, along x y z of the base) like `push`."""
        x, y, z = force
        self._push(Push(self.cycle if from_cycle is None else from_cycle, cycles, force=(x, y, z)))

    def _push(self, push: Push) -> None:
        with self._change:
            self._cell.push(push)

    def pick_up(self, mass: float, inertia: float = 0.0, axis: int = 0) -> None:
        """The tool carries `mass` (kg) with `inertia` (kg m2, about its centre and any line) from now on.

        `axis`: which one, where axes are independent. It takes the place of what was carried before.
        """
        with self._change:
            self._cell.plant.pick_up(mass, inertia, axis)

    def drop(self, axis: int = 0) -> None:
        """Nothing is carried any more."""
        self.pick_up(0.0, 0.0, axis)

    def resonances(self) -> list[float]:
        """Where the links swing on their gears with held motors, Hz, at the present position; [] for stiff gears."""
        with self._change:
            return [float(hz) for hz in self._cell.plant.resonances()]

    def drive(self, axis: int) -> DriveMishaps:
        """What can be made to go wrong with the drive of `axis`."""
        return DriveMishaps(self._cell, self._change, axis)

    def bus(self, number: int = 0) -> BusMishaps:
        """What can be made to go wrong with a bus."""
        return BusMishaps(self._cell, self._change, number)

    def _serve(self, buses: list[socket.socket]) -> None:
        """The bus thread: frames at any time, SYNC answers inside a grant."""
        with ExitStack() as stack:
            for bus in buses:
                stack.enter_context(bus)
            try:
                self._serve_until_closed(buses)
                return
            except (ConnectionError, EOFError):
                failure = f"the firmware's CAN stream ended; its process {self._process.last_words(DYING_S)}"
            except Exception as problem:  # noqa: BLE001 - whatever it is, who waits in advance() must hear of it
                failure = f"the rig's bus thread failed: {problem!r}"
        with self._change:
            self._failure = failure
            self._change.notify_all()

    def _serve_until_closed(self, sockets: list[socket.socket]) -> None:
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        for can in sockets:
            poll.register(can, select.POLLIN)
        cell = self._cell
        ports = [(can, Decoder(), bus) for can, bus in zip(sockets, cell.buses, strict=True)]
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._wake_read in ready:
                os.read(self._wake_read, _CHUNK)
            if self._closing:
                return
            arrived = []
            for can, decoder, _ in ports:
                data = can.recv(_CHUNK) if can.fileno() in ready else None
                if data == b"":
                    raise EOFError
                arrived.append(decoder.feed(data) if data else [])
            with self._change:
                answers = [bus.receive(frames) for frames, (_, _, bus) in zip(arrived, ports, strict=True)]
                if cell.sync_waiting:
                    if self._granted:
                        self._granted -= 1
                        for answer, more in zip(answers, cell.answer_syncs(), strict=True):
                            answer += more
                    else:
                        self._change.notify_all()
            for answer, (can, _, _) in zip(answers, ports, strict=True):
                if answer:
                    can.sendall(encode_all(answer))
