"""The controller: the cycle of the board, and what it is made of. The states around it are in states.py.

An image makes the axes (`configure`); without one no cycle runs. While armed nothing here allocates.
"""

import gc
from array import array
from time import ticks_us

import micropython
from micropython import const

from drives import cia402
from drives.units import read, write
from idmwire.sine import SINE
from motionboard import clock as clocks
from motionboard import dynamics
from motionboard.axis import TODO_LOOK, Axes, Settings, address
from motionboard.capture import BLOCK_WORDS, Capture, sample
from motionboard.dynamics import Dynamics
from motionboard.faults import Faults, Trace, keep
from motionboard.fixed import SH
from motionboard.guards import EVENT_WORDS, Guards, judge
from motionboard.motion import Motion, step, wait
from motionboard.states import DISARMED, DISARMING, HOLDING, States

# What `read` and `judge` say where something may be wrong, and the bits of axis.py.
_DOUBT = const(1)
_LOOK = const(2)
_MOVE = const(4)
_MODEL = const(8)
_WAIT = const(16)


class Controller(States):
    """Everything that happens in a cycle, in order."""

    def __init__(self, board):
        self.board = board
        self.wait = board.sleep
        self.model = dynamics.load()
        self.faults = Faults()
        # One of the states, HOLDING for all between arming and disarming or a fault.
        self._state = DISARMED
        self._cycle = array("i", [0])
        self._longest = array("i", [0])
        self.capture_holds = 0
        self.axes = self.settings = self.drives = self.capture = self.clock = None
        self.leaving = False
        self._holding = False
        self._waited = self._tripped = 0
        self._event = array("i", [0] * EVENT_WORDS)
        self._ring = array("i", [0] * (board.RING_BLOCKS * BLOCK_WORDS))

    # What an image makes

    def configure(self, image):
        """Makes the axes of an image and connects their drives; only while disarmed.

        Where the memory does not suffice, all stays as it was.
        """
        gc.collect()
        axes = Axes(image.n_axes)
        settings = Settings(axes, image.values)
        drives = cia402.Drives(self.board.can, axes, settings, image.cycle_time_us)
        motion = Motion(axes, settings, self._fault)
        model = Dynamics(axes, settings, self.model, image.mantissas, image.tables)
        guards = Guards(axes, settings)
        trace = Trace(axes)
        capture = Capture(axes, self._ring)
        clock = (clocks.GrantedClock if self.board.granted else clocks.TimerClock)(image.cycle_time_us)
        self.axes, self.settings, self.drives, self.motion, self.dynamics = axes, settings, drives, motion, model
        self.guards, self.trace, self.capture, self.clock = guards, trace, capture, clock
        axes.remind(TODO_LOOK, True)
        axes.cycle[0] = self.cycle_number
        self._cycle = axes.cycle
        # In one place, for a look-up in an object costs as much as a multiplication of all axes.
        self._parts = (
            ticks_us, address(self._longest), read, address(drives.reads), address(axes.todo), wait,
            address(motion.waiting), motion.runs, step, motion.running, model.evaluate, axes.ahead, model.parameters,
            axes.model_output, SINE, SH, judge, address(guards.bound), write, address(drives.writes), drives.send,
            address(clock.late), keep, address(trace.bound), sample, address(capture.bound), address(self._ring))
        gc.collect()
        return drives.connect(self.wait)

    @property
    def ready(self):
        """True where the drives are connected and cycles run."""
        return self.drives is not None and self.drives.connected and not self.leaving

    # The cycle

    @micropython.viper
    def cycle(self):
        """One control cycle, top to bottom."""
        (ticks, longest, read, reading, reminder, wait, waiting, sources, step, running, evaluate, ahead, parameters,
         torques, sine, sh, judge, judging, write, writing, send, late, keep, tracing, sample, capturing,
         ring) = self._parts
        began = int(ticks())
        todo = int(read(reading))
        if todo & _LOOK:
            self._sequence()
            todo = todo & _DOUBT | ptr32(reminder)[0]
        if todo & _WAIT:
            begun = int(wait(waiting))
            if begun:
                running[0] = sources[begun]
                todo |= _MOVE
        if todo & _MOVE:
            step(running)
        if todo & _MODEL:
            evaluate(ahead, parameters, torques, sine, sh)
        todo |= int(judge(judging))
        write(writing)
        send()
        if todo & (_LOOK | _DOUBT) or ptr32(late)[0]:
            self._look()
        keep(tracing)
        sample(capturing, ring)
        took = (int(ticks()) - began) & 0x3FFFFFFF
        most = ptr32(longest)
        if took > most[0]:
            most[0] = took

    @property
    def longest_cycle_us(self):
        """The longest cycle so far."""
        return self._longest[0]

    @property
    def cycle_number(self):
        """The number of the last cycle."""
        return self._cycle[0]

    @cycle_number.setter
    def cycle_number(self, number):
        self._cycle[0] = number

    def held(self):
        """True while the capture ring has no room and the board's time can wait for the host."""
        full = self.capture.full
        if full and not self._holding:
            self.capture_holds += 1
        self._holding = full
        return full

    @property
    def heartbeat_due(self):
        """True before the cycle that finds the heartbeat lost, unless one comes before."""
        return (self.settings is not None and self.since_heartbeat == self.settings.heartbeat_timeout[0]
                and (self._state == HOLDING or self._state == DISARMING))

    @property
    def since_heartbeat(self):
        """Cycles since the host's last heartbeat, counted while it has to send some."""
        return self.guards.silence if self.axes is not None else 0

    @since_heartbeat.setter
    def since_heartbeat(self, cycles):
        if self.axes is not None:
            self.guards.silence = cycles
