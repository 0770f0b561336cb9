"""`--most-payload`: the heaviest payload along a motion, its printed lines, and its page of curves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from armwright.cli.command import parse_numbers
from armwright.cli.motion_options import ScenarioFlags
from armwright.errors import InfeasibleError, InputError
from armwright.model.records import Payload
from armwright.names import shown
from armwright.pages.report.plot import COLOURS, Curve, Plot, figures
from armwright.scenario import Scenario
from armwright.simulation import Run
from armwright.trajectory import MostPayload

SLOW_FACTOR = 1000.0
"""The slowdown at which only weight and dry friction are left of the torques."""

CURVE_CUTOFF = 4.0
"""Curves are cut off at this multiple of the most payload; beyond it a joint is no limit."""

MASS_ROUNDING = 1e-9

MAX_PAYLOAD_POINTS = 1500
"""The largest number of points of a curve."""


@dataclass(frozen=True)
class PayloadReport:
    """The most payload along a motion, and along the same path so slowly that only weight counts, if known."""

    found: MostPayload
    slow_mass: float | None

    def lines(self) -> Iterator[str]:
        """Yield the most payload, the joint that limits it, the next joint, and the most payload of a slow motion."""
        found = self.found
        lines = str(found).splitlines()
        yield f"most payload      {lines[0]}"
        if found.index is not None:
            others = np.delete(np.arange(len(found.by_joint)), found.index)
            if len(others) and math.isfinite(mass := float(found.by_joint[others].min())):
                name = found.holder.joints[int(others[found.by_joint[others].argmin()])].name
                yield f"                  the next joint to give out is {shown(name)}, at {mass:.4g} kg"
        if self.slow_mass is not None and self.slow_mass > found.mass:
            yield f"                  however slowly along this path, {self.slow_mass:.4g} kg"
        if (rated := found.holder.rated_payload) is not None and found.mass > rated:
            yield f"                  its maker rates it for {rated:g} kg: gears and bearings may allow less"
        yield from (f"                  {line}" for line in lines[1:])

    def data(self) -> dict[str, Any]:
        """Return the report as data."""
        found = self.found
        return {
            "mass": found.mass,
            "joint": found.joint or None,
            "quantity": found.quantity or None,
            "limit": found.limit,
            "at": found.time,
            "com": found.com,
            "slowly": self.slow_mass,
            "by_joint": dict(self._by_joint()),
            "without_limit": found.unlimited,
            "rated_payload": found.holder.rated_payload,
        }

    def page(self) -> str:
        """Return a page with the most payload that each joint allows over time."""
        found = self.found
        curve = found.curves[found.motion]
        stride = max(1, -(-len(curve.t) // MAX_PAYLOAD_POINTS))
        cutoff = CURVE_CUTOFF * found.mass if math.isfinite(found.mass) and found.mass else math.inf
        t, masses = curve.t[::stride], np.minimum(curve.masses, cutoff)[::stride]
        curves = [
            Curve(joint.name, t.tolist(), masses[:, i].tolist(), colour=COLOURS[i % len(COLOURS)])
            for i, joint in enumerate(found.holder.joints)
            if (masses[:, i] < cutoff).any()
        ]
        curves.append(Curve("most payload", [t[0], t[-1]], [found.mass] * 2, dashed=True, colour="#64748b"))
        plot = Plot("The most payload that each joint allows", "time, s", "payload, kg", curves)
        rows = [(name, f"{mass:.4g}" if math.isfinite(mass) else "any") for name, mass in self._by_joint()]
        table = ("By joint", [("joint", "most payload, kg"), *rows])
        return figures(f"{found.holder.name}: the most payload", str(found), [plot], [table], "payload")

    def _by_joint(self) -> Iterator[tuple[str, float]]:
        names = (joint.name for joint in self.found.holder.joints)
        return zip(names, self.found.by_joint.tolist(), strict=True)


def curve_page_path(page: Path) -> Path:
    """Return the path of the page of curves, next to that of the run."""
    return page.with_name(f"{page.stem}_payload{page.suffix or '.html'}")


def with_most_payload(plan: Scenario, flags: ScenarioFlags) -> tuple[Scenario, PayloadReport | None]:
    """Return the scenario with the heaviest payload its robot can hold along its motion, if the flags request it."""
    if not flags.most_payload:
        return plan, None
    if plan.phases:
        raise InputError("--most-payload: each phase has its own payload; expected a scenario with one [trajectory]")
    if plan.trajectory is None:
        raise InputError("--most-payload needs a motion to hold it along; the scenario has no [trajectory]")
    if plan.besides is not None:
        raise InputError(
            "--most-payload uses the friction of the robot, not that of [torque]; write this into the robot's file as "
            "friction of its joints"
        )
    com, gyration = _parse_centre(flags.payload_at)
    found = plan.robot.most_payload(plan.trajectory, com, gyration=gyration)
    try:
        slow_mass = plan.robot.most_payload(plan.trajectory.scaled(SLOW_FACTOR), com, gyration=gyration).mass
    except InfeasibleError:  # a motion may be feasible only by its momentum
        slow_mass = None
    loaded = replace(plan, robot=found.robot) if math.isfinite(found.mass) else plan
    return loaded, PayloadReport(found, slow_mass)


def payload_warning(plan: Scenario, run: Run) -> Iterator[str]:
    """Yield a warning for a payload above the rated one, above the weight of the robot, or above the feasible one."""
    arm, payload = run.robot, run.robot.payload
    rated, weight = arm.rated_payload, sum(link.mass for link in arm.links)
    if payload is None or not payload.mass:
        return
    excesses = []
    if rated is not None and payload.mass > rated * (1 + MASS_ROUNDING):
        excesses.append(f"more than the {rated:g} kg that its maker rates {shown(arm.name)} for")
    elif rated is None and payload.mass > weight:
        excesses.append(f"more than the {weight:.3g} kg that {shown(arm.name)} itself moves")
    feasible = _feasible_payload(plan, payload) if run.utilisation.too_weak else None
    if not (excesses or feasible):
        return
    yield f"requested         {payload.mass:g} kg, " + "; ".join(filter(None, [*excesses, feasible]))


def _feasible_payload(plan: Scenario, payload: Payload) -> str:
    """Return a note on the feasible payload along a motion for which the robot is too weak."""
    if plan.phases or plan.trajectory is None or plan.besides is not None:
        return ""
    shape = np.asarray(payload.inertia) / payload.mass
    try:
        found = plan.robot.without_payload().most_payload(plan.trajectory, payload.com, gyration=shape)
    except InfeasibleError:
        return "along this motion the robot is too weak or too slow even without a payload"
    except InputError:
        return ""
    return f"along this motion, as fast, it can hold {found.mass:.4g} kg there"


def _parse_centre(text: str | None) -> tuple[list[float], list[float] | None]:
    """Return the centre of a payload, and its inertia per kilogram if it is given."""
    numbers = [0.0] * 3 if text is None else parse_numbers("--payload-at", text)
    if len(numbers) not in (3, 9):
        raise InputError(
            f"--payload-at {text}: {len(numbers)} numbers; expected the centre of the payload in the tool frame in "
            "metres, such as --payload-at 0,0,0.1, and if known six more: its inertia per kilogram, m^2"
        )
    return numbers[:3], numbers[3:] or None
