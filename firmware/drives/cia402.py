"""CiA 402 servo drives on CAN, cyclic synchronous position, one PDO each way an axis.

    to the drive    6040 controlword u16, 607A target position i32, 60B2 torque offset i16
    from the drive  6041 statusword  u16, 6064 position actual i32, 6078 current actual i16

A cycle sends all commands of a bus and then SYNC in one write; the drives latch the commands and
answer with what they measured at that SYNC. docs/drives.md names every object in use.
"""

from drives import nmt, sdo, setup, slcan, units
from drives.canbus import SYNC, Bus
from drives.units import ON, Units
from idmwire.faults import FAULT_NUMBERS

# Cycles in a row without an answer of a drive that is lost.
MISSES = 3

_DRIVE_LOST = FAULT_NUMBERS["drive_lost"]
_DRIVE_HEARTBEAT_LOST = FAULT_NUMBERS["drive_heartbeat_lost"]
_ENCODER_JUMP = FAULT_NUMBERS["encoder_jump"]
_BUS_SILENT = FAULT_NUMBERS["bus_silent"]


class Drives(Units):
    """All drives of the robot on the buses behind `ports` (`port.readinto(buffer)`, `port.write(buffer, n)`).

    A cycle calls units.read, units.write and `send`. `nodes` is what the drives say of themselves, `setups` a
    SetupError or None for each axis.
    """

    def __init__(self, ports, axes, settings, cycle_time_us):
        used = [number for number in range(len(ports)) if number in list(settings.bus)]
        super().__init__(axes, settings, len(used))
        n = axes.n
        self.connected = False
        self.setups = [setup.SetupError(setup.UNKNOWN)] * n
        self._cycle_time_us = cycle_time_us
        words = self._watch
        words[units.BEAT_CYCLES] = words[units.BEAT_IN] = max(1, nmt.BEAT_MS * 1000 // cycle_time_us)
        self.nodes = nmt.Nodes(n, axes.name("drive_lost", "watch_words", units.LOST, 1))
        self._trouble = axes.array("drive_trouble", 4)
        self._jump[0] = _ENCODER_JUMP
        axes.name("heartbeat_due", "watch_words", units.BEAT, 1)
        self._sends = axes.bind("heartbeat_due", "drive_target", "drive_offset", "drive_control", "bus", "node_id")
        measured = axes.statusword, self.counts, self.current
        self._buses = []
        # Axes of a bus without a port are on none.
        for place, number in enumerate(used):
            members = [axis for axis in range(n) if settings.bus[axis] == number]
            at = slcan.STATE_WORDS * place
            state = axes.name("bus_state_%d" % number, "bus_states", at, slcan.STATE_WORDS)
            self._buses.append(Bus(ports[number], number, state, members, settings.node_id, self.nodes, measured))

    @property
    def granted(self):
        """True where the rig has answered the last SYNC on all buses: the cycle may begin."""
        for bus in self._buses:
            if not bus.state[slcan.TIME]:
                return False
        return True

    @property
    def bus_errors(self):
        """Lines on the buses that were no frame."""
        errors = 0
        for bus in self._buses:
            errors += bus.state[slcan.ERRORS]
        return errors

    def poll(self):
        """Takes what the buses have brought; after a heartbeat of the board each drive owes one, too."""
        if self._watch[units.BEAT]:
            self._watch[units.BEAT] = 0
            self.nodes.beat()
        for bus in self._buses:
            bus.poll()

    # Set-up: it waits, and so belongs to no cycle

    def connect(self, sleep):
        """Sets up every drive and starts it, and sends the first SYNC; True where all of them answered.

        Connected once, cycles go on when a second time fails: the other drives have to hear that they are off.
        """
        for axis in range(self.axes.n):
            self.setups[axis] = setup.SetupError(setup.NO_BUS)
        self.nodes.forget()
        for bus in [bus for bus in self._buses if bus.open(self.settings.bitrate[bus.members[0]])]:
            self._set_up(bus, sleep)
        if any(self.setups):
            return False
        if not self.connected:
            for bus in self._buses:
                bus.send(SYNC, b"")
        self.answered()
        self.connected = True
        return True

    def _set_up(self, bus, sleep):
        """Sets up the drives of a bus, each as far as it goes."""
        setup.await_boot_up(bus, self.nodes, sleep)
        for axis in bus.members:
            try:
                if self.nodes.state[axis] == nmt.UNHEARD:
                    raise setup.SetupError(setup.BOOT_UP)
                setup.set_up(bus, self.settings.node_id[axis], self._cycle_time_us, sleep)
                self.nodes.heard(axis, nmt.OPERATIONAL)
                self.setups[axis] = None
            except setup.SetupError as error:
                self.setups[axis] = error

    def read_object(self, axis, index, sub, sleep):
        """The bytes of an object of a drive; raises SdoError."""
        for bus in self._buses:
            if axis in bus.members:
                return sdo.Client(bus, self.settings.node_id[axis], sleep).read(index, sub)
        raise sdo.SdoError(index, sub, sdo.NO_ANSWER)

    # The cycle

    def send(self):
        """The setpoints and controlwords to the drives, and SYNC; the board's heartbeat when it is time."""
        for bus in self._buses:
            bus.flush(slcan.frames(self._sends, bus.out, bus.number, slcan.SYNC_AND_BEAT))

    # What the drives say

    @property
    def astray(self):
        """True where a drive has to be set up anew: it did not answer, or has left OPERATIONAL."""
        return self.missing_in_a_row > 0 or self.nodes.lost >= 0

    def trouble(self):
        """What makes a fault of the drives as a whole: its number, axis, value and limit, as guards have it, or None.

        A drive that does not answer or is lost, or, under power, a position that has jumped.
        """
        event = self._trouble
        if self.missing_in_a_row >= MISSES:
            event[1] = self.missing
            event[0] = _BUS_SILENT if self._bus_is_silent(self.missing) else _DRIVE_LOST
            event[2] = self.missing_in_a_row
            event[3] = MISSES
        elif self.nodes.lost >= 0:
            event[0] = _DRIVE_HEARTBEAT_LOST
            event[1] = self.nodes.lost
            event[2] = self.nodes.missed[self.nodes.lost]
            event[3] = nmt.BEATS
        elif self._watch[units.JUMPED] and self.wanted == ON:
            event = self._jump
            event[1] = self._watch[units.JUMPED] - 1
        else:
            return None
        return event

    def _bus_is_silent(self, axis):
        """True where none of the several drives on the bus of an axis has answered."""
        for bus in self._buses:
            if axis in bus.members:
                return len(bus.members) > 1 and self.alone(bus.all)
        return False

    def emergency(self, axis):
        """The last emergency of an axis: its error code, and its error register above 16 bits; 0 for none."""
        return self.nodes.code[axis] | self.nodes.register[axis] << 16
