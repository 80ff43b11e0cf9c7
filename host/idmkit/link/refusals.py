"""What to do when a board refuses: a next step for every refusal of the registry."""

from __future__ import annotations

from idmkit.errors import BoardRefused
from idmwire import messages

NEXT_STEPS = {
    "unknown_message": "Update the board's firmware or this package, so that both have the same protocol.",
    "bad_length": "Update the board's firmware or this package, so that both have the same protocol.",
    "needs_disarmed": "Disarm the board first: `idm info PORT --clear` does.",
    "needs_armed": "Clear the fault, if there is one, and arm the board first.",
    "out_of_range": "Stay within the range that `idm params` shows.",
    "stale_start": "Read where the axis is commanded to be now, and start the motion there.",
    "too_late": "Choose a later start cycle, or 0 to start at once.",
    "busy": "Wait until it ends, or stop it.",
    "bad_image": "Stage the image again; if it is refused again, make it anew from the robot file.",
    "wrong_program": "Upload the compiled model that belongs to the image, or make the image anew for this model.",
    "gone": "Acknowledge blocks sooner, take fewer channels, or sample less often.",
    "fault_stands": "`idm info PORT` shows the fault; remove its cause, then `idm info PORT --clear`.",
    "no_parameters": "Apply settings for this robot first.",
    "no_drives": "`idm drives PORT` says which and why. Check supply, bus, terminators and node numbers.",
    "store_failed": "Store again; if it fails again, the board's flash is full or worn.",
    "read_only": "Leave it out: the board alone decides it.",
    "wrong_architecture": "Make the model for this board: `idm flash-model ROBOT PORT` does.",
    "truncated": "Send the model again: `idm flash-model ROBOT PORT`.",
    "corrupted": "Send the model again; if it fails again, the board's flash is worn.",
    "wrong_hash": "Make the model anew: `idm flash-model ROBOT PORT` does.",
    "self_test_failed": "Report it with the robot file; the model in use before stays in use.",
    "not_at_rest": "Make the plan anew with `idm plan`: its series begins and ends at rest.",
    "too_few_points": "Stream more points before the start, or a shorter way.",
    "no_memory": "Use a board with more memory, or a model with fewer parameters.",
}


class Refusal(BoardRefused):
    """A refusal of the registry: `message` and `reason` are its names there."""

    def __init__(self, message: str, number: int) -> None:
        self.message = message
        self.reason = messages.REFUSAL_NAMES.get(number, f"reason {number}")
        meaning = {row[1]: row[2] for row in messages.REFUSALS}.get(self.reason, "not in this side's registry")
        step = NEXT_STEPS.get(self.reason, "Update this package.")
        super().__init__(f"The board refused {message}: {self.reason}, {meaning}. {step}")
