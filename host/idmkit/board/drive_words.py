"""The numbers of drives in words: states, error codes and registers (CiA 402, 301), SDO aborts, failed set-ups."""

from __future__ import annotations

from idmwire.messages import SETUP_STEPS

_STATES = (
    (0x4F, 0x00, "NOT READY TO SWITCH ON"),
    (0x4F, 0x40, "SWITCH ON DISABLED"),
    (0x6F, 0x21, "READY TO SWITCH ON"),
    (0x6F, 0x23, "SWITCHED ON"),
    (0x6F, 0x27, "OPERATION ENABLED"),
    (0x6F, 0x07, "QUICK STOP ACTIVE"),
    (0x4F, 0x0F, "FAULT REACTION ACTIVE"),
    (0x4F, 0x08, "FAULT"),
)
NMT_STATES = {0: "booted", 4: "STOPPED", 5: "OPERATIONAL", 127: "PRE-OPERATIONAL", 255: "not heard"}
_REGISTER = ("generic", "current", "voltage", "temperature", "communication", "device profile", "", "manufacturer")
_ERRORS = {
    0x1000: "generic error",
    0x2000: "current",
    0x2100: "current on the input side",
    0x2200: "current inside the device",
    0x2300: "current on the output side",
    0x2310: "continuous over-current",
    0x2320: "short circuit or earth leakage",
    0x2330: "earth leakage",
    0x2340: "short circuit",
    0x2350: "I2t of the motor",
    0x3000: "voltage",
    0x3100: "mains voltage",
    0x3110: "mains over-voltage",
    0x3120: "mains under-voltage",
    0x3200: "DC link voltage",
    0x3210: "DC link over-voltage",
    0x3220: "DC link under-voltage",
    0x4000: "temperature",
    0x4100: "ambient temperature",
    0x4210: "drive too hot",
    0x4310: "motor too hot",
    0x5000: "device hardware",
    0x5400: "power section",
    0x5430: "input stage",
    0x5440: "contacts",
    0x6000: "device software",
    0x6320: "parameter error",
    0x7000: "additional modules",
    0x7100: "power of a module",
    0x7110: "brake chopper",
    0x7120: "motor",
    0x7121: "motor blocked",
    0x7300: "sensor",
    0x7303: "resolver fault",
    0x7305: "incremental encoder fault",
    0x7500: "communication",
    0x8000: "monitoring",
    0x8100: "communication",
    0x8110: "CAN overrun",
    0x8120: "CAN error passive",
    0x8130: "the board's heartbeat was lost",
    0x8140: "recovered from bus off",
    0x8200: "protocol error",
    0x8210: "PDO too short",
    0x8300: "torque control",
    0x8400: "velocity control",
    0x8500: "position control",
    0x8611: "following error",
    0x9000: "external error",
    0xF000: "additional functions",
}
_ABORTS = {
    0x05030000: "the toggle bit did not alternate",
    0x05040000: "the transfer timed out",
    0x05040001: "the drive does not know the command",
    0x05040005: "the drive is out of memory",
    0x06010000: "the object does not allow this access",
    0x06010001: "the object can only be written",
    0x06010002: "the object can only be read",
    0x06020000: "the drive has no such object",
    0x06040041: "the object cannot be mapped into this PDO",
    0x06040042: "the PDO would be longer than 8 bytes",
    0x06040043: "the parameters do not go together",
    0x06040047: "the drive is incompatible inside",
    0x06060000: "a hardware error of the drive",
    0x06070010: "the length does not match",
    0x06070012: "the data are too long",
    0x06070013: "the data are too short",
    0x06090011: "the object has no such subindex",
    0x06090030: "the value is out of range",
    0x06090031: "the value is too high",
    0x06090032: "the value is too low",
    0x08000000: "a general error",
    0x08000020: "the drive cannot take or store it",
    0x08000021: "the drive is under local control",
    0x08000022: "not in the drive's present state",
}


def state(statusword: int) -> str:
    """The CiA 402 state that a statusword (0x6041) says."""
    for mask, bits, name in _STATES:
        if statusword & mask == bits:
            return name
    return f"an unknown state (statusword 0x{statusword:04X})"


def error(code: int) -> str:
    """An error code (0x603F, emergency) with its meaning, or that of its group."""
    for mask in (0xFFFF, 0xFFF0, 0xFF00, 0xF000):
        if code & mask in _ERRORS:
            return f"0x{code:04X} ({_ERRORS[code & mask]})"
    return f"0x{code:04X}, which only the drive's manual knows"


def register(bits: int) -> str:
    """An error register (0x1001) with the names of its bits."""
    names = [name for bit, name in enumerate(_REGISTER) if bits >> bit & 1 and name]
    return f"0x{bits:02X}" + (f" ({', '.join(names)})" if names else "")


def abort(code: int) -> str:
    """An SDO abort code with its meaning; 0 stands for no answer."""
    if code == 0:
        return "it did not answer"
    return f"it answered with abort code 0x{code:08X}: {_ABORTS.get(code, 'only its manual knows')}"


def emergency(packed: int) -> str:
    """An emergency as a fault holds it: error code, error register above 16 bits; "" for none."""
    if not packed:
        return ""
    return f"its emergency message says error {error(packed & 0xFFFF)}, error register {register(packed >> 16)}"


def setup(step: int, index: int, sub: int, value: int) -> str:
    """Why a drive could not be set up, as the end of a sentence that begins with the drive; "" where it could."""
    name = SETUP_STEPS[step] if step < len(SETUP_STEPS) else ""
    thing = f"object 0x{index:04X}" + (f":{sub}" if sub else "")
    sentences = {
        "ready": "",
        "unknown": "has not been set up",
        "no_bus": "is on a bus that this board does not have, or of a bit rate that no bus has",
        "boot_up": "sent no boot-up message after its communication was reset",
        "read": f"could not be asked for {thing}: {abort(value)}",
        "write": f"could not be given {thing}: {abort(value)}",
        "device_type": f"is no CiA 402 drive: its device type, {thing}, is 0x{value:08X}",
        "mode": f"did not take cyclic synchronous position: {thing} says mode {value}, not 8",
        "cycle_time": f"cannot be told a cycle time of {value} us: {thing} does not reach so far",
    }
    return sentences.get(name, f"could not be set up, for a reason that this package does not know (step {step})")
