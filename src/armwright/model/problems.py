"""What is physically or formally wrong with a robot, as sentences.

None of it stops a computation; all of it has made somebody's simulation wrong without a word. One thing is not judged:
a first link that turns on the base and of which only Izz is given, as nothing else of its tensor has any effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.formulations import find
from armwright.model.description import QUARTER_TURN, Description, JointModel, LinkModel, right_angles

ROUNDING = 1e-9
"""Relative slack: published tensors are rounded to a few digits, and rods and plates sit exactly on the boundary."""

USUAL = (0.003, 5.0)
"""Largest moment over m L^2 for links of real arms, with L as in `_size`: 0.03 to 2, with some room on both sides."""

KINDS = (
    "non-positive mass",
    "missing inertia",
    "not positive definite",
    "triangle inequality",
    "suspicious units",
    "singular mass matrix",
    "reversed limits",
    "no travel",
    "rounded angle",
    "degrees",
)


class Problem(str):
    """A sentence, with the kind of problem and the link or joint it is about."""

    kind: str
    where: str

    def __new__(cls, kind: str, where: str, text: str) -> Problem:
        problem = super().__new__(cls, f"{where}: {text}")
        problem.kind, problem.where = kind, where
        return problem

    def accepted_by(self, robot: Description) -> bool:
        """Whether the robot's author knows of it: by its kind, or by "where: kind"."""
        return bool({self.kind, f"{self.where}: {self.kind}"} & set(robot.accept))


def problems(robot: Description) -> list[Problem]:
    """Everything that looks wrong, base to tip."""
    if not isinstance(robot, Description):
        raise InputError(f"problems got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    found: list[Problem] = []
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        found += _joint_problems(joint)
        only_izz = i == 0 and not joint.prismatic and _only_izz(link)
        if link.mass or not only_izz:
            found += _mass_problems(link)
        if not only_izz:
            found += _tensor_problems(link)
        found += _unit_problems(link, _size(robot, i))
    if robot.payload is not None:
        p = robot.payload
        body = LinkModel("payload", p.mass, p.com, p.inertia)
        found += _tensor_problems(body)
        found += _unit_problems(body, max(2 * float(np.linalg.norm(p.com)), _segment(robot)))
    return found + list(_singular_matrix(robot))


def _joint_problems(joint: JointModel) -> Iterator[Problem]:
    if joint.limits is not None:
        low, high = joint.limits
        if low > high:
            yield Problem("reversed limits", joint.name, f"its limits are reversed: lower {low:g} above upper {high:g}")
        elif low == high:
            yield Problem("no travel", joint.name, f"its limits are equal ({low:g}), so it cannot move")
        if not joint.prismatic and any(30 < abs(limit) < np.inf for limit in joint.limits):
            yield Problem("degrees", joint.name, f"its limits ({low:g}, {high:g}) are many turns in radians; degrees?")
    for name, angle in (("alpha", joint.alpha), ("theta", joint.theta)):
        quarters = round(angle / QUARTER_TURN)
        exact = quarters * QUARTER_TURN
        if quarters and right_angles(angle) is None and any(angle == round(exact, digits) for digits in range(2, 14)):
            yield Problem(
                "rounded angle",
                joint.name,
                f"{name} = {angle!r} is {quarters} right angle(s) rounded to a few digits; write {exact!r}",
            )
        if abs(angle) > 2 * np.pi + ROUNDING:
            yield Problem("degrees", joint.name, f"{name} = {angle:g} is more than a full turn in radians; degrees?")


def _only_izz(link: LinkModel) -> bool:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = link.inertia
    return zz > 0 and not any((xx, yy, xy, xz, yz))


def _mass_problems(link: LinkModel) -> Iterator[Problem]:
    if link.mass < 0:
        yield Problem("non-positive mass", link.name, f"its mass is negative ({link.mass:g} kg)")
    elif link.mass == 0:
        yield Problem("non-positive mass", link.name, "its mass is zero")
    elif not np.any(link.inertia):
        yield Problem(
            "missing inertia",
            link.name,
            f"its inertia is missing: the tensor is all zero for a mass of {link.mass:g} kg",
        )


def _tensor_problems(link: LinkModel) -> Iterator[Problem]:
    a, b, c = np.linalg.eigvalsh(np.asarray(link.inertia))
    slack = ROUNDING * max(abs(a), abs(c))
    if a < -slack:
        yield Problem(
            "not positive definite",
            link.name,
            f"its inertia tensor is not positive definite: principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2",
        )
    elif a + b < c - slack:
        yield Problem(
            "triangle inequality",
            link.name,
            f"its principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2 break the triangle inequality: "
            "no real body has one larger than the sum of the other two",
        )


def _segment(robot: Description) -> float:
    """Half the mean distance between joints: a size below which no link is expected to be."""
    reach = sum(abs(j.a) + (0.0 if j.prismatic else abs(j.d)) for j in robot.joints)
    return 0.5 * reach / robot.n


def _size(robot: Description, i: int) -> float:
    """How long link i is, roughly: to the next joint, or to twice its centre of mass."""
    sizes = [_segment(robot), 2 * float(np.linalg.norm(robot.links[i].com))]
    if i + 1 < robot.n:
        outer = robot.joints[i + 1]
        sizes += [abs(outer.a), abs(outer.d)]
    return max(sizes)


def _unit_problems(link: LinkModel, size: float) -> Iterator[Problem]:
    largest = float(np.max(np.abs(link.inertia)))
    expected = link.mass * size * size
    if largest <= 0 or expected <= 0 or USUAL[0] <= largest / expected <= USUAL[1]:
        return
    much = "large" if largest > expected else "small"
    yield Problem(
        "suspicious units",
        link.name,
        f"its inertia ({largest:.3g} kg m^2) is far too {much} for {link.mass:.3g} kg over {size:.2g} m, where about "
        f"{0.1 * expected:.2g} is usual; check the units of both (kg mm^2? grams?)",
    )


def _singular_matrix(robot: Description) -> Iterator[Problem]:
    """Tried at a few positions: a matrix that is singular at all of them is singular by construction."""
    chain, n = robot.chain(), robot.n
    rng = np.random.default_rng(0)
    still: set[int] = set(range(n))
    for _ in range(3):
        M = np.array(find("mass_matrix")(chain, rng.uniform(-1, 1, n).tolist()), dtype=float)
        still &= _joints_without_mass(M)
    if not still:
        return
    names = ", ".join(robot.joints[i].name for i in sorted(still))
    outer = robot.links[min(still) :]
    empty = not any(link.mass or np.any(link.inertia) for link in outer)
    if empty and (robot.payload is None or not robot.payload.mass):
        what = f"nothing outside its joint has mass or inertia ({', '.join(link.name for link in outer)})"
    else:
        what = f"{names} can move without moving any mass"
    yield Problem(
        "singular mass matrix",
        robot.links[min(still)].name,
        f"{what}, so the mass matrix is singular; give it a mass, a payload or a rotor inertia",
    )


def _joints_without_mass(M: np.ndarray[Any, np.dtype[np.float64]]) -> set[int]:
    """The joints that take part in motions without kinetic energy."""
    diagonal = np.abs(np.diag(M))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    idle = np.abs(vectors[:, values <= 1e-13]).max(axis=1, initial=0.0)
    return {int(i) for i in np.flatnonzero(idle > 1e-6)}
