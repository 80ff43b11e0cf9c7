"""Faults: numbers and what each one makes the board do.

Names, meanings and next steps for people live on the host (idmkit.board.faults); a test
joins the two.

Reactions, from mild to hard:
  NOTE             latched and shown, motion goes on; what it forbids is said beside it
  CONTROLLED_STOP  bounded-jerk stop on the path, then hold with feed-forward
  QUICK_STOP       the drives brake by their own quick stop and hold
  DISABLE          feed-forward and drives off (brakes close)
"""

NOTE = 0
CONTROLLED_STOP = 1
QUICK_STOP = 2
DISABLE = 3

# (number, name, reaction)
FAULTS = (
    (1, "torque_threshold", CONTROLLED_STOP),
    (2, "collision", QUICK_STOP),
    (3, "heartbeat_lost", CONTROLLED_STOP),
    (4, "position_limit", CONTROLLED_STOP),
    (5, "position_error", QUICK_STOP),
    (6, "cycle_overrun", CONTROLLED_STOP),
    (7, "drive_fault", QUICK_STOP),
    (8, "drive_lost", DISABLE),
    (9, "enable_timeout", DISABLE),
    (10, "model_missing", NOTE),
    (11, "parameters_defaulted", NOTE),
    (12, "program_error", DISABLE),
    (13, "watchdog_reset", NOTE),
    (14, "stream_underrun", CONTROLLED_STOP),
    (15, "drive_heartbeat_lost", DISABLE),
    (16, "bus_silent", DISABLE),
    (17, "encoder_jump", DISABLE),
)

FAULT_NUMBERS = {name: number for number, name, _ in FAULTS}
FAULT_NAMES = {number: name for number, name, _ in FAULTS}
REACTIONS = {number: reaction for number, _, reaction in FAULTS}
