"""The controller: the cycle of the board, and the states around it.

    disarmed -> arming -> holding <-> moving -> stopping -> holding
                              any -> stopped_by_fault -> (clear) holding or disarmed
                              any -> disarming -> disarmed

An image makes the axes (`configure`); without one no cycle runs. While armed nothing here allocates.
"""

import gc
from array import array
from time import ticks_diff, ticks_us

import micropython
from micropython import const

from drives import cia402, units, watch
from drives.units import read, write
from idmwire import faults as fault_table
from idmwire.messages import STATES
from idmwire.sine import SINE
from motionboard import clock as clocks
from motionboard import dynamics
from motionboard.axis import TODO_LOOK, Axes, Settings
from motionboard.capture import BLOCK_WORDS, Capture, sample
from motionboard.dynamics import Dynamics
from motionboard.faults import Faults, Trace, keep
from motionboard.fixed import SH
from motionboard.guards import EVENT_WORDS, Guards, judge
from motionboard.motion import HOLD, STOP, Motion

DISARMED = STATES.index("disarmed")
ARMING = STATES.index("arming")
HOLDING = STATES.index("holding")
MOVING = STATES.index("moving")
STOPPING = STATES.index("stopping")
STOPPED_BY_FAULT = STATES.index("stopped_by_fault")
DISARMING = STATES.index("disarming")

_DRIVE_FAULT = fault_table.FAULT_NUMBERS["drive_fault"]
_ENABLE_TIMEOUT = fault_table.FAULT_NUMBERS["enable_timeout"]
_HEARTBEAT_LOST = fault_table.FAULT_NUMBERS["heartbeat_lost"]
_CYCLE_OVERRUN = fault_table.FAULT_NUMBERS["cycle_overrun"]
_POSITION_LIMIT = fault_table.FAULT_NUMBERS["position_limit"]
_MODEL_MISSING = fault_table.FAULT_NUMBERS["model_missing"]
_PROGRAM_ERROR = fault_table.FAULT_NUMBERS["program_error"]

# What `read` and `judge` say where something may be wrong, and the bits of axis.py.
_DOUBT = const(1)
_LOOK = const(2)
_MOVE = const(4)
_MODEL = const(8)
# Drives that have not come up after this many cycles will not; nor will a brake or a fault reset take longer.
_ENABLE_CYCLES = 1000
_BRAKE_CYCLES = 1000
_RESET_CYCLES = 100
_LATE = 3  # cycles in a row


class Controller:
    """Everything that happens in a cycle, in order."""

    def __init__(self, board):
        self.board = board
        self.wait = board.sleep
        self.model = dynamics.load()
        self.faults = Faults()
        # One of the states, HOLDING for all between arming and disarming or a fault.
        self._state = DISARMED
        self._cycle = array("i", [0])
        self.longest_cycle_us = 0
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
            ticks_us, read, drives.reads, watch.watch, drives.watched, motion.step, model.evaluate, axes.ahead,
            model.parameters, axes.model_output, judge, guards.bound, write, drives.writes, drives.send, self.clock,
            keep, trace.bound, sample, capture.bound, self._ring)
        gc.collect()
        return drives.connect(self.wait)

    @property
    def ready(self):
        """True where the drives are connected and cycles run."""
        return self.drives is not None and self.drives.connected and not self.leaving

    # The cycle

    @micropython.native
    def cycle(self):
        """One control cycle, top to bottom."""
        (ticks, read, reading, watch, watching, move, evaluate, ahead, parameters, torques, judge, judging, write,
         writing, send, clock, keep, tracing, sample, capturing, ring) = self._parts
        began = ticks()
        todo = read(reading) | watch(watching)
        if todo & _LOOK:
            self._sequence()
        if todo & _MOVE:
            move()
        if todo & _MODEL:
            evaluate(ahead, parameters, torques, SINE, SH)
        todo |= judge(judging)
        write(writing)
        send()
        if todo & (_LOOK | _DOUBT) or clock.late_in_a_row:
            self._look()
        keep(tracing)
        sample(capturing, ring)
        took = ticks_diff(ticks(), began)
        if took > self.longest_cycle_us:
            self.longest_cycle_us = took

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

    @property
    def state(self):
        """The state, an index of STATES."""
        if self._state != HOLDING or not self.motion.moving:
            return self._state
        return STOPPING if self.motion.kind == STOP else MOVING

    def _enter(self, state):
        self._state = state
        if self.axes is not None:
            self.axes.remind(TODO_LOOK, True)
            self.guards.expect(self._feeding(), state > ARMING)

    def _feeding(self):
        return self._state == HOLDING or (
            self._state == STOPPED_BY_FAULT and self.faults.reaction <= fault_table.CONTROLLED_STOP)

    def _sequence(self):
        """Arming and disarming, and what goes on step by step."""
        state = self._state
        if state == DISARMED:
            self.motion.hold_here()
            self.dynamics.prepare()
        elif state == ARMING:
            self._arming()
        elif state == DISARMING:
            self._disarming()
        elif state == STOPPED_BY_FAULT:
            self._waited += 1
            if self.faults.reaction >= fault_table.QUICK_STOP:
                self.motion.hold_here()
        self.guards.advance()

    def _arming(self):
        drives = self.drives
        self.motion.hold_here()
        self._waited += 1
        if drives.wanted != units.ON:
            self._before_power()
        elif drives.enabled():
            self.guards.restart()
            self._enter(HOLDING)
        elif drives.faulted() >= 0:
            self._drive_fault(drives.faulted())
        elif self._waited > _ENABLE_CYCLES:
            self._drive_fault(drives.not_enabled(), _ENABLE_TIMEOUT)

    def _before_power(self):
        """A drive is switched on without a fault, and to a target where its axis stands."""
        drives = self.drives
        axis = drives.faulted()
        if axis >= 0:
            if drives.wanted != units.RESET or self._waited > _RESET_CYCLES:
                self._drive_fault(axis)
            return
        axis = drives.strayed()
        if axis >= 0:
            drives.wanted = units.OFF
            self.guards.outside(axis)
            self._fault(_POSITION_LIMIT, axis, self.guards.events[3])
            return
        drives.wanted = units.ON

    def _disarming(self):
        drives = self.drives
        self._waited += 1
        if drives.wanted != units.ON:
            self.motion.hold_here()
        if drives.wanted == units.BRAKE and not drives.off() and self._waited < _BRAKE_CYCLES:
            return
        if self.motion.kind == HOLD and self.guards.ramp == 0:
            drives.wanted = units.OFF
            # From a drive that does not answer, and is latched as lost, no more can be had.
            if drives.off() or drives.missing_in_a_row > cia402.MISSES:
                self._enter(DISARMED)

    def _look(self):
        """Finds out what is wrong in this cycle, and whether the next ones need a closer look."""
        self.dynamics.count()
        if self._state != DISARMED:
            self._guard()
        self.axes.remind(
            TODO_LOOK, self._state != HOLDING or self._tripped or self.guards.rising or not self.guards.steady)

    def _guard(self):
        """What is wrong in this cycle becomes a fault with its defined stop."""
        drives = self.drives
        trouble = drives.trouble()
        if trouble is not None:
            self._fault(trouble[0], trouble[1], trouble)
        if self._state == ARMING:
            return
        # With its power off or on its own brakes an axis does not follow, and that is no fault.
        self._tripped = 0
        if drives.wanted == units.ON:
            axis = drives.not_enabled()
            if axis >= 0:
                self._drive_fault(axis)
            self._tripped = tripped = self.guards.check()
            guard = 0
            while tripped:
                if tripped & 1:
                    event = self.guards.events[guard]
                    self._fault(event[0], event[1], event)
                tripped >>= 1
                guard += 1
        timeout = self.settings.heartbeat_timeout[0]
        if self.since_heartbeat > timeout:
            self.since_heartbeat = timeout + 1
            self._fault_of(_HEARTBEAT_LOST, 0, timeout + 1, timeout)
        if self.clock.late_in_a_row >= _LATE:
            self._fault_of(_CYCLE_OVERRUN, 0, self.clock.late_in_a_row, _LATE)

    def _drive_fault(self, axis, number=_DRIVE_FAULT):
        self._fault_of(number, axis, self.axes.statusword[axis], self.drives.emergency(axis))

    def _fault_of(self, number, axis, value, limit):
        self._event[2] = value
        self._event[3] = limit
        self._fault(number, axis, self._event)

    def _fault(self, number, axis, event):
        if not self.faults.raise_fault(number, axis, self.cycle_number, event):
            return
        self.trace.freeze_soon()
        reaction = self.faults.reaction
        if reaction == fault_table.NOTE:
            return
        if reaction == fault_table.CONTROLLED_STOP:
            self.motion.stop()
            # What is being switched off is switched off all the same.
            if self._state != DISARMING:
                self._enter(STOPPED_BY_FAULT)
            return
        self._enter(STOPPED_BY_FAULT)
        self._waited = 0
        self.drives.wanted = units.BRAKE if reaction == fault_table.QUICK_STOP else units.OFF

    def fail(self):
        """The firmware met an error of its own: drives off, latched; the link goes on.

        True for the first of what may be one in every cycle.
        """
        first = not self.faults.raised(_PROGRAM_ERROR)
        if self.axes is None:
            self.faults.raise_fault(_PROGRAM_ERROR, 0, self.cycle_number, None)
        else:
            self._fault_of(_PROGRAM_ERROR, 0, 0, 0)
            self.drives.wanted = units.OFF
            write(self.drives.writes)
            self.drives.send()
        return first

    # What the host may ask for: each returns the name of a refusal, or None

    def arm(self):
        """Switches the drives on; then the axes hold where they are."""
        if self.axes is None:
            return "no_parameters"
        if self.faults.latched:
            return "fault_stands"
        if self._state != DISARMED:
            return "needs_disarmed"
        for axis in range(self.axes.n):
            if self.settings.dynamic_model[axis] and not self.dynamics.available:
                self._fault(_MODEL_MISSING, axis, None)
                return "wrong_program"
        # Drives that were off when the settings came, or have been off since, are set up anew.
        if (not self.ready or self.drives.astray) and not self.drives.connect(self.wait):
            return "no_drives"
        gc.collect()
        self._waited = 0
        self.since_heartbeat = 0
        self.dynamics.prepare()
        self._enter(ARMING)
        return None

    def disarm(self):
        """Stops, ramps the feed-forward down, switches the drives off."""
        if self._state == DISARMED:
            return
        self.motion.stop()
        if self._state != DISARMING:
            self._waited = 0
        if self._state == ARMING:
            self.drives.wanted = units.OFF
        self._enter(DISARMING)

    def stop(self):
        """A controlled stop of whatever moves."""
        if self.axes is not None:
            self.motion.stop()

    def clear_fault(self):
        """Forgets the latched fault when its cause is gone."""
        if not self.faults.latched or self.axes is None:
            return None
        if self.motion.moving or self._tripped:
            return "fault_stands"
        if self._state == STOPPED_BY_FAULT:
            reason = self._leave_fault()
            if reason:
                return reason
        self.trace.release()
        return None

    def _leave_fault(self):
        drives = self.drives
        if self._feeding() and drives.enabled():
            self.since_heartbeat = 0
            self._enter(HOLDING)
            return None
        if drives.wanted == units.BRAKE and not drives.off() and self._waited < _BRAKE_CYCLES:
            return "fault_stands"
        if drives.astray and not drives.connect(self.wait):
            return "no_drives"
        drives.wanted = units.RESET if drives.faulted() >= 0 else units.OFF
        self._enter(DISARMED)
        return None

    def can_move(self):
        """The refusal of a motion, or None."""
        if self._state != HOLDING or self.faults.latched:
            return "needs_armed"
        if self.motion.moving:
            return "busy"
        return None
