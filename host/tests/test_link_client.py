"""Greeting, properties in SI, states, heartbeats, images and faults, against the fake board."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from fake_board import FakeBoard
from scripted_port import ScriptedConnection, ScriptedPort, connect, nothing

from idmkit.board.settings import parameter_image
from idmkit.errors import LinkError, ProtocolMismatch
from idmkit.link import history, images, motion
from idmkit.link.client import Board
from idmkit.link.refusals import Refusal
from idmkit.robot import load_robot
from idmwire import properties
from idmwire.schema import SCHEMA_HASH


class Talker:
    """A device that is no board: says the same whatever it hears."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.pending: list[bytes] = []

    def feed(self, data: bytes) -> None:
        self.pending.append(self.answer)

    def take(self) -> list[bytes]:
        pending, self.pending = self.pending, []
        return pending


class Echo(Talker):
    def feed(self, data: bytes) -> None:
        self.pending.append(data)


def greet_impatiently(device: object) -> Board:
    return Board(ScriptedConnection(ScriptedPort(device), "port X"), ("revolute",), patience_s=0)


def test_hello_is_read() -> None:
    with connect(ScriptedPort(FakeBoard(axes=3)), ("revolute", "prismatic", "revolute")) as board:
        assert board.hello.protocol == (1, 0)
        assert board.hello.schema_hash == SCHEMA_HASH
        assert (board.hello.board, board.hello.robot) == ("fake", "fake")
        assert board.hello.cycle_time_s == 1e-3
        assert board.axes == 3
        assert board.mismatch is None


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (Talker(b""), "silence after"),
        (Talker(b"MicroPython v1.29\r\n>>> "), "a MicroPython prompt does"),
        (Talker(b"\xf0\x55\x01temperature 21.5\r\n"), r"that are no frame \(f0 55 01"),
        (Echo(b""), "gives back what it is sent"),
    ],
)
def test_a_port_that_is_no_board(device: Talker, text: str) -> None:
    with pytest.raises(LinkError, match=f"No motion board answers on port X: .*{text}"):
        greet_impatiently(device)


def test_a_board_that_needs_a_while_to_start() -> None:
    device = FakeBoard()
    port = ScriptedPort(device, to_board=lambda number, data: b"" if number < 6 else data)
    board = Board(ScriptedConnection(port), patience_s=60.0)
    board.close()
    assert board.statistics.unanswered == 1


@pytest.mark.parametrize(
    ("attribute", "value", "field", "theirs", "ours"),
    [
        ("major", 2, "the protocol's major version", "2", "1"),
        ("schema_hash", 0xDEADBEEF, "the schema hash", "0xdeadbeef", f"0x{SCHEMA_HASH:08x}"),
        ("exponents", (-24, -20, -14, -12, -15), "the scale table", "-12", "-16"),
    ],
)
def test_another_protocol_may_be_read_only(attribute: str, value: object, field: str, theirs: str, ours: str) -> None:
    device = FakeBoard()
    setattr(device, attribute, value)
    with connect(ScriptedPort(device)) as board:
        assert board.status().state == "disarmed"
        assert board.read("torque_threshold") == 2.0**30 / 2**16 - 2.0**-16
        assert board.board_statistics()["repeats"] == 0
        assert images.read_image(board, "applied") == b""
        for forbidden in (lambda: board.write("torque_threshold", 1.0), board.arm, board.heartbeat):
            with pytest.raises(ProtocolMismatch) as caught:
                forbidden()
            assert field in str(caught.value)
            assert theirs in str(caught.value)
            assert ours in str(caught.value)
        with pytest.raises(ProtocolMismatch):
            board.send("capture_received", block=0)
    assert set(device.executed) <= {"hello", "status", "read_property", "statistics", "read_image"}


def test_properties_are_in_si() -> None:
    device = FakeBoard(axes=2)
    with connect(ScriptedPort(device), ("revolute", "prismatic")) as board:
        # Half a count is the rounding of the wire.
        assert board.write("position_max", math.pi / 2) == pytest.approx(math.pi / 2, abs=math.pi * 2.0**-24)
        assert device.values[properties.slots(2)["position_max"]] == 2**22
        assert board.write("position_max", 1.5, axis=1) == 1.5
        assert device.values[properties.slots(2)["position_max"] + 1] == 3 << 23
        assert board.read("position_max", axis=1) == 1.5
        assert board.write("torque_threshold", 12.5) == 12.5
        assert board.read("heartbeat_timeout") == 1000


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda board: board.read("torque"), "there is no property 'torque'"),
        (lambda board: board.read("torque_threshold", axis=1), "there is no axis 1; the board has 1"),
        (lambda board: board.write("torque_error_filter", 1.5), "torque_error_filter = 1.5 is outside its range"),
        (lambda board: board.write("torque_threshold", 1e6), "outside the wire's range"),
        (lambda board: board.write("torque_threshold", math.nan), "torque of nan"),
    ],
)
def test_what_a_property_cannot_be(call, text: str) -> None:
    device = FakeBoard()
    with connect(ScriptedPort(device)) as board, pytest.raises(ValueError, match=text):
        call(board)
    assert "write_property" not in device.executed


def test_a_position_in_si_needs_the_joints() -> None:
    with connect(ScriptedPort(FakeBoard()), ()) as board:
        assert board.read("torque_error_delay") == 3
        with pytest.raises(ValueError, match="no joint kind"):
            board.read("position_max")
        with pytest.raises(ValueError, match="no joint kind"):
            motion.move(board, [1.0], 10)


def armed(device: FakeBoard, port: ScriptedPort) -> Board:
    board = connect(port)
    board.arm(between=lambda: port.act(lambda: device.grant(1)))
    return board


def test_arm_move_disarm() -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with armed(device, port) as board:
        assert motion.move(board, [math.pi], 100) == 2
        port.act(lambda: device.grant(1))
        assert board.status().position_command == (2**23,)
        # From half a turn to a whole one: amplitude a quarter of a turn.
        start = motion.sine(board, [2 * math.pi], [2.0], 500, start_cycle=40)
        assert start == 40
        board.wait_for_state("holding", between=lambda: port.act(lambda: device.grant(1)))
        assert board.disarm(between=lambda: port.act(lambda: device.grant(1))).state == "disarmed"


def test_motions_carry_the_products_that_the_board_cannot_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, object]] = []
    device = FakeBoard()
    port = ScriptedPort(device)
    with armed(device, port) as board:
        request = board.request

        def noting(name: str, **fields: Any) -> dict[str, Any]:
            sent.append(fields)
            return request(name, **fields)

        monkeypatch.setattr(board, "request", noting)
        motion.move(board, [math.pi], 500)
        port.act(lambda: device.grant(1))
        motion.sine(board, [3 * math.pi], [2.0], 500)
    move = next(fields for fields in sent if "distance" in fields)
    # pi rad in half a second.
    assert move["velocity"] == [round(2 * math.pi * 2**20)]
    assert move["acceleration"] == [round(4 * math.pi * 2**14)]
    sine = next(fields for fields in sent if "amplitude" in fields)
    omega = 2 * math.pi * 2.0
    assert sine["amplitude"] == [2**23]
    assert sine["phase_step"] == [round(2**32 * 2.0 * 1e-3)]
    # The frequency is that of the rounded phase step: 2^-32 turn a cycle in 0.002, relative 6e-8.
    assert sine["velocity"][0] == pytest.approx(math.pi * omega * 2**20, rel=1e-7)
    assert sine["acceleration"][0] == pytest.approx(math.pi * omega**2 * 2**14, rel=1e-7)


def test_a_sine_too_fast_is_refused_here() -> None:
    with connect(ScriptedPort(FakeBoard())) as board, pytest.raises(ValueError, match="0 to 250 Hz"):
        motion.sine(board, [1.0], [251.0], 100)


def test_waiting_ends_in_a_fault_with_its_words() -> None:
    device = FakeBoard()
    device.arming_ends_in = "disarmed"
    device.fault_stands = True
    port = ScriptedPort(device)
    with connect(port) as board:
        with pytest.raises(LinkError, match=r"not holding. Fault drive_lost on axis 0: a drive did not answer"):
            board.arm(between=lambda: port.act(lambda: device.break_down("drive_lost")))
        with pytest.raises(Refusal, match="fault_stands"):
            board.clear_fault()
        device.fault_stands = False
        assert board.clear_fault() == "drive_lost"
        assert board.clear_fault() == ""


def test_waiting_ends_after_cycles_and_when_time_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    monkeypatch.setattr("idmkit.link.client.STANDSTILL_S", 0.1)
    with connect(port) as board:
        with pytest.raises(LinkError, match="disarmed at cycle 18, not moving, after 10 cycles"):
            board.wait_for_state("moving", cycles=10, between=lambda: port.act(lambda: device.grant(9)))
        with pytest.raises(LinkError, match=r"no cycle has passed for 0.1 s"):
            board.wait_for_state("moving", "holding")


def test_heartbeats_by_the_clock_and_their_end() -> None:
    device = FakeBoard()
    port = ScriptedPort(device)
    with connect(port) as board:
        with board.heartbeats(period_s=0.002):
            deadline = time.monotonic() + 10
            while device.executed.count("heartbeat") < 5 and time.monotonic() < deadline:
                time.sleep(0.002)
        beats = device.executed.count("heartbeat")
        assert beats >= 5
        port.to_host = nothing
        heartbeats = board.heartbeats(period_s=0.001)
        heartbeats.__enter__()
        while not board.statistics.unanswered:
            time.sleep(0.01)
        with pytest.raises(LinkError, match="heartbeats to the board ended early"):
            heartbeats.__exit__(None, None, None)


def test_an_image_is_staged_compared_applied_and_stored() -> None:
    device = FakeBoard()
    robot = load_robot("crank")
    image = parameter_image(robot)
    with connect(ScriptedPort(device)) as board:
        assert images.applied_image(board) is None
        written = images.write_image(board, image, store=False)
        assert (written.generation, written.stored) == (1, False)
        assert board.status().applied_differs_from_stored
        assert device.images["stored"] == b""
        written = images.write_image(board, image)
        assert (written.generation, written.stored) == (2, True)
        assert not board.status().applied_differs_from_stored
        assert board.hello.generation == 2
        back = images.applied_image(board)
        assert back is not None
        assert vars(back) == vars(image)
    assert [step for step in device.executed if step in ("apply", "store")] == ["apply", "apply", "store"]


def test_what_is_in_force_can_be_stored_later() -> None:
    device = FakeBoard()
    with connect(ScriptedPort(device)) as board:
        with pytest.raises(LinkError, match="nothing to store"):
            images.store_applied(board)
        images.write_image(board, parameter_image(load_robot("crank")), store=False)
        assert images.store_applied(board).stored
    assert device.images["stored"] == device.images["applied"] != b""


def test_an_image_that_comes_back_different_is_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeBoard()
    stage = device._stage

    def forgetful(fields):
        answer = stage(fields)
        device.images["staged"] = device.images["staged"][:-9] + b"\xff" * 9
        return answer

    monkeypatch.setattr(device, "_stage", forgetful)
    with connect(ScriptedPort(device)) as board, pytest.raises(LinkError, match=r"of \d+ bytes differ. Nothing was"):
        images.write_image(board, parameter_image(load_robot("crank")))
    assert "apply" not in device.executed


def test_an_image_for_a_bigger_board() -> None:
    with connect(ScriptedPort(FakeBoard())) as board, pytest.raises(LinkError, match="has 3000 bytes, the board takes"):
        images.stage_image(board, bytes(3000))


def test_a_long_image_goes_in_pieces_over_a_bad_line() -> None:
    device = FakeBoard()
    port = ScriptedPort(device, to_board=lambda number, data: b"" if number % 4 == 3 else data)
    data = bytes(k % 251 for k in range(2000))
    with connect(port) as board:
        images.stage_image(board, data)
    assert device.images["staged"] == data


def test_faults_and_their_trace() -> None:
    device = FakeBoard(axes=2)
    port = ScriptedPort(device)
    with connect(port, ("revolute", "prismatic")) as board:
        assert history.read_faults(board) == []
        assert history.read_trace(board).position_command.shape == (0, 2)
        port.act(lambda: device.grant(100))
        device.break_down("collision")
        (record,) = history.read_faults(board)
        assert record == history.FaultRecord("collision", 0, 100, 3.0, 2.0, "Nm")
        trace = history.read_trace(board)
        assert list(trace.cycles) == [95, 96, 97, 98, 99]
        assert trace.torque_feedback.dtype == np.int32
        assert np.array_equal(trace.torque_feedback, np.arange(5).repeat(2).reshape(5, 2))


def test_an_answer_of_another_layout_is_named() -> None:
    device = FakeBoard()
    with connect(ScriptedPort(device)) as board:
        device.axes, device.position = 2, [0, 0]
        with pytest.raises(LinkError, match="answer to status does not fit its layout"):
            board.status()
