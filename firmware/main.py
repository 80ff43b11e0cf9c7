"""Boot: pick the board, run its controller.

What goes wrong ends it: a process writes the traceback to standard error, a board to its REPL.
"""

import gc
import os
import sys
import time

# Boards by MicroPython's name of the platform, for an image with everything frozen in. A board that was flashed knows
# which one it is; IDM_BOARD, where there is an environment, goes before both.
BOARDS = {"linux": "unix", "darwin": "unix", "mps2": "mps2", "rp2": "rpi_pico"}

# While this file is there the firmware on the file system is half old, half new: the host gets the REPL to go on.
UPDATE = "idm-update.json"


def updating():
    """True where the host has begun an update and not finished it."""
    try:
        os.stat(UPDATE)
    except OSError:
        return False
    return True


def pick():
    """The board that this is."""
    name = os.getenv("IDM_BOARD") if hasattr(os, "getenv") else None
    if not name:
        try:
            from boards.here import NAME as name
        except ImportError:
            name = BOARDS[sys.platform]
    return getattr(__import__("boards." + name), name).Board()


def wants_repl(board):
    """True where a terminal asks for the REPL while the board starts: Ctrl-C after Ctrl-C or carriage return.

    One Ctrl-C alone may be a byte of a host's frame.
    """
    byte = bytearray(1)
    before = 0
    until = time.ticks_add(time.ticks_ms(), board.BOOT_WINDOW_MS)
    while time.ticks_diff(until, time.ticks_ms()) > 0:
        if not board.link.readinto(byte):
            board.sleep(1)
        elif byte[0] == 3 and before in (3, 13):
            return True
        else:
            before = byte[0]
    return False


def main():
    """Serves the link and runs a cycle whenever the clock says so, until a host asks for the REPL."""
    board = pick()
    if wants_repl(board):
        return

    # Modules that come from files leave garbage among what stays: collected often, large pieces stay together.
    gc.threshold(8192)
    from idmwire.faults import FAULT_NUMBERS
    from motionboard.clock import patient
    from motionboard.commands import Commands
    from motionboard.controller import Controller
    from motionboard.link import Link
    from motionboard.model_store import ModelStore
    from motionboard.parameters import Parameters
    from motionboard.store import Store

    gc.threshold(-1)
    gc.collect()
    controller = Controller(board)
    link = Link(board.link)

    def idle(milliseconds):
        # Fed where the next cycle is waited for, and nowhere else.
        if watchdog is not None:
            watchdog.feed()
        if milliseconds:
            board.sleep(0 if link.busy else milliseconds)
        link.serve()
        if controller.drives is not None:
            controller.drives.poll()

    parameters = Parameters(controller, link, Store(board.store))
    # A store on raw flash has no files; there the models are in the root of the file system.
    models = ModelStore(controller, link, parameters, board.store if isinstance(board.store, str) else "")
    Commands(controller, link, parameters, models)
    if board.bitten:
        controller.faults.raise_fault(FAULT_NUMBERS["watchdog_reset"], 0, 0, None)
    models.boot()
    parameters.boot()
    watchdog = board.watchdog()
    if watchdog is not None:
        controller.wait = patient(board.sleep, watchdog.feed)
    while not controller.leaving:
        try:
            if not controller.ready:
                idle(50)
                continue
            controller.clock.wait(idle, controller)
            if controller.ready:
                controller.cycle()
        except Exception as error:
            if controller.fail():
                sys.print_exception(error, sys.stderr)
    link.serve()
    if watchdog is not None:
        watchdog.stop()


if not updating():
    main()
