"""What the board tells its host of the drives: one method a message, of the same name."""

from drives import sdo
from idmwire import framing
from motionboard import codec
from motionboard.states import DISARMED

_HEAD = framing.HEADER_BYTES


class DriveCommands:
    """The handlers that ask the drives."""

    def __init__(self, controller, link):
        self.controller = controller
        self.link = link

    def read_drive(self):
        """What the board knows of a drive."""
        axis = self._axis(1)
        if axis < 0:
            return
        link = self.link
        controller = self.controller
        settings = controller.settings
        drives = controller.drives
        nodes = drives.nodes
        failed = drives.setups[axis]
        link.begin()
        link.put8(axis)
        link.put8(settings.bus[axis])
        link.put8(settings.node_id[axis])
        link.put8(nodes.state[axis])
        link.put16(controller.axes.statusword[axis])
        link.put16(nodes.code[axis])
        link.put8(nodes.register[axis])
        link.put32(nodes.emergencies[axis])
        link.put8(failed.step if failed else 0)
        link.put16(failed.index if failed else 0)
        link.put8(failed.sub if failed else 0)
        link.put32(failed.value if failed else 0)
        link.finish()

    def read_object(self):
        """An object of a drive, by SDO; it takes a while, so only while disarmed."""
        axis = self._axis(4)
        if axis < 0:
            return
        link = self.link
        controller = self.controller
        if controller.state != DISARMED:
            link.refuse("needs_disarmed")
            return
        index = codec.get16(link.request, _HEAD + 1)
        sub = link.request[_HEAD + 3]
        abort = -1
        data = b""
        try:
            data = controller.drives.read_object(axis, index, sub, controller.wait)
        except sdo.SdoError as error:
            abort = error.abort
        link.begin()
        link.put8(axis)
        link.put16(index)
        link.put8(sub)
        link.put8(abort >= 0)
        link.put32(abort if abort >= 0 else 0)
        link.put_bytes(data, 0, len(data))
        link.finish()

    def _axis(self, length):
        """The axis that a request of so many bytes names; -1 after a refusal."""
        link = self.link
        controller = self.controller
        axis = link.request[_HEAD] if link.length == length else -1
        if axis < 0:
            link.refuse("bad_length")
        elif controller.axes is None:
            link.refuse("no_parameters")
            axis = -1
        elif axis >= controller.axes.n:
            link.refuse("out_of_range")
            axis = -1
        return axis
