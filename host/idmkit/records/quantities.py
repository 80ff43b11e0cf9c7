"""Quantities of record channels, their SI units, and the units that recorded tables come in."""

from __future__ import annotations

import math

from idmkit.errors import RecordError

UNITS: dict[str, tuple[str, str]] = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s^2", "m/s^2"),
    "torque": ("Nm", "N"),
    "current": ("A", "A"),
    "temperature": ("degC", "degC"),
    "count": ("1", "1"),
}
"""quantity: SI unit on a revolute axis, on a prismatic axis."""

JOINT_OF_UNIT = {
    unit: joint
    for quantity in ("position", "velocity", "acceleration", "torque")
    for unit, joint in zip(UNITS[quantity], ("revolute", "prismatic"), strict=True)
}

_TURN, _DEGREE = 2 * math.pi, math.pi / 180
_FACTORS: dict[str, dict[str, tuple[str, float]]] = {
    "position": {
        "rad": ("rad", 1.0),
        "deg": ("rad", _DEGREE),
        "turn": ("rad", _TURN),
        "m": ("m", 1.0),
        "mm": ("m", 1e-3),
    },
    "velocity": {
        "rad/s": ("rad/s", 1.0),
        "deg/s": ("rad/s", _DEGREE),
        "rpm": ("rad/s", _TURN / 60),
        "turn/s": ("rad/s", _TURN),
        "m/s": ("m/s", 1.0),
        "mm/s": ("m/s", 1e-3),
    },
    "acceleration": {
        "rad/s^2": ("rad/s^2", 1.0),
        "deg/s^2": ("rad/s^2", _DEGREE),
        "m/s^2": ("m/s^2", 1.0),
        "mm/s^2": ("m/s^2", 1e-3),
    },
    "torque": {"Nm": ("Nm", 1.0), "mNm": ("Nm", 1e-3), "N": ("N", 1.0), "kN": ("N", 1e3)},
    "current": {"A": ("A", 1.0), "mA": ("A", 1e-3)},
    "temperature": {"degC": ("degC", 1.0)},
    "count": {"1": ("1", 1.0)},
}


def to_si(quantity: str, unit: str) -> tuple[str, float]:
    """(SI unit, factor) of a foreign unit; raises RecordError that lists the units of this quantity."""
    known = _FACTORS[quantity]
    if unit not in known:
        hint = ""
        if quantity == "torque" and unit in _FACTORS["current"]:
            hint = "; amperes are not a torque: declare torque_per_ampere for the channel"
        raise RecordError(f"{unit!r} is no unit of {quantity}; known are {', '.join(known)}{hint}")
    return known[unit]
