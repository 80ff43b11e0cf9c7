"""The Raspberry Pi Pico with an MCP2515 on SPI 0 in place of the SLCAN adapter, for one or two axes.

GP18 SCK, GP19 SI, GP16 SO, GP17 CS; a 16 MHz oscillator at the chip, 1 Mbit/s on the bus.
"""

import machine

from boards import rpi_pico
from drives.mcp2515 import Mcp2515
from drives.text_port import TextPort

NAME = "rpi_pico_mcp2515"
PLATFORM = "rp2"
MACHINE = "RP2040"

_OSCILLATOR = 16_000_000
_BITRATE = 1_000_000
_SPI_HZ = 10_000_000


class Board(rpi_pico.Board):
    """The ports and limits of this board."""

    NAME = NAME

    def buses(self):
        """The ports to the drives, a bus each."""
        spi = machine.SPI(0, _SPI_HZ, sck=machine.Pin(18), mosi=machine.Pin(19), miso=machine.Pin(16))
        return (TextPort(Mcp2515(spi, machine.Pin(17, machine.Pin.OUT, value=1), _OSCILLATOR, _BITRATE)),)
