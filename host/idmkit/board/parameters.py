"""Images in words: the properties of every axis and the model's parameters, named and in SI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idmkit.board import units
from idmkit.board.settings import CompiledModel
from idmkit.errors import ModelError
from idmwire import properties
from idmwire.image import ParameterImage


@dataclass(frozen=True)
class Setting:
    """One property of an image: `axis` None for one of the whole board, `value` in `unit` (SI)."""

    name: str
    softmc_name: str
    axis: int | None
    value: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class ModelParameter:
    """One parameter of the compiled model: `value` in `unit` (SI), and the integer that the board reads."""

    name: str
    value: float
    unit: str
    mantissa: int


def settings_of(image: ParameterImage, joints: Sequence[str]) -> list[Setting]:
    """Every property of an image in registry order, axis after axis; `joints` is the kind of each axis."""
    rows = []
    for _, name, softmc_name, scope, quantity, _, _, _, _, meaning in properties.PROPERTIES:
        if scope == properties.BOARD:
            rows.append(_setting(image, name, softmc_name, None, quantity, meaning, revolute=True))
        else:
            for axis in range(image.n_axes):
                revolute = joints[axis] == "revolute"
                rows.append(_setting(image, name, softmc_name, axis, quantity, meaning, revolute=revolute))
    return rows


def _setting(
    image: ParameterImage, name: str, softmc: str, axis: int | None, quantity: str, meaning: str, *, revolute: bool
) -> Setting:
    value = units.value(image.value(name, axis or 0), quantity, revolute=revolute)
    return Setting(name, softmc, axis, value, units.unit(quantity, revolute=revolute), meaning)


def parameters_of(image: ParameterImage, program: CompiledModel) -> list[ModelParameter]:
    """The model's parameters of an image; raises ModelError when the image belongs to another program."""
    _same_program(image, program)
    return [
        ModelParameter(parameter.key, value, parameter.unit, mantissa)
        for parameter, value, mantissa in zip(program.parameters, image.engineering, image.mantissas, strict=True)
    ]


def with_parameters(image: ParameterImage, program: CompiledModel, changes: Mapping[str, float]) -> ParameterImage:
    """A copy of an image with some parameters changed; raises as `Program.mantissas` does, or ModelError."""
    values = {parameter.name: parameter.value for parameter in parameters_of(image, program)}
    unknown = [name for name in changes if name not in values]
    if unknown:
        raise ModelError(f"the model has no parameter {unknown[0]!r}; it has {', '.join(values)}")
    values.update(changes)
    return ParameterImage(
        image.robot,
        image.cycle_time_us,
        image.n_axes,
        list(image.values),
        image.program_hash,
        tuple(program.mantissas(values)),
        tuple(values.values()),
        image.generation,
        image.tables,
    )


def _same_program(image: ParameterImage, program: CompiledModel) -> None:
    if image.program_hash != program.hash or len(image.engineering) != len(program.parameters):
        raise ModelError(
            f"the image belongs to the compiled model 0x{image.program_hash:08x} with {len(image.engineering)} "
            f"parameters, not to 0x{program.hash:08x} with {len(program.parameters)}; compile the robot file that the "
            f"image was made from"
        )
