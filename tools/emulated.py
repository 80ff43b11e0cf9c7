"""Emulated boards for tests and benchmarks: start one, reach its REPL, read and write its memory.

Mps2 is QEMU's Cortex-M3, Pico the RP2040 of rp2040py; both run the images that tools/build_micropython makes.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import time
import tty
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rp2040py.device.bootrom import BOOTROM_B1
from rp2040py.device.load_flash import load_uf2
from rp2040py.memory_map import FLASH_START_ADDRESS
from rp2040py.peripherals.uart import RPUART, UARTTXINTR
from rp2040py.simulator import Simulator
from rp2040py.usb.cdc import USBCDC
from rp2040py.utils.logging import ConsoleLogger, LogLevel

from idmkit.rig.process import FirmwareProcess, find_micropython
from idmkit.rig.qemu import FLASH_FILE, fill_flash, find_image, qemu_command

PICO_IMAGE = Path(__file__).resolve().parents[1] / "build" / "micropython-rp2.uf2"
SRAM_START = 0x20000000
_SPAWN = multiprocessing.get_context("spawn")
PATIENCE_S = 120.0
"""A command takes seconds at most; the machine may be busy."""


class ReplError(RuntimeError):
    """The board did not answer as a raw REPL does, or the program on it raised."""


class RawRepl:
    """MicroPython's raw REPL on a port, entered in the boot window of the firmware."""

    def __init__(self, port: str) -> None:
        self._port = os.open(port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._port)
        deadline = time.monotonic() + PATIENCE_S
        held = b""
        while not held.endswith(b">>> "):
            os.write(self._port, b"\r\x03")
            while more := self._available(0.05):
                held += more
            if time.monotonic() > deadline:
                raise ReplError(f"no prompt came within {PATIENCE_S:g} s, only {held[-200:]!r}")
        while self._available(0.3):
            pass  # prompts for the returns that were one too many
        os.write(self._port, b"\x01")
        self._until(b"raw REPL; CTRL-B to exit\r\n>")

    def _available(self, wait_s: float) -> bytes:
        return os.read(self._port, 4096) if select.select([self._port], [], [], wait_s)[0] else b""

    def _until(self, end: bytes) -> bytes:
        deadline = time.monotonic() + PATIENCE_S
        held = b""
        while not held.endswith(end):
            held += self._available(1.0)
            if time.monotonic() > deadline:
                raise ReplError(f"{end!r} did not come within {PATIENCE_S:g} s, only {held[-200:]!r}")
        return held[: -len(end)]

    def run(self, source: str) -> str:
        """What the program prints; ReplError with its traceback where it raises."""
        data = source.encode() + b"\x04"
        # The boards' receive buffers are short, and nothing tells when they are full.
        for at in range(0, len(data), 128):
            os.write(self._port, data[at : at + 128])
            time.sleep(0.005)
        printed, _, error = self._until(b"\x04>").removeprefix(b"OK").partition(b"\x04")
        if error:
            raise ReplError(error.decode(errors="replace"))
        return printed.decode()

    def start(self, source: str) -> None:
        """Runs a program that takes the port over; the REPL is gone."""
        # A byte 0x03 of what comes next is none of the REPL's business.
        source = f"import micropython\nmicropython.kbd_intr(-1)\nprint('started')\n{source}"
        os.write(self._port, source.encode() + b"\x04")
        self._until(b"OKstarted\r\n")
        self.close()

    def close(self) -> None:
        """Gives the port back."""
        os.close(self._port)


class Mps2:
    """The Cortex-M3 in QEMU, with `files` on its flash; a context manager. `port` is its UART 0.

    Its second memory (from FREE on, nobody uses it) is a file here, so that data comes and goes at once.
    `options` go to QEMU's command line.
    """

    RAM = 0x21000000
    FREE = RAM + (1 << 20)
    FREE_BYTES = 15 << 20

    def __init__(self, folder: Path, files: list[Path], options: tuple[str, ...] = ()) -> None:
        image, self._flash = find_image(), folder / FLASH_FILE
        fill_flash(find_micropython(), self._flash, files)
        self._process = FirmwareProcess(lambda buses: [*qemu_command(image, self._flash, buses), *options], {}, folder)
        self.port = self._process.port

    def __enter__(self) -> Self:
        (self._can,) = self._process.start(1)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._can.close()
        self._process.close()

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes into the second memory."""
        with self._flash.open("r+b") as file:
            file.seek(address - self.RAM)
            file.write(data)

    def read(self, address: int, n: int) -> bytes:
        """Bytes of the second memory."""
        with self._flash.open("rb") as file:
            file.seek(address - self.RAM)
            return file.read(n)


def quiet(uart: RPUART) -> None:
    """Lets a UART interrupt for received bytes only.

    rp2040py raises the transmit interrupt for as long as it is enabled, the chip when its buffer has run empty; the
    emulated buffer never fills, so nobody waits for that interrupt.
    """

    def check() -> None:
        uart._interrupt_status &= ~UARTTXINTR
        uart.rp2040.set_interrupt(uart.irq, bool(uart._interrupt_status & uart._interrupt_mask))

    uart.check_interrupts = check  # type: ignore[method-assign]


class Pico:
    """The RP2040 in rp2040py, as a process of its own; a context manager. `port` carries its USB serial line.

    In a thread it would hold Python's lock five milliseconds at a time, and every call of numpy or write to the port
    beside it would wait for that: minutes where seconds are needed.
    """

    def __init__(self) -> None:
        self._here, there = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(there,), name="rp2040", daemon=True)
        self._process.start()
        there.close()
        self.port: str = self._ask()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._here.close()
        self._process.join(PATIENCE_S)

    def _ask(self, *request: Any) -> Any:
        """Sends a request and waits for the answer; raises what the emulator raised."""
        if request:
            self._here.send(request)
        if not self._here.poll(PATIENCE_S):
            raise ReplError(f"the RP2040 did not answer within {PATIENCE_S:g} s")
        answer = self._here.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes into the chip's RAM."""
        self._ask("write", address, data)

    def read(self, address: int, n: int) -> bytes:
        """Bytes of the chip's RAM."""
        data: bytes = self._ask("read", address, n)
        return data

    def put(self, repl: RawRepl, name: str, data: bytes) -> None:
        """Writes a file on the board, through its RAM: its port is slow."""
        at = int(repl.run(f"import uctypes\nheld = bytearray({len(data)})\nprint(uctypes.addressof(held))"))
        self.write(at, data)
        repl.run(f"file = open({name!r}, 'wb')\n_ = file.write(held)\nfile.close()\ndel held")

    @property
    def cycles(self) -> int:
        """Cycles of the core since it was switched on."""
        return int(self._ask("cycles"))


class _Rp2040:
    """The chip and its serial line, in the process that serves it."""

    def __init__(self) -> None:
        self._simulator = Simulator()
        self._chip = self._simulator.rp2040
        self._chip.load_bootrom(BOOTROM_B1)
        self._chip.logger = ConsoleLogger(LogLevel.ERROR)
        load_uf2(PICO_IMAGE, self._chip)
        for uart in self._chip.uart:
            quiet(uart)
        self._chip.core.pc = FLASH_START_ADDRESS
        self._simulator.stopped = False
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._connected = False
        self._usb = USBCDC(self._chip.usb_ctrl)
        self._usb.on_device_connected = self._on_connected
        self._usb.on_serial_data = self._on_serial_data

    def _on_serial_data(self, data: bytes | bytearray) -> None:
        os.write(self._master, bytes(data))

    def _on_connected(self) -> None:
        self._connected = True

    def step(self) -> None:
        """Some milliseconds of work, and bytes from the port as far as there is room for them."""
        self._simulator._execute_batch()
        free = self._usb.tx_fifo.size - self._usb.tx_fifo.item_count
        if self._connected and free and select.select([self._master], [], [], 0)[0]:
            for byte in os.read(self._master, free):
                self._usb.send_serial_byte(byte)

    def write(self, address: int, data: bytes) -> None:
        self._chip.sram[address - SRAM_START : address - SRAM_START + len(data)] = data

    def read(self, address: int, n: int) -> bytes:
        return bytes(self._chip.sram[address - SRAM_START : address - SRAM_START + n])

    def cycles(self) -> int:
        return int(self._chip.core.cycles)


def _serve(pipe: Connection) -> None:
    """Runs the chip until the other end of the pipe is closed."""
    try:
        chip = _Rp2040()
        pipe.send(chip.port)
        while True:
            chip.step()
            if pipe.poll():
                name, *arguments = pipe.recv()
                pipe.send(getattr(chip, name)(*arguments))
    except EOFError:
        pass
    except Exception as problem:  # noqa: BLE001 - it is raised again where the board is used
        pipe.send(problem)
