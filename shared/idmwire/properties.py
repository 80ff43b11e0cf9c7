"""The property registry: everything on a board that has a name, softMC's where it has one.

A property is (number, name, softMC name, scope, quantity, lowest, highest, default, access,
meaning). Values are counts of their quantity (idmwire.scales). The scope is "axis" or
"board"; access is "write" (at any time), "disarmed" (only while disarmed) or "read".
Everything that can be written is part of the parameter image, in the order of this table.
"""

AXIS = "axis"
BOARD = "board"

_TORQUE_MAX = 2**30 - 1
_POSITION_MAX = 2**31 - 1

PROPERTIES = (
    # Model and feed-forward
    (1, "dynamic_model", "DynamicModel", AXIS, "count", 0, 15, 0, "disarmed", "0 none, else the compiled model feeds its torque forward"),
    (2, "additive_torque_delay", "AdditiveTorqueDelay", AXIS, "cycles", 0, 16, 3, "disarmed", "cycles from the model's torque to the drive"),
    (3, "torque_threshold", "TorqueThreshold", AXIS, "torque", 0, _TORQUE_MAX, _TORQUE_MAX, "write", "limit of the model's torque, a fault when exceeded"),
    (4, "feedforward_ramp", "", BOARD, "cycles", 1, 4096, 100, "disarmed", "cycles in which the feed-forward comes and goes"),
    (5, "torque_lead", "", BOARD, "ratio", 0, 32768, 0, "disarmed", "part of a cycle that the model looks ahead of the command"),
    # Torque error and collision
    (10, "torque_error_enable", "TorqueErrorEnable", AXIS, "count", 0, 1, 0, "write", "1 watches the torque error"),
    (11, "torque_error_max", "TorqueErrorMax", AXIS, "torque", 0, _TORQUE_MAX, _TORQUE_MAX, "write", "collision above this"),
    (12, "torque_error_filter", "TorqueErrorFilter", AXIS, "ratio", 1, 32768, 32768, "disarmed", "TE = TEF now + (1 - TEF) before"),
    (13, "torque_error_delay", "", AXIS, "cycles", 0, 31, 3, "disarmed", "cycles from the model's torque to the torque measured for it"),
    (14, "torque_error_duration", "", AXIS, "cycles", 1, 1000, 1, "write", "cycles above the limit that make a collision"),
    (15, "torque_error_max_rest", "", AXIS, "torque", 0, _TORQUE_MAX, _TORQUE_MAX, "write", "collision above this at rest, where friction may be anything up to Coulomb's, and in a controlled stop"),
    (16, "torque_error_rest_cycles", "", AXIS, "cycles", 0, 30, 0, "write", "cycles after rest in which torque_error_max_rest holds; 0 never"),
    # Position
    (20, "position_min", "PositionMin", AXIS, "position", -_POSITION_MAX, _POSITION_MAX, -_POSITION_MAX, "disarmed", "lowest command"),
    (21, "position_max", "PositionMax", AXIS, "position", -_POSITION_MAX, _POSITION_MAX, _POSITION_MAX, "disarmed", "highest command"),
    (22, "position_error_max", "PositionErrorMax", AXIS, "position", 1, _TORQUE_MAX, _TORQUE_MAX, "write", "limit of the position error"),
    (23, "position_error_delay", "PositionErrorDelay", AXIS, "cycles", 0, 31, 2, "disarmed", "cycles from the command to the position measured for it"),
    (24, "stop_acceleration", "", AXIS, "acceleration", 256, _TORQUE_MAX, 2**20, "disarmed", "largest deceleration of a controlled stop"),
    # Link
    (30, "heartbeat_timeout", "", BOARD, "cycles", 10, 1000000, 1000, "disarmed", "cycles without a heartbeat that stop an armed board"),
    # Drive: counts = position * mantissa / 2^shift and so on; the host computes them from the robot file
    (40, "node_id", "", AXIS, "count", 0, 127, 0, "disarmed", "CANopen node"),
    (41, "counts_mantissa", "", AXIS, "count", -_TORQUE_MAX, _TORQUE_MAX, 0, "disarmed", "drive counts = position * mantissa / 2^shift"),
    (42, "counts_shift", "", AXIS, "count", 1, 45, 30, "disarmed", ""),
    (43, "position_mantissa", "", AXIS, "count", -_TORQUE_MAX, _TORQUE_MAX, 0, "disarmed", "position = drive counts * mantissa / 2^shift"),
    (44, "position_shift", "", AXIS, "count", 1, 45, 30, "disarmed", ""),
    (45, "offset_mantissa", "TorqueFactor", AXIS, "count", -_TORQUE_MAX, _TORQUE_MAX, 0, "disarmed", "60B2 = torque * mantissa / 2^shift"),
    (46, "offset_shift", "", AXIS, "count", 1, 45, 30, "disarmed", ""),
    (47, "feedback_mantissa", "", AXIS, "count", -_TORQUE_MAX, _TORQUE_MAX, 0, "disarmed", "torque = 6078 * mantissa / 2^shift"),
    (48, "feedback_shift", "", AXIS, "count", 1, 45, 15, "disarmed", ""),
    (49, "step_mantissa", "", AXIS, "count", 0, _TORQUE_MAX, 0, "disarmed", "position a cycle = velocity * mantissa / 2^shift"),
    (50, "step_shift", "", AXIS, "count", 1, 45, 30, "disarmed", ""),
    (51, "rate_mantissa", "", AXIS, "count", 0, _TORQUE_MAX, 0, "disarmed", "acceleration = change of velocity in a cycle * mantissa / 2^shift"),
    (52, "rate_shift", "", AXIS, "count", 1, 45, 30, "disarmed", ""),
    (60, "bus", "", AXIS, "count", 0, 7, 0, "disarmed", "the drive's bus, one of the board's ports"),
    (61, "bitrate", "", AXIS, "count", 10, 1000, 1000, "disarmed", "of that bus, kbit/s"),
)

NUMBERS = {prop[1]: prop[0] for prop in PROPERTIES}
NAMES = {prop[0]: prop[1] for prop in PROPERTIES}
BY_NUMBER = {prop[0]: prop for prop in PROPERTIES}
BY_NAME = {prop[1]: prop for prop in PROPERTIES}


def slots(n_axes: int) -> "dict[str, int]":
    """Where each property begins in the flat table of values, and the table's size under ""."""
    places = {}
    at = 0
    for prop in PROPERTIES:
        places[prop[1]] = at
        at += n_axes if prop[3] == AXIS else 1
    places[""] = at
    return places


def defaults(n_axes: int) -> "list[int]":
    """The flat table of default values."""
    table = []
    for prop in PROPERTIES:
        table.extend([prop[7]] * (n_axes if prop[3] == AXIS else 1))
    return table
