# A stream of damaged frames through the real link into the real commands, with a cycle now and then:
# micropython firmware/tests/fuzz_board.py STREAM LOG SEED
#
# STREAM is what arrives on the port, in reads of any size; LOG gets every body that a handler was called for, its
# length (u16) before it. The last line of the output is the link's counts, as JSON. tools/fuzz_link.py makes the
# streams and knows what must come out.

import json
import struct
import sys

from bench import Bench
from support import Numbers

COUNTS = ("frames_received", "crc_errors", "cobs_errors", "overflows", "repeats")
# Calls of the link between two cycles.
CALLS = 50


class StreamPort:
    # The link's end of a line that carries a file; what the board says goes nowhere, a piece at a time.

    def __init__(self, file, seed):
        self.ended = False
        self._file = file
        self._numbers = Numbers(seed)

    def readinto(self, buffer):
        # Most often a full buffer, as of a host that is faster than the board.
        below = self._numbers.below(4 * len(buffer)) + 1
        n = self._file.readinto(buffer, below if below < len(buffer) else len(buffer))
        self.ended = not n
        return n

    def write(self, buffer, at, n):
        return self._numbers.below(n) + 1


def logged(link, handler, log):
    def call():
        log.write(struct.pack("<H", link.length + 2))
        log.write(memoryview(link.request)[: link.length + 2])
        handler()

    return call


def run(stream, log, seed):
    bench = Bench(2)
    link, controller = bench.link, bench.controller
    link._port = port = StreamPort(stream, seed)
    link.handlers = [handler and logged(link, handler, log) for handler in link.handlers]
    before = [getattr(link, name) for name in COUNTS]
    calls = 0
    while not port.ended:
        link.serve()
        calls += 1
        if calls % CALLS == 0:
            controller.capture.arrived = controller.capture.filled
            bench.cycle()
    return {name: getattr(link, name) - n for name, n in zip(COUNTS, before)}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as stream, open(sys.argv[2], "wb") as log:
        print(json.dumps(run(stream, log, int(sys.argv[3]))))
