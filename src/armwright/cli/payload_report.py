"""`--most-payload`: the heaviest payload along a motion, what is printed of it, and the page with its curves."""

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
    slowly: float | None

    def lines(self) -> Iterator[str]:
        """Yield the most payload, the joint that limits it, the next joint, and the most payload of a slow motion."""
        found = self.found
        lines = str(found).splitlines()
        yield f"most payload      {lines[0]}"
        if found.index is not None:
            others = np.delete(np.arange(len(found.by_joint)), found.index)
            if len(others) and math.isfinite(least := float(found.by_joint[others].min())):
                name = found.holder.joints[int(others[found.by_joint[others].argmin()])].name
                yield f"                  the next joint to give out is {shown(name)}, at {least:.4g} kg"
        if self.slowly is not None and self.slowly > found.mass:
            yield f"                  however slowly along this path, {self.slowly:.4g} kg"
        if (rated := found.holder.rated_payload) is not None and found.mass > rated:
            yield f"                  its maker rates it for {rated:g} kg: gears and bearings may allow less"
        yield from (f"                  {line}" for line in lines[1:])

    def data(self) -> dict[str, Any]:
        """Return the report as data."""
        found = self.found
        joints = zip(found.holder.joints, found.by_joint.tolist(), strict=True)
        return {
            "mass": found.mass,
            "joint": found.joint or None,
            "quantity": found.quantity or None,
            "limit": found.limit,
            "at": found.time,
            "com": found.com,
            "slowly": self.slowly,
            "by_joint": {joint.name: mass for joint, mass in joints},
            "without_limit": found.unlimited,
            "rated_payload": found.holder.rated_payload,
        }

    def page(self) -> str:
        """Return a page with the most payload that each joint allows over time."""
        found = self.found
        curve = found.curves[found.motion]
        every = max(1, -(-len(curve.t) // MAX_PAYLOAD_POINTS))
        t, most = curve.t[::every], CURVE_CUTOFF * found.mass if math.isfinite(found.mass) and found.mass else math.inf
        masses = np.minimum(curve.masses, most)[::every]
        drawn = [
            Curve(joint.name, t.tolist(), masses[:, i].tolist(), colour=COLOURS[i % len(COLOURS)])
            for i, joint in enumerate(found.holder.joints)
            if (masses[:, i] < most).any()
        ]
        drawn.append(Curve("most payload", [t[0], t[-1]], [found.mass] * 2, dashed=True, colour="#64748b"))
        plot = Plot("The most payload that each joint allows", "time, s", "payload, kg", drawn)
        rows = [("joint", "most payload, kg"), *((joint.name, _kilogram_text(x)) for joint, x in self._by_joint())]
        return figures(f"{found.holder.name}: the most payload", str(found), [plot], [("By joint", rows)], "payload")

    def _by_joint(self) -> list[tuple[Any, float]]:
        return list(zip(self.found.holder.joints, self.found.by_joint.tolist(), strict=True))


def _kilogram_text(mass: float) -> str:
    return f"{mass:.4g}" if math.isfinite(mass) else "any"


def curve_page_path(page: Path) -> Path:
    """Return where the curves go: beside the page of the run."""
    return page.with_name(f"{page.stem}_payload{page.suffix or '.html'}")


def with_most_payload(plan: Scenario, flags: ScenarioFlags) -> tuple[Scenario, PayloadReport | None]:
    """Return the scenario with the heaviest payload its robot can hold along its motion, if that was asked for."""
    if not flags.most_payload:
        return plan, None
    if plan.phases:
        raise InputError("--most-payload: each phase says what is held; expected a scenario with one [trajectory]")
    if plan.trajectory is None:
        raise InputError("--most-payload needs a motion to hold it along; the scenario has no [trajectory]")
    if plan.besides is not None:
        raise InputError(
            "--most-payload counts the friction of the robot, and [torque] friction is another; write it into the "
            "robot's file as friction of its joints"
        )
    com, gyration = _parse_centre(flags.payload_at)
    found = plan.robot.most_payload(plan.trajectory, com, gyration=gyration)
    try:
        slowly = plan.robot.most_payload(plan.trajectory.scaled(SLOW_FACTOR), com, gyration=gyration).mass
    except InfeasibleError:  # what moves may be held by its own momentum
        slowly = None
    held = replace(plan, robot=found.robot) if math.isfinite(found.mass) else plan
    return held, PayloadReport(found, slowly)


def payload_warning(plan: Scenario, run: Run) -> Iterator[str]:
    """Say what was asked where a robot is to hold more than its maker says, or than it weighs, or than it can."""
    arm, held = run.robot, run.robot.payload
    rated, weight = arm.rated_payload, sum(link.mass for link in arm.links)
    if held is None or not held.mass:
        return
    beyond = []
    if rated is not None and held.mass > rated * (1 + MASS_ROUNDING):
        beyond.append(f"more than the {rated:g} kg that its maker rates {shown(arm.name)} for")
    elif rated is None and held.mass > weight:
        beyond.append(f"more than the {weight:.3g} kg that {shown(arm.name)} itself moves")
    can = _feasible_payload(plan, held) if run.utilisation.too_weak else None
    if not (beyond or can):
        return
    yield f"asked             {held.mass:g} kg, " + "; ".join([*beyond, *([can] if can else [])])


def _feasible_payload(plan: Scenario, held: Payload) -> str:
    """Return a note on the feasible payload along a motion for which the robot is too weak."""
    if plan.phases or plan.trajectory is None or plan.besides is not None:
        return ""
    shape = np.asarray(held.inertia) / held.mass
    try:
        found = plan.robot.without_payload().most_payload(plan.trajectory, held.com, gyration=shape)
    except InfeasibleError:
        return "along this motion the robot is too weak or too slow even without a payload"
    except InputError:
        return ""
    return f"along this motion, as fast, it can hold {found.mass:.4g} kg there"


def _parse_centre(text: str | None) -> tuple[list[float], list[float] | None]:
    """The centre of a payload, and its inertia per kilogram if that is given."""
    numbers = [0.0] * 3 if text is None else parse_numbers("--payload-at", text)
    if len(numbers) not in (3, 9):
        raise InputError(
            f"--payload-at {text}: {len(numbers)} numbers; expected the centre of the payload in the tool frame in "
            "metres, such as --payload-at 0,0,0.1, and if known six more: its inertia per kilogram, m^2"
        )
    return numbers[:3], numbers[3:] or None
