"""Motion: the commanded position, velocity and acceleration of all axes, cycle by cycle, from one source at a time.

A motion says where it starts and is refused when an axis is not there. It runs from its start cycle on, so many
cycles; a stop takes over from whatever moves. The model reads the same motion a fraction of a cycle later
(torque_lead): drives need their torque earlier than whole cycles of delay can say.

**A source** is an object of `Motion.sources`, its kind the index. It has

    refusal(cycles)     why what the host has written into its arrays cannot be taken (a name of idmwire's refusals), or
                        None; that the axes are where the motion starts is known already
    plan(cycles)        takes it: all that can be worked out before is; runs outside the cycle
    step(bound)         in each cycle, with `bound`: best a viper function. It writes position_command, velocity_command
                        and acceleration_command for the cycle `motion_k` (0 in the start cycle) and, where torque_lead
                        is not 0, position_ahead, velocity_ahead and acceleration_ahead: the same motion torque_lead *
                        2**-15 cycles later. It returns
                            0   to go on,
                            1   when this was its last cycle, at rest: speeds become 0, the axes hold,
                            2   when it has no more to give, still moving: the axes stop from here
    bound               what axes.bind made for it

What every motion leaves behind in a cycle (`_settle`) is done after the step, unless the source has a `settle` of its
own that is called with `bound` instead; None where its step has done it.

What does not fit into one message stands in `data`, which the sources share; it is not written while anything moves.
"""

from array import array

import micropython
from micropython import const

from idmwire.faults import FAULT_NUMBERS
from idmwire.sine import SINE
from motionboard import shapes
from motionboard.axis import TODO_MOVE, TODO_WAIT, address
from motionboard.fixed import SH, sincos
from motionboard.fourier import Fourier
from motionboard.segments import Segments
from motionboard.stop import Stop
from motionboard.stream import Stream
from motionboard.trapezoid import Trapezoid

HOLD = 0
MOVE = 1
SINE_WAVE = 2
STOP = 3
FOURIER = 4
TRAPEZOID = 5
STREAM = 6

_STREAM_UNDERRUN = FAULT_NUMBERS["stream_underrun"]

_LONGEST_MOVE = 32767

# Coefficients must leave the channels below 2**30: a move's peak speed is 15/8 of its mean, its acceleration 5.8 times.
_MOST = 0x3FFFFFFF
_MOVE_SPEED_MOST = 0x1FFFFFFF
_MOVE_ACCELERATION_MOST = 0x7FFFFFF
# A sine of fewer than eight cycles a period is none.
_PHASE_STEP_MOST = 0x1FFFFFFF

_DATA_WORDS = 96

# Words of the motion: the kind that moves, the kind that waits, and for which cycle.
_KIND = const(0)
_PENDING = const(1)
_START = const(2)
_WORDS = const(3)
# STOP, and as in axis.py.
_STOP = const(3)
_TODO_MOVE = const(4)
_TODO_WAIT = const(16)


# The first axis, + 1, that would leave its limits by so many steps of `distance`. A sum that wraps turns back.
@micropython.viper
def _leaves(start: ptr32, distance: ptr32, steps: int, low: ptr32, high: ptr32, n: int, sh: int) -> int:
    i = 0
    while i < n:
        q = (start[i] << sh) >> sh
        r = (distance[i] << sh) >> sh
        lo = (low[i] << sh) >> sh
        hi = (high[i] << sh) >> sh
        if r != 0:
            if q < lo or q > hi:
                return i + 1
            k = 0
            while k < steps:
                to = ((q + r) << sh) >> sh
                if r > 0 and (to < q or to > hi):
                    return i + 1
                if r < 0 and (to > q or to < lo):
                    return i + 1
                q = to
                k += 1
        i += 1
    return 0


@micropython.viper
def _exceed(values: ptr32, most: int, n: int, sh: int) -> int:
    i = 0
    while i < n:
        v = (values[i] << sh) >> sh
        if v > most or v < 0 - most:
            return 1
        i += 1
    return 0


@micropython.viper
def _same(a: ptr32, b: ptr32, n: int) -> int:
    i = 0
    while i < n:
        if a[i] != b[i]:
            return 0
        i += 1
    return 1


@micropython.viper
def _copy(a: ptr32):
    i = 0
    n = a[0]
    to = ptr32(int(a) + a[2])
    source = ptr32(int(a) + a[3])
    while i < n:
        to[i] = source[i]
        i += 1


@micropython.viper
def _settle(a: ptr32):
    """What every motion leaves behind in a cycle: its number counted, directions latched, the speed remembered."""
    j = 4 * a[0]
    size = j
    sh = a[1]
    k = ptr32(int(a) + a[2])
    k[0] = k[0] + 1
    command = ptr32(int(a) + a[3])
    ahead = ptr32(int(a) + a[4])
    before = ptr32(int(a) + a[5])
    last = ptr32(int(a) + a[6])
    if ptr32(int(a) + a[7])[0] == 0:
        j *= 3
        while j:
            j -= 4
            ptr32(int(ahead) + j)[0] = ptr32(int(command) + j)[0]
        j = size
    command = ptr32(int(command) + size)
    ahead = ptr32(int(ahead) + size)
    size *= 2
    while j:
        j -= 4
        ptr32(int(before) + j)[0] = ptr32(int(last) + j)[0]
        v = (ptr32(int(command) + j)[0] << sh) >> sh
        ptr32(int(last) + j)[0] = v
        # The sign of the velocity; at standstill the last one stays.
        if v:
            ptr32(int(command) + size + j)[0] = (v >> 31) | 1
        v = (ptr32(int(ahead) + j)[0] << sh) >> sh
        if v:
            ptr32(int(ahead) + size + j)[0] = (v >> 31) | 1


@micropython.viper
def _rest(a: ptr32):
    """Nothing moves, with no speed and no acceleration; the model reads the command."""
    i = 0
    n = a[0]
    command = ptr32(int(a) + a[3])
    ahead = ptr32(int(a) + a[4])
    before = ptr32(int(a) + a[5])
    last = ptr32(int(a) + a[6])
    ptr32(int(a) + a[8])[_KIND] = 0
    todo = ptr32(int(a) + a[9])
    todo[0] = (todo[0] | _TODO_MOVE) ^ _TODO_MOVE
    while i < n:
        before[i] = 0
        last[i] = 0
        command[n + i] = 0
        command[2 * n + i] = 0
        ahead[i] = command[i]
        ahead[n + i] = 0
        ahead[2 * n + i] = 0
        i += 1


@micropython.viper
def wait(a: ptr32) -> int:
    """The kind of the motion that waits, when its cycle has come and it begins; else 0."""
    words = ptr32(int(a) + a[2])
    if (ptr32(int(a) + a[3])[0] - words[_START]) & 0x3FFFFFFF >= 0x20000000:
        return 0
    words[_KIND] = words[_PENDING]
    words[_PENDING] = 0
    ptr32(int(a) + a[5])[0] = 0
    todo = ptr32(int(a) + a[4])
    todo[0] = (todo[0] | _TODO_WAIT | _TODO_MOVE) ^ _TODO_WAIT
    return words[_KIND]


@micropython.viper
def _run_out(a: ptr32):
    """The source has no more to give. The stop begins with the next cycle: this one has had its work."""
    words = ptr32(int(a) + a[2])
    words[_PENDING] = _STOP
    words[_START] = ptr32(int(a) + a[3])[0]
    todo = ptr32(int(a) + a[4])
    todo[0] = todo[0] | _TODO_WAIT


@micropython.viper
def step(running):
    """The setpoint of this cycle, by the source that stands in `running`."""
    source, bound, settle, settling, rest, resting, stop, stopping = running[0]
    ended = int(source(bound))
    if int(settling):
        settle(settling)
    if ended == 1:
        rest(resting)
    elif ended:
        stop(stopping)


class Between:
    """A motion whose coefficients come in one message: a move or a sine."""

    def __init__(self, motion, kind, step, settle):
        axes = motion.axes
        self.step = step
        self.bound = axes.bind(
            "motion_records", "motion_words", "motion_k", "torque_lead", "channels", "ahead", "velocity_before",
            "velocity_last", "sine")
        self.settle = settle
        self._motion = motion
        self._kind = kind
        self._prepare = axes.bind("motion_records", "motion_given")
        self._sine = array("i", bytes(4 * axes.n))
        self._cosine = array("i", bytes(4 * axes.n))

    def refusal(self, cycles):
        """Why the motion in start, distance, ... cannot be taken: a name of idmwire's refusals, or None."""
        motion, move = self._motion, self._kind == MOVE
        settings, n = motion.settings, motion.axes.n
        if cycles < 2 or (move and cycles > _LONGEST_MOVE):
            return "out_of_range"
        if (_exceed(motion.distance, _MOST, n, SH)
                or _exceed(motion.velocity, _MOVE_SPEED_MOST if move else _MOST, n, SH)
                or _exceed(motion.acceleration, _MOVE_ACCELERATION_MOST if move else _MOST, n, SH)
                or (not move and _exceed(motion.phase_step, _PHASE_STEP_MOST, n, SH))
                or _leaves(motion.start, motion.distance, 1 if move else 2,
                           settings.position_min, settings.position_max, n, SH)):
            return "out_of_range"
        return None

    def plan(self, cycles):
        """Works out what the steps need."""
        motion = self._motion
        step = 0x3FFFFFFF // cycles
        words = motion.words
        words[0] = cycles
        words[1] = step
        words[2] = 0x3FFFFFFF - step * cycles
        shapes.prepare(self._prepare, self._kind == SINE_WAVE)
        lead = motion.settings.torque_lead[0]
        if lead and self._kind == MOVE:
            shapes.move_ahead(self._prepare, (step >> 17) * lead + 1)
        elif lead:
            shapes.sine_ahead(self._prepare, lead, self._sine, self._cosine, 1)
            sincos(self._sine, self._cosine, self._sine, SINE, motion.axes.n, SH)
            shapes.sine_ahead(self._prepare, lead, self._sine, self._cosine, 0)


class Motion:
    """The sources, and which of them moves the axes."""

    def __init__(self, axes, settings, report=None):
        n = axes.n
        self.axes = axes
        self.settings = settings
        self._state = axes.array("motion_state", _WORDS)
        self._cycles = 0
        self._k = axes.array("motion_k", 1)
        self.data = axes.array("motion_data", _DATA_WORDS * n)
        axes.array("motion_given", 5 * n)
        parts = [axes.name("motion_" + name, "motion_given", k * n, n) for k, name in enumerate(
            ("start", "distance", "velocity", "acceleration", "phase_step"))]
        self.start, self.distance, self.velocity, self.acceleration, self.phase_step = parts
        self.words = axes.array("motion_words", shapes.WORDS)
        axes.array("motion_records", shapes.RECORD * n)
        axes.array("velocity_before", n)
        axes.array("velocity_last", n)
        self._settling = axes.bind(
            "motion_k", "channels", "ahead", "velocity_before", "velocity_last", "torque_lead", "motion_state", "todo")
        self._here = axes.bind("position_command", "position_feedback")
        segments = Segments(axes, settings)
        self._stop = Stop(axes, settings)
        self.sources = (
            None,
            Between(self, MOVE, shapes.move, shapes.place),
            Between(self, SINE_WAVE, shapes.sine, None),
            self._stop,
            Fourier(self, segments),
            Trapezoid(self, segments),
            Stream(self, segments),
        )
        self.waiting = axes.bind("motion_state", "cycle", "todo", "motion_k")
        # What a cycle needs of each source, and of the one that moves the axes.
        self.runs = [source and self._run(source) for source in self.sources]
        self.runs[STREAM] = self.runs[STREAM][:6] + (self._run_dry, address(self.waiting))
        self.running = [None]
        # Hears of a stream that has run dry: report(fault, axis, event), value and limit at 2 and 3 of the event.
        self._report = report
        self._event = array("i", (0, 0, 0, 0))

    def _run(self, source):
        bound, settling = address(source.bound), address(self._settling)
        settle = (source.settle, bound if source.settle else 0) if hasattr(source, "settle") else (_settle, settling)
        return (source.step, bound) + settle + (_rest, settling, _run_out, address(self.waiting))

    @property
    def kind(self):
        """The source that moves the axes, or HOLD."""
        return self._state[_KIND]

    @property
    def pending(self):
        """The source that waits for its start cycle, or HOLD."""
        return self._state[_PENDING]

    @property
    def moving(self):
        """True while a motion runs or waits for its start cycle."""
        return self.kind != HOLD or self.pending != HOLD

    @property
    def cycles(self):
        """How long the motion takes, or took."""
        return self._stop.cycles if self.running[0] is self.runs[STOP] else self._cycles

    @property
    def k(self):
        """Cycles since the start cycle."""
        return self._k[0]

    def refusal(self, kind, cycles):
        """Why a motion cannot be taken as it has been written: a name of idmwire's refusals, or None."""
        if not _same(self.start, self.axes.position_command, self.axes.n):
            return "stale_start"
        return self.sources[kind].refusal(cycles)

    def plan(self, kind, start_cycle, cycles):
        """Takes the motion that has been written; it begins at start_cycle."""
        self.sources[kind].plan(cycles)
        self._wait(kind, start_cycle)
        self._cycles = cycles

    def stop(self):
        """Begins a controlled stop of whatever moves."""
        self._wait(HOLD, 0)
        kind = self.kind
        if kind != HOLD and kind != STOP:
            self._state[_KIND] = STOP
            self._k[0] = 0
            self.running[0] = self.runs[STOP]
            self._stop.begin()

    def hold_here(self):
        """Makes the measured position the command (arming, disarmed); no motion."""
        self._wait(HOLD, 0)
        _copy(self._here)
        _rest(self._settling)

    def step(self):
        """The setpoint of this cycle, as the controller makes it."""
        todo = self.axes.todo
        if todo[0] & TODO_WAIT:
            kind = wait(self.waiting)
            if kind:
                self.running[0] = self.runs[kind]
        if todo[0] & TODO_MOVE:
            step(self.running)

    def _wait(self, kind, start_cycle):
        self._state[_PENDING] = kind
        self._state[_START] = start_cycle
        self.axes.remind(TODO_WAIT, kind != HOLD)

    def _run_dry(self, waiting):
        """The stream wants points."""
        if self._report:
            stream = self.sources[STREAM]
            self._event[2] = stream.received
            self._event[3] = stream.wanted
            self._report(_STREAM_UNDERRUN, 0, self._event)
        # What is reported may stop everything.
        if self.kind == STREAM:
            _run_out(waiting)
