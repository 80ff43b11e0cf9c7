"""The wire between an idmkit host and a motion board: pure code that CPython and MicroPython both import.

No input or output, no clock, no third-party import. Every module is a table or a
function of its arguments, so that both ends of the wire are tested on the same files.
"""

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 0
