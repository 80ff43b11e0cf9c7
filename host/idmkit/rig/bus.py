"""A CAN bus of the virtual rig: frames to nodes, SYNC, what the nodes have to say, and the time that all this takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idmkit.canbus import frame_bits
from idmkit.rig.node import SDO_ANSWER, SDO_REQUEST, SYNC, Node
from idmkit.rig.slcan import Frame

_FUNCTION = 0x780
_NODE = 0x7F


@dataclass
class _Request:
    """A frame that waits for the wire, and how many of its bits are left; None stands for those of the master."""

    bits: float
    frame: Frame | None


class Bus:
    """Hands frames to the nodes. A SYNC waits in `sync_waiting` until time is granted for it.

    A SYNC that arrives while another one waits is lost, as it would be on a bus whose drives are late;
    `lost_syncs` counts them.

    Frames take their time on the wire, at worst-case stuffing: an answer that does not fit into a cycle at `bitrate`
    comes in the next one (counted in `late_frames`), or is overwritten by its own successor (`lost_frames`). Set-up by
    SDO belongs to no cycle and takes none of its time. `lose` and `delay` spoil single nodes' frames; a
    `silent` bus carries nothing, either way.
    """

    def __init__(self, nodes: Sequence[Node], bitrate: int, cycle_time_s: float) -> None:
        self._nodes = nodes
        self._capacity = bitrate * cycle_time_s
        self._sent_bits = 0
        self._queue: list[_Request] = []
        self._losing: dict[int, int] = {}
        self._delaying: dict[int, tuple[int, int]] = {}
        self._delayed: list[tuple[int, Frame]] = []
        self._cycle = 0
        self.sync_waiting = False
        self.silent = False
        self.lost_syncs = 0
        self.late_frames = 0
        self.lost_frames = 0

    def receive(self, frames: Iterable[Frame]) -> list[Frame]:
        """Frames from the master -> the nodes' immediate answers (SDO, boot-up, emergencies)."""
        for identifier, data in frames:
            if identifier & _FUNCTION != SDO_REQUEST:
                self._sent_bits += frame_bits(len(data))
            if identifier == SYNC:
                if self.sync_waiting:
                    self.lost_syncs += 1
                    continue
                self.sync_waiting = True
                if not self.silent:
                    for node in self._nodes:
                        node.latch()
            elif not self.silent:
                for node in self._nodes:
                    node.receive(identifier, data)
        return self.collect()

    def answer_sync(self) -> list[Frame]:
        """The answers to the waiting SYNC; then the receive PDOs that came before it take effect."""
        self.sync_waiting = False
        for node in self._nodes:
            node.answer_sync()
        self._cycle += 1
        frames = self._in_time(self._spoilt(self.collect()))
        for node in self._nodes:
            node.apply_latched()
        return frames

    def collect(self) -> list[Frame]:
        """What the nodes have queued, in the order of the nodes."""
        frames = [frame for node in self._nodes for frame in node.take_outbox()]
        return [] if self.silent else frames

    def silence(self, silent: bool) -> None:
        """Cuts the wire at the master, or mends it. Cut off, axes come to rest by themselves."""
        self.silent = silent
        if silent:
            for node in self._nodes:
                node.connection_lost()

    def lose(self, node_id: int, cycles: int) -> None:
        """What a node sends in the next `cycles` is lost."""
        self._losing[node_id] = self._cycle + cycles

    def delay(self, node_id: int, by: int, cycles: int) -> None:
        """What a node sends in the next `cycles` arrives `by` cycles late."""
        self._delaying[node_id] = self._cycle + cycles, by

    def _spoilt(self, frames: list[Frame]) -> list[Frame]:
        """What losses and delays leave of a cycle's frames."""
        if not self._losing and not self._delaying and not self._delayed:
            return frames
        kept = []
        for frame in frames:
            node = frame[0] & _NODE
            until, by = self._delaying.get(node, (0, 0))
            if self._cycle <= self._losing.get(node, 0):
                self.lost_frames += 1
            elif self._cycle <= until:
                self.late_frames += 1
                self._delayed.append((self._cycle + by, frame))
            else:
                kept.append(frame)
        kept += [frame for due, frame in self._delayed if due <= self._cycle]
        self._delayed = [late for late in self._delayed if late[0] > self._cycle]
        return kept

    def restart(self) -> None:
        """A power cycle: nothing is on its way."""
        self.sync_waiting = False
        self._sent_bits = 0
        self._queue = []
        self._delayed = []

    def _in_time(self, frames: list[Frame]) -> list[Frame]:
        """What has left the wire when the cycle is over: what was left before, the master's frames, then answers."""
        sent, self._sent_bits = self._sent_bits, 0
        if not self._queue and sent + sum([frame_bits(len(data)) for _, data in frames]) <= self._capacity:
            return frames
        self._request(_Request(sent, None))
        for frame in sorted(frames):
            bits = 0 if frame[0] & _FUNCTION == SDO_ANSWER else frame_bits(len(frame[1]))
            self._request(_Request(bits, frame))
        arrived = []
        room = self._capacity
        while self._queue and self._queue[0].bits <= room:
            request = self._queue.pop(0)
            room -= request.bits
            if request.frame is not None:
                arrived.append(request.frame)
        if self._queue:
            self._queue[0].bits -= room
        self.late_frames += sum(request.frame is not None for request in self._queue)
        return arrived

    def _request(self, new: _Request) -> None:
        """Queues a frame; one of the same sender that still waits is overwritten, as in a controller's mailbox."""
        for request in self._queue:
            if (request.frame or (0,))[0] == (new.frame or (0,))[0]:
                self.lost_frames += 1
                request.frame = new.frame
                return
        self._queue.append(new)
