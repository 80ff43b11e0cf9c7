"""The message registry: every message of the link, its checksum and its layout, once.

A message is (code, name, direction, crc bits, fields). A field is (name, type, count, unit);
types are those of `struct`, little-endian and packed; the count is 1, AXES (one value for
each axis, in axis order) or REST (all bytes that are left). An answer carries the sequence
number of what it answers and that message's code with ANSWER set. docs/protocol.md says what each one means.

CRC-32 guards whatever arms, moves or writes, CRC-16 the rest.
"""

import struct

AXES = -1
REST = 0
TO_BOARD = ">"
TO_HOST = "<"
ANSWER = 0x80

_REFUSED = 0xFF

# What a board answers instead of an answer: (number, name, what it means).
REFUSALS = (
    (1, "unknown_message", "this board has no such message"),
    (2, "bad_length", "the payload is not as long as the layout says"),
    (3, "needs_disarmed", "only while disarmed"),
    (4, "needs_armed", "only while armed and without a fault"),
    (5, "out_of_range", "a value is outside its range"),
    (6, "stale_start", "the axis is not where the motion says it starts"),
    (7, "too_late", "the start cycle has passed"),
    (8, "busy", "a motion or capture is running"),
    (9, "bad_image", "the staged image's checksum, size, axes or schema is wrong"),
    (10, "wrong_program", "the image belongs to another compiled model than the one on the board"),
    (11, "gone", "the capture block has been overwritten"),
    (12, "fault_stands", "the cause of the fault is still there"),
    (13, "no_parameters", "no settings for this robot have been applied yet"),
    (14, "no_drives", "the drives do not answer"),
    (15, "store_failed", "the image could not be written or read back"),
    (16, "read_only", "this property cannot be written"),
    (17, "wrong_architecture", "the compiled model is for another processor or MicroPython than this board's"),
    (18, "truncated", "not all of the model file has arrived"),
    (19, "corrupted", "the model file on the board is not the one that was sent"),
    (20, "wrong_hash", "the compiled model is not the one that its file says"),
    (21, "self_test_failed", "the compiled model does not give the host's torques on this board"),
    (22, "no_memory", "the board's memory does not suffice"),
    (23, "not_at_rest", "the motion does not begin or end at rest"),
    (24, "too_few_points", "a stream needs more points before it may start"),
)

# States of the board.
STATES = ("disarmed", "arming", "holding", "moving", "stopping", "stopped_by_fault", "disarming")
# Which image READ_IMAGE reads; "previous" is the one that was stored before.
IMAGES = ("staged", "applied", "stored", "previous")
# How far the set-up of a drive came: the step that failed.
SETUP_STEPS = ("ready", "unknown", "no_bus", "boot_up", "read", "write", "device_type", "mode", "cycle_time")

_STATUS = (
    ("cycle", "I", 1, "cycle"),
    ("state", "B", 1, "index of STATES"),
    ("fault", "B", 1, "number of the latched fault, 0 none"),
    ("fault_axis", "B", 1, "axis"),
    ("flags", "B", 1, "bits: 1 parameters defaulted, 2 applied differs from stored, 4 model on board, 8 capturing, 16 drives ready"),
)

MESSAGES = (
    (0x01, "hello", TO_BOARD, 16, (("major", "B", 1, ""), ("minor", "B", 1, ""))),
    (0x81, "hello_answer", TO_HOST, 16, (
        ("major", "B", 1, ""),
        ("minor", "B", 1, ""),
        ("schema_hash", "I", 1, "CRC-32 of the registry"),
        ("firmware_version", "3s", 1, "major minor patch"),
        ("board", "16s", 1, "name, zero-padded"),
        ("word_bits", "B", 1, "bit"),
        ("mpy_version", "H", 1, "sys.implementation._mpy"),
        ("axes", "B", 1, "number of axes"),
        ("cycle_time_us", "I", 1, "us"),
        ("exponents", "5s", 1, "int8 each, in SCALE_ORDER"),
        ("program_hash", "I", 1, "compiled model on the board, 0 none"),
        ("parameters", "H", 1, "number of its parameters"),
        ("generation", "I", 1, "of the applied image, 0 none"),
        ("robot", "16s", 1, "name in the applied image, zero-padded"),
        ("image_bytes", "H", 1, "largest image the board can stage"),
        ("ring_blocks", "H", 1, "capture blocks the board holds"),
        ("block_bytes", "H", 1, "samples in a block at most, byte"),
        ("receive_bytes", "H", 1, "longest frame the board takes"),
    )),
    (0x02, "status", TO_BOARD, 16, ()),
    (0x82, "status_answer", TO_HOST, 16, _STATUS + (
        ("position_command", "i", AXES, "position"),
        ("position_feedback", "i", AXES, "position"),
        ("torque_feedback", "i", AXES, "torque"),
    )),
    (0x03, "heartbeat", TO_BOARD, 16, ()),
    (0x83, "heartbeat_answer", TO_HOST, 16, _STATUS),
    (0x04, "statistics", TO_BOARD, 16, ()),
    (0x84, "statistics_answer", TO_HOST, 16, (
        ("frames_received", "I", 1, "frame"),
        ("frames_sent", "I", 1, "frame"),
        ("frames_dropped", "I", 1, "answers and blocks not sent because the host did not read"),
        ("crc_errors", "I", 1, "frame"),
        ("cobs_errors", "I", 1, "frame"),
        ("overflows", "I", 1, "runs without a delimiter"),
        ("repeats", "I", 1, "commands that arrived twice"),
        ("cycles", "I", 1, "cycle"),
        ("overruns", "I", 1, "cycles that began late, by more than a quarter of the period"),
        ("longest_cycle_us", "I", 1, "us"),
        ("capture_holds", "I", 1, "cycles held because the ring was full"),
        ("capture_overwritten", "I", 1, "blocks lost because the ring was full"),
        ("model_saturations", "I", 1, "values of the model that met their limit"),
        ("torque_saturations", "I", 1, "torque offsets cut to 16 bits"),
        ("drive_misses", "I", 1, "cycles in which a drive's answer was missing"),
        ("bus_errors", "I", 1, "CAN lines that were no frame"),
    )),
    (0x05, "read_timing", TO_BOARD, 16, ()),
    (0x85, "read_timing_answer", TO_HOST, 16, (
        ("cycle", "I", 1, "cycle"),
        ("ticks_us", "I", 1, "the board's clock at this answer, us, begins anew after 2^30 - 1"),
        ("missed", "I", 1, "cycles left out because another was later than a period"),
        ("latest_us", "I", 1, "us"),
        ("lateness", "64s", 1, "u32 x 16: cycles by how late they began: 0, 1, 2 to 3, 4 to 7 us and so on, all others last"),
    )),
    (0x10, "read_property", TO_BOARD, 16, (("property", "B", 1, "number"), ("axis", "B", 1, "axis"))),
    (0x90, "read_property_answer", TO_HOST, 16, (
        ("property", "B", 1, "number"), ("axis", "B", 1, "axis"), ("value", "i", 1, "counts"))),
    (0x11, "write_property", TO_BOARD, 32, (
        ("property", "B", 1, "number"), ("axis", "B", 1, "axis"), ("value", "i", 1, "counts"))),
    (0x91, "write_property_answer", TO_HOST, 16, (
        ("property", "B", 1, "number"), ("axis", "B", 1, "axis"), ("value", "i", 1, "counts, read back"))),
    (0x12, "stage", TO_BOARD, 32, (("offset", "H", 1, "byte"), ("data", "s", REST, ""))),
    (0x92, "stage_answer", TO_HOST, 16, (("staged", "H", 1, "bytes staged so far"),)),
    (0x13, "read_image", TO_BOARD, 16, (
        ("image", "B", 1, "index of IMAGES"), ("offset", "H", 1, "byte"), ("length", "H", 1, "byte"))),
    (0x93, "read_image_answer", TO_HOST, 16, (
        ("size", "H", 1, "bytes of the whole image, 0 none"), ("offset", "H", 1, "byte"), ("data", "s", REST, ""))),
    (0x14, "apply", TO_BOARD, 32, (("crc", "I", 1, "CRC-32 of the staged image"),)),
    (0x94, "apply_answer", TO_HOST, 16, (("generation", "I", 1, ""), ("crc", "I", 1, "of the applied image"))),
    (0x15, "store", TO_BOARD, 32, (("crc", "I", 1, "CRC-32 of the applied image"),)),
    (0x95, "store_answer", TO_HOST, 16, (("generation", "I", 1, ""), ("crc", "I", 1, "of the image read back"))),
    (0x20, "arm", TO_BOARD, 32, ()),
    (0xA0, "arm_answer", TO_HOST, 16, ()),
    (0x21, "disarm", TO_BOARD, 32, ()),
    (0xA1, "disarm_answer", TO_HOST, 16, ()),
    (0x22, "move", TO_BOARD, 32, (
        ("start_cycle", "I", 1, "cycle, 0 at once"),
        ("cycles", "H", 1, "duration"),
        ("start", "i", AXES, "position where the axis stands"),
        ("distance", "i", AXES, "position"),
        ("velocity", "i", AXES, "distance / duration, velocity"),
        ("acceleration", "i", AXES, "distance / duration^2, acceleration"),
    )),
    (0xA2, "move_answer", TO_HOST, 16, (("start_cycle", "I", 1, "cycle"),)),
    (0x23, "sine", TO_BOARD, 32, (
        ("start_cycle", "I", 1, "cycle, 0 at once"),
        ("cycles", "I", 1, "duration"),
        ("start", "i", AXES, "position where the axis stands"),
        ("amplitude", "i", AXES, "position, half the way to the target"),
        ("velocity", "i", AXES, "amplitude * 2 pi f, velocity"),
        ("acceleration", "i", AXES, "amplitude * (2 pi f)^2, acceleration"),
        ("phase_step", "i", AXES, "2^-32 turn a cycle"),
    )),
    (0xA3, "sine_answer", TO_HOST, 16, (("start_cycle", "I", 1, "cycle"),)),
    (0x24, "stop", TO_BOARD, 32, ()),
    (0xA4, "stop_answer", TO_HOST, 16, (("cycle", "I", 1, "cycle"),)),
    (0x25, "clear_fault", TO_BOARD, 32, ()),
    (0xA5, "clear_fault_answer", TO_HOST, 16, (("cleared", "B", 1, "number of the fault that was latched"),)),
    (0x30, "capture", TO_BOARD, 32, (
        ("start_cycle", "I", 1, "cycle, 0 at once"),
        ("samples", "I", 1, "how many, 0 until stopped"),
        ("every", "H", 1, "cycles from sample to sample"),
        ("channels", "s", REST, "pairs of bytes: channel, axis"),
    )),
    (0xB0, "capture_answer", TO_HOST, 16, (
        ("start_cycle", "I", 1, "cycle"), ("samples_per_block", "H", 1, "sample"))),
    (0x31, "capture_stop", TO_BOARD, 16, ()),
    (0xB1, "capture_stop_answer", TO_HOST, 16, (("blocks", "I", 1, "made in all"), ("samples", "I", 1, "taken in all"))),
    (0x32, "capture_again", TO_BOARD, 16, (("block", "I", 1, "number"),)),
    (0xB2, "capture_again_answer", TO_HOST, 16, (("block", "I", 1, "number, sent again behind this answer"),)),
    # Telemetry: no answer to either of these two.
    (0x33, "capture_received", TO_BOARD, 16, (("block", "I", 1, "all before this one have arrived"),)),
    (0xF0, "capture_block", TO_HOST, 16, (
        ("block", "I", 1, "number"), ("first_cycle", "I", 1, "cycle of the first sample"), ("samples", "s", REST, "int32 each, sample after sample, in each the channels in their order"))),
    (0x40, "read_fault", TO_BOARD, 16, (("index", "B", 1, "0 the newest"),)),
    (0xC0, "read_fault_answer", TO_HOST, 16, (
        ("count", "B", 1, "faults held"),
        ("fault", "B", 1, "number"),
        ("axis", "B", 1, "axis"),
        ("cycle", "I", 1, "cycle"),
        ("value", "i", 1, "what was measured, counts"),
        ("limit", "i", 1, "what it was held against, counts"),
    )),
    (0x41, "read_trace", TO_BOARD, 16, (("sample", "B", 1, "0 the oldest"),)),
    (0xC1, "read_trace_answer", TO_HOST, 16, (
        ("samples", "B", 1, "held around the newest fault"),
        ("cycle", "I", 1, "cycle"),
        ("position_command", "i", AXES, "position"),
        ("position_feedback", "i", AXES, "position"),
        ("torque_command", "i", AXES, "torque"),
        ("torque_feedback", "i", AXES, "torque"),
    )),
    (0x50, "enter_repl", TO_BOARD, 32, ()),
    (0xD0, "enter_repl_answer", TO_HOST, 16, ()),
    (0x18, "stage_model", TO_BOARD, 32, (("offset", "I", 1, "byte"), ("data", "s", REST, ""))),
    (0x98, "stage_model_answer", TO_HOST, 16, (("staged", "I", 1, "bytes staged so far"),)),
    (0x19, "use_model", TO_BOARD, 32, (("size", "I", 1, "byte"), ("crc", "I", 1, "CRC-32 that the model file ends with"))),
    (0x99, "use_model_answer", TO_HOST, 16, (("program_hash", "I", 1, "of the model in use"),)),
    # Motions whose coefficients stand in the board's motion data.
    (0x26, "motion_data", TO_BOARD, 32, (
        ("offset", "H", 1, "word"), ("words", "s", REST, "int32 each, as the motion that uses them says"))),
    (0xA6, "motion_data_answer", TO_HOST, 16, (("end", "H", 1, "word after the last one written"),)),
    (0x27, "fourier", TO_BOARD, 32, (
        ("start_cycle", "I", 1, "cycle, 0 at once"),
        ("cycles", "I", 1, "duration, whole periods"),
        ("period", "I", 1, "cycle"),
        ("harmonics", "B", 1, "1 to 8"),
        ("start", "i", AXES, "position where the axis stands"),
    )),
    (0xA7, "fourier_answer", TO_HOST, 16, (("start_cycle", "I", 1, "cycle"),)),
    (0x28, "trapezoid", TO_BOARD, 32, (
        ("start_cycle", "I", 1, "cycle, 0 at once"),
        ("cycles", "I", 1, "duration"),
        ("start", "i", AXES, "position where the axis stands"),
    )),
    (0xA8, "trapezoid_answer", TO_HOST, 16, (("start_cycle", "I", 1, "cycle"),)),
    (0x29, "stream_points", TO_BOARD, 32, (
        ("first", "I", 1, "number of the first of these points, 0 begins anew while nothing moves"),
        ("total", "I", 1, "points in all, 0 while that is not known"),
        ("points", "s", REST, "int32 each, point after point, in each one position an axis"),
    )),
    (0xA9, "stream_points_answer", TO_HOST, 16, (
        ("next", "I", 1, "number of the point that is wanted next"), ("free", "H", 1, "points there is room for"))),
    (0x2A, "stream", TO_BOARD, 32, (
        ("start_cycle", "I", 1, "cycle, 0 at once"), ("start", "i", AXES, "position where the axis stands"))),
    (0xAA, "stream_answer", TO_HOST, 16, (("start_cycle", "I", 1, "cycle"),)),
    (0x42, "read_drive", TO_BOARD, 16, (("axis", "B", 1, "axis"),)),
    (0xC2, "read_drive_answer", TO_HOST, 16, (
        ("axis", "B", 1, "axis"),
        ("bus", "B", 1, "number"),
        ("node", "B", 1, "number"),
        ("nmt_state", "B", 1, "as its last heartbeat says, 255 before the first"),
        ("statusword", "H", 1, "object 0x6041"),
        ("error_code", "H", 1, "of its last emergency message, 0 none"),
        ("error_register", "B", 1, "of the same"),
        ("emergencies", "I", 1, "emergency messages so far"),
        ("setup", "B", 1, "index of SETUP_STEPS, 0 when the drive is set up, else what failed"),
        ("setup_index", "H", 1, "its object"),
        ("setup_sub", "B", 1, "subindex"),
        ("setup_value", "I", 1, "SDO abort code, 0 without an answer; or what was read instead"),
    )),
    (0x43, "read_object", TO_BOARD, 16, (
        ("axis", "B", 1, "axis"), ("index", "H", 1, "object of the drive"), ("sub", "B", 1, "subindex"))),
    (0xC3, "read_object_answer", TO_HOST, 16, (
        ("axis", "B", 1, "axis"),
        ("index", "H", 1, "object"),
        ("sub", "B", 1, "subindex"),
        ("failed", "B", 1, "1 where it could not be read"),
        ("abort", "I", 1, "SDO abort code, 0 without an answer"),
        ("data", "s", REST, "as on the bus, little-endian"),
    )),
    (_REFUSED, "refused", TO_HOST, 16, (
        ("message", "B", 1, "code of the message refused"), ("reason", "B", 1, "number in REFUSALS"))),
)

_BY_CODE = {message[0]: message for message in MESSAGES}
_BY_NAME = {message[1]: message for message in MESSAGES}

# What the integer types hold.
_RANGES = {"B": (0, 255), "H": (0, 65535), "I": (0, 2**32 - 1), "i": (-(2**31), 2**31 - 1)}

REFUSED = _REFUSED
CODES = {message[1]: message[0] for message in MESSAGES}
REFUSAL_NAMES = {number: name for number, name, _ in REFUSALS}
REFUSAL_NUMBERS = {name: number for number, name, _ in REFUSALS}


def crc_bits(code: int) -> int:
    """16 or 32: the checksum that guards messages of this code; 0 for an unknown one."""
    message = _BY_CODE.get(code)
    return message[3] if message else 0


def message_name(code: int) -> str:
    """The name of a message code, or its number in hex."""
    message = _BY_CODE.get(code)
    return message[1] if message else "0x%02x" % code


def _size(kind: str) -> int:
    return struct.calcsize("<" + kind)


def payload_size(name: str, n_axes: int) -> int:
    """Bytes of a payload, a REST field counted as empty."""
    total = 0
    for _, kind, count, _ in _BY_NAME[name][4]:
        if count != REST:
            total += _size(kind) * (n_axes if count == AXES else 1)
    return total


def offset(name: str, field: str, n_axes: int) -> int:
    """Where a field begins in the payload of a message, in bytes."""
    total = 0
    for field_name, kind, count, _ in _BY_NAME[name][4]:
        if field_name == field:
            return total
        total += _size(kind) * (n_axes if count == AXES else 1)
    raise ValueError("message %s has no field %s" % (name, field))


def _check_fits(kind: str, value: object, name: str, field: str) -> None:
    if kind in _RANGES:
        low, high = _RANGES[kind]
        fits = isinstance(value, int) and low <= value <= high
    else:
        fits = isinstance(value, bytes) and len(value) <= _size(kind)
    if not fits:
        raise ValueError("field %s of %s cannot hold %r" % (field, name, value))


def pack_payload(name: str, n_axes: int, values: "dict[str, object]") -> bytes:
    """The payload of message `name`; a field over axes takes a sequence of n_axes integers.

    Raises ValueError for a missing or surplus field, a wrong number of axes, and for what a
    field cannot hold (struct would cut long bytes, and on MicroPython integers, too).
    """
    fields = _BY_NAME[name][4]
    surplus = [key for key in values if key not in [field[0] for field in fields]]
    if surplus:
        raise ValueError("message %s has no field %s" % (name, surplus[0]))
    out = b""
    for field_name, kind, count, _ in fields:
        if field_name not in values:
            raise ValueError("message %s lacks its field %s" % (name, field_name))
        value = values[field_name]
        if count == REST:
            out += bytes(value)  # type: ignore[call-overload]
        elif count == AXES:
            numbers = list(value)  # type: ignore[call-overload]
            if len(numbers) != n_axes:
                raise ValueError("field %s of %s has %d values for %d axes" % (field_name, name, len(numbers), n_axes))
            for number in numbers:
                _check_fits(kind, number, name, field_name)
                out += struct.pack("<" + kind, number)
        else:
            _check_fits(kind, value, name, field_name)
            out += struct.pack("<" + kind, value)
    return out


def unpack_payload(name: str, n_axes: int, payload: bytes) -> "dict[str, object]":
    """The fields of a payload, axes as tuples of integers, REST as bytes; raises ValueError on a wrong length."""
    fields = _BY_NAME[name][4]
    smallest = payload_size(name, n_axes)
    open_ended = REST in [field[2] for field in fields]
    if len(payload) < smallest or (len(payload) > smallest and not open_ended):
        raise ValueError("a payload of %d bytes is no %s for %d axes (%d bytes)" % (len(payload), name, n_axes, smallest))
    values: "dict[str, object]" = {}
    at = 0
    for field_name, kind, count, _ in fields:
        if count == REST:
            values[field_name] = bytes(payload[at:])
        elif count == AXES:
            values[field_name] = struct.unpack_from("<%d%s" % (n_axes, kind), payload, at)
            at += _size(kind) * n_axes
        else:
            values[field_name] = struct.unpack_from("<" + kind, payload, at)[0]
            at += _size(kind)
    return values
