"""A firmware that runs three cycles and then fails, for the rig's error message."""

import os
import sys

can = open(int(os.getenv("IDM_CAN_FD")), "r+b")  # noqa: SIM115, PTH123
can.write(b"t00020101\r")
for _ in range(3):
    can.write(b"t0800\r")
    while not can.read(100):
        pass
sys.stderr.write("the store is full\n")
sys.exit(1)
