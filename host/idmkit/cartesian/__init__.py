"""Motion of the tool in space: inverse kinematics along a straight line, its time law, and the points to stream."""

from idmkit.cartesian.line import Line, plan_line

__all__ = ["Line", "plan_line"]
