"""A backup back onto a board, also onto another one or one whose firmware has become another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from idmkit.board.backup import Backup, Migration, migrate
from idmkit.errors import IdmError
from idmkit.link.client import Board
from idmkit.link.images import Written, apply_image, stage_image, store_image
from idmkit.link.models import upload_model
from idmkit.link.refusals import Refusal
from idmwire import model_file
from idmwire.image import image_crc


@dataclass(frozen=True)
class Restored:
    """What was written: settings, and the hash of the model's program where that was sent, too, else 0."""

    written: Written
    model: int
    notes: tuple[str, ...]


def restore(board: Board, kept: Backup, folder: Path) -> Restored:
    """Writes a backup's settings, and its model from `folder` where the board has another one.

    Raises IdmError where the backup has no settings or is another robot's, ProtocolMismatch on a board of another
    schema, Refusal where the board does not take it; what was in force stays in force then.
    """
    if board.mismatch is not None:
        raise board.mismatch
    settings = kept.settings
    if settings is None:
        raise IdmError("the backup holds no settings, for the board had none; there is nothing to restore")
    if board.hello.robot not in ("", settings.robot):
        raise IdmError(
            f"the board is set up for the robot {board.hello.robot!r}, the backup is of {settings.robot!r}; nothing "
            f"was written. To make it that robot's board: `idm params PORT --robot {settings.robot} --settings`"
        )
    model = 0
    if settings.program_hash and settings.program_hash != board.hello.program_hash:
        data = _model(folder / "files", settings.program_hash)
        if data is None:
            raise IdmError(
                f"the backup's parameters belong to the model 0x{settings.program_hash:08x}, which is neither on the "
                f"board nor in the backup; send it first: `idm flash-model {settings.robot} PORT`"
            )
        model = upload_model(board, data)
    migration = migrate(settings)
    return Restored(_write(board, migration), model, migration.notes)


def _write(board: Board, migration: Migration) -> Written:
    migration.image.generation = board.greet_again().generation + 1
    data = migration.image.pack()
    stage_image(board, data)
    try:
        apply_image(board, image_crc(data))
    except Refusal as refusal:
        # In force all the same: drives that are off do not keep settings from a board.
        if refusal.reason != "no_drives":
            raise
    written = store_image(board, image_crc(data))
    board.greet_again()
    return written


def _model(files: Path, program_hash: int) -> bytes | None:
    """The model file for a program among a board's files, without the seal that the board put on it."""
    for path in sorted(files.glob("model_*")):
        sealed = path.read_bytes()
        data = sealed[: -model_file.SEAL_BYTES]
        contents = model_file.contents_of(data[-model_file.TRAILER_BYTES :], len(data))
        if contents is not None and contents.program_hash == program_hash:
            return data
    return None
