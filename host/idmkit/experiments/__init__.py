"""Experiments on the virtual rig with the real firmware: each is a module, prints tables and draws a picture.

A module has `run(robot, seed, say) -> Outcome`, where `say(text)` hears what is going on; EXPERIMENTS names them all.
"""

EXPERIMENTS = {
    "settle": "how soon the robot is at rest after a move: no model, loops tuned without one, identified, true",
    "tracking": "how far the robot is from its path, and how far one axis disturbs another",
    "repeat": "the identification with other noise every time: means, spreads, and the truth",
    "excitation": "parameters from sines and from a planned motion of equal time, against the truth",
    "collision": "pushes at rest, moving, reversing: how soon torque error and momentum observer see them",
    "identify": "identified in the loop: the torque of a motion that was not used, in percent of its peak",
}
"""Name: what it shows. The module of the same name has the rest."""
