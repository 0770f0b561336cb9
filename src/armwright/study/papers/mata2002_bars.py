"""Mata et al. (2002), section 5.1: figures 1 and 2 and table 5, an ill-conditioned arm in single precision.

Joint 1 of two bars, 2 cm and 2 m long, by every method of the paper: composite bodies as Walker and Orin wrote them,
and in this project's form; Gibbs-Appell; articulated bodies about four choices of points, since the paper does not say
in which frames its own are. Errors are those of rounding, so that one number is chance: every method is run with 201
masses of the second bar. Averages are shown in both readings, of sizes and with signs, and only like is compared with
like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

import armwright as aw
from armwright.algebra import Array, Scalar
from armwright.mechanism import Link
from armwright.model.transforms import symmetric, tensor
from armwright.pages.report.plot import Curve, Plot
from armwright.study.papers.finding import (
    Against,
    Finding,
    Part,
    above,
    at_least,
    at_most,
    below,
    claim,
    compare_stored,
    rough,
    trend,
    unchecked,
)
from armwright.study.papers.judgement import Printed, Verdict, last_digit
from armwright.study.precision import States, accelerations, sweep
from armwright.study.published import tables

BAR_TABLES = tables("mata2002")

MASSES = np.linspace(8, 12, 201)
"""Masses of the second bar, whose printed mass is not legible: around that with the density of the first."""

USUAL_QUANTILES = (0.05, 0.95)
"""The quantiles that include nine masses of ten; the outermost values depend on rounding and on the CPU."""

PERCENTILES = np.linspace(0.01, 0.99, 99)

Single: TypeAlias = Callable[[aw.Robot, States], Array]
"""A function that returns the accelerations of joint 1, computed in single precision."""


def two_bodies() -> Part:
    """Return the findings on a bar of 2 m on a bar of 2 cm at rest, for all angles of joint 2, in single precision."""
    arm = aw.load("ascher")
    states = sweep(arm, 1)
    exact = accelerations(arm, "articulated_body", states, "float64")[:, 0]
    single = {name: method(arm, states) for name, method in METHODS_5.items()}
    condition = np.linalg.cond(arm.mass_matrix(states.q))
    errors = single_precision(arm)
    findings = [stored_torques("Section 5.1", arm), masses(arm), *stored_curves(exact, condition)]
    findings += [finding for name, error in errors.items() for finding in table_5(name, error)]
    plots = [figure_1(arm), *figure_2(states, exact, single, condition)]
    plots.append(error_plot(states, {name: exact - values for name, values in single.items()}))
    return [*findings, *accuracy_findings(errors)], plots


def single_precision(arm: aw.Robot) -> dict[str, Array]:
    """Return the errors of joint 1 in single precision by method, for every mass of the second bar (masses, states).

    Rounding changes with every digit of the mass, so the result for a single mass would be chance.
    """
    errors: dict[str, list[Array]] = {name: [] for name in METHODS_5}
    for mass in MASSES:
        heavier = with_mass(arm, float(mass))
        states = sweep(heavier, 1)
        exact = accelerations(heavier, "articulated_body", states, "float64")[:, 0]
        for name, method in METHODS_5.items():
            errors[name].append(exact - method(heavier, states))
    return {name: np.array(error) for name, error in errors.items()}


def with_mass(arm: aw.Robot, mass: float) -> aw.Robot:
    """Return the arm with a homogeneous second bar of this mass."""
    first, second = arm.links
    scaled = symmetric(second.inertia) * (mass / second.mass)
    return replace(arm, links=(first, replace(second, mass=mass, inertia=tensor(scaled))))


def by(formulation: str) -> Single:
    """Return the method for joint 1 by a formulation of this project, in single precision."""
    return lambda arm, states: accelerations(arm, formulation, states, "float32")[:, 0]


def articulated_in_base_frame(arm: aw.Robot, states: States) -> Array:
    """Return joint 1 by articulated bodies with all inertias about the fixed origin O1, at rest.

    The elimination of joint 2 then subtracts two large numbers, as does forming and solving M; about O2 their
    difference is zero and is not computed.
    """
    mechanism = arm.mechanism(np.float32)
    (_, joint), (inner, outer) = mechanism.joints, mechanism.bodies
    q2 = states.q[:, 1].astype(np.float32)
    x, y = joint.a + outer.com.x * np.cos(q2), outer.com.x * np.sin(q2)
    moment, inertia = outer.mass * x, outer.inertia.zz + outer.mass * (x * x + y * y)
    U0, Uy = inertia - joint.a * moment, moment - joint.a * outer.mass
    D = U0 - joint.a * Uy
    pivot = inner.origin_inertia.zz + (inertia - U0 * U0 / D)
    weight = inner.moment.x + (moment - U0 * Uy / D)
    return np.asarray(mechanism.gravity.y * weight / pivot, dtype=float)


def articulated_about_centre(arm: aw.Robot, states: States) -> Array:
    """Return joint 1 by articulated bodies with the inertia of body 2 about its centre of mass, at rest.

    A unit acceleration of joint 2 needs the moment of the central inertia and a force across the bar; the remaining
    inertia is rotated by q2 and moved to O1. Its moment about O2 is zero, which here results from a difference.
    """
    mechanism = arm.mechanism(np.float32)
    (_, joint), (inner, outer) = mechanism.joints, mechanism.bodies
    q2, m, L, inertia = states.q[:, 1].astype(np.float32), outer.mass, outer.com.x, outer.inertia.zz
    c, s, force = np.cos(q2), np.sin(q2), m * L
    D = inertia + L * force
    turning, mixed, across = inertia - inertia * inertia / D, -inertia * force / D, m - force * force / D
    xx, xy, yy = m * c * c + across * s * s, (m - across) * c * s, m * s * s + across * c * c
    x, y, hx, hy = joint.a + L * c, L * s, -mixed * s, mixed * c
    kx, ky = xy * x - xx * y + hx, yy * x - xy * y + hy
    pivot = inner.origin_inertia.zz + (turning + (hy * x - hx * y) + (x * ky - y * kx))
    return np.asarray(mechanism.gravity.y * (inner.moment.x + ky) / pivot, dtype=float)


def articulated_in_distal_frames(arm: aw.Robot, states: States) -> Array:
    """Return joint 1 by articulated bodies with every inertia about the far end of its bar, at rest.

    These are the frames of standard DH. A unit acceleration of joint 2 moves the end of its bar by 2 m, so that the
    remaining inertia is a difference of large numbers. Motions are (rotation, x, y), all numbers arrays over the
    states.
    """
    mechanism = arm.mechanism(np.float32)
    (_, joint), bodies = mechanism.joints, mechanism.bodies
    ends = joint.a, 2 * bodies[1].com.x
    first, second = (_about_end(body, end) for body, end in zip(bodies, ends, strict=True))
    about_1, about_2 = (np.array([1, 0, end], dtype=object) for end in ends)
    q2, X = states.q[:, 1].astype(np.float32), np.zeros((3, 3), dtype=object)
    X[0, 0], X[2, 0], X[1, 1], X[1, 2], X[2, 1], X[2, 2] = 1, ends[1], np.cos(q2), np.sin(q2), -np.sin(q2), np.cos(q2)
    U = second @ about_2
    whole = first + X.T @ (second - np.outer(U, U) / (about_2 @ U)) @ X
    U = whole @ about_1
    return np.asarray(mechanism.gravity.y * U[2] / (about_1 @ U), dtype=float)


def _about_end(body: Link, end: Scalar) -> Array:
    """Return the planar inertia of a bar about a point on it."""
    arm, m = body.com.x - end, body.mass
    return np.array([[body.inertia.zz + m * arm * arm, 0, m * arm], [0, m, 0], [m * arm, 0, m]], dtype=object)


OURS_5 = "CRBA, composite_body"
METHODS_5: dict[str, Single] = {
    "CRBA": by("walker_orin_3_gauss_jordan"),
    OURS_5: by("composite_body_gauss_jordan"),
    "GA": by("gibbs_appell_gauss_jordan"),
    "ABA, proximal frames": by("articulated_body"),
    "ABA, distal frames": articulated_in_distal_frames,
    "ABA, base frame": articulated_in_base_frame,
    "ABA, centres of mass": articulated_about_centre,
}
"""The cited CRBA is that of Walker and Orin; the paper does not state the frames of its ABA."""

WHY_5 = {
    OURS_5: "not the algorithm cited: composite bodies about the link origins err less",
    "ABA, proximal frames": "with frames at the joints nothing large is subtracted, with others the printed size comes",
}


def masses(arm: aw.Robot) -> Finding:
    """Return the finding on the masses of the bars."""
    ours = ", ".join(f"{link.mass:g} kg" for link in arm.links)
    why = "the second is not legible; 10 kg has the density of the first bar, and the errors hardly depend on it"
    return unchecked("Fig. 1", "masses of the bars", "0.1 kg, 0.00 kg", why, ours)


def stored_curves(exact: Array, condition: Array) -> list[Finding]:
    """Return the findings on the ranges of the two curves of figure 2, which have no numbers."""
    why = "the figure has curves without numbers"
    findings = []
    for what, values, ends in (
        ("condition number of M", condition, BAR_TABLES["stored_condition"]),
        ("acceleration of joint 1, rad/s2", exact, BAR_TABLES["stored_acceleration"]),
    ):
        for end, stored, value in zip(("least", "largest"), ends, (values.min(), values.max()), strict=True):
            findings.append(stored_number("Fig. 2", f"{what}, {end}", stored, float(value), why))
    return findings


def stored_number(where: str, what: str, stored: str, value: float, why: str, rounding: float = 0.0) -> Finding:
    """Return a comparison with a number stored from a prototype, to half a unit of its last digit and rounding."""
    digits = sum(c.isdigit() for c in stored.partition("e")[0].lstrip("-0."))
    off = below(abs(value - float(stored)), 0.5 * last_digit(stored) + rounding)
    return compare_stored(where, what, stored, f"{value:.{digits}g}", off, why)


def table_5(name: str, errors: Array) -> list[Finding]:
    """Return the findings on the largest difference and the average in both readings, over all masses."""
    largest, average = BAR_TABLES["table_5"][name.partition(",")[0]]
    sizes = np.abs(errors)
    why = WHY_5.get(name, "sizes do not average to so little; errors of both signs do")
    return [
        near_median(f"{name}: largest", largest, sizes.max(axis=1), why),
        near_median(f"{name}: average of absolute values", average, sizes.mean(axis=1), why),
        within_usual_range(f"{name}: average with signs", average, errors.mean(axis=1), why),
    ]


def near_median(what: str, printed: str, values: Array, why: str) -> Finding:
    """Return the finding on the median of all masses, judged by its factor, as digits of rounding errors are random."""
    judgement = Printed(printed, float(np.median(values)), digits=False)
    low, high = np.quantile(values, USUAL_QUANTILES)
    obtained = f"{judgement.value:.2g} ({judgement.ratio:.2g} times), the median"
    obtained += f"; {low:.2g} to {high:.2g} for nine masses of ten"
    return Finding(
        "Table 5", what, printed, obtained, judgement, "" if judgement.verdict is Verdict.WITHIN_FACTOR_2 else why
    )


def within_usual_range(what: str, printed: str, values: Array, why: str) -> Finding:
    """Return the finding that a printed mean with signs, which scatters about zero, is within the usual range."""
    low, high = np.quantile(np.abs(values), PERCENTILES[[0, -1]])
    bounds = [at_most(low, float(printed)), at_least(high, float(printed))]
    obtained = f"of either sign, the size up to {high:.2g} for all but one mass in a hundred"
    words = "least and largest size"
    return claim("Table 5", what, printed, obtained, bounds, why, words=words, against=Against.NUMBER)


def accuracy_findings(errors: dict[str, Array]) -> list[Finding]:
    """Return the findings on the method with smaller errors, largest and average, for every mass."""
    sizes = {name: {"largest": np.abs(e).max(axis=1), "average": np.abs(e).mean(axis=1)} for name, e in errors.items()}
    names = [name for name in errors if name.startswith(("ABA", "GA"))]
    found = [
        error_percentiles(
            f"{name} errs less than CRBA, {measure}", "yes", sizes["CRBA"][measure] / sizes[name][measure]
        )
        for name in names
        for measure in ("largest", "average")
    ]
    beside = np.concatenate([sizes[OURS_5][measure] / size for measure, size in sizes["GA"].items()])
    return [*found, error_percentiles("GA errs less than composite_body, largest and average", "yes, of CRBA", beside)]


def error_percentiles(what: str, published: str, ratios: Array) -> Finding:
    """Return the finding that the other method errs more, by percentiles of the masses."""
    low, high = np.quantile(ratios, USUAL_QUANTILES)
    times = f"{np.median(ratios):.2g} times as much, the median; {low:.2g} to {high:.2g} for nine masses of ten"
    why = "rounding is chance: for some masses it is the other way round"
    cases = [above(ratio, 1) for ratio in np.quantile(ratios, PERCENTILES)]
    return trend("Section 5.1", what, published, f"the other errs {times}; percentiles", cases, why)


def figure_1(arm: aw.Robot) -> Plot:
    """Return the plot of figure 1."""
    curves = []
    for angle in (0, 45, 90):
        poses = arm.link_poses([0.0, np.radians(angle)])
        points = [*poses[:, :3, 3], poses[1, :3, 3] + 2.0 * poses[1, :3, 0]]
        x, y, _ = np.array(points).T
        curves.append(Curve(f"q2 = {angle} deg", x.tolist(), y.tolist(), marks=True))
    note = "The first bar is the short piece at the origin: 2 cm against 2 m."
    return Plot("Fig. 1: the two bars", "x [m]", "y [m]", curves, note=note, height=560)


def figure_2(states: States, exact: Array, single: dict[str, Array], condition: Array) -> list[Plot]:
    """Return the plots of figure 2."""
    x = degrees(states)
    curves = [Curve(f"{name}, single", x, single[name].tolist()) for name in ("GA", "CRBA", "ABA, proximal frames")]
    curves.append(Curve("double", x, exact.tolist(), dashed=True, colour="currentColor"))
    number = Curve("condition", x, condition.tolist())
    note = "ABA in proximal frames lies on the dashed line."
    return [
        Plot("Fig. 2: comparison of the accelerations obtained in joint 1", "q2 [deg]", "rad/s2", curves, note=note),
        Plot("Fig. 2: variation of the condition number", "q2 [deg]", "", [number]),
    ]


def error_plot(states: States, errors: dict[str, Array]) -> Plot:
    """Return the plot of errors over the angle of joint 2."""
    curves = [Curve(name, degrees(states), np.abs(error).tolist()) for name, error in errors.items()]
    title = "Table 5: single against double precision, joint 1"
    return Plot(title, "q2 [deg]", "difference [rad/s2]", curves, y_log=True)


def degrees(states: States) -> list[float]:
    """Return the angles of a sweep in degrees."""
    assert states.x is not None
    return list(states.x.tolist())


def stored_torques(where: str, arm: aw.Robot) -> Finding:
    """Return the finding on stored torques of inverse dynamics by Gibbs-Appell in one state."""
    expected = np.array(BAR_TABLES["stored_torques"][arm.name])
    tau = arm.inverse_dynamics(*np.array(BAR_TABLES["stored_state"])[:, : arm.n], formulation="gibbs_appell")
    off = float(np.max(np.abs(tau / expected - 1)))
    what = f"{arm.n} stored torques of {arm.name} in one state"
    return compare_stored(where, what, f"{arm.n} torques", f"off by {rough(off)}", below(off, 1e-6))
