"""The compiled inverse dynamic model, when the board has one.

A model is a module with PROGRAM_HASH, N_AXES, N_PARAMETERS and the viper function
inverse_dynamics(x, p, y, sine, sh), which idmkit compiles for one robot.
"""

from array import array

import micropython

from motionboard.axis import TODO_MODEL
from motionboard.posture import look_up


def load():
    """The compiled model's module, or None where the board has none, or one for another MicroPython."""
    try:
        import model
    except (ImportError, ValueError):
        return None
    return model


# A closure, or a method, would allocate where it is called.
@micropython.native
def _by_posture(x, p, y, sine, sh):
    """The model whose parameters, here with their tables and itself, go by posture."""
    tables, mantissas, evaluate = p
    look_up(tables, x, mantissas, sh)
    evaluate(x, mantissas, y, sine, sh)


class Dynamics:
    """The model with its parameters: torques of the commanded motion, into the axes' model_output."""

    def __init__(self, axes, settings, model, mantissas, tables=()):
        self.axes = axes
        self.settings = settings
        # Values of the model that have met their limit.
        self.saturations = 0
        self.available = model is not None and mantissas is not None and len(mantissas) > 0
        self.evaluate = model.inverse_dynamics if self.available else None
        self.parameters = array("i", mantissas) if self.available else None
        if tables:
            self.parameters = (array("i", (len(tables),) + tables), self.parameters, self.evaluate)
            self.evaluate = _by_posture

    def prepare(self):
        """Settings may have changed: is there an axis that wants the model?"""
        active = False
        if self.available:
            for axis in range(self.axes.n):
                if self.settings.dynamic_model[axis]:
                    active = True
        if not active:
            for k in range(self.axes.n + 1):
                self.axes.model_output[k] = 0
        self.axes.remind(TODO_MODEL, active)

    def count(self):
        """Adds this cycle's saturations."""
        self.saturations = (self.saturations + self.axes.model_output[self.axes.n]) & 0x3FFFFFFF
