"""Two sources of time: the board's timer, and the virtual rig that grants cycles.

Everything else sees cycle numbers. `wait` returns when the next cycle may begin; until then
it serves the link and the bus.
"""

import time
from array import array

import micropython

# How long granted time waits for a host that is slow, by the wall clock.
_PATIENCE_MS = 2000
# Cycles are counted by how late they began: bin b holds those of less than 2^b us that no bin before holds.
LATENESS_BINS = 16


@micropython.viper
def _count(bins: ptr32, late: int):
    b = 0
    while late > 0 and b < 15:
        late >>= 1
        b += 1
    bins[b] = bins[b] + 1


class _Clock:
    """What is counted of time, whoever gives it."""

    def __init__(self, cycle_time_us):
        self.period = cycle_time_us
        self.overruns = 0
        self.missed = 0
        # A word, so that a cycle sees it without a look-up.
        self.late = array("i", [0])
        self.latest_us = 0
        self.lateness = array("i", [0] * LATENESS_BINS)

    @property
    def late_in_a_row(self):
        """The last cycles that began late."""
        return self.late[0]

    @late_in_a_row.setter
    def late_in_a_row(self, cycles):
        self.late[0] = cycles


class TimerClock(_Clock):
    """A cycle every cycle_time_us by the board's own clock; late cycles are counted, not made up.

    Late is a cycle that begins more than a quarter of the period after its time, whether the cycle before it or the
    link took too long. Later by whole periods, it takes the place of those that should have been.
    """

    def __init__(self, cycle_time_us):
        super().__init__(cycle_time_us)
        self._bearable = cycle_time_us // 4
        self._next = -1

    def wait(self, idle, controller):
        """Serves `idle` until the tick, at least once. The drives answer within the cycle or miss it."""
        idle(0)
        now = time.ticks_us()
        if self._next < 0:
            self._next = time.ticks_add(now, self.period)
        while time.ticks_diff(self._next, now) > 0:
            idle(0)
            now = time.ticks_us()
        late = time.ticks_diff(now, self._next)
        _count(self.lateness, late)
        if late > self.latest_us:
            self.latest_us = late
        if late > self._bearable:
            self.overruns += 1
            self.late_in_a_row += 1
            # Whole periods are dropped, so that the phase stays.
            missed = late // self.period
            self.missed += missed
            self._next = time.ticks_add(self._next, missed * self.period)
        else:
            self.late_in_a_row = 0
        self._next = time.ticks_add(self._next, self.period)


class GrantedClock(_Clock):
    """A cycle when the rig has answered the last SYNC and the capture ring has room.

    Granted time may run faster than a host on a loaded machine sends heartbeats. So it waits before the cycle that
    would find the heartbeat lost: a host that is only slow gets it in, for one that is dead time goes on.
    """

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


def patient(sleep, feed):
    """`sleep` that feeds a watchdog, for whoever has to wait for others: each of its waits is short."""

    def wait(milliseconds):
        feed()
        sleep(milliseconds)

    return wait
