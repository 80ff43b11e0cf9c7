"""The compiled inverse dynamic model, when the board has one.

A model is a module `model` on the board's file system (idmkit compiles it for one robot):
PROGRAM_HASH, N_AXES, N_PARAMETERS and the viper function inverse_dynamics(x, p, y, sine, sh).
"""

from array import array

from idmwire.sine import SINE
from motionboard.fixed import SH


def load():
    """The compiled model's module, or None where the board has none."""
    try:
        import model
    except ImportError:
        return None
    return model


class Dynamics:
    """Torque of the model for the commanded motion, into the channel torque_model."""

    def __init__(self, axes, settings, model, mantissas):
        self.axes = axes
        self.settings = settings
        self.saturations = 0
        self._evaluate = model.inverse_dynamics if model else None
        self._parameters = array("i", mantissas) if mantissas else None
        self._torque = array("i", [0] * (axes.n + 1))
        self.available = model is not None and mantissas is not None and len(mantissas) > 0

    def step(self):
        """One evaluation; an axis with DynamicModel 0 gets no torque."""
        axes = self.axes
        wanted = self.settings.dynamic_model
        active = False
        for i in range(axes.n):
            active = active or wanted[i] != 0
        if active and self.available:
            self._evaluate(axes.ahead, self._parameters, self._torque, SINE, SH)
            self.saturations = (self.saturations + self._torque[axes.n]) & 0x3FFFFFFF
        for i in range(axes.n):
            axes.torque_model[i] = self._torque[i] if wanted[i] else 0
