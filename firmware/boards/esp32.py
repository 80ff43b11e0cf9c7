"""An ESP32-S3 with native USB: link on USB-CDC, CAN as SLCAN on UART 1 (17 TX, 18 RX).

MicroPython has no driver for the chip's own CAN controller, so the bus needs an SLCAN adapter.
"""

from boards.parts import ConsoleBoard, UartBus

NAME = "esp32"
PLATFORM = "esp32"
MACHINE = "ESP32S3"
RING_BLOCKS = 32
BOOT_WINDOW_MS = 1000


class Board(ConsoleBoard):
    """The ports and limits of this board."""

    NAME = NAME
    RING_BLOCKS = RING_BLOCKS
    BOOT_WINDOW_MS = BOOT_WINDOW_MS

    def buses(self):
        """The ports to the drives, a bus each."""
        return (UartBus(1, tx=17, rx=18),)
