"""The states around the cycle, what leads from one to another, and what the host may ask for.

    disarmed -> arming -> holding <-> moving -> stopping -> holding
                              any -> stopped_by_fault -> (clear) holding or disarmed
                              any -> disarming -> disarmed
"""

import gc

from drives import cia402, units
from idmwire import faults as fault_table
from idmwire.messages import STATES
from motionboard.axis import TODO_LOOK
from motionboard.motion import HOLD, STOP

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
_PARAMETERS_DEFAULTED = fault_table.FAULT_NUMBERS["parameters_defaulted"]

# Drives that have not come up after this many cycles will not; nor will a brake or a fault reset take longer.
_ENABLE_CYCLES = 1000
_BRAKE_CYCLES = 1000
_RESET_CYCLES = 100
_LATE = 3  # cycles in a row


class States:
    """The state of a board that has axes; of one without, always disarmed."""

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
            self._tripped = tripped = self.guards.check(self.motion.kind == HOLD or self.motion.kind == STOP)
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
            self._tripped |= 1 << len(self.guards.events)
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
            # Until a cycle has passed without one.
            self._tripped = 1
            self.drives.wanted = units.OFF
            units.write(self.drives.writes)
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
        axis = self._lacking()
        if axis >= 0:
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

    def _lacking(self):
        """The first axis that wants a model where there is none, or -1."""
        if not self.dynamics.available:
            for axis in range(self.axes.n):
                if self.settings.dynamic_model[axis]:
                    return axis
        return -1

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
        latched = self.faults.latched
        if not latched:
            return None
        if self.axes is None:
            return "fault_stands" if latched in (_MODEL_MISSING, _PARAMETERS_DEFAULTED) else None
        if self.motion.moving or self._tripped or (latched == _MODEL_MISSING and self._lacking() >= 0):
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
