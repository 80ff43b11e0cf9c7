"""A CANopen slave (CiA 301): NMT, SDO, one receive and one transmit PDO, heartbeats both ways, emergencies."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from typing import Final

from idmkit.rig.objects import (
    DEVICE_STATE,
    MAPPING_TOO_LONG,
    NOT_MAPPABLE,
    VALUE_RANGE,
    Entry,
    ObjectDictionary,
    SdoAbort,
    SdoServer,
)
from idmkit.rig.slcan import Frame

SYNC: Final = 0x080
EMERGENCY: Final = 0x080
TPDO1: Final = 0x180
RPDO1: Final = 0x200
SDO_ANSWER: Final = 0x580
SDO_REQUEST: Final = 0x600
HEARTBEAT: Final = 0x700

BOOT, STOPPED, OPERATIONAL, PRE_OPERATIONAL = 0, 4, 5, 127
NMT_COMMANDS = {0x01: OPERATIONAL, 0x02: STOPPED, 0x80: PRE_OPERATIONAL}
NMT_RESET_NODE, NMT_RESET_COMMUNICATION = 0x81, 0x82

PDO_LENGTH_ERROR = 0x8210
HEARTBEAT_ERROR = 0x8130
COMMUNICATION = 0x10
"""Bit of the error register: communication."""
SYNCHRONOUS_MAX = 240
EVENT_DRIVEN = (254, 255)
MAX_MAPPED = 8
_DISABLED = 1 << 31


class Pdo:
    """Communication and mapping parameters of one PDO, and its packing.

    A mapping is changed as CiA 301 has it: disable the PDO (bit 31 of its COB-ID), set the count to 0, write the
    entries, set the count, enable. `receives`: the objects are written by the bus, so they must be writable.
    """

    def __init__(
        self, objects: ObjectDictionary, number: int, cob_id: int, mapping: list[tuple[int, int]], *, receives: bool
    ) -> None:
        self._objects = objects
        self._receives = receives
        self.cob_id = cob_id
        self.enabled = True
        self.entries: list[Entry] = []
        self._struct = struct.Struct("<")
        self.type = objects.add(Entry(number, 2, "u8", 1, writable=True, accept=self._check_type))
        objects.add(Entry(number, 0, "u8", 2))
        objects.add(Entry(number, 1, "u32", cob_id, writable=True, accept=self._set_cob_id))
        self._slots = []
        for sub in range(1, MAX_MAPPED + 1):
            value = 0
            if sub <= len(mapping):
                entry = objects[mapping[sub - 1]]
                value = entry.index << 16 | entry.sub << 8 | 8 * entry.size
            slot = Entry(number + 0x200, sub, "u32", value, writable=True, accept=self._check_unmapped)
            self._slots.append(objects.add(slot))
        self._count = Entry(
            number + 0x200, 0, "u8", len(mapping), writable=True, limits=(0, MAX_MAPPED), accept=self._set_count
        )
        objects.add(self._count)
        self._map(len(mapping))

    @property
    def synchronous(self) -> bool:
        """Whether SYNC drives this PDO."""
        return self.type.value <= SYNCHRONOUS_MAX

    @property
    def size(self) -> int:
        """Bytes in the frame."""
        return self._struct.size

    def pack(self) -> bytes:
        """The mapped values as they stand."""
        return self._struct.pack(*[entry.value for entry in self.entries])

    def unpack(self, data: bytes) -> None:
        """Stores the values of a frame of at least `size` bytes."""
        for entry, value in zip(self.entries, self._struct.unpack_from(data), strict=True):
            entry.value = value

    @staticmethod
    def _check_type(value: int) -> None:
        if value > SYNCHRONOUS_MAX and value not in EVENT_DRIVEN:
            raise SdoAbort(VALUE_RANGE)

    def _set_cob_id(self, value: int) -> None:
        enabled = not value & _DISABLED
        if self.enabled and enabled and value != self.cob_id:
            raise SdoAbort(DEVICE_STATE)
        if value & ~_DISABLED > 0x7FF:
            raise SdoAbort(VALUE_RANGE)
        self.enabled = enabled
        self.cob_id = value & 0x7FF

    def _check_unmapped(self, _value: int) -> None:
        if self.enabled or self._count.value:
            raise SdoAbort(DEVICE_STATE)

    def _set_count(self, count: int) -> None:
        if self.enabled:
            raise SdoAbort(DEVICE_STATE)
        self._map(count)

    def _map(self, count: int) -> None:
        entries = []
        for slot in self._slots[:count]:
            entry = self._objects[slot.value >> 16, slot.value >> 8 & 0xFF]
            fits = entry.mappable and slot.value & 0xFF == 8 * entry.size
            if not fits or (self._receives and not entry.writable):
                raise SdoAbort(NOT_MAPPABLE)
            entries.append(entry)
        layout = struct.Struct("<" + "".join(entry.format for entry in entries))
        if layout.size > 8:
            raise SdoAbort(MAPPING_TOO_LONG)
        self.entries, self._struct = entries, layout


class Node(ABC):
    """One slave on the bus. Subclasses add their objects in `_build` and act in `_rpdo_arrived` and `_nmt_changed`.

    Time for a node is the bus's: heartbeats count the milliseconds of granted cycles. A node watches the master's
    heartbeat (0x1016) from the first one on; without it, it says so, leaves OPERATIONAL and brings its axis to rest.
    """

    RPDO_MAPPING: list[tuple[int, int]]
    TPDO_MAPPING: list[tuple[int, int]]

    def __init__(self, node_id: int, cycle_time_s: float) -> None:
        self.node_id = node_id
        self.silent = False
        self._cycle_time_ms = 1000 * cycle_time_s
        self._outbox: list[Frame] = []
        self.reset()

    def reset(self) -> None:
        """Power-on: every object at its default, then the boot-up message."""
        self.nmt_state = PRE_OPERATIONAL
        self.objects = ObjectDictionary()
        self._build()
        self.reset_communication()

    def reset_communication(self) -> None:
        """The objects of CiA 301 at their defaults, the application's as they are; then the boot-up message."""
        before, self.nmt_state = self.nmt_state, PRE_OPERATIONAL
        if before != PRE_OPERATIONAL:
            self._nmt_changed()
        add = self.objects.add
        self._heartbeat_time = add(Entry(0x1017, 0, "u16", 0, writable=True))
        add(Entry(0x1016, 0, "u8", 1))
        self._consumer = add(Entry(0x1016, 1, "u32", 0, writable=True, accept=self._watch))
        self._unheard_ms: float | None = None
        self._sdo = SdoServer(self.objects)
        self.rpdo = Pdo(self.objects, 0x1400, RPDO1 + self.node_id, self.RPDO_MAPPING, receives=True)
        self.tpdo = Pdo(self.objects, 0x1800, TPDO1 + self.node_id, self.TPDO_MAPPING, receives=False)
        self._received: bytes | None = None
        self._latched: bytes | None = None
        self._sent: bytes | None = None
        self._syncs = 0
        self._heartbeat_ms = 0.0
        self.send(HEARTBEAT + self.node_id, bytes([BOOT]))

    def _build(self) -> None:
        """Adds the objects that every node has."""
        self.error_register = self.objects.add(Entry(0x1001, 0, "u8", 0, mappable=True))

    def _watch(self, _value: int) -> None:
        self._unheard_ms = None

    @abstractmethod
    def _rpdo_arrived(self) -> None:
        """The objects of the receive PDO have new values."""

    @abstractmethod
    def connection_lost(self) -> None:
        """The master is gone."""

    @abstractmethod
    def _nmt_changed(self) -> None:
        """The NMT state was left for another one."""

    def send(self, identifier: int, data: bytes) -> None:
        """Queues a frame."""
        if not self.silent:
            self._outbox.append((identifier, data))

    def take_outbox(self) -> list[Frame]:
        """The frames queued since the last call."""
        frames, self._outbox = self._outbox, []
        return frames

    def stop_heartbeat(self) -> None:
        """Heartbeats stop until the master asks for them anew."""
        self._heartbeat_time.value = 0

    def emergency(self, code: int) -> None:
        """Queues an emergency message: code, error register, five bytes of nothing."""
        if self.nmt_state != STOPPED:
            self.send(EMERGENCY + self.node_id, struct.pack("<HB5x", code, self.error_register.value))

    def receive(self, identifier: int, data: bytes) -> None:
        """A frame from the bus, SYNC excepted."""
        if self.silent:
            return
        if identifier == self.rpdo.cob_id:
            self._receive_rpdo(data)
        elif identifier == SDO_REQUEST + self.node_id:
            if self.nmt_state in (OPERATIONAL, PRE_OPERATIONAL):
                answer = self._sdo.answer(data)
                if answer is not None:
                    self.send(SDO_ANSWER + self.node_id, answer)
        elif identifier == 0 and len(data) == 2 and data[1] in (0, self.node_id):
            self._nmt(data[0])
        elif identifier == HEARTBEAT + (self._consumer.value >> 16 & 0x7F):
            self._unheard_ms = 0.0
            if self.error_register.value & COMMUNICATION:
                self.error_register.value &= ~COMMUNICATION
                self.emergency(0)

    def _receive_rpdo(self, data: bytes) -> None:
        if not self.rpdo.enabled or self.nmt_state != OPERATIONAL:
            return
        if len(data) < self.rpdo.size:
            self.emergency(PDO_LENGTH_ERROR)
        elif self.rpdo.synchronous:
            self._received = data
        else:
            self.rpdo.unpack(data)
            self._rpdo_arrived()

    def _nmt(self, command: int) -> None:
        if command in NMT_COMMANDS:
            before, self.nmt_state = self.nmt_state, NMT_COMMANDS[command]
            if before != self.nmt_state:
                self._received = self._latched = None
                self._nmt_changed()
        elif command == NMT_RESET_NODE:
            self.reset()
        elif command == NMT_RESET_COMMUNICATION:
            self.reset_communication()

    def latch(self) -> None:
        """A SYNC has arrived: what was received before it belongs to it, what comes later to the next."""
        self._latched, self._received = self._received, None

    def answer_sync(self) -> None:
        """Queues the transmit PDO and the heartbeat, where they are due."""
        self._syncs += 1
        if self.nmt_state == OPERATIONAL and self.tpdo.enabled:
            data = self.tpdo.pack()
            kind = self.tpdo.type.value
            due = self._syncs % max(1, kind) == 0 if self.tpdo.synchronous else data != self._sent
            if due:
                self._sent = data
                self.send(self.tpdo.cob_id, data)
        self._watch_master()
        period = self._heartbeat_time.value
        if period:
            self._heartbeat_ms += self._cycle_time_ms
            if self._heartbeat_ms >= period:
                self._heartbeat_ms -= period
                self.send(HEARTBEAT + self.node_id, bytes([self.nmt_state]))

    def _watch_master(self) -> None:
        limit = self._consumer.value & 0xFFFF
        if self._unheard_ms is None or not limit:
            return
        self._unheard_ms += self._cycle_time_ms
        if self._unheard_ms > limit:
            self._unheard_ms = None
            self.error_register.value |= COMMUNICATION
            self.emergency(HEARTBEAT_ERROR)
            if self.nmt_state == OPERATIONAL:
                self._nmt(0x80)

    def apply_latched(self) -> None:
        """Gives effect to the receive PDO that the last SYNC latched."""
        if self._latched is not None:
            self.rpdo.unpack(self._latched)
            self._latched = None
            self._rpdo_arrived()
