"""The errors that users meet: few classes; each text says what happened, the numbers and the next step."""

from __future__ import annotations

from pathlib import Path


class IdmError(Exception):
    """Base of every error raised on purpose; the command line prints its text without a traceback."""


class TomlFileError(IdmError):
    """A TOML file is not as it should be. Text: file, line, field, what is wrong and what to do.

    `file` is the file's name, `line` counts from 1 (None where the file has no such place), `field` is the
    dotted path such as ``axes[0].drive.gear_ratio``.
    """

    def __init__(
        self, message: str, *, file: str | Path | None = None, line: int | None = None, field: str = ""
    ) -> None:
        self.file = None if file is None else str(file)
        self.line = line
        self.field = field
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(place + (f"{field}: " if field else "") + message)


class RobotFileError(TomlFileError):
    """The robot file is missing, is not TOML, or a field in it is missing, unknown or out of range."""


class MappingFileError(TomlFileError):
    """The file that says what the columns of a recorded table mean is not as it should be."""


class RecordError(IdmError):
    """A record cannot be read, or its samples are of a kind that must not be repaired."""


class ModelError(IdmError):
    """A dynamic model is unknown, incomplete or cannot be compiled."""


class IdentificationError(IdmError):
    """The parameters cannot be estimated from these samples with these settings."""


class LinkError(IdmError):
    """The board cannot be reached, or stopped answering."""


class ProtocolMismatch(LinkError):  # noqa: N818 - it says what happened
    """The board speaks another version of the protocol; the text names the field and both values."""


class BoardRefused(LinkError):  # noqa: N818 - it says what happened
    """The board understood a command and refused it; the text gives the board's reason."""


class RigError(IdmError):
    """The virtual rig could not be built, started or advanced."""
