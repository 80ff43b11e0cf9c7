"""What the messages of the host do on the board: one method a message, of the same name."""

import sys
import time
from array import array

from idmwire import PROTOCOL_MAJOR, PROTOCOL_MINOR, channels, framing, messages, scales
from idmwire.faults import FAULT_NUMBERS
from idmwire.schema import SCHEMA_HASH
from motionboard import VERSION, codec
from motionboard.axis import MAX_AXES
from motionboard.capture import BLOCK_BYTES
from motionboard.clock import LATENESS_BINS
from motionboard.drive_commands import DriveCommands
from motionboard.fixed import SH
from motionboard.long_motions import LongMotions
from motionboard.motion import MOVE, SINE_WAVE
from motionboard.parameters import STAGE_BYTES
from motionboard.states import DISARMED

_HEAD = framing.HEADER_BYTES
_CYCLES_MASK = 0x3FFFFFFF
_NO_LATENESS = array("i", [0] * LATENESS_BINS)
_DEFAULTED = FAULT_NUMBERS["parameters_defaulted"]
# Payload lengths by number of axes, so that no length is computed while armed.
_MOVE_SIZES = [messages.payload_size("move", n) for n in range(MAX_AXES + 1)]
_SINE_SIZES = [messages.payload_size("sine", n) for n in range(MAX_AXES + 1)]


class Commands:
    """The handlers of one link."""

    def __init__(self, controller, link, parameters, models):
        self.controller = controller
        self.link = link
        self.parameters = parameters
        self._greeting = b""
        owners = (self, parameters, models, LongMotions(controller, link, self), DriveCommands(controller, link))
        table = [None] * 256
        for code, name, direction, _, _ in messages.MESSAGES:
            if direction == messages.TO_BOARD:
                owner = next(owner for owner in owners if hasattr(owner, name))
                table[code] = getattr(owner, name)
        link.handlers = table

    # Questions

    def hello(self):
        """Who this board is. Who asks knows of no capture: one that still runs ends, unsent blocks are kept back."""
        controller = self.controller
        if controller.state == DISARMED:
            self._greeting = self._who()
        capture = controller.capture
        if capture is not None:
            capture.stop()
            capture.sent = capture.filled
            capture.again = -1
        self.link.begin()
        self.link.put_bytes(self._greeting, 0, len(self._greeting))
        self.link.finish()

    def _who(self):
        """The answer to hello, made while disarmed; while armed it stays as it is."""
        controller = self.controller
        applied = self.parameters.image
        model = controller.model
        return messages.pack_payload("hello_answer", 0, {
            "major": PROTOCOL_MAJOR,
            "minor": PROTOCOL_MINOR,
            "schema_hash": SCHEMA_HASH,
            "firmware_version": bytes(VERSION),
            "board": controller.board.NAME.encode(),
            "word_bits": 64 if SH else 32,
            "mpy_version": getattr(sys.implementation, "_mpy", 0) & 0xFFFF,
            "axes": applied.n_axes if applied else 0,
            "cycle_time_us": applied.cycle_time_us if applied else 0,
            "exponents": bytes([exponent & 0xFF for exponent in scales.exponents()]),
            "program_hash": model.PROGRAM_HASH if model else 0,
            "parameters": model.N_PARAMETERS if model else 0,
            "generation": applied.generation if applied else 0,
            "robot": applied.robot.encode() if applied else b"",
            "image_bytes": STAGE_BYTES,
            "ring_blocks": controller.board.RING_BLOCKS,
            "block_bytes": BLOCK_BYTES,
            "receive_bytes": framing.MAX_FRAME,
        })

    def status(self):
        link = self.link
        link.begin()
        self._put_status()
        axes = self.controller.axes
        if axes is not None:
            link.put_words(axes.position_command, 0, axes.n)
            link.put_words(axes.position_feedback, 0, axes.n)
            link.put_words(axes.torque_feedback, 0, axes.n)
        link.finish()

    def heartbeat(self):
        self.controller.since_heartbeat = 0
        self.link.begin()
        self._put_status()
        self.link.finish()

    def statistics(self):
        link = self.link
        controller = self.controller
        drives = controller.drives
        capture = controller.capture
        link.begin()
        link.put32(link.frames_received)
        link.put32(link.frames_sent)
        link.put32(link.frames_dropped)
        link.put32(link.crc_errors)
        link.put32(link.cobs_errors)
        link.put32(link.overflows)
        link.put32(link.repeats)
        link.put32(controller.cycle_number)
        link.put32(controller.clock.overruns if drives else 0)
        link.put32(controller.longest_cycle_us)
        link.put32(controller.capture_holds)
        link.put32(capture.overwritten if drives else 0)
        link.put32(controller.dynamics.saturations if drives else 0)
        link.put32(drives.saturations if drives else 0)
        link.put32(drives.misses if drives else 0)
        link.put32(drives.bus_errors if drives else 0)
        link.finish()

    def read_timing(self):
        link = self.link
        clock = self.controller.clock
        link.begin()
        link.put32(self.controller.cycle_number)
        link.put32(time.ticks_us() & _CYCLES_MASK)
        link.put32(clock.missed if clock else 0)
        link.put32(clock.latest_us if clock else 0)
        link.put_words(clock.lateness if clock else _NO_LATENESS, 0, LATENESS_BINS)
        link.finish()

    def read_fault(self):
        link = self.link
        if self._short(1):
            return
        held = self.controller.faults
        at = held.place(link.request[_HEAD])
        if at < 0 and held.count:
            link.refuse("out_of_range")
            return
        link.begin()
        link.put8(held.count)
        link.put8(held.history[at] if at >= 0 else 0)
        link.put8(held.history[at + 1] if at >= 0 else 0)
        if at >= 0:
            link.put_words(held.history, at + 2, 3)
        else:
            for _ in range(3):
                link.put32(0)
        link.finish()

    def read_trace(self):
        link = self.link
        if self._short(1):
            return
        trace = self.controller.trace if self.controller.axes is not None else None
        at = trace.place(link.request[_HEAD]) if trace else -1
        if at < 0:
            link.refuse("out_of_range")
            return
        link.begin()
        link.put8(trace.held)
        link.put32(trace.cycles[at])
        link.put_words(trace.ring, at * trace.words, trace.words)
        link.finish()

    # Motion

    def arm(self):
        if self.controller.state == DISARMED:
            self._greeting = self._who()
        self._obey(self.controller.arm())

    def disarm(self):
        self._obey(self.controller.disarm())

    def move(self):
        if self.refuses_motion(_MOVE_SIZES):
            return
        self._coefficients(_HEAD + 6)
        self.plan(MOVE, codec.get16(self.link.request, _HEAD + 4))

    def sine(self):
        request = self.link.request
        if self.refuses_motion(_SINE_SIZES):
            return
        if codec.above30(request, _HEAD + 4):
            self.link.refuse("out_of_range")
            return
        n = self.controller.axes.n
        self._coefficients(_HEAD + 8)
        codec.bytes_to_words(self.controller.motion.phase_step, 0, request, _HEAD + 8 + 16 * n, n)
        self.plan(SINE_WAVE, codec.get30(request, _HEAD + 4))

    def stop(self):
        self.controller.stop()
        self.link.begin()
        self.link.put32(self.controller.cycle_number)
        self.link.finish()

    def clear_fault(self):
        reason = self.controller.clear_fault()
        if reason:
            self.link.refuse(reason)
            return
        self.link.begin()
        self.link.put8(self.controller.faults.clear())
        self.link.finish()

    # Capture

    def capture(self):
        link = self.link
        controller = self.controller
        if link.length < 10 or link.length & 1:
            link.refuse("bad_length")
            return
        capture = controller.capture
        if capture is None:
            link.refuse("no_parameters")
            return
        if capture.running:
            link.refuse("busy")
            return
        pairs = (link.length - 10) // 2
        every = codec.get16(link.request, _HEAD + 8)
        if not 1 <= pairs <= len(capture.picks) or every < 1 or codec.above30(link.request, _HEAD + 4):
            link.refuse("out_of_range")
            return
        for i in range(pairs):
            channel = link.request[_HEAD + 10 + 2 * i]
            axis = link.request[_HEAD + 11 + 2 * i]
            if channel >= len(channels.CHANNELS) or axis >= controller.axes.n:
                link.refuse("out_of_range")
                return
            capture.pick(i, channel, axis)
        start = self._start_cycle()
        if start < 0:
            return
        capture.start(start, codec.get30(link.request, _HEAD + 4), every, pairs)
        link.begin()
        link.put32(start)
        link.put16(capture.samples_per_block)
        link.finish()

    def capture_stop(self):
        capture = self.controller.capture
        if capture is None:
            self.link.refuse("no_parameters")
            return
        capture.stop()
        self.link.begin()
        self.link.put32(capture.filled)
        self.link.put32(capture.samples)
        self.link.finish()

    def capture_again(self):
        link = self.link
        if self._short(4):
            return
        capture = self.controller.capture
        block = codec.get30(link.request, _HEAD)
        if capture is None or block >= capture.filled:
            link.refuse("out_of_range")
            return
        if not capture.holds(block):
            link.refuse("gone")
            return
        capture.again = block
        link.begin()
        link.put32(block)
        link.finish()

    def capture_received(self):
        capture = self.controller.capture
        if capture is not None and self.link.length == 4:
            block = codec.get30(self.link.request, _HEAD)
            if capture.arrived < block <= capture.filled:
                capture.arrived = block

    def enter_repl(self):
        if self.controller.state != DISARMED:
            self.link.refuse("needs_disarmed")
            return
        self.link.begin()
        self.link.finish()
        self.controller.leaving = True

    # Parts

    def _put_status(self):
        link = self.link
        controller = self.controller
        link.put32(controller.cycle_number)
        link.put8(controller.state)
        link.put8(controller.faults.latched)
        link.put8(controller.faults.axis)
        flags = 1 if controller.faults.latched == _DEFAULTED else 0
        if self.parameters.dirty:
            flags |= 2
        if controller.model is not None:
            flags |= 4
        if controller.capture is not None and controller.capture.running:
            flags |= 8
        if controller.ready:
            flags |= 16
        link.put8(flags)

    def _obey(self, reason):
        if reason:
            self.link.refuse(reason)
            return
        self.link.begin()
        self.link.finish()

    def _coefficients(self, at):
        """start, distance, velocity and acceleration of all axes: alike in both motions."""
        motion = self.controller.motion
        n = self.controller.axes.n
        request = self.link.request
        codec.bytes_to_words(motion.start, 0, request, at, n)
        codec.bytes_to_words(motion.distance, 0, request, at + 4 * n, n)
        codec.bytes_to_words(motion.velocity, 0, request, at + 8 * n, n)
        codec.bytes_to_words(motion.acceleration, 0, request, at + 12 * n, n)

    def _short(self, smallest):
        if self.link.length < smallest:
            self.link.refuse("bad_length")
            return True
        return False

    def refuses_motion(self, sizes):
        """Refuses a motion that cannot be taken now, or whose message is not as long as `sizes` says."""
        controller = self.controller
        reason = "no_parameters" if controller.axes is None else controller.can_move()
        if reason is None and self.link.length != sizes[controller.axes.n]:
            reason = "bad_length"
        if reason:
            self.link.refuse(reason)
        return reason is not None

    def _start_cycle(self):
        """The request's start cycle, or the next one for 0; -1 after a refusal."""
        next_cycle = (self.controller.cycle_number + 1) & _CYCLES_MASK
        start = codec.get30(self.link.request, _HEAD)
        if codec.above30(self.link.request, _HEAD):
            self.link.refuse("out_of_range")
            return -1
        if start == 0:
            return next_cycle
        if ((start - next_cycle) & _CYCLES_MASK) >= 0x20000000:
            self.link.refuse("too_late")
            return -1
        return start

    def plan(self, kind, cycles):
        """Takes the motion whose coefficients stand in `motion`, or refuses it."""
        motion = self.controller.motion
        start = self._start_cycle()
        if start < 0:
            return
        reason = motion.refusal(kind, cycles)
        if reason:
            self.link.refuse(reason)
            return
        motion.plan(kind, start, cycles)
        self.link.begin()
        self.link.put32(start)
        self.link.finish()
