"""Setting up a CiA 402 drive: what it is, its heartbeats, the mapping of its PDOs, mode and interpolation time."""

import time

from drives import nmt, sdo
from idmwire.messages import SETUP_STEPS

READY = SETUP_STEPS.index("ready")
UNKNOWN = SETUP_STEPS.index("unknown")
NO_BUS = SETUP_STEPS.index("no_bus")
BOOT_UP = SETUP_STEPS.index("boot_up")
_READ = SETUP_STEPS.index("read")
_WRITE = SETUP_STEPS.index("write")
_DEVICE_TYPE = SETUP_STEPS.index("device_type")
_MODE = SETUP_STEPS.index("mode")
_CYCLE_TIME = SETUP_STEPS.index("cycle_time")

# How long a drive may take to boot, and to say that it has taken a mode.
_BOOT_MS = 1000
_MODE_MS = 100

_SERVO = 402
_CYCLIC_SYNCHRONOUS_POSITION = 8
_SYNCHRONOUS = 1
_DISABLED = 1 << 31

# Number, COB-ID and mapping (index, subindex, bits) of the PDOs in use, and numbers of those that are not.
_COMMAND = (0x1400, 0x200, ((0x6040, 0, 16), (0x607A, 0, 32), (0x60B2, 0, 16)))
_ANSWER = (0x1800, 0x180, ((0x6041, 0, 16), (0x6064, 0, 32), (0x6078, 0, 16)))
_UNUSED = (0x1401, 0x1402, 0x1403, 0x1801, 0x1802, 0x1803)


class SetupError(Exception):
    """A drive could not be set up: a step of SETUP_STEPS, the object, and an abort code or what was read instead."""

    def __init__(self, step, index=0, sub=0, value=0):
        self.step = step
        self.index = index
        self.sub = sub
        self.value = value


def interpolation_time(cycle_time_us):
    """(value, exponent) of 60C2: exact in the coarsest unit that allows it, else the nearest; None where none fits."""
    nearest = None
    for exponent in (-3, -4, -5, -6):
        unit = 10 ** (6 + exponent)
        value = (cycle_time_us + unit // 2) // unit
        if 1 <= value <= 255:
            nearest = value, exponent
            if value * unit == cycle_time_us:
                break
    return nearest


def await_boot_up(bus, nodes, sleep):
    """Waits until every node of a bus has said that it has booted, but not longer than a drive may take."""
    until = time.ticks_add(time.ticks_ms(), _BOOT_MS)
    waiting = True
    while waiting and nodes.unheard(bus.members):
        sleep(1)
        bus.poll()
        waiting = time.ticks_diff(until, time.ticks_ms()) > 0


def set_up(bus, node, cycle_time_us, sleep):
    """Makes a drive that is PRE-OPERATIONAL ready for the cycle and starts its node; raises SetupError."""
    period = interpolation_time(cycle_time_us)
    if period is None:
        raise SetupError(_CYCLE_TIME, 0x60C2, 1, cycle_time_us)
    drive = _Drive(sdo.Client(bus, node, sleep), sleep)
    device = drive.read(0x1000, 0)
    if device & 0xFFFF != _SERVO:
        raise SetupError(_DEVICE_TYPE, 0x1000, 0, device)
    drive.write(0x1016, 1, 4, nmt.MASTER << 16 | nmt.LOST_MS)
    drive.write(0x1017, 0, 2, nmt.BEAT_MS)
    for number in _UNUSED:
        drive.disable(number)
    for number, identifier, mapping in (_COMMAND, _ANSWER):
        drive.map(number, identifier + node, mapping)
    drive.write(0x60C2, 1, 1, period[0])
    drive.write(0x60C2, 2, 1, period[1])
    drive.choose_mode(_CYCLIC_SYNCHRONOUS_POSITION)
    bus.command(nmt.START, node)


class _Drive:
    """The objects of one drive; what it refuses is a SetupError."""

    def __init__(self, client, sleep):
        self._client = client
        self._sleep = sleep

    def read(self, index, sub):
        try:
            return self._client.read_number(index, sub)
        except sdo.SdoError as error:
            raise SetupError(_READ, index, sub, error.abort)

    def write(self, index, sub, size, number):
        try:
            self._client.write(index, sub, size, number)
        except sdo.SdoError as error:
            raise SetupError(_WRITE, index, sub, error.abort)

    def disable(self, number):
        """Takes a PDO out of use; a drive need not have it."""
        try:
            identifier = self._client.read_number(number, 1)
            if not identifier & _DISABLED:
                self._client.write(number, 1, 4, identifier | _DISABLED)
        except sdo.SdoError as error:
            if error.abort not in (sdo.NO_OBJECT, sdo.NO_SUBINDEX):
                raise SetupError(_WRITE, number, 1, error.abort)

    def map(self, number, identifier, mapping):
        """A mapping may change only while its PDO is disabled and its count is 0."""
        self.write(number, 1, 4, identifier | _DISABLED)
        self.write(number + 0x200, 0, 1, 0)
        for place, (index, sub, bits) in enumerate(mapping):
            self.write(number + 0x200, place + 1, 4, index << 16 | sub << 8 | bits)
        self.write(number + 0x200, 0, 1, len(mapping))
        self.write(number, 2, 1, _SYNCHRONOUS)
        self.write(number, 1, 4, identifier)

    def choose_mode(self, mode):
        """Asks for a mode and waits until the drive says it has it."""
        self.write(0x6060, 0, 1, mode)
        until = time.ticks_add(time.ticks_ms(), _MODE_MS)
        shown = self.read(0x6061, 0)
        while shown != mode:
            if time.ticks_diff(until, time.ticks_ms()) <= 0:
                raise SetupError(_MODE, 0x6061, 0, shown)
            self._sleep(1)
            shown = self.read(0x6061, 0)
