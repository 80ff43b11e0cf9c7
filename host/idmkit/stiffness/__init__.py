"""How stiff a delta robot is, where it resonates, and how fast it may therefore be accelerated."""

from idmkit.stiffness.delta import SoftDelta, Workspace, soft_delta
from idmkit.stiffness.estimate import Measurement, StiffnessFit, fit_stiffness, load_measurements
from idmkit.stiffness.geometry import jacobian, platform_position, pose, pose_at, rod_forces
from idmkit.stiffness.resonance import FORMS, Compliant, Form, acceleration_time_of_move, minimal_acceleration_time

__all__ = [
    "FORMS",
    "Compliant",
    "Form",
    "Measurement",
    "SoftDelta",
    "StiffnessFit",
    "Workspace",
    "acceleration_time_of_move",
    "fit_stiffness",
    "jacobian",
    "load_measurements",
    "minimal_acceleration_time",
    "platform_position",
    "pose",
    "pose_at",
    "rod_forces",
    "soft_delta",
]
