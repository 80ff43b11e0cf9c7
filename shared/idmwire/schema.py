"""The schema hash: one number that changes with anything both ends must agree on."""

from binascii import crc32

from idmwire import PROTOCOL_MAJOR
from idmwire.channels import CHANNELS
from idmwire.faults import FAULTS
from idmwire.messages import IMAGES, MESSAGES, REFUSALS, SETUP_STEPS, STATES
from idmwire.properties import PROPERTIES
from idmwire.scales import SCALE_ORDER, SCALES


def canonical() -> str:
    """The registries as text, meanings left out: a better sentence is no other protocol."""
    lines = ["protocol %d" % PROTOCOL_MAJOR]
    for code, name, direction, bits, fields in MESSAGES:
        layout = ",".join(["%s:%s:%d" % (field[0], field[1], field[2]) for field in fields])
        lines.append("message %d %s %s %d %s" % (code, name, direction, bits, layout))
    for prop in PROPERTIES:
        lines.append("property %d %s %s %s %d %d %s" % (prop[0], prop[1], prop[3], prop[4], prop[5], prop[6], prop[8]))
    for channel in CHANNELS:
        lines.append("channel %s %s" % (channel[0], channel[1]))
    for number, name, reaction in FAULTS:
        lines.append("fault %d %s %d" % (number, name, reaction))
    for refusal in REFUSALS:
        lines.append("refusal %d %s" % (refusal[0], refusal[1]))
    for name in SCALE_ORDER:
        lines.append("scale %s %d" % (name, SCALES[name][0]))
    lines.append("states %s" % " ".join(STATES))
    lines.append("images %s" % " ".join(IMAGES))
    lines.append("setup %s" % " ".join(SETUP_STEPS))
    return "\n".join(lines) + "\n"


SCHEMA_HASH = crc32(canonical().encode()) & 0xFFFFFFFF
