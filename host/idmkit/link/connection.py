"""One port, one reader thread, one command in flight.

The reader thread is the only one that reads; it hands the bytes to the pure splitter and each whole frame either to
the command that waits for it or to the handler of its type (capture blocks). A command whose answer does not come is
sent again with the same sequence number: the board repeats its answer then, so that nothing is done twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from idmkit.errors import LinkError
from idmkit.link.codec import HostCodec
from idmkit.link.refusals import Refusal
from idmkit.link.statistics import LinkStatistics
from idmkit.link.transport import Port
from idmwire import framing, messages

TIMEOUT_S = 0.2
RETRIES = 3
BACKOFF = 1.5
"""Each wait is this much longer than the one before."""
READ_BYTES = 4096
HEARD_BYTES = 64

Handler = Callable[[bytes, int], None]
"""Takes the payload of an unsolicited frame and its size on the wire, in the reader thread."""


class Connection:
    """Commands and answers over an open port. Thread-safe; takes over the port and closes it.

    `name` is what error texts call the port.
    """

    def __init__(self, port: Port, name: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self.statistics = LinkStatistics()
        self.handlers: dict[int, Handler] = {}
        self.heard = bytearray()
        """The first bytes that came before any frame did: what a port that is no board says."""
        self._port = port
        self._splitter = framing.Splitter()
        self._turn = threading.Lock()
        self._writing = threading.Lock()
        self._news = threading.Condition()
        self._sequence = 0
        self._expected: tuple[int, int] | None = None
        self._answer: tuple[int, bytes] | None = None
        self._lost = ""
        self._closing = False
        self._reader = threading.Thread(target=self._read, name=f"reader of {name}", daemon=True)
        self._reader.start()

    def close(self) -> None:
        """Ends the reader thread and gives the port back; safe to call twice."""
        if self._closing:
            return
        self._closing = True
        self._reader.join()
        self._port.close()

    def exchange(self, kind: int, payload: bytes, patience_s: float = 0.0) -> bytes:
        """Sends a command and returns its answer's payload, after retries where needed; the first after `patience_s`.

        Raises Refusal when the board refuses, LinkError when it does not answer or the port is lost.
        """
        with self._turn:
            sequence = self._sequence
            self._sequence = (sequence + 1) % 256
            wire = framing.pack(HostCodec, kind, sequence, payload)
            with self._news:
                self._expected, self._answer = (kind, sequence), None
            try:
                answer_kind, answer = self._attempts(wire, messages.message_name(kind), patience_s)
            finally:
                with self._news:
                    self._expected = None
        if answer_kind == messages.REFUSED:
            raise Refusal(messages.message_name(kind), answer[1])
        return answer

    def send(self, kind: int, payload: bytes) -> None:
        """Sends a message that has no answer; raises LinkError when the port is lost."""
        # Its sequence number means nothing: the board keeps no answer for it.
        self._write(framing.pack(HostCodec, kind, 0, payload))

    def _attempts(self, wire: bytes, message: str, patience_s: float) -> tuple[int, bytes]:
        self.statistics.requests += 1
        wait_s, waited_s = max(self.timeout_s, patience_s), 0.0
        for attempt in range(1 + RETRIES):
            self.statistics.retries += attempt > 0
            started = time.monotonic()
            # A zero in front cuts off whatever noise stands on the line.
            self._write(b"\0" + wire if attempt or not self.statistics.frames_sent else wire)
            answer = self._wait(wait_s)
            if answer is not None:
                if attempt == 0:
                    self.statistics.count_round_trip(time.monotonic() - started)
                return answer
            waited_s += wait_s
            wait_s *= BACKOFF
        self.statistics.unanswered += 1
        raise LinkError(
            f"The board on {self.name} stopped answering: nothing came back for {message} in {1 + RETRIES} "
            f"attempts and {waited_s:.1f} s. Check power and cable, then connect again; what the board did last is "
            f"uncertain."
        )

    def _wait(self, wait_s: float) -> tuple[int, bytes] | None:
        with self._news:
            self._news.wait_for(lambda: self._answer is not None or self._lost, timeout=wait_s)
            if self._answer is None and self._lost:
                raise LinkError(self._lost)
            return self._answer

    def _write(self, wire: bytes) -> None:
        if self._lost:
            raise LinkError(self._lost)
        try:
            with self._writing:
                self._port.write(wire)
        except OSError as error:
            self._lose(error)
            raise LinkError(self._lost) from error
        self.statistics.frames_sent += 1
        self.statistics.bytes_sent += len(wire)

    def _read(self) -> None:
        while not self._closing:
            try:
                data = self._port.read(max(1, min(READ_BYTES, self._port.in_waiting)))
            except OSError as error:
                self._lose(error)
                return
            self.statistics.bytes_received += len(data)
            if not self.statistics.frames_received:
                self.heard += data[: HEARD_BYTES - len(self.heard)]
            for frame in self._splitter.feed(data):
                self._take(frame)
            self.statistics.overflows = self._splitter.overflows

    def _take(self, frame: bytes) -> None:
        try:
            kind, sequence, payload = framing.unpack(HostCodec, frame)
        except framing.FrameError as error:
            self.statistics.count_error(error.reason)
            return
        self.statistics.frames_received += 1
        handler = self.handlers.get(kind)
        if handler is not None:
            handler(payload, len(frame) + 1)
            return
        with self._news:
            if self._answer is None and self._answers(kind, sequence, payload):
                self._answer = (kind, payload)
                self._news.notify_all()
            elif kind & messages.ANSWER:
                self.statistics.late += 1
            else:
                self.statistics.echoes += 1

    def _answers(self, kind: int, sequence: int, payload: bytes) -> bool:
        if self._expected is None or sequence != self._expected[1]:
            return False
        if kind == messages.REFUSED:
            return len(payload) == 2 and payload[0] == self._expected[0]
        return kind == self._expected[0] | messages.ANSWER

    def _lose(self, error: OSError) -> None:
        with self._news:
            if not self._lost:
                self._lost = (
                    f"The connection to {self.name} broke: {error}. Plug the board in again and start anew; what the "
                    f"board did last is uncertain."
                )
            self._news.notify_all()
