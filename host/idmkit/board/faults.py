"""What each fault of the registry means to people, and what to do next. docs/faults.md says more of each."""

from __future__ import annotations

from dataclasses import dataclass

from idmkit.board import drive_words
from idmwire import faults

REACTIONS = {
    faults.NOTE: "noted, motion goes on",
    faults.CONTROLLED_STOP: "controlled stop on the path, then hold with feed-forward",
    faults.QUICK_STOP: "quick stop by the drives, then hold",
    faults.DISABLE: "feed-forward and drives off, brakes close",
}

DRIVE_FAULTS = ("drive_fault", "enable_timeout")
"""Faults whose record holds a drive's statusword and its emergency message."""


@dataclass(frozen=True)
class FaultText:
    """A fault in words.

    `quantity` is that of the measured value and its limit (idmwire.scales), "" where a board records neither.
    """

    meaning: str
    next_step: str
    quantity: str = ""


FAULT_TEXTS = {
    "torque_threshold": FaultText(
        "the model's torque for the commanded motion exceeded TorqueThreshold",
        "Command a gentler motion, or check the payload and the model's parameters; raise the limit only if the drive "
        "and the mechanics bear it.",
        "torque",
    ),
    "collision": FaultText(
        "the filtered torque error exceeded TorqueErrorMax for its minimum duration",
        "Free the axis and look what it met. If nothing, identify again or check the payload before raising the limit.",
        "torque",
    ),
    "heartbeat_lost": FaultText(
        "no heartbeat came from the host for longer than the board waits",
        "Check the cable and whether the host's program still runs, then clear the fault.",
        "cycles",
    ),
    "position_limit": FaultText(
        "the commanded position left PositionMin to PositionMax",
        "Keep the motion inside the limits of the robot file.",
        "position",
    ),
    "position_error": FaultText(
        "the measured position was farther from the command than PositionErrorMax",
        "Look for something that blocks the axis, a drive at its torque limit, or a wrong PositionErrorDelay.",
        "position",
    ),
    "cycle_overrun": FaultText(
        "the board did not finish a cycle before the next was due, more often than it may",
        "Lengthen cycle_time_us in the robot file, or load the board with fewer axes or captured channels.",
        "cycles",
    ),
    "drive_fault": FaultText(
        "a drive reported a fault of its own, or left OPERATION ENABLED by itself",
        "Read the drive's error register with `idm drives PORT`, remove the cause, and clear the fault.",
        "count",
    ),
    "drive_lost": FaultText(
        "a drive did not answer on the bus",
        "Check the drive's supply, the bus cable and terminators, and the node number.",
        "cycles",
    ),
    "enable_timeout": FaultText(
        "a drive did not reach OPERATION ENABLED in time",
        "Check the drive's power stage, its enable input and the safe-torque-off circuit.",
        "count",
    ),
    "model_missing": FaultText(
        "the settings want a model but the compiled one is missing or is another, so there is no feed-forward",
        "Upload the compiled model that belongs to the settings, or apply an image made for the one on the board.",
    ),
    "parameters_defaulted": FaultText(
        "the stored settings were missing or damaged at start, so defaults are in use and arming is refused",
        "Apply and store the settings of this robot.",
    ),
    "program_error": FaultText(
        "the firmware met an error of its own",
        "Read the trace, restart the board and report the fault with the firmware's version.",
    ),
    "watchdog_reset": FaultText(
        "the board's watchdog has restarted it, because its program stood still",
        "Look at the drives, which lost their master in the middle of whatever it was; then clear the fault, and "
        "report it with the firmware's version.",
    ),
    "stream_underrun": FaultText(
        "the next point of a streamed motion had not come when it was needed; measured and limit are points received "
        "and needed",
        "Send points earlier, or let the host do less beside; clear the fault and begin the motion anew.",
        "count",
    ),
    "drive_heartbeat_lost": FaultText(
        "a drive's heartbeat stopped, or the drive restarted or left OPERATIONAL by itself",
        "Check the drive's supply; `idm drives PORT` says what its node does. Clearing sets it up anew.",
        "count",
    ),
    "bus_silent": FaultText(
        "none of the drives on a bus answered",
        "Check the cable from the board to its first drive, the terminators, and the drives' common supply.",
        "cycles",
    ),
    "encoder_jump": FaultText(
        "a measured position changed within one cycle as no axis can, so the drive's own loop acts on a wrong one",
        "Check the encoder, its cable and its shield; reference the axis anew before the next motion.",
        "position",
    ),
}

_UNKNOWN = FaultText("this package does not know it", "Update this package to the board's firmware.")


def fault_text(name: str) -> FaultText:
    """The words for a fault by its registry name; for an unknown one, words that say so."""
    return FAULT_TEXTS.get(name, _UNKNOWN)


def describe_fault(name: str, axis: int, seen: str = "") -> str:
    """A sentence or two: which fault, where, its meaning, what was `seen`, and the next step."""
    text = fault_text(name)
    return f"Fault {name} on axis {axis}: {text.meaning}. {seen + ' ' if seen else ''}{text.next_step}"


def evidence(name: str, value: int, limit: int) -> str:
    """What the record of a fault says of a drive, as a sentence; "" for a fault that is not about a drive's state."""
    if name not in DRIVE_FAULTS:
        return ""
    said = drive_words.emergency(limit)
    return f"The drive is in {drive_words.state(value)}{'; ' + said if said else ''}."
