"""Runs on the board: what `inverse_dynamics` of a module costs."""

import gc
import time
from array import array

import micropython

from idmwire.sine import SINE

CALLS = 100


@micropython.viper
def nothing(x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int):
    pass


def cost(ticks, function, x, p, y):
    """Mean ticks of a call; garbage is collected before, and not while it counts."""
    gc.collect()
    gc.disable()
    begun = ticks()
    for _ in range(CALLS):
        function(x, p, y, SINE, 0)
    taken = time.ticks_diff(ticks(), begun)
    gc.enable()
    return taken / CALLS


def model_cost(ticks, model, state, mantissas):
    """Ticks of a model at a state (wire integers) without those of an empty call, and the latter."""
    x, p, y = array("i", state), array("i", mantissas), array("i", [0] * (model.N_AXES + 1))
    call, taken = cost(ticks, nothing, x, p, y), cost(ticks, model.inverse_dynamics, x, p, y)
    assert y[model.N_AXES] == 0, "a value was limited, which takes longer"
    return taken - call, call


def float_cost(ticks, model, state, parameters):
    """Ticks of one call of a model in floats; it is long and leaves garbage."""
    x, p, tau = array("f", state), array("f", parameters), array("f", [0.0] * (len(state) // 4))
    begun = ticks()
    model.inverse_dynamics(x, p, tau)
    return time.ticks_diff(ticks(), begun)
