"""A firmware that boots and never sends a SYNC."""

import os
import select

can = open(int(os.getenv("IDM_CAN_FD")), "r+b")  # noqa: SIM115, PTH123
events = select.poll()
events.register(can, select.POLLIN)
while True:
    events.poll()
    if can.read(100) == b"":
        break
