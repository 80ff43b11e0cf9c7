"""Two sources of time: the board's timer, and the virtual rig that grants cycles.

Everything else sees cycle numbers. `wait` returns when the next cycle may begin; until then
it serves the link and the bus.
"""

import time

# How long granted time waits for a host that is slow, by the wall clock.
_PATIENCE_MS = 2000


class TimerClock:
    """A cycle every cycle_time_us by the board's own clock; late cycles are counted, not made up."""

    def __init__(self, cycle_time_us):
        self.period = cycle_time_us
        self.overruns = 0
        self.late_in_a_row = 0
        self._next = time.ticks_add(time.ticks_us(), cycle_time_us)

    def wait(self, idle, controller):
        """Serves `idle` until the tick. The drives answer within the cycle or miss it."""
        late = time.ticks_diff(time.ticks_us(), self._next)
        if late > 0:
            self.overruns += 1
            self.late_in_a_row += 1
            # Whole periods are dropped, so that the phase stays.
            self._next = time.ticks_add(self._next, late // self.period * self.period)
        else:
            self.late_in_a_row = 0
        idle(0)
        while time.ticks_diff(self._next, time.ticks_us()) > 0:
            idle(0)
        self._next = time.ticks_add(self._next, self.period)


class GrantedClock:
    """A cycle when the rig has answered the last SYNC and the capture ring has room.

    Granted time may run faster than a host on a loaded machine sends heartbeats. So it waits before the cycle that
    would find the heartbeat lost: a host that is only slow gets it in, for one that is dead time goes on.
    """

    def __init__(self, cycle_time_us):
        self.period = cycle_time_us
        self.overruns = 0
        self.late_in_a_row = 0

    def wait(self, idle, controller):
        """Serves `idle` until the rig grants the cycle, and while a full capture ring holds it back."""
        # An image may be applied meanwhile: the drives are looked up each time.
        while controller.ready and not controller.drives.granted:
            idle(50)
        while controller.ready and controller.held():
            idle(50)
        if controller.heartbeat_due:
            until = time.ticks_add(time.ticks_ms(), _PATIENCE_MS)
            while controller.heartbeat_due and time.ticks_diff(until, time.ticks_ms()) > 0:
                idle(50)
