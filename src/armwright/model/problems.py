"""What is physically or formally wrong with a robot, as sentences.

None of it stops a computation; all of it has made somebody's simulation wrong without a word. What has no
effect on the dynamics is not judged: of a first link that only turns, the inertia about its axis is all that
matters.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from armwright.formulations import find
from armwright.model.description import QUARTER_TURN, Description, JointModel, LinkModel, right_angles

ROUNDING = 1e-9
"""Relative slack: published tensors are rounded to a few digits, and rods and plates sit exactly on the boundary."""


class Problem(str):
    """A sentence, with the kind of problem and the link or joint it is about."""

    kind: str
    where: str

    def __new__(cls, kind: str, where: str, text: str) -> Problem:
        problem = super().__new__(cls, f"{where}: {text}")
        problem.kind, problem.where = kind, where
        return problem


def problems(robot: Description) -> list[Problem]:
    """Everything that looks wrong, base to tip."""
    found: list[Problem] = []
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        found += _joint_problems(joint)
        if i == 0 and not joint.prismatic:
            found += _first_link_problems(joint, link)
        else:
            found += _mass_problems(link)
            found += _tensor_problems(link)
            found += _unit_problems(link, _size(robot, i))
    if robot.payload is not None:
        body = LinkModel("payload", robot.payload.mass, robot.payload.com, robot.payload.inertia)
        found += _tensor_problems(body)
    return found + list(_singular_matrix(robot))


def _joint_problems(joint: JointModel) -> Iterator[Problem]:
    if joint.limits is not None:
        low, high = joint.limits
        if low > high:
            yield Problem("reversed limits", joint.name, f"its limits are reversed: lower {low:g} above upper {high:g}")
        elif low == high:
            yield Problem("no travel", joint.name, f"its limits are equal ({low:g}), so it cannot move")
    for name, angle in (("alpha", joint.alpha), ("theta", joint.theta)):
        quarters = round(angle / QUARTER_TURN)
        error = abs(angle - quarters * QUARTER_TURN)
        if quarters and right_angles(angle) is None and error < 1e-3:
            yield Problem(
                "rounded angle",
                joint.name,
                f"{name} = {angle!r} is {error:.1e} away from {quarters} right angle(s); "
                f"if that was meant, write {quarters * QUARTER_TURN!r}",
            )
        if abs(angle) > 2 * np.pi + ROUNDING:
            yield Problem(
                "degrees", joint.name, f"{name} = {angle:g} is more than a full turn in radians; it looks like degrees"
            )


def _first_link_problems(joint: JointModel, link: LinkModel) -> Iterator[Problem]:
    x, y, _ = link.com
    about_axis = link.inertia[2][2] + link.mass * (x * x + y * y) + joint.armature
    if about_axis < 0:
        yield Problem(
            "negative inertia", link.name, f"its inertia about the joint axis is negative ({about_axis:g} kg m^2)"
        )


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


def _size(robot: Description, i: int) -> float:
    """How long link i is, roughly: its offsets and centre of mass, but not less than 15 % of the reach."""
    joint, com = robot.joints[i], robot.links[i].com
    reach = sum(abs(j.a) + (0.0 if j.prismatic else abs(j.d)) for j in robot.joints)
    outward = robot.joints[i + 1].a if i + 1 < robot.n else np.linalg.norm([row[3] for row in robot.tool[:3]])
    return max(abs(float(outward)), abs(joint.d), float(np.linalg.norm(com)), 0.15 * reach)


def _unit_problems(link: LinkModel, size: float) -> Iterator[Problem]:
    largest = float(np.max(np.abs(link.inertia)))
    expected = link.mass * size * size
    if not largest or not expected:
        return
    ratio = largest / expected
    if ratio > 20:
        meaning = "larger" if ratio < 1e5 else "larger (kg mm^2 read as kg m^2 would be 1e6)"
    elif ratio < 3e-4:
        meaning = "smaller"
    else:
        return
    yield Problem(
        "suspicious units",
        link.name,
        f"its inertia ({largest:.3g} kg m^2) is far {meaning} than {link.mass:.3g} kg over {size:.3g} m can have "
        f"({expected:.3g} kg m^2 at most); check the units",
    )


def _singular_matrix(robot: Description) -> Iterator[Problem]:
    """Tried at a few positions: a matrix that is singular at all of them is singular by construction."""
    chain, n = robot.chain(), robot.n
    rng = np.random.default_rng(0)
    deepest = np.inf
    for _ in range(3):
        M = np.array(find("mass_matrix")(chain, rng.uniform(-1, 1, n).tolist()), dtype=float)
        scale = np.sqrt(np.abs(np.diag(M)))
        if np.all(scale > 0):
            deepest = min(deepest, float(np.linalg.eigvalsh(M / np.outer(scale, scale))[0]))
        else:
            deepest = min(deepest, 0.0)
    if deepest > 1e-13:
        return
    tail = list(itertools.takewhile(lambda link: not link.mass and not np.any(link.inertia), reversed(robot.links)))
    if tail and (robot.payload is None or not robot.payload.mass):
        names = ", ".join(link.name for link in reversed(tail))
        what = f"nothing outside its joint has mass or inertia ({names}), so the mass matrix is singular"
        where = tail[-1].name
    else:
        what, where = "the mass matrix is singular: some joint moves no mass", robot.links[-1].name
    yield Problem("singular mass matrix", where, f"{what}; give it a mass, a payload or a rotor inertia")
