"""Compiled models over the link: staged piece by piece, checked and tested by the board, then used."""

from __future__ import annotations

from collections.abc import Callable

from idmkit.errors import LinkError
from idmkit.link.client import Board
from idmwire import model_file
from idmwire.framing import MAX_FRAME

STAGE_OVERHEAD = 2 + 4 + 4
"""Header, offset and CRC-32 of a stage_model frame, bytes."""


def upload_model(board: Board, data: bytes, progress: Callable[[int], None] | None = None) -> int:
    """Sends a model file; returns the hash of the program that the board uses then. `progress` hears the bytes sent.

    Raises Refusal, with the board's reason, where the board does not take it: the model in use stays in use then.
    """
    chunk = min(board.hello.receive_bytes, MAX_FRAME) - STAGE_OVERHEAD
    for offset in range(0, len(data), chunk):
        piece = data[offset : offset + chunk]
        staged = board.request("stage_model", offset=offset, data=piece)["staged"]
        if staged != offset + len(piece):
            raise LinkError(
                f"The board holds {staged} bytes of the model where {offset + len(piece)} were sent. The model in use "
                f"stays in use; send it again."
            )
        if progress is not None:
            progress(staged)
    used: int = board.request("use_model", size=len(data), crc=model_file.file_crc(data))["program_hash"]
    board.greet_again()
    return used
