# The step of six axes: nothing allocates, whatever moves them, and nothing has grown after many of them.

import gc

import micropython
from bench import Bench, Weights

from motionboard.motion import MOVE, SINE_WAVE

N = 6
CYCLES = 100000


def six(**changes):
    def weight(torques):
        for axis in range(N):
            torques[axis] = 65536

    bench = Bench(N, model=Weights(N, weight), dynamic_model=1, torque_lead=20000, **changes)
    bench.arm()
    bench.cycle(130)
    controller = bench.controller
    # From here on the drives stand in their arrays, and nobody reads what is sent.
    controller._parts = tuple([nothing if part == controller.drives.send else part for part in controller._parts])
    for index in range(24):
        controller.capture.pick(index, index // N, index % N)
    controller.capture.start(controller.cycle_number + 1, 0, 1, 24)
    return controller


def nothing():
    pass


def steps(controller, cycles):
    # A drive follows at once.
    drives = controller.drives
    state = drives._buses[0].state
    while cycles:
        state[5] = 63
        for axis in range(N):
            drives.counts[axis] = drives.target[axis]
        controller.since_heartbeat = 0
        controller.capture.arrived = controller.capture.filled
        controller.cycle()
        cycles -= 1


def begin(controller, kind, cycles, size):
    motion = controller.motion
    for axis in range(N):
        motion.start[axis] = controller.axes.position_command[axis]
        motion.distance[axis] = size
        motion.velocity[axis] = motion.acceleration[axis] = size // 4
        motion.phase_step[axis] = 1 << 22
    assert motion.refusal(kind, cycles) is None
    motion.plan(kind, (controller.cycle_number + 3) & (2**30 - 1), cycles)


def locked(controller, cycles, stop=False):
    micropython.heap_lock()
    try:
        if stop:
            controller.stop()
        steps(controller, cycles)
    finally:
        micropython.heap_unlock()


def test_no_step_allocates():
    controller = six()
    locked(controller, 50)
    for kind, cycles in ((MOVE, 200), (SINE_WAVE, 200), (SINE_WAVE, 5000)):
        begin(controller, kind, cycles, 100000)
        locked(controller, 150)
        assert controller.motion.kind == kind
        locked(controller, 100)
        locked(controller, 300, True)
        assert not controller.motion.moving
    assert not controller.faults.latched


def test_nothing_has_grown_after_many_steps():
    controller = six()
    begin(controller, SINE_WAVE, CYCLES // 2, 100000)
    steps(controller, 10)
    gc.collect()
    gc.disable()
    free = gc.mem_free()
    steps(controller, CYCLES)
    after = gc.mem_free()
    gc.enable()
    assert not controller.motion.moving
    assert not controller.faults.latched
    assert after == free, free - after


def test_the_arrays_have_room_for_all_axes():
    for n in range(1, 9):
        axes = Bench(n).controller.axes
        # And for the blocks of the largest capture ring.
        assert axes._free - axes._bound > 2 * 64 + 20, n
