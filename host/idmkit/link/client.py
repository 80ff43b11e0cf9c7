"""A motion board as its users see it: commands, named properties in SI, states, images, faults, capture."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from idmkit.board import units
from idmkit.board.faults import DRIVE_FAULTS, describe_fault, evidence
from idmkit.errors import LinkError, ProtocolMismatch
from idmkit.link.blocks import CYCLES
from idmkit.link.connection import TIMEOUT_S, Connection
from idmkit.link.hello import PATIENCE_S, Hello, greet
from idmkit.link.statistics import LinkStatistics
from idmkit.link.transport import open_port
from idmwire import faults, messages, properties

HARMLESS = ("hello", "status", "statistics", "enter_repl")
"""What a board of another schema may be sent, besides everything that begins with read_."""
SETS_UP = ("apply", "arm", "clear_fault", "read_object")
"""Commands in which a board may speak with its drives before it answers: reset, boot-up, some forty objects each."""
SETUP_S = 1.0
"""How long it may take before it is asked again."""
HEARTBEAT_PERIOD_S = 0.025
STANDSTILL_S = 5.0
POLL_S = 0.005
AT_REST = ("stopped_by_fault", "disarmed")
"""States that a board with a latched fault does not leave by itself."""


@dataclass(frozen=True)
class Status:
    """State of the board at `cycle`; `state` is a name of messages.STATES, `fault` a name or ""."""

    cycle: int
    state: str
    fault: str
    fault_number: int
    fault_axis: int
    parameters_defaulted: bool
    applied_differs_from_stored: bool
    model_on_board: bool
    capturing: bool
    drives_ready: bool
    position_command: tuple[int, ...] = ()
    """Counts, as the next motion must start from exactly there; empty in the answer to a heartbeat."""
    position_feedback: tuple[int, ...] = ()
    torque_feedback: tuple[int, ...] = ()


class Board:
    """An open link to a board; a context manager that closes it.

    `joints` names the kind of each axis ("revolute", "prismatic"), as the robot file does; it is needed for
    positions in SI, which the wire counts in turns or metres.
    """

    def __init__(self, connection: Connection, joints: Sequence[str] = (), *, patience_s: float = PATIENCE_S) -> None:
        self.connection = connection
        self.hello: Hello = greet(connection, patience_s)
        self.mismatch: ProtocolMismatch | None = self.hello.mismatch(connection.name)
        self.joints = tuple(joints)

    @classmethod
    def open(
        cls,
        url: str,
        joints: Sequence[str] = (),
        *,
        dtr: bool = True,
        timeout_s: float = TIMEOUT_S,
        patience_s: float = PATIENCE_S,
    ) -> Board:
        """Opens a port by its URL and greets the board; raises LinkError when there is none after `patience_s`.

        `timeout_s` is the first wait for an answer; a board that is slower is asked again.
        """
        connection = Connection(open_port(url, dtr=dtr), url, timeout_s=timeout_s)
        try:
            return cls(connection, joints, patience_s=patience_s)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Gives the port back. The board keeps its state: disarm it first."""
        self.connection.close()

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def axes(self) -> int:
        """Number of axes."""
        return self.hello.axes

    @property
    def statistics(self) -> LinkStatistics:
        """The host's counts of the link."""
        return self.connection.statistics

    # Commands

    def request(self, name: str, **fields: Any) -> dict[str, Any]:
        """Sends message `name` with its registry fields in counts; returns the answer's fields.

        Raises Refusal, LinkError, or ProtocolMismatch for anything but reading on a board of another schema.
        """
        if self.mismatch is not None and name not in HARMLESS and not name.startswith("read_"):
            raise self.mismatch
        payload = messages.pack_payload(name, self.axes, fields)
        answer = self.connection.exchange(messages.CODES[name], payload, SETUP_S if name in SETS_UP else 0.0)
        try:
            return messages.unpack_payload(f"{name}_answer", self.axes, answer)
        except ValueError as error:
            self.statistics.format_errors += 1
            raise LinkError(
                f"The answer to {name} does not fit its layout: {error}. Update the board's firmware or this package."
            ) from error

    def send(self, name: str, **fields: Any) -> None:
        """Sends a message that has no answer."""
        if self.mismatch is not None:
            raise self.mismatch
        self.connection.send(messages.CODES[name], messages.pack_payload(name, self.axes, fields))

    def greet_again(self) -> Hello:
        """Says hello again, as after an update or to see a new generation; returns and keeps the answer."""
        self.hello = greet(self.connection)
        self.mismatch = self.hello.mismatch(self.connection.name)
        return self.hello

    def board_statistics(self) -> dict[str, int]:
        """The board's own counts, by their registry names."""
        return self.request("statistics")

    # Properties

    def read(self, name: str, axis: int = 0) -> float:
        """A property in SI; raises ValueError for an unknown name or axis."""
        quantity = self._property(name, axis)[4]
        answer = self.request("read_property", property=properties.NUMBERS[name], axis=axis)
        return units.value(answer["value"], quantity, revolute=self._revolute(quantity, axis))

    def write(self, name: str, value: float, axis: int = 0) -> float:
        """Sets a property in SI and returns what the board read back, in SI.

        Applied at once, not stored. Raises ValueError outside the property's range, Refusal when the board refuses.
        """
        _, _, _, _, quantity, lowest, highest = self._property(name, axis)[:7]
        revolute = self._revolute(quantity, axis)
        number = units.counts(value, quantity, revolute=revolute)
        if not lowest <= number <= highest:
            low, high = (units.value(limit, quantity, revolute=revolute) for limit in (lowest, highest))
            unit = units.unit(quantity, revolute=revolute)
            raise ValueError(f"{name} = {value:g} is outside its range of {low:g} to {high:g} {unit}".rstrip())
        answer = self.request("write_property", property=properties.NUMBERS[name], axis=axis, value=number)
        return units.value(answer["value"], quantity, revolute=revolute)

    def _property(self, name: str, axis: int) -> tuple[Any, ...]:
        if name not in properties.BY_NAME:
            raise ValueError(f"there is no property {name!r}; there are {', '.join(sorted(properties.BY_NAME))}")
        if not 0 <= axis < max(1, self.axes):
            raise ValueError(f"there is no axis {axis}; the board has {self.axes}, counted from 0")
        return properties.BY_NAME[name]

    def _revolute(self, quantity: str, axis: int) -> bool:
        if axis < len(self.joints):
            return self.joints[axis] == "revolute"
        if quantity == "position":
            raise ValueError(f"axis {axis} has no joint kind here: give `joints` of the robot file for positions in SI")
        return True

    # States

    def status(self) -> Status:
        """Cycle, state, latched fault, and where the axes are."""
        return _status(self.request("status"))

    def heartbeat(self) -> Status:
        """One sign of life, for who grants cycles by hand; the answer says the state."""
        return _status(self.request("heartbeat"))

    @contextmanager
    def heartbeats(self, period_s: float = HEARTBEAT_PERIOD_S) -> Iterator[threading.Event]:
        """Sends heartbeats by the wall clock while its body runs; raises at the end if they had to stop.

        Its body gets an event: while that is set, no heartbeat goes out.
        """
        done, silent = threading.Event(), threading.Event()
        failure: list[LinkError] = []

        def beat() -> None:
            while not done.wait(period_s):
                try:
                    if not silent.is_set():
                        self.heartbeat()
                except LinkError as error:
                    failure.append(error)
                    return

        thread = threading.Thread(target=beat, name="heartbeats", daemon=True)
        thread.start()
        try:
            yield silent
        finally:
            done.set()
            thread.join()
        if failure:
            raise LinkError(f"The heartbeats to the board ended early. {failure[0]}") from failure[0]

    def arm(self, *, between: Callable[[], None] | None = None) -> Status:
        """Arms the drives and waits until they hold; see `wait_for_state` for `between`."""
        self.request("arm")
        return self.wait_for_state("holding", between=between)

    def disarm(self, *, between: Callable[[], None] | None = None) -> Status:
        """Takes the feed-forward and the drives off and waits until they are."""
        self.request("disarm")
        return self.wait_for_state("disarmed", between=between)

    def clear_fault(self) -> str:
        """Clears the latched fault and returns its name; raises Refusal while the cause stands."""
        number = self.request("clear_fault")["cleared"]
        return faults.FAULT_NAMES.get(number, str(number)) if number else ""

    def describe_fault(self, status: Status) -> str:
        """The latched fault in a sentence or two, with what its record says of a drive; "" where none is latched."""
        if not status.fault_number:
            return ""
        index, held = 0, 1
        while index < held:
            record = self.request("read_fault", index=index)
            if record["fault"] == status.fault_number:
                said = record["limit"]
                if status.fault in DRIVE_FAULTS and not said:
                    # An emergency message may come after the statusword that made the fault.
                    drive = self.request("read_drive", axis=status.fault_axis)
                    said = drive["error_code"] | drive["error_register"] << 16
                return describe_fault(status.fault, status.fault_axis, evidence(status.fault, record["value"], said))
            index, held = index + 1, record["count"]
        return describe_fault(status.fault, status.fault_axis)

    def wait_for_state(
        self, *wanted: str, cycles: int = 10_000, between: Callable[[], None] | None = None
    ) -> Status:
        """Waits until the board is in one of the states `wanted`; raises LinkError when it cannot get there.

        `between` is called between two looks: on a virtual rig it grants cycles (and may send a heartbeat), by
        default it waits 5 ms. Time is the board's: the wait ends after `cycles` of them, at once when a fault has
        brought the board to rest, or when the board's cycle stands still for 5 s.
        """
        first = last = self.status()
        moved = time.monotonic()
        while True:
            if last.state in wanted:
                return last
            expected = f"The board is {last.state} at cycle {last.cycle}, not {' or '.join(wanted)}"
            if last.state in AT_REST and faults.REACTIONS.get(last.fault_number, faults.NOTE) != faults.NOTE:
                raise LinkError(f"{expected}. {self.describe_fault(last)}")
            if (last.cycle - first.cycle) % CYCLES > cycles:
                raise LinkError(f"{expected}, after {cycles} cycles. Look at its faults and at the drives.")
            if time.monotonic() - moved > STANDSTILL_S:
                raise LinkError(
                    f"{expected}, and no cycle has passed for {STANDSTILL_S:g} s. Is the bus off, or the virtual "
                    f"rig granted no time?"
                )
            if between is None:
                time.sleep(POLL_S)
            else:
                between()
            now = self.status()
            if now.cycle != last.cycle:
                moved = time.monotonic()
            last = now


def _status(answer: Mapping[str, Any]) -> Status:
    flags = answer["flags"]
    state = answer["state"]
    number = answer["fault"]
    return Status(
        cycle=answer["cycle"],
        state=messages.STATES[state] if state < len(messages.STATES) else f"state {state}",
        fault=faults.FAULT_NAMES.get(number, f"fault {number}") if number else "",
        fault_number=number,
        fault_axis=answer["fault_axis"],
        parameters_defaulted=bool(flags & 1),
        applied_differs_from_stored=bool(flags & 2),
        model_on_board=bool(flags & 4),
        capturing=bool(flags & 8),
        drives_ready=bool(flags & 16),
        position_command=answer.get("position_command", ()),
        position_feedback=answer.get("position_feedback", ()),
        torque_feedback=answer.get("torque_feedback", ()),
    )
