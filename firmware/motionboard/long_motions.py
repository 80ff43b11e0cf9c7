"""What the messages of long motions do: coefficients word by word, series, moves, and streamed points."""

from idmwire import framing, messages
from motionboard import codec
from motionboard.axis import MAX_AXES
from motionboard.motion import FOURIER, STREAM, TRAPEZOID
from motionboard.stream import POINTS

_HEAD = framing.HEADER_BYTES
_ENDLESS = 0x3FFFFFFF
_FOURIER_SIZES = [messages.payload_size("fourier", n) for n in range(MAX_AXES + 1)]
_TRAPEZOID_SIZES = [messages.payload_size("trapezoid", n) for n in range(MAX_AXES + 1)]
_STREAM_SIZES = [messages.payload_size("stream", n) for n in range(MAX_AXES + 1)]


class LongMotions:
    """The handlers of one link; `commands` has what motions have in common."""

    def __init__(self, controller, link, commands):
        self.controller = controller
        self.link = link
        self._commands = commands

    def motion_data(self):
        link = self.link
        n = (link.length - 2) // 4
        reason = self._refusal()
        if reason is None and (link.length < 6 or (link.length - 2) & 3):
            reason = "bad_length"
        at = codec.get16(link.request, _HEAD)
        if reason is None and at + n > len(self.controller.motion.data):
            reason = "out_of_range"
        if reason:
            link.refuse(reason)
            return
        motion = self.controller.motion
        codec.bytes_to_words(motion.data, at, link.request, _HEAD + 2, n)
        # Points of a stream stand in the same place.
        motion.sources[STREAM].clear()
        link.begin()
        link.put16(at + n)
        link.finish()

    def fourier(self):
        request = self.link.request
        if self._commands.refuses_motion(_FOURIER_SIZES):
            return
        if codec.above30(request, _HEAD + 4) or codec.above30(request, _HEAD + 8):
            self.link.refuse("out_of_range")
            return
        motion = self.controller.motion
        motion.sources[FOURIER].shape(request[_HEAD + 12], codec.get30(request, _HEAD + 8))
        codec.bytes_to_words(motion.start, 0, request, _HEAD + 13, self.controller.axes.n)
        self._commands.plan(FOURIER, codec.get30(request, _HEAD + 4))

    def trapezoid(self):
        request = self.link.request
        if self._commands.refuses_motion(_TRAPEZOID_SIZES):
            return
        if codec.above30(request, _HEAD + 4):
            self.link.refuse("out_of_range")
            return
        codec.bytes_to_words(self.controller.motion.start, 0, request, _HEAD + 8, self.controller.axes.n)
        self._commands.plan(TRAPEZOID, codec.get30(request, _HEAD + 4))

    def stream(self):
        if self._commands.refuses_motion(_STREAM_SIZES):
            return
        codec.bytes_to_words(self.controller.motion.start, 0, self.link.request, _HEAD + 4, self.controller.axes.n)
        self._commands.plan(STREAM, _ENDLESS)

    def stream_points(self):
        """Takes the points that come next; those that are there already are skipped, so that they may come again."""
        link = self.link
        request = link.request
        reason = self._stream_refusal()
        if reason:
            link.refuse(reason)
            return
        controller = self.controller
        n = controller.axes.n
        motion = controller.motion
        stream = motion.sources[STREAM]
        at = codec.get30(request, _HEAD)
        total = codec.get30(request, _HEAD + 4)
        count = (link.length - 8) // (4 * n)
        if at == 0 and not motion.moving:
            stream.clear()
        for i in range(count):
            if at + i == stream.received and not stream.complete:
                if stream.free < 1:
                    break
                codec.bytes_to_words(motion.data, (at + i & POINTS - 1) * n, request, _HEAD + 8 + 4 * n * i, n)
                if not stream.take():
                    link.refuse("out_of_range")
                    return
        if total and total == stream.received:
            stream.end(total)
        link.begin()
        link.put32(stream.received)
        link.put16(stream.free)
        link.finish()

    # Parts

    def _refusal(self):
        """Why nothing can be written for the next motion, or None."""
        return "no_parameters" if self.controller.axes is None else self.controller.can_move()

    def _stream_refusal(self):
        link = self.link
        controller = self.controller
        if controller.axes is None:
            return "no_parameters"
        n = controller.axes.n
        motion = controller.motion
        streaming = motion.kind == STREAM or motion.pending == STREAM
        if not streaming or controller.faults.latched:
            reason = controller.can_move()
            if reason:
                return reason
        if link.length < 8 or (link.length - 8) % (4 * n):
            return "bad_length"
        if codec.above30(link.request, _HEAD) or codec.above30(link.request, _HEAD + 4):
            return "out_of_range"
        return None
