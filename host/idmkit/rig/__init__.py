"""The virtual rig: MuJoCo moves the robot, CiA 402 drives close the loops, MicroPython runs the real firmware."""

from idmkit.rig.rig import Rig

__all__ = ["Rig"]
