"""Lagrange's equations of a kinetic energy that is a sum of products of velocities in turning frames.

The energy is written over velocities seen in frames that turn one in the other: how a link turns, how a point of it
moves. A term of it then costs a few products; in a mass matrix written out over the joints it costs many. Lagrange's
equations are carried back through the turns by hand: for y = R(q) x of two components, with momenta p = dT/dy and
their rates f = dp/dt,

    f - qd J p  goes back through R to x,  p_1 y_2 - p_2 y_1  is what the turn itself asks for,  J = [[0, -1], [1, 0]].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca


@dataclass(eq=False)
class Velocity:
    """A velocity and its rate of change; `momentum` is the energy's derivative by it, `force` the momentum's rate."""

    value: Any
    rate: Any
    momentum: Any = 0
    force: Any = 0


@dataclass(frozen=True, eq=False)
class Turn:
    """Sine and cosine of an angle, and the velocity at which it turns."""

    sin: Any
    cos: Any
    speed: Velocity


def turn(angle: Any, speed: Velocity) -> Turn:
    """A turn by an angle (rad)."""
    return Turn(ca.sin(angle), ca.cos(angle), speed)


class Energy:
    """A kinetic energy: its velocities by `turn` and `sum`, its terms by `add`, and last the `forces`."""

    def __init__(self) -> None:
        self._back: list[Callable[[], None]] = []

    def turn(self, by: Turn, x: Velocity, y: Velocity | None = None) -> tuple[Velocity, Velocity]:
        """(c x - s y, s x + c y); without y the parts (c x, s x) of x."""
        s, c, qd = by.sin, by.cos, by.speed.value
        values, rates = (c * x.value, s * x.value), (c * x.rate, s * x.rate)
        if y is not None:
            values = values[0] - s * y.value, values[1] + c * y.value
            rates = rates[0] - s * y.rate, rates[1] + c * y.rate
        a, b = Velocity(values[0], rates[0] - qd * values[1]), Velocity(values[1], rates[1] + qd * values[0])

        def back() -> None:
            by.speed.force += a.momentum * b.value - b.momentum * a.value
            first, second = a.force + qd * b.momentum, b.force - qd * a.momentum
            x.momentum += c * a.momentum + s * b.momentum
            x.force += c * first + s * second
            if y is not None:
                y.momentum += c * b.momentum - s * a.momentum
                y.force += c * second - s * first

        self._back.append(back)
        return a, b

    def sum(self, x: Velocity, y: Velocity) -> Velocity:
        """The sum of x and y."""
        total = Velocity(x.value + y.value, x.rate + y.rate)

        def back() -> None:
            for part in (x, y):
                part.momentum += total.momentum
                part.force += total.force

        self._back.append(back)
        return total

    @staticmethod
    def add(coefficient: Any, x: Velocity, y: Velocity) -> None:
        """Adds coefficient x y to the energy, half of that where y is x."""
        for one, other in ((x, y), (y, x))[: 1 if x is y else 2]:
            one.momentum += coefficient * other.value
            one.force += coefficient * other.rate

    def forces(self, joints: Sequence[Velocity]) -> list[Any]:
        """Forces or torques of the joints, from whose velocities all others are made."""
        for back in reversed(self._back):
            back()
        return [joint.force for joint in joints]
