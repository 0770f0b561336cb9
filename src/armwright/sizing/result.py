"""What was found: sets of actuators, how much of each is used, and the page of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armwright.actuators.actuator import Actuator, Drive, Hydraulic
from armwright.actuators.assignment import fitted
from armwright.algebra import Array
from armwright.names import shown
from armwright.notebook import box, lines, table
from armwright.pages.report.plot import Plot, figures, write
from armwright.robot import Robot
from armwright.sizing.criteria import CRITERIA, Asked, Columns, Numbers, Terms
from armwright.sizing.cylinder_criteria import Cylinders
from armwright.sizing.drive_plots import plot
from armwright.sizing.loads import JointLoad

UNITS = {"mass": "kg", "price": "", "energy": "J"}


@dataclass(frozen=True, eq=False)
class Chosen:
    """The actuator of one joint, and the part of each of its limits that is used; criteria without a limit are absent.

    `inertia` is the largest that the joint carries. At all instants of all cases, `q` is where it stands, `load` what
    it asks of the gearbox, `speed` and `torque` are those of the shaft of the motor, or speed and force of the rod,
    `tau` is the torque of the joint as inverse dynamics of the fitted robot gives it; `cases` are where each motion
    with each payload begins and ends, `titles` what they are called.
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
        """Of the load at the shaft of the motor to the motor; None for a cylinder."""
        if isinstance(self.actuator, Hydraulic):
            return None
        own = self.actuator.gearbox.ratio**2 * self.actuator.inertia
        return self.inertia / own if own else math.inf

    @property
    def twist(self) -> Array | None:
        """By how much the gearbox gives at each instant, at most; None where that is not known."""
        gear = None if isinstance(self.actuator, Hydraulic) else self.actuator.gearbox
        if gear is None or gear.stiffness is None or gear.backlash is None:
            return None
        given: Array = np.abs(self.load) / gear.stiffness + gear.backlash / 2
        return given

    @property
    def binding(self) -> str:
        """The criterion that is nearest to its limit."""
        return max(self.used, key=lambda name: self.used[name])

    @property
    def margin(self) -> float:
        """The part of that limit which is left."""
        return 1 - self.used[self.binding]


@dataclass(frozen=True)
class ActuatorSet:
    """Actuators for all joints, and what they cost: kilograms, a price or joules."""

    cost: float
    joints: tuple[Chosen, ...]

    @property
    def actuators(self) -> dict[str, Drive]:
        """By the names of joints."""
        return {chosen.joint: chosen.actuator for chosen in self.joints}

    @property
    def mass(self) -> float:
        return sum(chosen.actuator.mass for chosen in self.joints)

    @property
    def price(self) -> float | None:
        prices = [chosen.actuator.price for chosen in self.joints]
        return sum(p for p in prices if p is not None) if None not in prices else None


HEADS = ("joint", "motor", "gearbox", "mass", "binding", "used")


@dataclass(frozen=True)
class Sizing:
    """The best sets of actuators for a robot, proven best at the instants that were looked at.

    `full_product` is how many sets there are, `judged` how many times an actuator was judged for its joint to find the
    best of them.
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
        return self.sets[0]

    @property
    def runners_up(self) -> tuple[ActuatorSet, ...]:
        return self.sets[1:]

    @cached_property
    def fitted(self) -> Robot:
        """The robot with the best set."""
        return fitted(self.robot, self.best.actuators, self.mounts_at)

    @cached_property
    def tip_deflection(self) -> float | None:
        """Metres by which gearboxes let the tip be off, at most; None where one says too little, or there is no tip.

        J (torque / stiffness + backlash / 2), where each joint gives in the direction that is worst.
        """
        twists = [chosen.twist for chosen in self.best.joints]
        if self.robot.tip is None or any(twist is None for twist in twists):
            return None
        q = np.stack([chosen.q for chosen in self.best.joints], axis=-1)
        moved = self.robot.jacobian(q)[:, :3] * np.stack([t for t in twists if t is not None], axis=-1)[:, None]
        return float(np.max(np.sum(np.linalg.norm(moved, axis=1), axis=-1)))

    @property
    def notes(self) -> list[str]:
        """What was not known of the parts chosen, and so not counted."""
        electric = [c.actuator for c in self.best.joints if isinstance(c.actuator, Actuator)]
        motors, gears = (dict.fromkeys(getattr(d, kind) for d in electric) for kind in ("motor", "gearbox"))
        told = {
            "the friction of {} is not known: none is counted": [
                part for part in (*motors, *gears) if part.dry_friction is None and part.viscous_friction is None
            ],
            "the continuous torque of {} is not known: only the peak is looked at": [
                gear for gear in gears if gear.continuous_torque is None
            ],
            "how {} warms up is not known: the RMS torque stands for it": [m for m in motors if not m.warms],
        }
        return [text.format(", ".join(shown(p.name) for p in parts)) for text, parts in told.items() if parts]

    def rows(self, chosen: ActuatorSet | None = None) -> list[tuple[str, ...]]:
        """Of a set, by default the best: actuators, and what limits each joint."""
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
        """Of the best set: the part of each limit that is used, by joint; the first row is the head."""
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
        """All sets: what they cost and where they differ from the best; the first row is the head."""
        weighed = ("mass",) if self.objective != "mass" else ()
        rows: list[tuple[str, ...]] = [("set", self.objective, *weighed, "differs from the best in")]
        for i, own in enumerate(self.sets, start=1):
            pairs = zip(own.joints, self.best.joints, strict=True)
            other = [f"{shown(c.joint)}: {shown(c.actuator.name)}" for c, b in pairs if c.actuator != b.actuator]
            mass = (f"{own.mass:.4g} kg",) if weighed else ()
            rows.append((str(i), self.said(own.cost), *mass, "; ".join(other) or "-"))
        return rows

    def said(self, cost: float) -> str:
        """A cost with its unit."""
        return f"{cost:.5g} {UNITS[self.objective]}".rstrip()

    @property
    def summary(self) -> str:
        """What was found, and how, in two sentences."""
        return (
            f"The best of {self.full_product:.4g} sets by {self.objective}: {self.said(self.best.cost)}. Proven with "
            f"{self.judged:,} judgements of an actuator for a joint in {self.seconds:.3g} s, where all sets would have "
            f"been {self.full_product * self.robot.n:.3g}."
        )

    def __str__(self) -> str:
        rows = [HEADS, *self.rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(HEADS))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, self.summary, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks: the best set, and how it was proven."""
        text = lines("\n".join([self.summary, *self.notes]))
        return box(f"Actuators of {shown(self.robot.name)}", table(HEADS, self.rows()) + text)

    @property
    def plots(self) -> list[Plot]:
        """Of the best set, a picture for each joint: the torque of its motor over its speed, within its limits."""
        return [plot(chosen) for chosen in self.best.joints]

    def to_html(self, path: str | Path) -> Path:
        """Write a page with the sets, the margins, and the torque of each motor over its speed."""
        tables = [
            ("The best set", [HEADS, *self.rows()]),
            ("Used of each limit", self.margin_rows()),
            ("The best sets", self.set_rows()),
        ]
        if self.notes:
            tables.append(("Not known", [("what",), *((note,) for note in self.notes)]))
        title = f"{self.robot.name}: actuators"
        return write(path, figures(title, self.summary, self.plots, tables, "sizing"))


def columns(drives: Sequence[Drive]) -> Numbers:
    """The numbers of actuators for one joint, which are of one kind."""
    cylinders = [drive for drive in drives if isinstance(drive, Hydraulic)]
    return Cylinders.of(cylinders) if cylinders else Columns.of([d for d in drives if isinstance(d, Actuator)])


def chosen_set(cost: float, drives: Sequence[Drive], asked: Sequence[JointLoad], terms: Terms) -> ActuatorSet:
    """A set with what it uses at its own loads."""
    masses = np.array([drive.mass for drive in drives])
    joints = []
    for drive, load in zip(drives, asked, strict=True):
        own = masses[list(load.carried)]
        exact, c = Asked.between(load, own, own), columns([drive])
        found, limited = c.uses(exact, terms), c.limited(terms)
        used = {name: float(found[name][0]) for name in CRITERIA if name in found and limited.get(name, True)}
        moving = (load.q, exact.torque[0], *c.moving(exact))
        joints.append(Chosen(load.name, drive, used, exact.inertia, *moving, load.cases, load.titles))
    return ActuatorSet(cost, tuple(joints))
