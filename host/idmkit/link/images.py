"""Parameter images over the link: staged, read back, applied, stored, each with its own answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from idmkit.errors import LinkError
from idmkit.link.client import Board
from idmwire import messages
from idmwire.framing import MAX_FRAME
from idmwire.image import ParameterImage, image_crc, unpack

STAGE_OVERHEAD = 2 + 2 + 4
"""Header, offset and CRC-32 of a stage frame, bytes."""
READ_CHUNK = 256


@dataclass(frozen=True)
class Written:
    """An image on the board: its CRC-32 and generation; `stored` says whether it survives a restart."""

    crc: int
    generation: int
    stored: bool


def read_image(board: Board, which: str) -> bytes:
    """The bytes of the "staged", "applied", "stored" or "previous" (stored before it) image, b"" when there is none."""
    index = messages.IMAGES.index(which)
    data = b""
    while True:
        answer = board.request("read_image", image=index, offset=len(data), length=READ_CHUNK)
        piece = bytes(answer["data"])
        if answer["offset"] != len(data) or (not piece and len(data) < answer["size"]):
            raise LinkError(
                f"The board sent {len(piece)} bytes of its {which} image at {answer['offset']} when asked for those at "
                f"{len(data)} of {answer['size']}. Read it again."
            )
        data += piece
        if len(data) >= answer["size"]:
            return data


def applied_image(board: Board) -> ParameterImage | None:
    """The image in force, None when the board runs on defaults; raises ImageError for one of another schema."""
    data = read_image(board, "applied")
    return unpack(data) if data else None


def stage_image(board: Board, data: bytes) -> None:
    """Sends an image and reads it back; raises LinkError when the board holds something else afterwards."""
    if len(data) > board.hello.image_bytes:
        raise LinkError(
            f"The image has {len(data)} bytes, the board takes {board.hello.image_bytes}. Use a firmware built for "
            f"more axes."
        )
    chunk = min(board.hello.receive_bytes, MAX_FRAME) - STAGE_OVERHEAD
    for offset in range(0, len(data), chunk):
        board.request("stage", offset=offset, data=data[offset : offset + chunk])
    back = read_image(board, "staged")
    if back != data:
        wrong = sum(a != b for a, b in zip(data, back, strict=False)) + abs(len(data) - len(back))
        raise LinkError(
            f"The board holds another image than it was sent: {wrong} of {len(data)} bytes differ. Nothing was "
            f"applied; stage it again."
        )


def apply_image(board: Board, crc: int) -> Written:
    """Makes the staged image the one in force; the board must be disarmed."""
    return _checked("apply", crc, board.request("apply", crc=crc), stored=False)


def store_image(board: Board, crc: int) -> Written:
    """Writes the applied image to the board's flash; the board reads it back before it answers."""
    return _checked("store", crc, board.request("store", crc=crc), stored=True)


def store_applied(board: Board) -> Written:
    """Stores what is in force, written properties included; the board must be disarmed."""
    data = read_image(board, "applied")
    if not data:
        raise LinkError("The board runs on defaults: there is nothing to store. Apply the settings of a robot first.")
    return store_image(board, image_crc(data))


def write_image(board: Board, image: ParameterImage, *, store: bool = True) -> Written:
    """All of it: gives the image the next generation, stages, compares, applies and, if wanted, stores it."""
    image.generation = board.greet_again().generation + 1
    data = image.pack()
    stage_image(board, data)
    written = apply_image(board, image_crc(data))
    if store:
        written = store_image(board, written.crc)
    board.greet_again()
    return written


def _checked(step: str, crc: int, answer: dict[str, Any], *, stored: bool) -> Written:
    if answer["crc"] != crc:
        raise LinkError(
            f"The board's image has CRC 0x{answer['crc']:08x} after {step}, the host's 0x{crc:08x}. Do not arm; write "
            f"the settings again."
        )
    return Written(crc, answer["generation"], stored)
