# The whole firmware around a scripted board, as main.py puts it together, run cycle by cycle.

import gc

from scripted import Bus, CanPort, Host, LinkPort
from support import CYCLE_S, settings_table

from drives import sdo, setup
from idmwire import faults, messages
from idmwire.image import ParameterImage, image_crc
from motionboard import clock, motion
from motionboard.commands import Commands
from motionboard.controller import Controller
from motionboard.link import Link
from motionboard.model_store import ModelStore
from motionboard.parameters import Parameters
from motionboard.store import Store

TURN = 6.283185307179586

# A host that sends no heartbeat here is dead, not slow, and a drive that does not answer at once never will.
clock._PATIENCE_MS = 0
sdo._WAIT_MS = setup._BOOT_MS = setup._MODE_MS = 5


def motion_fields(start, distance, cycles, start_cycle=0, cycle_s=CYCLE_S, unit=None):
    # The fields of a move, as a host computes them; a position of 1 is `unit` of an axis: a turn in rad, or a metre.
    duration = cycles * cycle_s
    si = [d * u / 2**24 for d, u in zip(distance, unit or [TURN] * len(distance))]
    return {
        "start_cycle": start_cycle,
        "cycles": cycles,
        "start": start,
        "distance": distance,
        "velocity": [round(d / duration * 2**20) for d in si],
        "acceleration": [round(d / duration**2 * 2**14) for d in si],
    }


def sine_fields(start, amplitude, frequency, cycles, start_cycle=0, cycle_s=CYCLE_S, unit=None):
    w = TURN * frequency
    si = [a * u / 2**24 for a, u in zip(amplitude, unit or [TURN] * len(amplitude))]
    return {
        "start_cycle": start_cycle,
        "cycles": cycles,
        "start": start,
        "amplitude": amplitude,
        "velocity": [round(a * w * 2**20) for a in si],
        "acceleration": [round(a * w * w * 2**14) for a in si],
        "phase_step": [round(frequency * cycle_s * 2**32)] * len(amplitude),
    }


class Board:
    NAME = "script"
    RING_BLOCKS = 8
    BOOT_WINDOW_MS = 0
    granted = True

    def __init__(self, n, store, link_bytes, buses):
        # Axis after axis on the next bus.
        self.link = LinkPort(link_bytes)
        self.can = tuple([CanPort() for _ in range(buses)])
        self.store = store
        self.buses = [Bus(self.can[k], range(1 + k, n + 1, buses)) for k in range(buses)]

    def sleep(self, milliseconds):
        for bus in self.buses:
            bus.serve()


class Flash(Store):
    # A store in memory: `data` is the newest set, `before` the one in the other slot.

    def __init__(self, data=None, before=None):
        self.data = data
        self.before = before
        self.broken = False

    def load(self):
        from idmwire import image

        try:
            image.check(self.data or b"")
        except ValueError:
            return None
        return self.data

    def previous(self):
        return self.before

    def exists(self):
        return self.data is not None

    def save(self, data):
        if not self.broken:
            self.before = self.data
            self.data = data
        return not self.broken


class Weights:
    # In place of a compiled model: torques(y) writes the torques.
    PROGRAM_HASH = 1
    N_PARAMETERS = 1
    PARAMETER_LIMITS = (1,)

    def __init__(self, n, torques):
        self.N_AXES = n
        self._torques = torques

    def inverse_dynamics(self, _state, _parameters, y, _sine, _sh):
        self._torques(y)


class Bench:
    def __init__(
        self, n=1, cycle_s=CYCLE_S, flash=None, model=None, link_bytes=4096, ready=True, silent=False,
        buses=1, **changes
    ):
        gc.collect()
        self.n = n
        self.cycle_s = cycle_s
        self.flash = flash or Flash()
        self.board = Board(n, ".", link_bytes, buses)
        self.buses = self.board.buses
        self.bus = self.buses[0]
        self.drives = [self.buses[axis % buses].drives[axis // buses] for axis in range(n)]
        if buses > 1:
            changes.setdefault("bus", tuple([axis % buses for axis in range(n)]))
        for drive in self.drives:
            drive.silent = silent
        self.controller = Controller(self.board)
        self.controller.model = model
        self.link = Link(self.board.link)
        self.parameters = Parameters(self.controller, self.link, self.flash)
        self.models = ModelStore(self.controller, self.link, self.parameters, "/no-such-folder")
        self.commands = Commands(self.controller, self.link, self.parameters, self.models)
        self.parameters.boot()
        self.host = Host(self.board.link, self.idle, n)
        self.ask = self.host.ask
        self.refusal = self.host.refusal
        if ready:
            assert self.apply(self.image(**changes)) is None

    # Settings

    def image(self, **changes):
        changes.setdefault("stop_acceleration", 80 << 14)
        changes.setdefault("position_error_delay", 4)
        table = settings_table(self.n, self.cycle_s, **changes)
        model = self.controller.model
        used = (model.PROGRAM_HASH, (0,), (0.0,)) if isinstance(model, Weights) else (0, (), ())
        return ParameterImage("script", round(self.cycle_s * 1e6), self.n, table, *used)

    def stage(self, data):
        for at in range(0, len(data), 480):
            self.ask("stage", offset=at, data=data[at : at + 480])

    def apply(self, image):
        data = image.pack() if isinstance(image, ParameterImage) else image
        self.stage(data)
        return self.refusal("apply", crc=image_crc(data))

    # Time

    def idle(self, milliseconds=0):
        for bus in self.buses:
            bus.serve()
        self.link.serve()
        if self.controller.drives is not None:
            self.controller.drives.poll()

    def cycle(self, cycles=1, beat=True):
        for _ in range(cycles):
            if beat:
                self.controller.since_heartbeat = 0
            assert self.controller.ready
            for bus in self.buses:
                assert bus.grant()
            self.controller.clock.wait(self.idle, self.controller)
            self.controller.cycle()

    def cycle_until(self, state, most=1500):
        while self.state != state:
            self.cycle()
            most -= 1
            assert most, self.state

    # What is

    @property
    def state(self):
        return messages.STATES[self.controller.state]

    @property
    def fault(self):
        return faults.FAULT_NAMES.get(self.controller.faults.latched)

    @property
    def command(self):
        return list(self.controller.axes.position_command)

    def history(self):
        found = []
        count = 1
        while len(found) < count:
            answer = self.ask("read_fault", index=len(found))
            count = answer["count"]
            if count:
                found.append(faults.FAULT_NAMES[answer["fault"]])
        return found

    # Motion

    def arm(self):
        self.ask("arm")
        self.cycle_until("holding")

    def motion_fields(self, distance, cycles, **more):
        return motion_fields(self.command, distance, cycles, cycle_s=self.cycle_s, **more)

    def move(self, distance, cycles, **more):
        return self.ask("move", **self.motion_fields(distance, cycles, **more))

    def sine(self, amplitude, frequency, cycles):
        return self.ask("sine", **sine_fields(self.command, amplitude, frequency, cycles, cycle_s=self.cycle_s))

    @property
    def moving(self):
        return self.controller.motion.kind != motion.HOLD


def moving_bench(n=1, after=150, **changes):
    bench = Bench(n, **changes)
    bench.arm()
    bench.move([2**22] * n, 400)
    bench.cycle(after)
    assert bench.state == "moving"
    return bench
