"""Setpoints that the host streams, one for all axes every eight cycles.

They are the control points of a uniform cubic B-spline: with the points before it and after it, point i makes the knot

    q = (c[i-1] + 4 c[i] + c[i+1]) / 6      V = (c[i+1] - c[i-1]) / 2      A = c[i-1] - 2 c[i] + c[i+1]

so position, velocity and acceleration are continuous whatever is sent, the jerk in a segment is the third difference of
four points, and no axis leaves the range of its points. The motion begins and ends at rest: the start counts as the
first two points, and the last point goes on.

motion_data is a ring of the points that are still needed. Where the next one is missing when its time comes, the motion
ends in a controlled stop.
"""

import micropython

from motionboard.segments import ARRAYS, CYCLES, advance, chain

POINTS = 64
# Points that must have come before the motion may start.
FIRST = 8
_OWN = ("stream_scalars", "stream_start", "motion_data", "position_min", "position_max", "motion_start",
        "position_command")
_RECEIVED, _TOTAL, _SEGMENT, _STARTED = 0, 1, 2, 3


# scalars: points received, points in all (0 while that is not known), segment, 1 from the start on.
@micropython.viper
def _step(bound: object) -> int:
    a = ptr32(bound)
    k = ptr32(int(a) + a[8])[0]
    scalars = ptr32(int(a) + a[9])
    received = scalars[0]
    total = scalars[1]
    scalars[2] = k >> 3
    if k & 7 < a[0]:
        _knot(bound, k)
        chain(bound, k)
    advance(bound, k)
    if total > 0 and received >= total:
        if k == 8 * (total + 2):
            return 1
    elif received < (k >> 3) + 2:
        return 2
    return 0


# Points before the first are the start, points after the last are the last: knot i lies between points i-3, i-2, i-1.
@micropython.viper
def _knot(p: ptr32, k: int):
    """The knot of axis k mod 8 two segments ahead."""
    a = ptr32(int(p))
    n = a[0]
    sh = a[1]
    axis = k & 7
    data = int(a) + a[11] + 4 * axis
    received = ptr32(int(a) + a[9])[0]
    p = ptr32(int(a) + a[3] + 32 * axis)
    i = (k >> 3) - 1
    k = 0
    while k < 3:
        if i < 0 or received == 0:
            x = ptr32(int(a) + a[10])[axis]
        elif i < received:
            x = ptr32(data + 4 * n * (i & 63))[0]
        else:
            x = ptr32(data + 4 * n * ((received - 1) & 63))[0]
        # What is read back from a knot's word is what was put there, to 32 bits.
        p[5 + k] = x
        i += 1
        k += 1
    before = p[5]
    middle = p[6]
    after = p[7]
    x = ((before - 2 * middle + after) << sh) >> sh
    # x / 6 in 2**-9 counts, to one part in a million: 512 / 6 is (5461 + 21 / 64) / 64.
    sixth = (x * 5461 + ((x * 21) >> 6)) >> 6
    p[4] = middle + (sixth >> 9)
    p[5] = sixth & 0x1FF
    p[6] = (((after - before) << sh) >> sh) << 8
    p[7] = x << 9


# First differences below 2**20, second ones below 2**18: what `segment` can take.
@micropython.viper
def _fits(p: ptr32, i: int) -> int:
    """1 where point i, which stands in the ring, is within the limits and near enough to the two before it."""
    a = ptr32(int(p))
    n = a[0]
    sh = a[1]
    low = ptr32(int(a) + a[12])
    high = ptr32(int(a) + a[13])
    data = int(a) + a[11]
    start = ptr32(int(a) + a[10])
    here = ptr32(data + 4 * n * (i & 63))
    p = start
    if i > 0:
        p = ptr32(data + 4 * n * ((i - 1) & 63))
    before = start
    if i > 1:
        before = ptr32(data + 4 * n * ((i - 2) & 63))
    k = 0
    while k < n:
        x = (here[k] << sh) >> sh
        if x < (low[k] << sh) >> sh or x > (high[k] << sh) >> sh:
            return 0
        x = ((x - p[k]) << sh) >> sh
        y = ((p[k] - before[k]) << sh) >> sh
        if x < 0 - 0xFFFFF or x > 0xFFFFF or x - y < 0 - 0x3FFFF or x - y > 0x3FFFF:
            return 0
        k += 1
    return 1


@micropython.viper
def _forget(p: ptr32):
    """No points; the next ones begin where the axes are commanded to be."""
    a = ptr32(int(p))
    scalars = ptr32(int(a) + a[9])
    start = ptr32(int(a) + a[10])
    command = ptr32(int(a) + a[15])
    i = 0
    while i < 4:
        scalars[i] = 0
        i += 1
    i = 0
    while i < a[0]:
        start[i] = command[i]
        i += 1


@micropython.viper
def _starts_there(p: ptr32) -> int:
    """1 where the motion starts where its points begin."""
    a = ptr32(int(p))
    start = ptr32(int(a) + a[10])
    given = ptr32(int(a) + a[14])
    i = 0
    while i < a[0]:
        if start[i] != given[i]:
            return 0
        i += 1
    return 1


class Stream:
    """The motion source, and the ring that the link fills."""

    def __init__(self, motion, segments):
        axes = motion.axes
        self._n = axes.n
        self._usable = segments.usable
        self._scalars = axes.array("stream_scalars", 4)
        axes.array("stream_start", self._n)
        self.bound = axes.bind(*ARRAYS + _OWN)
        self.step = _step

    def clear(self):
        """Forgets all points; new ones begin where the axes are now."""
        _forget(self.bound)

    @property
    def received(self):
        """Points that have come."""
        return self._scalars[_RECEIVED]

    @property
    def free(self):
        """Places in the ring for points that will not overwrite what is still needed."""
        oldest = self._scalars[_SEGMENT] - 1
        return POINTS - self._scalars[_RECEIVED] + (oldest if oldest > 0 else 0)

    @property
    def complete(self):
        """True when the last point is there: no more can come."""
        return 0 < self._scalars[_TOTAL] <= self._scalars[_RECEIVED]

    @property
    def wanted(self):
        """Points that must be there in the segment that the motion is in."""
        return self._scalars[_SEGMENT] + 2

    def take(self):
        """Counts the point that stands at its place in the ring; False where no axis may go there."""
        if not _fits(self.bound, self._scalars[_RECEIVED]):
            return False
        self._scalars[_RECEIVED] += 1
        return True

    def end(self, total):
        """How many points there are in all; 0 while that is not known."""
        self._scalars[_TOTAL] = total

    def refusal(self, cycles):
        """Why the motion cannot start, or None."""
        if not self._usable:
            return "out_of_range"
        # Points are used once: they begin where the axes stood when the first one came.
        if self._scalars[_STARTED] or (self.received < FIRST and not self.complete):
            return "too_few_points"
        return None if _starts_there(self.bound) else "stale_start"

    def plan(self, cycles):
        """Knots 0 and 1 and the first chains."""
        self._scalars[_STARTED] = 1
        for k in range(-2 * CYCLES, 0):
            if k & 7 < self._n:
                _knot(self.bound, k)
                chain(self.bound, k)
