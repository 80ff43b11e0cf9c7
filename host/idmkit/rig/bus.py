"""The CAN bus of the virtual rig: frames to nodes, SYNC, and what the nodes have to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from idmkit.rig.node import SYNC, Node
from idmkit.rig.slcan import Frame


class Bus:
    """Hands frames to the nodes. A SYNC waits in `sync_waiting` until time is granted for it.

    A SYNC that arrives while another one waits is lost, as it would be on a bus whose drives are late;
    `lost_syncs` counts them.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self.sync_waiting = False
        self.lost_syncs = 0

    def receive(self, frames: Iterable[Frame]) -> list[Frame]:
        """Frames from the master -> the nodes' immediate answers (SDO, boot-up, emergencies)."""
        for identifier, data in frames:
            if identifier == SYNC:
                if self.sync_waiting:
                    self.lost_syncs += 1
                    continue
                self.sync_waiting = True
                for node in self._nodes:
                    node.latch()
            else:
                for node in self._nodes:
                    node.receive(identifier, data)
        return self.collect()

    def answer_sync(self) -> list[Frame]:
        """The answers to the waiting SYNC; then the receive PDOs that came before it take effect."""
        self.sync_waiting = False
        for node in self._nodes:
            node.answer_sync()
        frames = self.collect()
        for node in self._nodes:
            node.apply_latched()
        return frames

    def collect(self) -> list[Frame]:
        """What the nodes have queued, in the order of the nodes."""
        return [frame for node in self._nodes for frame in node.take_outbox()]
