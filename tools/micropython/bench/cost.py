"""Runs on the board: the cost of the model and of each step of a moving cycle, in ticks of `ticks`, as JSON.

Needs bench.py, scripted.py and support.py of the firmware's tests, model.mpy and image.bin on the board.
"""

import gc
import json
import time
from array import array

import micropython
import model
from bench import Bench

from idmwire.sine import SINE
from motionboard import codec

CALLS = 200
STEPS = (("drives", "read"), ("motion", "step"), ("dynamics", "step"), ("guards", "feed_forward"), ("drives", "write"),
         ("guards", "errors"), ("guards", "check"), ("trace", "keep"), ("capture", "sample"))


@micropython.viper
def nothing(x: ptr32, p: ptr32, y: ptr32, sine: ptr32, sh: int):
    pass


def cost(ticks, function, *arguments):
    """Mean ticks of a call with these arguments."""
    begun = ticks()
    for _ in range(CALLS):
        function(*arguments)
    return time.ticks_diff(ticks(), begun) / CALLS


def timed(ticks, owner, name, found):
    """Lets `owner.name` note its ticks in `found`."""
    function = getattr(owner, name)

    def call(*arguments):
        begun = ticks()
        result = function(*arguments)
        found.append(time.ticks_diff(ticks(), begun))
        return result

    setattr(owner, name, call)


def mean(numbers):
    return sum(numbers) / len(numbers)


def model_cost(ticks):
    """The model without the call itself."""
    n = model.N_AXES
    x = array("i", [3 << 20] * (3 * n) + [1] * n)
    p = array("i", [limit // 2 for limit in model.PARAMETER_LIMITS])
    y = array("i", [0] * (n + 1))
    return cost(ticks, model.inverse_dynamics, x, p, y, SINE, 0) - cost(ticks, nothing, x, p, y, SINE, 0)


def run_model(ticks):
    """Prints the cost of the model alone."""
    print(json.dumps({"model": model_cost(ticks)}))


def run(ticks, n_cycles):
    """Prints what was found, for a mean of so many cycles."""
    n = model.N_AXES
    result = {"model": model_cost(ticks)}
    body, wire = bytearray(range(128)), bytearray(160)
    result["crc16 of 128 bytes"] = cost(ticks, codec.crc16, body, 128)
    result["COBS of 128 bytes"] = cost(ticks, codec.cobs_encode, body, 128, wire)

    bench = Bench(n, model=model, ready=False)
    with open("image.bin", "rb") as file:
        refusal = bench.apply(file.read())
    assert refusal is None, refusal
    bench.arm()
    bench.move([1 << 20] * n, 20 * n_cycles)
    cycles = []
    timed(ticks, bench.controller, "cycle", cycles)
    gc.collect()
    bench.cycle(n_cycles)
    cycles.sort()
    result["cycle"] = mean(cycles)
    result["cycle worst to median"] = cycles[-1] / cycles[n_cycles // 2]
    empty = []
    bench.nothing = lambda: None
    timed(ticks, bench, "nothing", empty)
    steps = {}
    for owner, name in STEPS:
        timed(ticks, getattr(bench.controller, owner), name, steps.setdefault(owner + "." + name, []))
    for _ in range(n_cycles):
        bench.nothing()
        bench.cycle()
    result["steps"] = {name: mean(found) - mean(empty) for name, found in steps.items()}
    print(json.dumps(result))
