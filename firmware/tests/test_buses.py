# Robots on several buses, the board's own heartbeat, and frames that are not the board's business.

from bench import Bench, moving_bench
from scripted import line

MASTER_BEAT = line(0x77F, b"\x05")


def test_the_boards_heartbeat_goes_out_on_time():
    bench = Bench(2, cycle_s=0.002)
    bench.bus.serve()
    beats = []
    serve = bench.bus.port.from_board.all

    def spy():
        data = serve()
        beats.append(data.count(MASTER_BEAT))
        return data

    bench.bus.port.from_board.all = spy
    bench.cycle(501)
    # 100 ms at 2 ms: every 50th cycle.
    assert sum(beats) == 10


def test_frames_of_other_nodes_and_lengths_are_nobodys_business():
    bench = moving_bench()
    for frame in (
        line(0x702, b"\0"), line(0x701, b"\0\0"), line(0x082, bytes(8)), line(0x081, b"\x10\x23"), line(0x080, b""),
        line(0x581, b"1234567"), line(0x7FF, b"\x04"), line(0x281, bytes(8))):
        bench.bus.say(frame)
        bench.cycle()
    assert bench.fault is None
    assert bench.ask("read_drive", axis=0)["emergencies"] == 0


def test_drives_on_two_buses_move_as_on_one():
    one, two = moving_bench(4), moving_bench(4, buses=2)
    for bench in (one, two):
        bench.cycle(400)
        assert (bench.state, bench.fault) == ("holding", None)
    assert one.command == two.command
    assert [drive.counts for drive in one.drives] == [drive.counts for drive in two.drives]
    assert two.buses[0].syncs == two.buses[1].syncs
    assert two.ask("read_drive", axis=3)["bus"] == 1


def test_the_cycle_waits_for_all_buses():
    bench = Bench(2, buses=2)
    bench.cycle(3)
    assert bench.buses[0].grant()
    bench.idle()
    assert not bench.controller.drives.granted
    assert bench.buses[1].grant()
    bench.idle()
    assert bench.controller.drives.granted


def test_nodes_of_two_buses_may_have_the_same_number():
    bench = Bench(2, buses=2, node_id=(1, 1), ready=False)
    bench.buses[1].drives[0].node = 1
    assert bench.apply(bench.image(node_id=(1, 1), bus=(0, 1))) is None
    bench.arm()
    bench.move([2**20, -(2**20)], 200)
    bench.cycle(300)
    assert bench.fault is None
    assert bench.drives[0].counts == -bench.drives[1].counts != 0
