"""What the drives behind a board say of themselves, and where a robot file says otherwise.

Objects, by SDO: 0x6075 rated current and 0x2036 peak current in mA, 0x6076 rated torque in mNm (mN for a linear motor),
0x2039 torque constant in mNm/A, 0x2038 force constant in mN/A. Those at 0x20xx are one maker's and need not be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from idmkit.axis import Axis, Drive
from idmkit.board import drive_words

PER_MILLE = 0.001
"""A drive rounds what it was told; numbers that differ by less than this are the same."""
_ROUNDING = 0.6
"""Of an object's last digit: half of one, and what float arithmetic adds."""

UNHEARD = 255
"""NMT state of a node that has not been heard."""

_NUMBERS = {
    "rated_current": 0x6075,
    "peak_current": 0x2036,
    "rated_torque": 0x6076,
    "torque_constant": 0x2039,
    "force_constant": 0x2038,
}
_NAME, _ERROR_CODE, _ERROR_REGISTER = 0x1008, 0x603F, 0x1001


class Asks(Protocol):
    """A board that answers requests (idmkit.link.client.Board)."""

    def request(self, name: str, **fields: Any) -> dict[str, Any]:
        """The answer to message `name`."""

    @property
    def axes(self) -> int:
        """Number of axes."""


@dataclass(frozen=True)
class DriveData:
    """One drive in SI: A, Nm (N, N/A for a linear motor), Nm/A; None where it has no such object.

    `trouble` says why it could not be set up, "" where it could; `error` its present error, "" for none.
    """

    bus: int
    node: int
    nmt_state: str
    state: str
    trouble: str
    error: str
    emergencies: int
    name: str | None
    rated_current: float | None
    peak_current: float | None
    rated_torque: float | None
    torque_constant: float | None
    force_constant: float | None


def read_drive(board: Asks, axis: int) -> DriveData:
    """Asks the drive of `axis`; the board has to be disarmed. Raises Refusal and LinkError."""
    known = board.request("read_drive", axis=axis)
    trouble = drive_words.setup(*(known[f"setup{part}"] for part in ("", "_index", "_sub", "_value")))
    objects: dict[int, bytes | None] = dict.fromkeys([*_NUMBERS.values(), _NAME, _ERROR_CODE, _ERROR_REGISTER])
    # A drive that does not answer is asked once and not eight times.
    for index in objects if known["nmt_state"] != UNHEARD else ():
        answer = board.request("read_object", axis=axis, index=index, sub=0)
        objects[index] = None if answer["failed"] else answer["data"]
        if answer["failed"] and answer["abort"] == 0:
            break
    code, register, name = (objects[index] for index in (_ERROR_CODE, _ERROR_REGISTER, _NAME))
    error = ""
    if code and any(code):
        bits = f", error register {drive_words.register(register[0])}" if register else ""
        error = f"error {drive_words.error(int.from_bytes(code, 'little'))}{bits}"
    numbers: dict[str, float | None] = {}
    for field, index in _NUMBERS.items():
        data = objects[index]
        numbers[field] = None if data is None else int.from_bytes(data, "little") / 1000
    return DriveData(
        bus=known["bus"],
        node=known["node"],
        nmt_state=drive_words.NMT_STATES.get(known["nmt_state"], f"state {known['nmt_state']}"),
        state=drive_words.state(known["statusword"]),
        trouble=trouble,
        error=error,
        emergencies=known["emergencies"],
        name=None if name is None else name.decode("ascii", "replace"),
        **numbers,
    )


def differences(axis: Axis, data: DriveData) -> list[str]:
    """Sentences that name the numbers of a robot file which the drive contradicts, and what that does."""
    drive = axis.drive
    place = f"[axes.drive] of {axis.name!r}"
    found = [f"{place} {sentence}" for sentence in (_current(drive, data), _torque(drive, data), _peak(drive, data))
             if sentence]  # fmt: skip
    if data.torque_constant and data.rated_current and data.rated_torque:
        product = data.torque_constant * data.rated_current
        if abs(product - data.rated_torque) > 0.01 * data.rated_torque:
            found.append(
                f"the drive of {axis.name!r} contradicts itself: 0x2039 x 0x6075 = {data.torque_constant:g} Nm/A x "
                f"{data.rated_current:g} A = {product:.4g} Nm, but 0x6076 = {data.rated_torque:g} Nm; torque by "
                f"0x6078 and by 0x6077 differ by {_percent(product, data.rated_torque)}, so find out which is right"
            )
    return found


def _same(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= max(PER_MILLE * abs(ours), 1e-3 * _ROUNDING)


def _percent(theirs: float, ours: float) -> str:
    return f"{100 * (theirs / ours - 1):+.1f} %"


def _current(drive: Drive, data: DriveData) -> str:
    if data.rated_current is None or _same(drive.rated_current, data.rated_current):
        return ""
    return (
        f"says rated_current = {drive.rated_current:g} A, 0x6075 says {data.rated_current:g} A "
        f"({_percent(data.rated_current, drive.rated_current)}): the motor constant that follows from the file, and "
        f"the peak current, are wrong"
    )


def _torque(drive: Drive, data: DriveData) -> str:
    if data.rated_torque is None or _same(drive.rated_torque, data.rated_torque):
        return ""
    return (
        f"says rated_torque = {drive.rated_torque:g} Nm, 0x6076 says {data.rated_torque:g} Nm "
        f"({_percent(data.rated_torque, drive.rated_torque)}): feed-forward and measured torque, per mille of it, are "
        f"wrong by as much"
    )


def _peak(drive: Drive, data: DriveData) -> str:
    if data.peak_current is None:
        return ""
    ours = drive.peak_torque * drive.rated_current / drive.rated_torque
    if _same(ours, data.peak_current):
        return ""
    return (
        f"says peak_torque = {drive.peak_torque:g} Nm, which takes {ours:.4g} A, 0x2036 says {data.peak_current:g} A "
        f"({_percent(data.peak_current, ours)}): motions are planned for a torque that the drive does not have"
    )
