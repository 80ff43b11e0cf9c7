"""The channels: what the board knows of every axis in every cycle, and can capture.

The board keeps one int32 per channel and axis, at channel * n_axes + axis. The first four
are the inputs of a compiled model, in the order in which it reads them.
"""

# (name, quantity, meaning)
CHANNELS = (
    ("position_command", "position", "commanded position"),
    ("velocity_command", "velocity", "commanded velocity"),
    ("acceleration_command", "acceleration", "commanded acceleration"),
    ("direction", "count", "sign of the commanded velocity, the last one held at standstill"),
    ("torque_model", "torque", "torque of the model for this cycle's command (TAddCmd before the delay)"),
    ("torque_command", "torque", "additive torque sent to the drive (TAddCmd after AdditiveTorqueDelay and ramp)"),
    ("position_feedback", "position", "measured position (PFb)"),
    ("torque_feedback", "torque", "measured torque (TFb)"),
    ("torque_error", "torque", "filtered torque error (TE)"),
    ("position_error", "position", "command of PositionErrorDelay cycles ago minus feedback (PE)"),
    ("statusword", "count", "CiA 402 statusword of the drive"),
)

CHANNEL_NAMES = tuple([channel[0] for channel in CHANNELS])


def channel_number(name: str) -> int:
    """The number of a channel on the wire; raises ValueError for a name that is none."""
    if name not in CHANNEL_NAMES:
        raise ValueError("no channel is called %s; there are %s" % (name, ", ".join(CHANNEL_NAMES)))
    return CHANNEL_NAMES.index(name)
