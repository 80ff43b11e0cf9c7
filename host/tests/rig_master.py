"""A bus master in a few lines for tests of the rig's drives: frames in, status, counts and current out."""

import struct

from idmkit.rig.cell import Cell

SYNC = (0x080, b"")


class Master:
    """Talks to a cell frame by frame; one `cycle` is one SYNC."""

    def __init__(self, cell, node=1):
        self.cell = cell
        self.node = node
        self.control = 0
        self.target = 0
        self.offset = 0
        self.status = self.counts = self.current = 0
        self.others = []

    def nmt(self, command):
        return self.cell.bus.receive([(0, bytes([command, self.node]))])

    def sdo(self, request):
        answers = self.cell.bus.receive([(0x600 + self.node, request)])
        assert [identifier for identifier, _ in answers] == [0x580 + self.node]
        return answers[0][1]

    def read(self, index, sub=0, kind="I"):
        answer = self.sdo(struct.pack("<BHB4x", 0x40, index, sub))
        assert answer[0] & 0xE3 == 0x43, answer
        return struct.unpack_from("<" + kind, answer, 4)[0]

    def write(self, index, sub, kind, value):
        """0, or the abort code."""
        data = struct.pack("<" + kind, value)
        request = struct.pack("<BHB", 0x23 | (4 - len(data)) << 2, index, sub) + data.ljust(4, b"\0")
        answer = self.sdo(request)
        return 0 if answer[0] == 0x60 else int.from_bytes(answer[4:], "little")

    def cycle(self, target=None, offset=None, control=None):
        """One cycle with these commands or the last ones; hands back (status, counts, current)."""
        self.target = self.target if target is None else target
        self.offset = self.offset if offset is None else offset
        self.control = self.control if control is None else control
        command = struct.pack("<Hih", self.control, self.target, self.offset)
        answers = self.cell.bus.receive([(0x200 + self.node, command), SYNC]) + self.cell.answer_sync()
        assert answers.pop()[0] == 0x100  # every cycle ends with the rig's time stamp
        for identifier, data in answers:
            if identifier == 0x180 + self.node:
                self.status, self.counts, self.current = struct.unpack("<Hih", data)
            else:
                self.others.append((identifier, data))
        return self.status, self.counts, self.current

    def enable(self):
        """From power-on to operation enabled, holding the present position."""
        assert self.write(0x6060, 0, "b", 8) == 0
        self.nmt(1)
        self.cycle(control=0)
        self.target = self.counts
        for control in (6, 7, 15):
            self.cycle(control=control)
        self.cycle()
        assert self.status & 0x6F == 0x27


def master_of(robot, seed=1):
    return Master(Cell(robot, seed=seed))


def state(status):
    return status & (0x4F if status & 0x48 else 0x6F)
