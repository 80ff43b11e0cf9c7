"""TorqueFactor: drive counts for one Nm (or N) at the joint, from motor, drive and mechanics; and how it came about.

softMC: TorqueFeedback = counts / TorqueFactor, where a count is a thousandth of the rated current (0x6078). Its page
reads MICONT in mA, hence the 1e6 there; here currents are in A, lengths in m:

    TorqueFactor = 1000 / (K * rated current * n)        K: MKT in Nm/A or MKF in N/A
    n, joint torque for one Nm of motor torque, by virtual work without losses:
        rotary 1, gear GR, screw 2 pi GR / lead, pulley GR / radius, linear motor 1 (N for one N)

The page's screw formula has the lead in mm a turn and no 2 pi, so it does not give newtons: it is 2000 pi too large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from idmkit.axis import Axis
from idmkit.errors import IdmError

PER_MILLE = 1000
INT16 = (-32768, 32767)
PRINTED_SCREW_FACTOR = 2000 * math.pi
"""The printed screw formula (lead in mm, without 2 pi) over the right one."""


@dataclass(frozen=True)
class Motor:
    """A motor and what its drive calls rated.

    `constant`: MKT in Nm/A (0x2039), or MKF in N/A (0x2038) of a `linear` motor; `rated_current`: MICONT, 0x6075, and
    `peak_current`: MIPEAK, 0x2036, both in A. `stated_rated_torque`: 0x6076 in Nm or N where the drive states it;
    it need not be constant * rated_current.
    """

    constant: float
    rated_current: float
    peak_current: float | None = None
    linear: bool = False
    stated_rated_torque: float | None = None

    def __post_init__(self) -> None:
        for name in ("constant", "rated_current", "peak_current", "stated_rated_torque"):
            _positive(name, getattr(self, name))
        if self.peak_current is not None and self.peak_current < self.rated_current:
            raise IdmError(
                f"the peak current of {self.peak_current:g} A is below the rated current of {self.rated_current:g} A; "
                "MIPEAK is at least MICONT, and both are in amperes here (the drive reports mA)"
            )

    @property
    def rated_torque(self) -> float:
        """Nm or N that 1000 per mille of torque (0x6077, 0x60B2, 0x6072) mean: 0x6076."""
        return self.constant * self.rated_current if self.stated_rated_torque is None else self.stated_rated_torque


@dataclass(frozen=True)
class Mechanics:
    """What stands between motor and joint.

    `kind` is "rotary", "gear", "screw", "pulley" or "linear motor"; `gear_ratio` motor turns for one turn behind the
    gear; `lead` m a turn of the screw; `radius` m of the pulley.
    """

    kind: str
    gear_ratio: float = 1.0
    lead: float | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        if self.gear_ratio == 0 or not math.isfinite(self.gear_ratio):
            raise IdmError(f"the gear ratio must be a number other than 0, is {self.gear_ratio:g}")
        if self.kind == "linear motor" and abs(self.gear_ratio) != 1:
            raise IdmError(f"a linear motor has no gear, but a gear ratio of {self.gear_ratio:g} is given")
        needs = {"screw": "lead", "pulley": "radius"}.get(self.kind)
        for name in ("lead", "radius"):
            value = getattr(self, name)
            if (value is not None) != (name == needs):
                raise IdmError(f"a {self.kind} axis " + (f"needs a {needs} in m" if needs else f"has no {name}"))
            _positive(name, value)

    @property
    def joint_per_motor(self) -> float:
        """Joint torque (Nm) or force (N) for one Nm (or N) of the motor, positive, without losses."""
        ratio = abs(self.gear_ratio)
        if self.lead is not None:
            return 2 * math.pi * ratio / self.lead
        return ratio if self.radius is None else ratio / self.radius


@dataclass(frozen=True)
class TorqueUnits:
    """Every number that TorqueFactor touches, joint side: Nm on revolute axes, N on prismatic ones."""

    motor: Motor
    mechanics: Mechanics
    prismatic: bool

    def __post_init__(self) -> None:
        if self.motor.linear != (self.mechanics.kind == "linear motor"):
            raise IdmError("a linear motor (MKF) drives its axis directly; any other mechanics need a rotary one (MKT)")

    @property
    def unit(self) -> str:
        """Unit at the joint."""
        return "N" if self.prismatic else "Nm"

    @property
    def current_factor(self) -> float:
        """The TorqueFactor of softMC: counts of 0x6078 (per mille of the rated current) for one Nm or N."""
        return PER_MILLE / (self.motor.constant * self.motor.rated_current * self.mechanics.joint_per_motor)

    @property
    def torque_factor(self) -> float:
        """Counts of 0x6077, 0x60B2 and 0x6072 (per mille of 0x6076) for one Nm or N.

        The same as `current_factor` unless the drive states a rated torque of its own.
        """
        return PER_MILLE / (self.motor.rated_torque * self.mechanics.joint_per_motor)

    @property
    def continuous_threshold(self) -> float:
        """TorqueThreshold at the rated current, Nm or N: 1000 / TorqueFactor."""
        return PER_MILLE / self.current_factor

    @property
    def peak_threshold(self) -> float | None:
        """TorqueThreshold at the peak current: 1000 MIPEAK / (TorqueFactor MICONT); None where it is not known."""
        if self.motor.peak_current is None:
            return None
        return self.continuous_threshold * self.motor.peak_current / self.motor.rated_current

    @property
    def peak_per_mille(self) -> int | None:
        """The peak as 0x6072 counts it: per mille of the rated torque; None where it is not known."""
        peak = self.peak_threshold
        return None if peak is None else round(peak * self.torque_factor)

    def torque_from_current(self, counts: int) -> float:
        """TorqueFeedback, Nm or N, of counts of 0x6078."""
        return counts / self.current_factor

    def torque_from_torque(self, counts: int) -> float:
        """TorqueFeedback, Nm or N, of counts of 0x6077."""
        return counts / self.torque_factor

    def offset(self, torque: float) -> int:
        """Counts of 0x60B2 for an additive torque in Nm or N, saturated to int16."""
        return max(INT16[0], min(INT16[1], round(torque * self.torque_factor)))


def units_of_axis(axis: Axis) -> TorqueUnits:
    """Torque units of an axis of a robot file: rated torque and current are 0x6076 and 0x6075, K their quotient."""
    drive = axis.drive
    constant = drive.rated_torque / drive.rated_current
    motor = Motor(constant, drive.rated_current, drive.peak_torque / constant)
    if axis.revolute:
        mechanics = Mechanics("rotary" if drive.gear_ratio == 1 else "gear", drive.gear_ratio)
    else:
        mechanics = Mechanics("screw", drive.gear_ratio, lead=drive.travel_per_turn)
    return TorqueUnits(motor, mechanics, not axis.revolute)


def explain(units: TorqueUnits) -> list[str]:
    """How the number came about, a line a step, for people."""
    motor, mechanics, unit = units.motor, units.mechanics, units.unit
    motor_unit = "N" if motor.linear else "Nm"
    name = "MKF" if motor.linear else "MKT"
    rated = motor.constant * motor.rated_current
    joint = rated * mechanics.joint_per_motor
    lines = [
        f"rated {'force' if motor.linear else 'torque'} of the motor: {name} x MICONT = {motor.constant:.6g} "
        f"{motor_unit}/A x {motor.rated_current:.6g} A = {rated:.6g} {motor_unit}",
        f"at the joint: {rated:.6g} {motor_unit} x {_ratio_text(mechanics)} = {joint:.6g} {unit}, "
        "which is 1000 per mille of current",
        f"TorqueFactor = 1000 / {joint:.6g} {unit} = {units.current_factor:.6g} counts/{unit}",
        f"TorqueThreshold at the rated current: 1000 / TorqueFactor = {units.continuous_threshold:.6g} {unit}",
    ]
    if units.peak_threshold is not None:
        lines.append(
            f"TorqueThreshold at the peak current: 1000 x {motor.peak_current:.6g} A / (TorqueFactor x "
            f"{motor.rated_current:.6g} A) = {units.peak_threshold:.6g} {unit} (0x6072 = {units.peak_per_mille})"
        )
    if motor.stated_rated_torque is not None:
        off = 100 * (motor.stated_rated_torque / rated - 1)
        lines.append(
            f"0x6076 says {motor.stated_rated_torque:.6g} {motor_unit}, {off:+.2f} % from {name} x MICONT: 0x6077 and "
            f"0x60B2 count {units.torque_factor:.6g} for one {unit}, only 0x6078 counts {units.current_factor:.6g}"
        )
    if mechanics.lead is not None or mechanics.radius is not None:
        lines.append(
            f"softMC's page prints this formula with mm a turn and without 2 pi; that number, "
            f"{units.current_factor * PRINTED_SCREW_FACTOR:.6g}, is 2000 pi = {PRINTED_SCREW_FACTOR:.5g} times too "
            "large for newtons"
        )
    return lines


def _ratio_text(mechanics: Mechanics) -> str:
    ratio = abs(mechanics.gear_ratio)
    geared = "" if ratio == 1 else f" x gear {ratio:g}"
    if mechanics.lead is not None:
        return f"2 pi{geared} / lead {mechanics.lead:g} m"
    if mechanics.radius is not None:
        return f"1{geared} / radius {mechanics.radius:g} m"
    return f"gear {ratio:g}" if geared else "1 (direct)"


def _positive(name: str, value: float | None) -> None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise IdmError(f"{name.replace('_', ' ')} must be a positive number, is {value:g}")
