"""Runs on the board: the cost of `inverse_dynamics` of a module, without that of the call itself."""

import gc
import time
from array import array

import micropython

from idmwire.sine import SINE

CALLS = 100


@micropython.viper
def nothing(x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int):
    pass


def cost(ticks, function, *arguments):
    """Mean ticks of a call; garbage is collected before, not while it counts."""
    x, p, y = arguments
    gc.collect()
    gc.disable()
    begun = ticks()
    for _ in range(CALLS):
        function(x, p, y, SINE, 0)
    taken = time.ticks_diff(ticks(), begun)
    gc.enable()
    return taken / CALLS


def model_cost(ticks, model, state):
    """Ticks of one call at a state (a list of wire integers) with parameters of middling size."""
    x = array("i", state)
    p = array("i", [limit // 8 for limit in model.PARAMETER_LIMITS])
    y = array("i", [0] * (model.N_AXES + 1))
    ticks_of_a_call = cost(ticks, model.inverse_dynamics, x, p, y) - cost(ticks, nothing, x, p, y)
    assert y[model.N_AXES] == 0, "a value was limited, which takes longer"
    return ticks_of_a_call
