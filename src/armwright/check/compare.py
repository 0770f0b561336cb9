"""Two descriptions of one robot, compared joint by joint and link by link."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from armwright.check.comparison import DIFFERENCE_KINDS, UNCOUNTED_KINDS, Comparison, Difference
from armwright.check.differences import comparison_of
from armwright.check.robot_pair import RobotPair, joint_names
from armwright.errors import InputError, ModelError, unknown
from armwright.load import load
from armwright.model.description import Description
from armwright.model.link_order import in_link_order_of

COMPARISON_TOLERANCE = 1e-6
"""Relative: to the reach for lengths, to the largest torque of a joint for torques; radians for angles."""


def compare(
    one: str | Path | Description,
    two: str | Path | Description,
    *,
    tolerance: float = COMPARISON_TOLERANCE,
    ignore: Sequence[str] = (),
    packages: Mapping[str, str | Path] | None = None,
) -> Comparison:
    """Compare two robots, or files of robots, joint by joint.

    one, two   robots or paths of files; joints are matched by name, or by order if the names differ.
    tolerance  relative difference that counts as equal.
    ignore     kinds of differences that do not count, such as "tool" if one file ends at the flange.
    packages   folders of packages as for `armwright.load`, for both files.

    Robots with different numbers of joints or other branches raise a `ModelError`.
    """
    a, b = (_robot(which, packages) for which in (one, two))
    pair = (a, b := in_link_order_of(b, a))
    a, b = a.without_couplings(), b.without_couplings()
    for kind in ignore:
        if kind not in DIFFERENCE_KINDS:
            raise unknown("kind of difference to ignore:", kind, DIFFERENCE_KINDS)
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise InputError(f"tolerance = {tolerance!r}: expected a small positive number such as 1e-6")
    if a.n != b.n:
        raise ModelError(
            f"{a.name} has {a.n} joints ({', '.join(j.name for j in a.joints)}) and {b.name} has {b.n} "
            f"({', '.join(j.name for j in b.joints)}); choose the same part of both by base=, tip=, locked= of load"
        )
    pairs = enumerate(zip(a.joints, b.joints, strict=True), start=1)
    types = [
        Difference(
            "joint type",
            joint_names(x.name, y.name),
            f"joint {i} is {x.kind or x.type} here and {y.kind or y.type} there",
        )
        for i, (x, y) in pairs
        if (x.type, x.kind) != (y.type, y.kind)
    ]
    if types:
        return Comparison((a.name, b.name), tolerance, tuple(types))
    _check_branches(a, b)
    return comparison_of(RobotPair(pair, tolerance), set(ignore) | set(UNCOUNTED_KINDS))


def _check_branches(a: Description, b: Description) -> None:
    """Raise an error if the links of the robots have different parents."""
    if len(a.links) != len(b.links):
        raise ModelError(
            f"{a.name} has {len(a.links)} links here and {len(b.links)} there; choose the same part of both by base=, "
            "tip=, locked= of load"
        )
    for i, (here, there) in enumerate(zip(a.parents, b.parents, strict=True)):
        if here != there:
            on = ["the base" if k < 0 else robot.links[k].name for robot, k in ((a, here), (b, there))]
            raise ModelError(
                f"link {joint_names(a.links[i].name, b.links[i].name)} has the parent {on[0]} here and {on[1]} there; "
                "expected the same branches, or the same names of joints in both"
            )


def _robot(which: str | Path | Description, packages: Mapping[str, str | Path] | None) -> Description:
    if isinstance(which, Description):
        return which
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `check` reports faults of files
        return load(which, packages=packages, visuals=False)
