# Capture: which samples, in which blocks, and what becomes of blocks that nobody takes.

from bench import Bench
from support import raises, words

from motionboard.axis import Axes
from motionboard.capture import BLOCK_BYTES, BLOCK_WORDS, Capture, sample

MASK = 2**30 - 1


class Run:
    # A capture over axes whose channels say which channel, axis and cycle they are.

    def __init__(self, pairs=((0, 0), (4, 1)), blocks=4, n=2):
        self.axes = Axes(n)
        self.capture = Capture(self.axes, words([0] * (blocks * BLOCK_WORDS)))
        self.pairs = pairs
        self.cycle = 0
        for index, (channel, axis) in enumerate(pairs):
            self.capture.pick(index, channel, axis)

    def start(self, start_cycle=1, samples=0, every=1):
        self.capture.start(start_cycle, samples, every, len(self.pairs))

    def value(self, place, cycle):
        return ((cycle & 0xFFFF) << 8) + place

    def run(self, cycles):
        for _ in range(cycles):
            self.cycle = (self.cycle + 1) & MASK
            for place in range(len(self.axes.state)):
                self.axes.state[place] = self.value(place, self.cycle)
            self.axes.cycle[0] = self.cycle
            sample(self.capture.bound, self.capture.ring)

    def block(self, number):
        # First cycle and samples, one tuple each.
        capture = self.capture
        slot = number % capture.blocks
        at, width = slot * BLOCK_WORDS, len(self.pairs)
        values = list(capture.ring[at : at + capture.words[slot]])
        return capture.first_cycle[slot], [tuple(values[i : i + width]) for i in range(0, len(values), width)]

    def expected(self, cycle):
        return tuple([self.value(channel * self.axes.n + axis, cycle) for channel, axis in self.pairs])


def test_every_nth_cycle_from_the_start_cycle_on():
    for every in (1, 2, 7, 65535):
        run = Run()
        run.start(start_cycle=10, every=every)
        run.run(200)
        run.capture.stop()
        cycles = list(range(10, 201, every))
        got = []
        for number in range(run.capture.filled):
            first, samples = run.block(number)
            assert first == cycles[len(got)]
            got += samples
        assert got == [run.expected(cycle) for cycle in cycles]
        assert run.capture.samples == len(cycles)


def test_a_block_holds_whole_samples_and_the_last_one_may_be_short():
    pairs = tuple([(k % 11, k % 2) for k in range(7)])
    run = Run(pairs, blocks=10)
    assert raises(ZeroDivisionError, lambda: run.capture.samples_per_block)
    run.start()
    per_block = BLOCK_BYTES // 4 // 7
    assert run.capture.samples_per_block == per_block == 17
    run.run(3 * per_block + 5)
    assert run.capture.filled == 3
    run.capture.stop()
    assert run.capture.filled == 4
    assert [len(run.block(k)[1]) for k in range(4)] == [17, 17, 17, 5]
    assert run.block(3) == (52, [run.expected(cycle) for cycle in range(52, 57)])
    run.run(20)
    assert run.capture.samples == 56


def test_so_many_samples_and_no_more():
    for samples in (1, 59, 60, 61, 120):
        run = Run()
        run.start(samples=samples)
        run.run(200)
        assert not run.capture.running
        assert run.capture.samples == samples
        assert run.capture.filled == -(-samples // 60)
        assert len(run.block(run.capture.filled - 1)[1]) == (samples - 1) % 60 + 1


def test_stopping_before_the_first_sample_or_twice():
    run = Run()
    run.start(start_cycle=100)
    run.run(5)
    run.capture.stop()
    run.capture.stop()
    assert run.capture.filled == run.capture.samples == 0
    run.run(200)
    assert run.capture.samples == 0


def test_the_start_cycle_and_the_wrap_of_cycles():
    run = Run()
    run.cycle = MASK - 10
    run.start(start_cycle=5, every=3)
    run.run(30)
    run.capture.stop()
    assert run.block(0)[0] == 5
    assert [sample[0] for sample in run.block(0)[1]] == [run.value(0, cycle) for cycle in (5, 8, 11, 14, 17)]


def test_a_capture_that_runs_for_weeks_goes_on():
    # Half the range of cycles after its start a cycle looks as if it came before it.
    run = Run()
    run.start(start_cycle=1)
    run.run(1)
    run.cycle = 2**29 - 5
    run.run(20)
    assert run.capture.samples == 21


def test_a_full_ring_says_so_and_a_block_that_arrived_makes_room():
    run = Run(blocks=4)
    run.start()
    run.run(4 * 60 - 1)
    assert not run.capture.full
    run.run(1)
    assert run.capture.full
    run.capture.arrived = 1
    assert not run.capture.full
    run.run(1)
    # A block in the making holds its place.
    assert not run.capture.full
    run.run(59)
    assert run.capture.full
    assert run.capture.overwritten == 0
    run.capture.stop()
    assert not run.capture.full


def test_on_a_board_of_its_own_time_the_oldest_block_goes():
    run = Run(blocks=4)
    run.start()
    run.run(4 * 60)
    run.capture.sent = 1
    run.run(1)
    # It had been sent, and may have arrived.
    assert run.capture.overwritten == 0
    assert run.capture.arrived == 1
    assert run.capture.sent == 1
    assert [run.capture.holds(block) for block in range(4)] == [False, True, True, True]
    run.run(59)
    assert [run.capture.holds(block) for block in range(5)] == [False, True, True, True, True]
    # What was never sent is gone, too, and is not sent under its number.
    run.run(60 * 2 + 1)
    assert run.capture.sent == run.capture.arrived == 4
    assert run.capture.overwritten == 3
    assert [run.capture.holds(block) for block in range(7)] == [False] * 4 + [True] * 3


def test_a_new_capture_forgets_the_old_one():
    run = Run()
    run.start()
    run.run(100)
    run.capture.stop()
    run.capture.again = 1
    run.pairs = ((6, 0),)
    run.capture.pick(0, 6, 0)
    run.start(start_cycle=run.cycle + 1)
    assert run.capture.filled == run.capture.sent == run.capture.arrived == run.capture.samples == 0
    assert run.capture.again == -1
    run.run(120)
    assert run.block(0) == (101, [run.expected(cycle) for cycle in range(101, 221)])


def test_as_many_channels_as_there_may_be():
    pairs = tuple([(k % 11, k % 8) for k in range(48)])
    run = Run(pairs, n=8)
    run.start()
    run.run(2)
    assert run.block(0) == (1, [run.expected(1), run.expected(2)])


# Over the link

PAIRS = b"\x00\x00\x06\x00"


def capturing(**fields):
    bench = Bench()
    fields = dict({"start_cycle": 0, "samples": 0, "every": 1, "channels": PAIRS}, **fields)
    bench.ask("capture", **fields)
    return bench


def numbers(bench):
    found = [block["block"] for block in bench.host.blocks]
    bench.host.blocks.clear()
    return found


def test_blocks_come_by_themselves_once_each():
    bench = capturing()
    for _ in range(8):
        bench.cycle(60)
        bench.host.send("capture_received", block=bench.controller.capture.filled)
        bench.idle()
        bench.host.listen()
    assert numbers(bench) == list(range(8))
    bench.ask("capture_stop")
    bench.idle()
    bench.host.listen()
    assert numbers(bench) == []


def test_a_block_comes_again_as_often_as_it_is_asked_for():
    bench = capturing()
    bench.cycle(3 * 60)
    bench.idle()
    bench.host.listen()
    first = list(bench.host.blocks)
    for number in (1, 1, 0, 2):
        bench.host.blocks.clear()
        assert bench.ask("capture_again", block=number)["block"] == number
        bench.idle()
        bench.host.listen()
        assert bench.host.blocks == [first[number]]
    assert bench.refusal("capture_again", block=3) == "out_of_range"
    assert bench.refusal("capture_again", block=2**32 - 1) == "out_of_range"


def test_a_block_that_is_gone_is_not_sent_as_another():
    bench = capturing()
    ring = bench.board.RING_BLOCKS
    for _ in range(ring + 1):
        # As on a board whose time does not wait.
        for _ in range(60):
            bench.bus.grant()
            bench.controller.drives.poll()
            bench.controller.cycle()
    assert bench.refusal("capture_again", block=0) == "gone"
    for _ in range(ring + 1):
        bench.idle()
        bench.host.listen()
    assert numbers(bench) == list(range(1, ring + 1))
    # Asked for while it was there, overwritten before its turn came.
    capture = bench.controller.capture
    capture.again = 0
    capture.sent = capture.filled
    bench.idle()
    bench.host.listen()
    assert bench.host.blocks == []
    assert bench.ask("statistics")["capture_overwritten"] == 1


def test_a_full_ring_holds_granted_time_and_is_counted_once_a_hold():
    bench = capturing()
    for hold in (1, 2):
        cycles = 0
        while not bench.controller.capture.full:
            bench.cycle()
            cycles += 1
        # A block's cycles, one of them passed when the last hold ended.
        assert cycles >= 59
        assert bench.bus.grant()
        bench.idle()
        # The link is served all the same, and time goes on when a block is taken.
        before = bench.controller.cycle_number
        for _ in range(5):
            assert bench.controller.held()
            assert bench.ask("status")["cycle"] == before
        assert bench.ask("statistics")["capture_holds"] == hold
        bench.host.send("capture_received", block=bench.controller.capture.arrived + 1)
        bench.idle()
        assert not bench.controller.held()
        bench.controller.cycle()


def test_what_a_capture_may_not_be():
    bench = Bench(2)
    ask = {"start_cycle": 0, "samples": 0, "every": 1}
    assert bench.refusal("capture", channels=b"", **ask) == "out_of_range"
    assert bench.refusal("capture", channels=b"\x00", **ask) == "bad_length"
    assert bench.refusal("capture", channels=b"\x00\x00\x00", **ask) == "bad_length"
    assert bench.refusal("capture", channels=b"\x0b\x00", **ask) == "out_of_range"
    assert bench.refusal("capture", channels=b"\x00\x02", **ask) == "out_of_range"
    assert bench.refusal("capture", channels=b"\x00\x00" * 49, **ask) == "out_of_range"
    assert bench.refusal("capture", channels=b"\x00\x00", start_cycle=0, samples=0, every=0) == "out_of_range"
    assert bench.refusal("capture", channels=b"\x00\x00", start_cycle=0, samples=2**30, every=1) == "out_of_range"
    assert bench.refusal("capture", channels=b"\x00\x00" * 48, **ask) is None
    assert bench.refusal("capture", channels=b"\x00\x00", **ask) == "busy"
    bench.ask("capture_stop")
    assert bench.refusal("capture", channels=b"\x0a\x01", **ask) is None


def test_acknowledgements_that_make_no_sense_are_ignored():
    bench = capturing()
    bench.cycle(3 * 60)
    for block, arrived in ((2, 2), (1, 2), (4, 2), (2**32 - 1, 2), (3, 3), (0, 3)):
        bench.host.send("capture_received", block=block)
        bench.idle()
        assert bench.controller.capture.arrived == arrived, block


def test_settings_are_not_changed_under_a_capture():
    bench = capturing()
    assert bench.apply(bench.image()) == "busy"
    bench.cycle(10)
    stopped = bench.ask("capture_stop")
    assert (stopped["blocks"], stopped["samples"]) == (1, 10)
    assert bench.apply(bench.image()) is None


def test_a_greeting_ends_the_capture_of_a_host_that_is_gone():
    bench = capturing()
    while not bench.controller.capture.full:
        bench.cycle()
    assert bench.ask("hello", major=1, minor=0)["ring_blocks"] == bench.board.RING_BLOCKS
    bench.host.blocks.clear()
    # Time goes on, no block of the other one comes, and a new capture may begin.
    bench.cycle(200)
    bench.host.listen()
    assert numbers(bench) == []
    bench.ask("capture", start_cycle=0, samples=60, every=1, channels=PAIRS)
    bench.cycle(60)
    bench.idle()
    bench.host.listen()
    assert numbers(bench) == [0]
