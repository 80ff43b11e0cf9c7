"""Parameters on the board: staged, read back, applied, stored - four states, each with its own message."""

from array import array

from idmwire import framing, image, posture, properties
from idmwire.faults import FAULT_NUMBERS
from motionboard import codec
from motionboard.axis import MAX_AXES
from motionboard.states import DISARMED
from motionboard.store import CAPACITY

_HEAD = framing.HEADER_BYTES
STAGE_BYTES = CAPACITY
_DATA_MAX = 480


class Parameters:
    """The handlers of the parameter messages, and the image that is applied."""

    def __init__(self, controller, link, store):
        self.controller = controller
        self.link = link
        self.image = None
        self.dirty = False
        self._slot = store
        self._applied = b""
        self._stored = store.load() or b""
        self._previous = b""
        self._staged = bytearray(STAGE_BYTES)
        self._staged_n = 0
        self._word = array("i", (0,))
        self._property = None
        self._axis = 0

    def boot(self):
        """Applies the stored image; where something is stored that cannot be used, that is a latched fault."""
        reason = self._use(self._stored) if self._stored else "bad_image"
        faults = self.controller.faults
        if reason == "wrong_program":
            faults.raise_fault(FAULT_NUMBERS["model_missing"], 0, 0, None)
        elif reason == "bad_image" and self._slot.exists():
            faults.raise_fault(FAULT_NUMBERS["parameters_defaulted"], 0, 0, None)

    def refit(self):
        """The board has another model: what is applied, or else stored, is applied anew.

        Where that belongs to another model its parameters go and the settings stay; the board then refuses to arm
        where an axis wants a model.
        """
        data = self.image.pack() if self.image is not None else self._stored
        if not data or self._use(data) != "wrong_program" or self.image is None:
            return
        was = self.image
        settings = image.ParameterImage(
            was.robot, was.cycle_time_us, was.n_axes, was.values, generation=was.generation)
        self._use(settings.pack())
        self.dirty = True

    def read_property(self):
        if self._find_property():
            self._answer_property()

    def read_image(self):
        link = self.link
        if self._armed() or self._short(5):
            return
        which = link.request[_HEAD]
        offset = codec.get16(link.request, _HEAD + 1)
        length = codec.get16(link.request, _HEAD + 3)
        if which == 0:
            data, size = self._staged, self._staged_n
        elif which == 1:
            if offset == 0 and self.image is not None:
                self._applied = self.image.pack()
            data, size = self._applied, len(self._applied)
        elif which == 2:
            data, size = self._stored, len(self._stored)
        else:
            if offset == 0:
                self._previous = self._slot.previous() or b""
            data, size = self._previous, len(self._previous)
        if which > 3 or offset > size or length > _DATA_MAX:
            link.refuse("out_of_range")
            return
        link.begin()
        link.put16(size)
        link.put16(offset)
        link.put_bytes(data, offset, length if offset + length <= size else size - offset)
        link.finish()

    def write_property(self):
        link = self.link
        if self._short(6) or not self._find_property():
            return
        access = self._property[8]
        if access == "read":
            link.refuse("read_only")
            return
        if access == "disarmed" and self._armed():
            return
        settings = self.controller.settings
        codec.bytes_to_words(self._word, 0, link.request, _HEAD + 2, 1)
        if not settings.take(settings.slot(self._property, self._axis), self._word):
            link.refuse("out_of_range")
            return
        self.dirty = True
        self._answer_property()

    def stage(self):
        link = self.link
        if self._armed() or self._short(2):
            return
        offset = codec.get16(link.request, _HEAD)
        n = link.length - 2
        if offset + n > STAGE_BYTES or offset > self._staged_n:
            link.refuse("out_of_range")
            return
        codec.copy(self._staged, offset, link.request, _HEAD + 2, n)
        self._staged_n = offset + n
        link.begin()
        link.put16(self._staged_n)
        link.finish()

    def apply(self):
        link = self.link
        if self._armed() or self._short(4):
            return
        capture = self.controller.capture
        if capture is not None and capture.running:
            link.refuse("busy")
            return
        data = bytes(memoryview(self._staged)[: self._staged_n])
        if data[-4:] != bytes(memoryview(link.request)[_HEAD : _HEAD + 4]):
            link.refuse("bad_image")
            return
        reason = self._use(data)
        # With silent drives the settings are in force all the same.
        if reason is None or reason == "no_drives":
            self.dirty = data != self._stored
        if reason:
            link.refuse(reason)
            return
        self._answer_image(self.image.generation, data)

    def store(self):
        link = self.link
        if self._armed() or self._short(4):
            return
        if self.image is None:
            link.refuse("no_parameters")
            return
        data = self.image.pack()
        if data[-4:] != bytes(memoryview(link.request)[_HEAD : _HEAD + 4]):
            link.refuse("bad_image")
            return
        if not self._slot.save(data):
            link.refuse("store_failed")
            return
        self._stored = data
        self.dirty = False
        self._answer_image(self.image.generation, data)

    # Parts

    def _use(self, data):
        """Makes an image the applied one; the name of a refusal, or None."""
        try:
            contents = image.unpack(data)
        except ValueError:
            # An ImageError, or a name that is no text.
            return "bad_image"
        if not 1 <= contents.n_axes <= MAX_AXES or (contents.mantissas and not contents.program_hash):
            return "bad_image"
        for prop in properties.PROPERTIES:
            for axis in range(contents.n_axes if prop[3] == properties.AXIS else 1):
                value = contents.value(prop[1], axis)
                if value < prop[5] or value > prop[6]:
                    return "bad_image"
        model = self.controller.model
        if contents.program_hash and (
            model is None or contents.program_hash != model.PROGRAM_HASH
            or len(contents.mantissas) != model.N_PARAMETERS or contents.n_axes != model.N_AXES):
            return "wrong_program"
        # The model's proof that nothing leaves int32 holds for these parameters only.
        for mantissa, limit in zip(contents.mantissas, model.PARAMETER_LIMITS if contents.mantissas else ()):
            if abs(mantissa) > limit:
                return "bad_image"
        tables = posture.split(contents.tables)
        if tables is None or (tables and not contents.mantissas):
            return "bad_image"
        for table in tables:
            if not posture.fits(table, contents.n_axes, model.PARAMETER_LIMITS):
                return "bad_image"
        connected = self.controller.configure(contents)
        self.link.capture = self.controller.capture
        self.image = contents
        # The live values and the image are one: what is written to a property is in the next packed image.
        contents.values = self.controller.settings.values
        return None if connected else "no_drives"

    def _answer_image(self, generation, data):
        link = self.link
        link.begin()
        link.put32(generation)
        link.put_bytes(data, len(data) - 4, 4)
        link.finish()

    def _find_property(self):
        """Finds what the request names; False after a refusal. No tuple: this must not allocate."""
        link = self.link
        if self._short(2):
            return False
        axes = self.controller.axes
        if axes is None:
            link.refuse("no_parameters")
            return False
        self._property = properties.BY_NUMBER.get(link.request[_HEAD])
        self._axis = link.request[_HEAD + 1]
        if self._property is None or self._axis >= (axes.n if self._property[3] == properties.AXIS else 1):
            link.refuse("out_of_range")
            return False
        return True

    def _answer_property(self):
        link = self.link
        settings = self.controller.settings
        link.begin()
        link.put8(self._property[0])
        link.put8(self._axis)
        link.put_words(settings.values, settings.slot(self._property, self._axis), 1)
        link.finish()

    def _armed(self):
        if self.controller.state != DISARMED:
            self.link.refuse("needs_disarmed")
            return True
        return False

    def _short(self, smallest):
        if self.link.length < smallest:
            self.link.refuse("bad_length")
            return True
        return False
