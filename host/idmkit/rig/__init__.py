"""The virtual rig: MuJoCo moves the robot, CiA 402 drives close the loops, MicroPython runs the real firmware."""

from idmkit.errors import RigError

try:
    import mujoco  # noqa: F401
except ImportError as problem:
    raise RigError("the virtual rig needs MuJoCo, which is not installed: pip install 'idmkit[rig]'") from problem

from idmkit.rig.rig import Rig

__all__ = ["Rig"]
