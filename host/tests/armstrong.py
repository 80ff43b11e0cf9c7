"""Armstrong, Khatib and Burdick, ICRA 1986: the PUMA 560's published constants, and their formulas over link data."""

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from idmkit.dynamics.chain import Inertial

A2, A3, D2, D3, D4 = 0.4318, -0.0203, 0.2435, -0.0934, 0.4331
"""Lengths of the modified DH table, m."""
MASSES = (0.0, 17.40, 4.80, 0.82, 0.34, 0.09)
CENTRES = ((0, 0, 0), (0.068, 0.006, -0.016), (0, -0.070, 0.014), (0, 0, -0.019), (0, 0, 0), (0, 0, 0.032))
MOMENTS = (
    (0, 0, 0.35),
    (0.130, 0.524, 0.539),
    (0.066, 0.0125, 0.086),
    (1.8e-3, 1.8e-3, 1.3e-3),
    (0.30e-3, 0.30e-3, 0.40e-3),
    (0.15e-3, 0.15e-3, 0.04e-3),
)
"""Principal moments about the centres of mass, kg m^2, along the frames' axes."""
MOTORS = (1.14, 4.71, 0.827, 0.200, 0.179, 0.193)

PUBLISHED = {
    f"I{k}": value
    for k, value in enumerate(
        (
            1.43, 1.75, 1.38, 0.690, 0.372, 0.333, 0.298, -0.134, 0.0238, -0.0213, -0.0142, -0.0110, -0.00379, 0.00164,
            0.00125, 0.00124, 0.000642, 0.000431, 0.0003, -0.000202, -0.0001, -0.000058, 0.00004,
        ),
        start=1,
    )
} | {"g1": -37.2, "g2": -8.44, "g3": 1.02, "g4": 0.249, "g5": -0.0282}  # fmt: skip


def bodies() -> list[Inertial]:
    """The link data as bodies in the links' frames."""
    return [
        Inertial.from_centre(m, c, np.diag(np.array(moments, dtype=float)))
        for m, c, moments in zip(MASSES, CENTRES, MOMENTS, strict=True)
    ]


def constants(gravity: float) -> dict[str, float]:
    """I1..I23 and g1..g5 by the paper's formulas.

    They assume diagonal inertias, centres of mass as above and Ixx6 = Iyy6.
    """
    _, m2, m3, m4, m5, m6 = MASSES
    x2, y2, z2 = CENTRES[1]
    y3, z3, z4, z6 = CENTRES[2][1], CENTRES[2][2], CENTRES[3][2], CENTRES[5][2]
    (_, _, zz1), (xx2, yy2, zz2), (xx3, yy3, zz3), (xx4, yy4, zz4), (xx5, yy5, zz5), (xx6, _, zz6) = MOMENTS
    D, m456 = D2 + D3, m4 + m5 + m6
    m3456 = m3 + m456
    I = [  # noqa: E741
        zz1 + m2 * D2**2 + m456 * A3**2 + m2 * z2**2 + m3456 * D**2 + xx2 + yy3 + 2 * m2 * D2 * z2
        + m2 * y2**2 + m3 * z3**2 + 2 * m3 * D * z3 + zz4 + yy5 + zz6,
        zz2 + m2 * (x2**2 + y2**2) + m3456 * A2**2,
        -xx2 + yy2 + m3456 * A2**2 + m2 * x2**2 - m2 * y2**2,
        m2 * x2 * (D2 + z2) + m3 * A2 * z3 + m3456 * A2 * D,
        -m3 * A2 * y3 + m456 * A2 * D4 + m4 * A2 * z4,
        zz3 + m3 * y3**2 + m4 * A3**2 + m4 * (D4 + z4) ** 2 + yy4 + m5 * A3**2 + m5 * D4**2 + zz5
        + m6 * A3**2 + m6 * D4**2 + m6 * z6**2 + xx6,
        m3 * y3**2 + xx3 - yy3 + m4 * z4**2 + 2 * m4 * D4 * z4 + m456 * (D4**2 - A3**2) + yy4 - zz4 + zz5 - yy5
        + m6 * z6**2 - zz6 + xx6,
        -m4 * D * (D4 + z4) - (m5 + m6) * D * D4 + m3 * y3 * z3 + m3 * D * y3,
        m2 * y2 * (D2 + z2),
        2 * m4 * A3 * z4 + 2 * m456 * A3 * D4,
        -2 * m2 * x2 * y2,
        m456 * A2 * A3,
        m456 * A3 * D,
        zz4 + yy5 + zz6,
        m6 * D4 * z6,
        m6 * A2 * z6,
        zz5 + xx6 + m6 * z6**2,
        m6 * D * z6,
        yy4 - xx4 + zz5 - yy5 + m6 * z6**2 + xx6 - zz6,
        yy5 - xx5 - m6 * z6**2 + zz6 - xx6,
        xx4 - yy4 + xx5 - zz5,
        m6 * A3 * z6,
        zz6,
    ]  # fmt: skip
    g = [
        -(m3456 * A2 + m2 * x2),
        m3 * y3 - m456 * D4 - m4 * z4,
        m2 * y2,
        -m456 * A3,
        -m6 * z6,
    ]
    return {f"I{k}": value for k, value in enumerate(I, 1)} | {f"g{k}": gravity * v for k, v in enumerate(g, 1)}


def with_motors(values: dict[str, float]) -> dict[str, float]:
    """Constants as the model has them: Im1 and Im2 are part of I1 and I2."""
    own = {f"Im{k}": MOTORS[k - 1] for k in range(3, 7)}
    return values | {"I1": values["I1"] + MOTORS[0], "I2": values["I2"] + MOTORS[1]} | own


def mass_matrix(q: Any, I: Sequence[Any], Im: Sequence[Any]) -> Any:  # noqa: E741
    """The paper's A(q), SX [6, 6], for I[1..23] and Im[3..6] (index 0 unused)."""
    S2, C2, S3, C3 = ca.sin(q[1]), ca.cos(q[1]), ca.sin(q[2]), ca.cos(q[2])
    S4, C4, S5, C5 = ca.sin(q[3]), ca.cos(q[3]), ca.sin(q[4]), ca.cos(q[4])
    S23, C23 = ca.sin(q[1] + q[2]), ca.cos(q[1] + q[2])
    SS23, CC23, SC23 = S23 * S23, C23 * C23, S23 * C23
    SS4, CC4, SC4, SS5, CC5, SC5 = S4 * S4, C4 * C4, S4 * C4, S5 * S5, C5 * C5, S5 * C5
    twist = I[18] * (S23 * C4 * S5 - C23 * C5) + I[19] * S23 * SC4
    twist += I[20] * S4 * (S23 * C4 * CC5 + C23 * SC5) + I[22] * S23 * S4 * S5
    elbow = I[5] * S3 + I[12] * C3 + I[16] * (S3 * C5 + C3 * C4 * S5)
    wrist = I[20] * SS4 * SS5 + I[21] * SS4 + 2 * (I[15] * C5 + I[22] * C4 * S5)
    a11 = I[1] + I[3] * C2 * C2 + I[7] * SS23 + I[10] * SC23 + I[11] * S2 * C2
    a11 += I[20] * (SS5 * (SS23 * (1 + CC4) - 1) - 2 * SC23 * C4 * SC5) + I[21] * SS23 * CC4
    a11 += 2 * (
        I[5] * C2 * S23
        + I[12] * C2 * C23
        + I[15] * (SS23 * C5 + SC23 * C4 * S5)
        + I[16] * C2 * (S23 * C5 + C23 * C4 * S5)
        + I[18] * S4 * S5
        + I[22] * (SC23 * C5 + CC23 * C4 * S5)
    )
    a13 = I[8] * C23 + I[13] * S23 - I[15] * C23 * S4 * S5 + twist
    a12 = a13 + I[4] * S2 + I[9] * C2 + I[16] * S2 * S4 * S5
    a14 = I[14] * C23 + I[15] * S23 * C4 * S5 + I[16] * C2 * C4 * S5 + I[18] * C23 * S4 * S5
    a14 += -I[20] * (S23 * C4 * SC5 + C23 * SS5) + I[22] * C23 * C4 * S5
    a15 = I[15] * S23 * S4 * C5 + I[16] * C2 * S4 * C5 + I[17] * S23 * S4
    a15 += I[18] * (S23 * S5 - C23 * C4 * C5) + I[22] * C23 * S4 * C5
    a16 = I[23] * (C23 * C5 - S23 * C4 * S5)
    a33 = I[6] + wrist
    a23 = a33 + elbow
    a22 = I[2] + a33 + 2 * elbow
    a34 = -I[15] * S4 * S5 + I[20] * S4 * SC5
    a24 = a34 - I[16] * S3 * S4 * S5
    a35 = I[15] * C4 * C5 + I[17] * C4 + I[22] * S5
    a25 = a35 + I[16] * (C3 * S5 + S3 * C4 * C5)
    a26 = a36 = I[23] * S4 * S5
    rows = (
        (a11, a12, a13, a14, a15, a16),
        (a12, a22, a23, a24, a25, a26),
        (a13, a23, a33 + Im[3], a34, a35, a36),
        (a14, a24, a34, Im[4] + I[14] - I[20] * SS5, 0, I[23] * C5),
        (a15, a25, a35, 0, Im[5] + I[17], 0),
        (a16, a26, a36, I[23] * C5, 0, Im[6] + I[23]),
    )
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])
