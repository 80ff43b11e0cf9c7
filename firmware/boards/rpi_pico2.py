"""The Raspberry Pi Pico 2: as the Pico, with an RP2350 (Arm cores) and twice the memory."""

from boards import rpi_pico

NAME = "rpi_pico2"
PLATFORM = "rp2"
MACHINE = "RP2350"


class Board(rpi_pico.Board):
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = 128
    # RP2350 datasheet, 12.9.
    WATCHDOG_CONTROL = 0x400D8000
    WATCHDOG_NOTE = 0x400D8018
