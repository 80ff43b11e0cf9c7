"""Plant and drives on one bus, in granted time: everything of the virtual rig but threads, ports and processes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

from idmkit.rig.bus import Bus
from idmkit.rig.drive import Drive
from idmkit.rig.machine_plant import build_plant
from idmkit.rig.pushes import Push
from idmkit.rig.servo import Servo
from idmkit.rig.slcan import Frame
from idmkit.rig.spec import read_rig_spec
from idmkit.robot import Robot

TIME = 0x100
"""Identifier of the time stamp object (CiA 301)."""
POWER_OFF_S = 0.5
"""How long a power cycle leaves the robot on its brakes."""


def time_stamp(seconds: float) -> Frame:
    """The rig's time as a time stamp object: it ends the answers to a SYNC, so a board on the rig's time may go on."""
    return TIME, struct.pack("<IH", round(1000 * seconds) % 86_400_000, int(seconds // 86_400))


class Cell:
    """One robot with its drives. `cycle` counts the SYNCs answered; the same frames give the same bits."""

    def __init__(self, robot: Robot, *, seed: int) -> None:
        spec = read_rig_spec(robot)
        self.plant = build_plant(robot, spec)
        self.cycle = 0
        self._substeps = spec.substeps
        self._cycle_time_s = robot.cycle_time_s
        self._power_off_cycles = round(POWER_OFF_S / robot.cycle_time_s)
        self._contact_cycles: dict[int, int] = {}
        self._pushes: list[Push] = []
        self.drives = [
            Drive(
                axis,
                index,
                Servo(axis.drive, loops, self.plant.inertia(index)),
                seed=seed,
                cycle_time_s=robot.cycle_time_s,
                release_brake=partial(self._release_brake, index),
            )
            for index, (axis, loops) in enumerate(zip(robot.axes, spec.axes, strict=True))
        ]
        self._servos = [drive.servo for drive in self.drives]
        self.bus_of = [axis.drive.bus for axis in robot.axes]
        self.buses = [
            Bus(
                [drive for drive, on in zip(self.drives, self.bus_of, strict=True) if on == number],
                bus.bitrate,
                robot.cycle_time_s,
            )
            for number, bus in enumerate(robot.buses)
        ]
        self.used_buses = [bus for number, bus in enumerate(self.buses) if number in self.bus_of]
        self._schedule: list[tuple[int, Callable[[], None]]] = []
        self._sample()
        self.collect()  # the boot-up messages: a board that is switched on with its drives misses them

    def _release_brake(self, index: int, released: bool) -> None:
        self.plant.set_brake(index, not released)

    def _sample(self) -> None:
        for drive, position in zip(self.drives, self.plant.position.tolist(), strict=True):
            drive.sample(position, self.cycle)

    def _move(self) -> None:
        """One cycle of physics with the loops closed at every substep."""
        plant, servos = self.plant, self._servos
        position, force = plant.position, plant.force
        for _ in range(self._substeps):
            force[:] = [servo.step(at) for servo, at in zip(servos, position.tolist(), strict=True)]
            plant.step()

    @property
    def bus(self) -> Bus:
        """The only bus, or the first of several."""
        return self.buses[0]

    @property
    def sync_waiting(self) -> bool:
        """True where a SYNC waits on every bus with drives: then a cycle may pass."""
        return all(bus.sync_waiting for bus in self.used_buses)

    def collect(self) -> None:
        """Forgets what the drives have to say."""
        for bus in self.buses:
            bus.collect()

    def schedule(self, at: int, action: Callable[[], None]) -> None:
        """Calls `action` before the cycle that follows when `cycle` has come to `at`."""
        self._schedule.append((at, action))

    def answer_sync(self) -> list[Frame]:
        """Lets one cycle pass and answers the waiting SYNC of the only bus."""
        return self.answer_syncs()[0]

    def answer_syncs(self) -> list[list[Frame]]:
        """Lets one cycle pass and answers the waiting SYNC on each bus."""
        if self._schedule:
            due = [action for at, action in self._schedule if at <= self.cycle]
            self._schedule = [entry for entry in self._schedule if entry[0] > self.cycle]
            for action in due:
                action()
        if self._pushes:
            self._pushes = [push for push in self._pushes if not push.over(self.cycle)]
            self.plant.pushes = [push for push in self._pushes if push.active(self.cycle)]
        self._move()
        self.cycle += 1
        if len(self.plant.contacts) > len(self._contact_cycles):
            for index in self.plant.contacts:
                self._contact_cycles.setdefault(index, self.cycle)
        self._sample()
        stamp = time_stamp(self.cycle * self._cycle_time_s)
        return [[*bus.answer_sync(), stamp] for bus in self.buses]

    def power_cycle(self) -> None:
        """Drives off, the robot on its brakes for a while, drives on again; `cycle` does not count it."""
        for bus in self.buses:
            bus.restart()
        for drive in self.drives:
            drive.reset()
        self.collect()
        for _ in range(self._power_off_cycles):
            self._move()
        self._sample()

    def place_wall(self, index: int, position: float | None) -> None:
        """See Plant.place_wall."""
        self._contact_cycles.pop(index, None)
        self.plant.place_wall(index, position)

    def contact_cycle(self, index: int) -> int | None:
        """The value of `cycle` after the cycle in which axis `index` first touched its present wall."""
        return self._contact_cycles.get(index)

    def push(self, push: Push) -> None:
        """Pushes the robot when it is time; pushes add up."""
        self._pushes.append(push)
