"""Results of sizing: sets of actuators, the use of their limits, and the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from armwright.actuators.actuator import Actuator, Drive, Hydraulic
from armwright.actuators.assignment import fitted
from armwright.algebra import Array
from armwright.former_names import add_former_names
from armwright.lazy import cached_property
from armwright.names import shown
from armwright.notebook import box, lines, table
from armwright.pages.report.plot import Plot, figures, write
from armwright.robot import Robot
from armwright.sizing.criteria import CRITERIA, DriveNumbers, JointDemand, Requirements
from armwright.sizing.cylinder_criteria import CylinderDrives
from armwright.sizing.drive_plots import drive_plot
from armwright.sizing.electric_criteria import ElectricDrives, gearbox_twist
from armwright.sizing.loads import JointLoad

OBJECTIVE_UNITS = {"mass": "kg", "price": "", "energy": "J"}


@dataclass(frozen=True, eq=False)
class Chosen:
    """The actuator of one joint, and the part of each limit that it uses; criteria without a limit are absent.

    inertia          the largest inertia that the joint carries
    q                joint positions at all instants of all cases, a motion with a payload each
    load             torque at the output of the gearbox
    speed, torque    those of the motor shaft, or speed and force of the rod
    tau              the joint torque by inverse dynamics of the fitted robot
    cases, titles    the instants and the name of each case
    """

    joint: str
    actuator: Drive
    used: dict[str, float]
    inertia: float
    q: Array = field(repr=False)
    load: Array = field(repr=False)
    speed: Array = field(repr=False)
    torque: Array = field(repr=False)
    tau: Array = field(repr=False)
    cases: tuple[slice, ...] = field(repr=False)
    titles: tuple[str, ...] = field(repr=False)

    @property
    def inertia_ratio(self) -> float | None:
        """Ratio of the load inertia at the motor shaft to the motor inertia; None for a cylinder."""
        if isinstance(self.actuator, Hydraulic):
            return None
        inertia = self.actuator.gearbox.ratio**2 * self.actuator.inertia
        return self.inertia / inertia if inertia else math.inf

    @property
    def twist(self) -> Array | None:
        """The largest twist of the gearbox at each instant, rad or m; None if stiffness or backlash is unknown."""
        gear = None if isinstance(self.actuator, Hydraulic) else self.actuator.gearbox
        if gear is None or gear.stiffness is None or gear.backlash is None:
            return None
        twist: Array = gearbox_twist(self.load, gear.stiffness, gear.backlash)
        return twist

    @property
    def binding(self) -> str:
        """The criterion closest to its limit."""
        return max(self.used, key=lambda name: self.used[name])

    @property
    def margin(self) -> float:
        """The unused part of that limit."""
        return 1 - self.used[self.binding]


@dataclass(frozen=True)
class ActuatorSet:
    """Actuators for all joints, and their cost: kilograms, a price or joules."""

    cost: float
    joints: tuple[Chosen, ...]

    @property
    def actuators(self) -> dict[str, Drive]:
        """The actuators by joint name."""
        return {chosen.joint: chosen.actuator for chosen in self.joints}

    @property
    def mass(self) -> float:
        """The mass of all actuators, kg."""
        return sum(chosen.actuator.mass for chosen in self.joints)

    @property
    def price(self) -> float | None:
        """The price of all actuators; None if one is unknown."""
        prices = [chosen.actuator.price for chosen in self.joints]
        return sum(p for p in prices if p is not None) if None not in prices else None


SIZING_HEADS = ("joint", "motor", "gearbox", "mass", "binding", "used")


@dataclass(frozen=True)
class Sizing:
    """The best sets of actuators for a robot, proven at the sampled instants.

    `full_product` is the number of possible sets, `judged` the number of evaluations of an actuator for a joint that
    the proof took.
    """

    robot: Robot
    catalogue: str
    objective: str
    sets: tuple[ActuatorSet, ...]
    full_product: int
    judged: int
    nodes: int
    seconds: float
    reserve: float = 0.0
    mounts_at: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> ActuatorSet:
        """The best set."""
        return self.sets[0]

    @property
    def runners_up(self) -> tuple[ActuatorSet, ...]:
        """The other sets, best first."""
        return self.sets[1:]

    @cached_property
    def fitted(self) -> Robot:
        """The robot with the best set."""
        return fitted(self.robot, self.best.actuators, self.mounts_at)

    @cached_property
    def tip_deflection(self) -> float | None:
        """The largest deflection of the tip by the twist of the gearboxes, m; None if a twist is unknown or no tip is.

        It is J (|torque| / stiffness + backlash / 2), with every joint twisted in the worst direction.
        """
        twists = [chosen.twist for chosen in self.best.joints]
        if self.robot.tip is None or any(twist is None for twist in twists):
            return None
        q = np.stack([chosen.q for chosen in self.best.joints], axis=-1)
        moved = self.robot.jacobian(q)[:, :3] * np.stack([t for t in twists if t is not None], axis=-1)[:, None]
        return float(np.max(np.sum(np.linalg.norm(moved, axis=1), axis=-1)))

    @property
    def notes(self) -> list[str]:
        """Notes on unknown numbers of the chosen parts, which were not counted."""
        electric = [c.actuator for c in self.best.joints if isinstance(c.actuator, Actuator)]
        motors, gears = (dict.fromkeys(getattr(d, kind) for d in electric) for kind in ("motor", "gearbox"))
        parts_by_note = {
            "the friction of {} is unknown: none is counted": [
                part for part in (*motors, *gears) if part.dry_friction is None and part.viscous_friction is None
            ],
            "the continuous torque of {} is unknown: only the peak torque is checked": [
                gear for gear in gears if gear.continuous_torque is None
            ],
            "the thermal data of {} are unknown: the RMS torque is checked instead": [m for m in motors if not m.warms],
        }
        return [text.format(", ".join(shown(p.name) for p in parts)) for text, parts in parts_by_note.items() if parts]

    def rows(self, chosen: ActuatorSet | None = None) -> list[tuple[str, ...]]:
        """Return table rows of a set, by default the best: actuators, and the binding criterion of each joint."""
        return [
            (
                shown(c.joint),
                *map(shown, c.actuator.names),
                f"{c.actuator.mass:.3g} kg",
                c.binding,
                f"{c.used[c.binding]:.1%}",
            )
            for c in (chosen or self.best).joints
        ]

    def margin_rows(self) -> list[tuple[str, ...]]:
        """Return a table of the best set, head first: the part of each limit that each joint uses."""
        named = [name for name in CRITERIA if any(name in c.used for c in self.best.joints)]
        body = [
            (
                shown(c.joint),
                *(f"{c.used[name]:.0%}" if name in c.used else "-" for name in named),
                "-" if c.inertia_ratio is None else f"{c.inertia_ratio:.3g}",
            )
            for c in self.best.joints
        ]
        return [("joint", *named, "load to motor inertia"), *body]

    def set_rows(self) -> list[tuple[str, ...]]:
        """Return a table of all sets, head first: their costs, and how they differ from the best."""
        mass_column = ("mass",) if self.objective != "mass" else ()
        rows: list[tuple[str, ...]] = [("set", self.objective, *mass_column, "differs from the best in")]
        for i, each in enumerate(self.sets, start=1):
            pairs = zip(each.joints, self.best.joints, strict=True)
            other = [f"{shown(c.joint)}: {shown(c.actuator.name)}" for c, b in pairs if c.actuator != b.actuator]
            mass = (f"{each.mass:.4g} kg",) if mass_column else ()
            rows.append((str(i), self.cost_text(each.cost), *mass, "; ".join(other) or "-"))
        return rows

    def cost_text(self, cost: float) -> str:
        """Return a cost with its unit."""
        return f"{cost:.5g} {OBJECTIVE_UNITS[self.objective]}".rstrip()

    @property
    def summary(self) -> str:
        """The cost of the best set, and the number of evaluations of the proof."""
        return (
            f"The best of {self.full_product:.4g} sets by {self.objective}: {self.cost_text(self.best.cost)}. Proven "
            f"with {self.judged:,} evaluations of an actuator for a joint in {self.seconds:.3g} s; all sets would take "
            f"{self.full_product * self.robot.n:.3g}."
        )

    def __str__(self) -> str:
        rows = [SIZING_HEADS, *self.rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(SIZING_HEADS))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, self.summary, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the best set and the summary as HTML, for notebooks."""
        text = lines("\n".join([self.summary, *self.notes]))
        return box(f"Actuators of {shown(self.robot.name)}", table(SIZING_HEADS, self.rows()) + text)

    @property
    def plots(self) -> list[Plot]:
        """Plots of the best set, one for each joint: motor torque over speed within the limits."""
        return [drive_plot(chosen) for chosen in self.best.joints]

    def to_html(self, path: str | Path) -> Path:
        """Write an HTML page with the sets, their margins, and motor torque over speed; return its path."""
        tables = [
            ("The best set", [SIZING_HEADS, *self.rows()]),
            ("Used of each limit", self.margin_rows()),
            ("The best sets", self.set_rows()),
        ]
        if self.notes:
            tables.append(("Unknown", [("note",), *((note,) for note in self.notes)]))
        title = f"{self.robot.name}: actuators"
        return write(path, figures(title, self.summary, self.plots, tables, "sizing"))


add_former_names(Sizing, said="cost_text")


def drive_numbers(drives: Sequence[Drive]) -> DriveNumbers:
    """Return the numbers of actuators for one joint, all electric or all hydraulic."""
    cylinders = [drive for drive in drives if isinstance(drive, Hydraulic)]
    if cylinders:
        return CylinderDrives.of(cylinders)
    return ElectricDrives.of([drive for drive in drives if isinstance(drive, Actuator)])


def actuator_set(
    cost: float, drives: Sequence[Drive], joint_loads: Sequence[JointLoad], requirements: Requirements
) -> ActuatorSet:
    """Return a set with the use of its limits at its own loads."""
    masses = np.array([drive.mass for drive in drives])
    joints = []
    for drive, load in zip(drives, joint_loads, strict=True):
        carried = masses[list(load.carried)]
        demand, numbers = JointDemand.between(load, carried, carried), drive_numbers([drive])
        parts, limited = numbers.utilisation(demand, requirements), numbers.optional_limits(requirements)
        used = {name: float(parts[name][0]) for name in CRITERIA if name in parts and limited.get(name, True)}
        motion = (load.q, demand.torque[0], *numbers.motion_of_first(demand))
        joints.append(Chosen(load.name, drive, used, demand.inertia, *motion, load.cases, load.titles))
    return ActuatorSet(cost, tuple(joints))
