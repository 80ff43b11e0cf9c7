"""A least bus master for MicroPython: brings the drives up, then moves them on a sine, one SYNC a cycle.

Any byte on stdin is answered with the cycle, the last position and a CRC over every answer of the bus.
"""

import binascii
import math
import os
import select
import struct
import sys

NODES = [int(node) for node in os.getenv("BUS_NODES").split(",")]
AMPLITUDE = int(os.getenv("BUS_AMPLITUDE"))
CONTROL = {0: 6, 5: 7, 10: 15}

can = open(int(os.getenv("IDM_CAN_FD")), "r+b")  # noqa: SIM115, PTH123
port = sys.stdin.buffer
events = select.poll()
events.register(can, select.POLLIN)
events.register(port, select.POLLIN)
state = {"cycle": 0, "position": 0, "crc": 0}
waiting = [b""]


def frame(identifier, data):
    text = f"t{identifier:03X}{len(data)}"
    return (text + "".join(f"{byte:02X}" for byte in data) + "\r").encode()


def serve(lines):
    """Waits for `lines` more lines on the bus; answers the port meanwhile."""
    result = []
    while len(result) < lines:
        events.poll()
        if port.read(1):
            sys.stdout.write("{cycle} {position} {crc:08x}\n".format(**state))
        data = can.read(4096)
        if data is None:
            continue
        if not data:
            raise SystemExit
        parts = (waiting[0] + data).split(b"\r")
        waiting[0] = parts.pop()
        result += parts
    return result


def write_object(node, index, sub, data):
    head = 0x23 | (4 - len(data)) << 2
    can.write(frame(0x600 + node, bytes([head, index & 255, index >> 8, sub]) + data + bytes(4 - len(data))))
    answer = serve(1)[0]
    if answer[5:7] != b"60":
        raise RuntimeError(f"object {index:04x} refused: {answer}")


for node in NODES:
    write_object(node, 0x6060, 0, b"\x08")
    write_object(node, 0x60C2, 1, b"\x01")
    write_object(node, 0x60C2, 2, b"\xfd")
    can.write(frame(0, bytes([1, node])))
control = 0
while True:
    cycle = state["cycle"]
    control = CONTROL.get(cycle, control)
    target = round(AMPLITUDE * (1 - math.cos(2 * math.pi * max(0, cycle - 300) / 1000)))
    out = b"".join(frame(0x200 + node, struct.pack("<Hih", control, target, 0)) for node in NODES)
    can.write(out + frame(0x80, b""))
    # One answer a drive, and the time stamp that ends them.
    answers = serve(len(NODES) + 1)
    for line in answers:
        state["crc"] = binascii.crc32(line, state["crc"])
    state["position"] = struct.unpack("<i", bytes(int(answers[0][i : i + 2], 16) for i in (9, 11, 13, 15)))[0]
    state["cycle"] = cycle + 1
