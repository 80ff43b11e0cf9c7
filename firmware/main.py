"""Boot: pick the board, run its controller; what goes wrong is said on standard error, never on the link."""

import sys


def main():
    """Serves the link and runs a cycle whenever the clock says so, until a host asks for the REPL."""
    from boards.unix import Board
    from motionboard.commands import Commands
    from motionboard.controller import Controller
    from motionboard.link import Link
    from motionboard.parameters import Parameters
    from motionboard.store import Store

    board = Board()
    controller = Controller(board)
    link = Link(board.link)

    def idle(milliseconds):
        if milliseconds:
            board.sleep(milliseconds)
        link.serve()
        if controller.drives is not None:
            controller.drives.poll()

    parameters = Parameters(controller, link, Store(board.store))
    commands = Commands(controller, link, parameters)
    parameters.boot()
    while not commands.leaving:
        if not controller.ready:
            idle(50)
            continue
        controller.clock.wait(idle, controller)
        if controller.ready:
            controller.cycle()
    link.serve()


try:
    main()
except Exception as error:
    sys.print_exception(error, sys.stderr)
    sys.exit(1)
