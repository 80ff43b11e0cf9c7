"""Emulated boards for tests and benchmarks: start one, reach its REPL, read and write its memory.

Mps2 is QEMU's Cortex-M3, Pico the RP2040 of rp2040py; both run the images that tools/build_micropython makes.
"""

from __future__ import annotations

import os
import select
import threading
import time
import tty
from pathlib import Path
from types import TracebackType
from typing import Self

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

    def put(self, name: str, data: bytes) -> None:
        """Writes a file on the board."""
        self.run(f"file = open({name!r}, 'wb')\nfrom binascii import unhexlify")
        for at in range(0, len(data), 256):
            self.run(f"_ = file.write(unhexlify({data[at : at + 256].hex()!r}))")
        self.run("file.close()")

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
        self._process = FirmwareProcess(lambda can: [*qemu_command(image, self._flash, can), *options], {}, folder)
        self.port = self._process.port

    def __enter__(self) -> Self:
        self._can = self._process.start()
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
    """The RP2040 in rp2040py; a context manager. `port` carries its USB serial line."""

    def __init__(self) -> None:
        self._simulator = Simulator()
        self._chip = self._simulator.rp2040
        self._chip.load_bootrom(BOOTROM_B1)
        self._chip.logger = ConsoleLogger(LogLevel.ERROR)
        load_uf2(PICO_IMAGE, self._chip)
        for uart in self._chip.uart:
            quiet(uart)
        self._usb = USBCDC(self._chip.usb_ctrl)
        self._chip.core.pc = FLASH_START_ADDRESS
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(self._slave)
        self._connected = False
        self._closing = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="rp2040", daemon=True)

    def __enter__(self) -> Self:
        def connected() -> None:
            self._connected = True

        self._usb.on_device_connected = connected
        self._usb.on_serial_data = self._to_host
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._closing = True
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)
        if self._failure is not None:
            raise self._failure

    def _to_host(self, data: bytes | bytearray) -> None:
        os.write(self._master, bytes(data))

    def _run(self) -> None:
        try:
            self._simulator.stopped = False
            while not self._closing:
                self._simulator._execute_batch()
                free = self._usb.tx_fifo.size - self._usb.tx_fifo.item_count
                if self._connected and free and select.select([self._master], [], [], 0)[0]:
                    for byte in os.read(self._master, free):
                        self._usb.send_serial_byte(byte)
        except Exception as problem:  # noqa: BLE001 - it is raised again where the board is closed
            self._failure = problem

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes into the chip's RAM."""
        self._chip.sram[address - SRAM_START : address - SRAM_START + len(data)] = data

    def read(self, address: int, n: int) -> bytes:
        """Bytes of the chip's RAM."""
        return bytes(self._chip.sram[address - SRAM_START : address - SRAM_START + n])

    @property
    def cycles(self) -> int:
        """Cycles of the core since it was switched on."""
        return int(self._chip.core.cycles)
