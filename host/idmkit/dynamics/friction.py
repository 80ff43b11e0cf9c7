"""Joint friction, as softMC writes it: viscous and Coulomb, one pair an axis.

    T_friction = Fv qd + Fc direction

Positive coefficients dissipate. `direction` is an input and not sign(qd), because at standstill the board keeps
the sign it last saw, and an identification leaves the slow samples out.
"""

from __future__ import annotations

from typing import Any


def friction_torque(viscous: Any, coulomb: Any, qd: Any, direction: Any) -> Any:
    """Torque or force that overcomes friction: Nm or N, for qd in rad/s or m/s and direction in {-1, 0, 1}.

    Takes numbers, arrays or symbols.
    """
    return viscous * qd + coulomb * direction
