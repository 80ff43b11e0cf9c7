# On the emulated Cortex-M3: a moving board streams to a host on its UART that goes away and comes back.
#
# `run` takes the UART over from the REPL, and waits for a host there. Phase and results stand in the board's second
# memory, which the host reads as a file (tools/bench_host_gone.py): the phase as a word at FREE, the size of the
# results behind it, then the results as JSON. The drives are scripted. A turn of the board is a service of the link
# and a cycle, as in main.py; what its two parts cost is measured in ticks of `ticks_cpu`.

import json
import time

import machine
import micropython
import uctypes
from bench import Bench

from boards import mps2

FREE = 0x21100000
READY, PRESENT, GONE, STUCK, BACK, DONE = range(1, 7)
# Three samples in a block: a block is due every third cycle.
PAIRS = b"\x00\x00\x06\x00\x01\x00\x02\x00\x04\x00" * 8
# Not measured: the host gets in step, the feed-forward comes on its ramp of 100 cycles.
FIRST = 300
TURNS_TO_TAKE_THE_REST = 400


def report(phase, text=b""):
    machine.mem32[FREE + 4] = len(text)
    uctypes.bytearray_at(FREE + 8, len(text))[:] = text
    machine.mem32[FREE] = phase


class Away:
    def __init__(self, axes):
        self.bench = Bench(axes, heartbeat_timeout=1000000, position_error_max=2**30 - 1)
        self.bench.arm()
        self.bench.sine([2**20] * axes, 1.0, 2**30 - 1)
        self.bench.ask("capture", start_cycle=0, samples=0, every=1, channels=PAIRS)
        self.bench.link._port = mps2._Link()

    def turns(self, n):
        # (worst cycle, worst service, worst of both) of n turns.
        ticks = time.ticks_cpu
        scripted, link, controller = self.bench, self.bench.link, self.bench.controller
        worst = [0, 0, 0]
        for _ in range(n):
            scripted.bus.grant()
            controller.drives.poll()
            # The scripted drives and this script allocate, the board does not.
            micropython.heap_lock()
            begun = ticks()
            link.serve()
            served = ticks()
            controller.cycle()
            ended = ticks()
            micropython.heap_unlock()
            for k, took in enumerate((ended - served, served - begun, ended - begun)):
                if took > worst[k]:
                    worst[k] = took
        return worst


def run(axes, turns):
    away = Away(axes)
    link, capture = away.bench.link, away.bench.controller.capture
    while machine.mem32[FREE] != READY:
        pass
    report(PRESENT)
    away.turns(FIRST)
    present = away.turns(2 * turns)
    report(GONE)
    gone = away.turns(turns)
    # By now nothing goes out any more.
    report(STUCK)
    stuck = away.turns(turns)
    # The host is not missed before the heartbeat is, and that costs one cycle.
    away.bench.controller.since_heartbeat = 1000000
    lost = away.turns(3)
    fault = away.bench.fault
    capture.stop()
    report(BACK)
    for _ in range(TURNS_TO_TAKE_THE_REST):
        link.serve()
        time.sleep_ms(1)
    while link.busy or link._wire_at < link._wire_n or capture.sent < capture.filled:
        link.serve()
    report(DONE, json.dumps({
        "present": present,
        "gone": [max(pair) for pair in zip(gone, stuck)],
        "heartbeat_lost": lost,
        "fault": fault,
        "blocks": capture.filled,
        "blocks_overwritten": capture.overwritten,
        "frames_received": link.frames_received,
        "frames_dropped": link.frames_dropped,
        "longest_cycle_us": away.bench.controller.longest_cycle_us,
    }).encode())
