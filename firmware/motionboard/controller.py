"""The controller: the cycle of the board, and the states around it.

    disarmed -> arming -> holding <-> moving -> stopping -> holding
                              any -> stopped_by_fault -> (clear) holding or disarmed
                          holding -> disarming -> disarmed

An image makes the axes (`configure`); a board without one runs no cycle and serves the link.
While armed nothing here allocates.
"""

import gc
import time

from drives import cia402
from idmwire import faults as fault_table
from idmwire.messages import STATES
from motionboard import clock as clocks
from motionboard import dynamics
from motionboard.axis import Axes, Settings
from motionboard.capture import Capture
from motionboard.dynamics import Dynamics
from motionboard.faults import Faults, Trace
from motionboard.guards import Guards
from motionboard.motion import HOLD, STOP, Motion

DISARMED = STATES.index("disarmed")
ARMING = STATES.index("arming")
HOLDING = STATES.index("holding")
MOVING = STATES.index("moving")
STOPPING = STATES.index("stopping")
STOPPED_BY_FAULT = STATES.index("stopped_by_fault")
DISARMING = STATES.index("disarming")

_FAULT = fault_table.FAULT_NUMBERS
_CYCLES_MASK = 0x3FFFFFFF
# Drives that have not come up after this many cycles will not.
_ENABLE_CYCLES = 1000
# Answers missing, or cycles late, in a row.
_MISSES = 3
_LATE = 3


class Controller:
    """Everything that happens in a cycle, in order."""

    def __init__(self, board):
        self.board = board
        self.model = dynamics.load()
        self.faults = Faults()
        self.state = DISARMED
        self.cycle_number = 0
        self.longest_cycle_us = 0
        self.capture_holds = 0
        self.since_heartbeat = 0
        self.axes = None
        self.settings = None
        self.drives = None
        self.capture = None
        self.clock = None
        self._holding = False
        self._waited = 0

    # What an image makes

    def configure(self, image):
        """Makes the axes of an image and connects their drives; only while disarmed."""
        axes = Axes(image.n_axes)
        settings = Settings(image.n_axes, image.values)
        self.axes = axes
        self.settings = settings
        self.drives = cia402.Drives(self.board.can, axes, settings, image.cycle_time_us)
        self.motion = Motion(axes, settings)
        self.dynamics = Dynamics(axes, settings, self.model, image.mantissas)
        self.guards = Guards(axes, settings)
        self.trace = Trace(axes)
        self.capture = Capture(axes, self.board.RING_BLOCKS)
        self.clock = (clocks.GrantedClock if self.board.granted else clocks.TimerClock)(image.cycle_time_us)
        gc.collect()
        return self.drives.connect(self.board.sleep)

    @property
    def ready(self):
        """True where the drives are connected and cycles run."""
        return self.drives is not None and self.drives.connected

    # The cycle

    def cycle(self):
        """One control cycle, top to bottom."""
        began = time.ticks_us()
        self.cycle_number = (self.cycle_number + 1) & _CYCLES_MASK
        self.drives.read()
        self._sequence()
        self.motion.step(self.cycle_number)
        self.dynamics.step()
        self.guards.feed_forward(self._feeding)
        self.drives.write()
        self.guards.errors()
        self._guard()
        self.trace.keep(self.cycle_number)
        self.capture.sample(self.cycle_number)
        took = time.ticks_diff(time.ticks_us(), began)
        if took > self.longest_cycle_us:
            self.longest_cycle_us = took

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
                and self.state not in (DISARMED, ARMING, STOPPED_BY_FAULT))

    @property
    def _feeding(self):
        return HOLDING <= self.state <= STOPPING or (
            self.state == STOPPED_BY_FAULT and self.faults.reaction <= fault_table.CONTROLLED_STOP)

    def _sequence(self):
        """Arming, disarming, and the end of motions."""
        state = self.state
        if state == DISARMED:
            self.motion.hold_here()
        elif state == ARMING:
            self.motion.hold_here()
            self._waited += 1
            if self.drives.enabled():
                self.guards.restart()
                self.state = HOLDING
            elif self._waited > _ENABLE_CYCLES:
                self._fault(_FAULT["enable_timeout"], 0, None)
        elif state == DISARMING:
            if self.motion.kind == HOLD and self.guards.ramp == 0:
                self.drives.wanted = cia402.OFF
                if self.drives.off():
                    self.state = DISARMED
        elif state == STOPPED_BY_FAULT:
            if self.faults.reaction >= fault_table.QUICK_STOP:
                self.motion.hold_here()
        else:
            kind = self.motion.kind
            self.state = HOLDING if not self.motion.moving else STOPPING if kind == STOP else MOVING

    def _guard(self):
        """The first thing wrong in this cycle becomes a fault with its defined stop."""
        if self.state == DISARMED or self.state == ARMING:
            return
        drives = self.drives
        self.since_heartbeat += 1
        if drives.missing_in_a_row >= _MISSES:
            self._fault(_FAULT["drive_lost"], 0, None)
        axis = drives.faulted()
        if axis >= 0:
            self._fault(_FAULT["drive_fault"], axis, None)
        number = self.guards.check()
        if number:
            self._fault(number, self.guards.event[1], self.guards.event)
        if self.since_heartbeat > self.settings.heartbeat_timeout[0]:
            self._fault(_FAULT["heartbeat_lost"], 0, None)
        if self.clock.late_in_a_row >= _LATE:
            self._fault(_FAULT["cycle_overrun"], 0, None)

    def _fault(self, number, axis, event):
        if not self.faults.raise_fault(number, axis, self.cycle_number, event):
            return
        self.trace.freeze_soon()
        reaction = self.faults.reaction
        if reaction == fault_table.NOTE:
            return
        self.state = STOPPED_BY_FAULT
        if reaction == fault_table.CONTROLLED_STOP:
            self.motion.stop()
        elif reaction == fault_table.QUICK_STOP:
            self.drives.wanted = cia402.BRAKE
        else:
            self.drives.wanted = cia402.OFF

    # What the host may ask for: each returns the name of a refusal, or None

    def arm(self):
        """Switches the drives on; then the axes hold where they are."""
        if self.axes is None:
            return "no_parameters"
        if not self.ready:
            return "no_drives"
        if self.faults.latched:
            return "fault_stands"
        if self.state != DISARMED:
            return "needs_disarmed"
        for axis in range(self.axes.n):
            if self.settings.dynamic_model[axis] and not self.dynamics.available:
                self._fault(_FAULT["model_missing"], axis, None)
                return "wrong_program"
        gc.collect()
        self.trace.release()
        self._waited = 0
        self.since_heartbeat = 0
        self.drives.wanted = cia402.ON
        self.state = ARMING
        return None

    def disarm(self):
        """Stops, ramps the feed-forward down, switches the drives off."""
        if self.state == DISARMED:
            return
        self.motion.stop()
        if self.state == ARMING or (
            self.state == STOPPED_BY_FAULT and self.faults.reaction >= fault_table.QUICK_STOP):
            self.drives.wanted = cia402.OFF
        self.state = DISARMING
        return

    def stop(self):
        """A controlled stop of whatever moves."""
        self.motion.stop()
        return

    def clear_fault(self):
        """Forgets the latched fault when its cause is gone."""
        if not self.faults.latched:
            return None
        if self.axes is not None and (self.motion.moving or (self._feeding and self.guards.check())):
            return "fault_stands"
        if self.state == STOPPED_BY_FAULT:
            if self._feeding and self.drives.enabled():
                self.since_heartbeat = 0
                self.state = HOLDING
            else:
                self.drives.wanted = cia402.OFF
                self.state = DISARMED
        return None

    def can_move(self):
        """The refusal of a motion, or None."""
        if self.state < HOLDING or self.state > STOPPING or self.faults.latched:
            return "needs_armed"
        if self.motion.moving:
            return "busy"
        return None
