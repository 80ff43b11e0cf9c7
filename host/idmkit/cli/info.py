"""idm info PORT: what the board on a port says about itself."""

from __future__ import annotations

import argparse
import dataclasses
import json

from idmkit.cli.benches import open_board
from idmkit.link.client import Board, Status
from idmkit.link.hello import Hello


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("port", metavar="PORT", help="port of the board (/dev/ttyACM0, socket://host:port, ...)")
    parser.add_argument("--clear", action="store_true", help="disarm the board and clear its latched fault first")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Greets, asks, prints."""
    with open_board(arguments.port) as board:
        if arguments.clear:
            _clear(board)
        status = board.status()
        fault = board.describe_fault(status)
        counts = board.board_statistics() if board.mismatch is None else {}
        mismatch = str(board.mismatch) if board.mismatch else ""
        hello = board.hello
    if arguments.json:
        print(
            json.dumps({"hello": _plain(hello), "status": _plain(status), "statistics": counts, "mismatch": mismatch})
        )
        return 0
    _print_hello(hello)
    _print_status(status, fault)
    for name, value in counts.items():
        print(f"  {name.replace('_', ' '):<24}{value}")
    if mismatch:
        print(f"\n! {mismatch}")
    return 0


def _clear(board: Board) -> None:
    """Whatever a host has left behind: disarmed, without a fault."""
    if board.status().state != "disarmed":
        with board.heartbeats():
            board.disarm()
    board.clear_fault()


def _print_hello(hello: Hello) -> None:
    version = ".".join(str(part) for part in hello.firmware_version)
    protocol = ".".join(str(part) for part in hello.protocol)
    print(f"board {hello.board}, firmware {version}, protocol {protocol}, schema 0x{hello.schema_hash:08x}")
    print(f"  MicroPython with {hello.word_bits}-bit words, .mpy version {hello.mpy_version & 0xFF}")
    if hello.axes:
        print(
            f"  robot {hello.robot}, {hello.axes} axes, {1e3 * hello.cycle_time_s:g} ms cycle, "
            f"parameters of generation {hello.generation}"
        )
    else:
        print("  no settings yet: write them with `idm params PORT --robot ROBOT --settings` or run `idm identify`")
    if hello.program_hash:
        print(f"  compiled model 0x{hello.program_hash:08x} with {hello.parameters} parameters")
    else:
        print("  no compiled model")


def _print_status(status: Status, fault: str) -> None:
    print(f"  {status.state} at cycle {status.cycle}, drives {'ready' if status.drives_ready else 'not connected'}")
    if fault:
        print(f"  ! {fault}")
    if status.applied_differs_from_stored:
        print("  ! the applied parameters are not stored: they are gone after a restart")


def _plain(thing: Hello | Status) -> dict[str, object]:
    return dataclasses.asdict(thing)
