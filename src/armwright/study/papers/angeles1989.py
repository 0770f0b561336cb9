"""Angeles, Ma and Rojas (1989): Kane's equations, their operation counts, a Stanford arm and an industrial arm.

J. Angeles, O. Ma, A. Rojas, 'An algorithm for the inverse dynamics of n-axis general manipulators using Kane's
equations', Computers Math. Applic. 17 (1989). The formulation is `formulations/kane.py`. Figures 4 to 8 are curves
without numbers, so they are redrawn and only statements about them can be checked. Tables called 'stored' are results
of an independent NumPy prototype and of Pinocchio for the same readings, not of the paper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import armwright as aw
from armwright import trajectory
from armwright.algebra import Array
from armwright.check.evaluation import relative_difference
from armwright.formulations import find_formulation, formulations
from armwright.graph import Graph, OperationCount
from armwright.pages.report.plot import COLOURS, Curve, Plot, per_joint
from armwright.robot import Robot
from armwright.study.operation_counts import count_on, count_operations, products_and_sums
from armwright.study.papers.angeles1989_counts import lowest, prismatic_terms
from armwright.study.papers.finding import (
    Against,
    Finding,
    PaperStudy,
    Part,
    above,
    below,
    claim,
    compare,
    rough,
    same,
    stored,
    unchecked,
)
from armwright.study.published import PUBLISHED, Published, evaluate, tables
from armwright.trace.tracing import general_mechanism

Row = Mapping[str, Any]

ANGELES_TABLES = tables("angeles1989")
TABLE_3_ANGLES = ANGELES_TABLES["initial_angles"]

A = np.array([math.pi / 30, -math.pi / 60, 0.01, math.pi / 30, math.pi / 30, math.pi / 30])
B = 2 * math.pi / 10
EXAMPLE_1 = trajectory.cycloid([0, math.pi / 2, 0, 0, 0, 0], A, B)
"""q(0) + A (t - sin(B t)/B) for 10 s."""

CURVES = "the figure is a curve without numbers"
INFERRED = "stroke (1 m), attitude (wrist horizontal) and spline (4-5-6-7) are inferred, not printed"


def study() -> PaperStudy:
    """Return all findings and figures of the paper."""
    return PaperStudy.of_parts(
        "angeles1989",
        "Angeles, Ma, Rojas 1989: inverse dynamics using Kane's equations",
        "Kane's equations give the same torques as every other formulation once three signs are corrected. The "
        "products grow as ours do (105 a joint), the sums by 90 where ours do by 87. Counted alike, with Euler's "
        "tensor or without, it is not the lowest of table 1: Khalil's takes 7 operations less for six joints. "
        "Figures 4 to 8 are redrawn. The bodies of example 2 only make sense in distal frames, which changes torques "
        "up to three times, and its initial angles do not lie on its path.",
        {
            **{_table_1: 1.2, _recount: 0.1, _equations: 0.5, _example_1: 0.1},
            **{_readings_of_table_2: 1.7, _path: 0.2, _example_2: 0.1},
        },
    )


def rows(text: str) -> list[Row]:
    """Return a table of the paper as rows for `Robot.from_dh`."""
    table: list[Row] = []
    for kind, *numbers in (line.split() for line in text.strip().splitlines()):
        alpha, a, b, mass, *body = map(float, numbers)
        geometry = {"type": kind, "alpha": math.radians(alpha), "a": a, "b": b, "theta": 0.0}
        table.append({**geometry, "mass": mass, "com": body[:3], "inertia": [*body[3:], 0.0, 0.0, 0.0]})
    return table


STANFORD, SIX_AXIS = (rows(ANGELES_TABLES[name]) for name in ("stanford", "six_axis"))


def _stored(where: str, what: str, table: str, ours: Callable[[Array], Array]) -> Finding:
    """Return the comparison with torques stored from a prototype, to a unit of their last digit."""
    name = f"torques stored from a prototype, {what}"
    return stored(where, name, ANGELES_TABLES[table], ours, 1e-6, "not the paper's numbers")


# ------------------------------------------------------------------------------------------------------------- table 1


COUNT_REASONS = {
    "Kane, Levinson": "theirs is derived by hand, ours drops what is zero for this arm from Kane's equations",
    "Angeles et al.": "ours takes a - rho off line (3 sums a joint) and finds all savings at links 1 and 2",
}


def _table_1() -> Part:
    """Return the findings on every row of table 1 against our count of the same formulation."""
    table = [row for row in PUBLISHED if row.table == "Angeles 1"]
    findings = []
    for row in table:
        ours, what = _ours(row)
        numbers = zip(("products", "sums"), row.six, (ours.multiplications, ours.additions), strict=True)
        why = COUNT_REASONS.get(row.authors, row.why)
        findings += [compare("table 1", f"{row.authors}: {kind}, {what}", x, y, why) for kind, x, y in numbers]
    printed = {row.authors: sum(row.six) for row in table}
    least = 100 * (1 - printed["Angeles et al."] / printed["Khalil et al."])
    wrong = sum(row.at(6) != row.six for row in table)
    findings += [
        claim("table 1", "formulas and columns for six joints", "both printed",
              f"{wrong} of {len(table)} disagree", same(wrong, 0), against=Against.PRINT),
        claim("section 1", "less than the most efficient before (Khalil et al.)", "roughly 5 %",
              f"{least:.1f} % by the printed counts", below(abs(least - 5), 1), words="off by",
              against=Against.PRINT),
        *lowest(next(row for row in table if row.authors == "Khalil et al.")),
    ]  # fmt: skip
    return findings, [_growth(table)]


def _ours(row: Published) -> tuple[OperationCount, str]:
    """Return our count for a row: for the Stanford arm (Kane and Levinson), or for six general joints."""
    if row.authors == "Kane, Levinson":
        return count_operations("inverse_dynamics", row.ours, robot=aw.load("stanford")), "Stanford arm"
    return count_operations("inverse_dynamics", row.ours, joints=6), "six joints"


def _operations(name: str, n: int) -> int:
    return products_and_sums(count_operations("inverse_dynamics", name, joints=n))


def _growth(table: list[Published]) -> Plot:
    """Return the plot of operations per joint, which separates formulas of similar slope."""
    sizes = list(range(3, 13))
    drawn = [row for row in table if row.products and row.authors != "Hollerbach"]
    curves = []
    for row, colour in zip(drawn, COLOURS, strict=False):
        theirs = [float(evaluate(row.products, n) + evaluate(row.sums, n)) / n for n in sizes]
        ours = [_operations(row.ours, n) / n for n in sizes]
        curves.append(Curve(row.authors, sizes, theirs, dashed=True, colour=colour))
        if row.authors != "Walker, Orin":  # the same recursion as that of Luh et al.
            curves.append(Curve(f"ours: {row.ours}", sizes, ours, colour=colour))
    note = "Dashed: the formulas of table 1; Hollerbach's, 573 to 692 a joint, lie above. Solid: ours, counted alike."
    return Plot("Table 1: operations per joint", "joints", "products and sums per joint", curves, note=note)


# ------------------------------------------------------------------------------------------ section 6: the count itself


def _recount() -> Part:
    """Return the findings on the sums of the listed steps for six joints, against tracing."""
    n = 6
    steps = ("link_1", "link_2_to_n", "inward", "nothing_beyond_n", "planar_link_1")
    first, others, inner, saved, planar = (np.sum(ANGELES_TABLES[name], axis=0) for name in steps)
    outward = first + (n - 1) * others
    inward = n * inner - saved - planar - (inner - planar - ANGELES_TABLES["last_cycle"])
    unlisted = "the listed steps give 50n-37 and 46n-37; ten savings at link 2 are taken but not listed (13 exist)"
    slipped = "the listed steps give 44n-36 and, with the shorter last cycle, 44n-54"
    findings = [
        compare("eq. (56)", "stage 2, products, six joints", 50 * n - 47, int(outward[0]), unlisted, follows=True),
        compare("eq. (56)", "stage 2, sums, six joints", 46 * n - 47, int(outward[1]), unlisted, follows=True),
        compare("eq. (57)", "stage 3, products, six joints", 55 * n - 62, int(inward[0]), follows=True),
        compare("eq. (57)", "stage 3, sums, six joints", 44 * n - 58, int(inward[1]), slipped, follows=True),
    ]
    more, fewer = (count_operations("inverse_dynamics", "kane", joints=k) for k in (n + 1, n))
    coincident = count_coincident(n)
    findings += [
        compare("eq. (58)", "products per joint", 105, more.multiplications - fewer.multiplications),
        compare("eq. (59)", "sums per joint", 90, more.additions - fewer.additions,
                "a - rho is constant: ours takes it off line, which is three sums a joint less"),
        compare("section 6", "Z0 = Z1 and O0 = O1: products, six joints", 513, coincident.multiplications,
                "by another way: the paper saves 8 of its 521, ours 4 of 517"),
        compare("section 6", "Z0 = Z1 and O0 = O1: sums, six joints", 432, coincident.additions,
                "ours takes a - rho off line, which is 15 sums less"),
        *prismatic_terms(),
    ]  # fmt: skip
    return findings, []


def count_coincident(n: int) -> OperationCount:
    """Return the count of Kane's equations for a robot whose first two frames have a common axis and origin."""
    graph = Graph()
    mechanism = general_mechanism(graph, n)
    first = replace(mechanism.joints[0], ca=1, sa=0, a=0, d=0)
    mechanism = replace(mechanism, joints=(first, *mechanism.joints[1:]))
    return count_on(mechanism, graph, find_formulation("inverse_dynamics", "kane"))


# ------------------------------------------------------------------------------------- sections 3 to 6: the equations


def _equations() -> Part:
    """Return the findings on stages 1 to 3 with correct and printed signs, on the Stanford arm."""
    table, arm = STANFORD, aw.load("stanford")
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 50, 6))
    exact = arm.inverse_dynamics(q, qd, qdd)

    def error(stage1: float = 1, stage2: float = 1) -> float:
        tau = np.array([stages(table, *state, stage1, stage2) for state in zip(q, qd, qdd, strict=True)])
        tau[:, 2] *= -1  # (45) has the force along z3, ours belongs to b3
        return float(np.median([relative_difference(mine, right) for mine, right in zip(tau, exact, strict=True)]))

    apart = float(np.abs(frames(table, q[0]) - arm.forward_kinematics(q[0])).max())
    names = [f.name for f in formulations("inverse_dynamics")]
    others = max(relative_difference(arm.inverse_dynamics(q, qd, qdd, formulation=name), exact) for name in names)
    kane = relative_difference(projected(arm, q, qd, qdd), exact)
    balance, printed = _power_balance(arm)
    where = "Stanford arm, random states"
    findings = [
        claim("figure 1, eqs. (7), (8)", "frames from alpha, a, b, theta", "HD notation with b = -d",
              f"the hand of the Stanford arm is where ours is, to {rough(apart)}", below(apart, 1e-12)),
        claim("figure 2, eqs. (10)-(49)", "stages 1 to 3 for rotational and prismatic joints", "algorithm",
              f"with the signs corrected as ours, to {rough(error())}", below(error(), 1e-12)),
        claim("section 2", "Kane, Newton-Euler and Euler-Lagrange are equivalent", "equal torques",
              f"{len(names)} formulations agree, to {rough(others)}", below(others, 1e-12)),
        claim("eqs. (29), (32)-(36)", "inertia forces projected on the partial velocities of every link", "torques",
              f"as ours, to {rough(kane)}", below(kane, 1e-12)),
        claim("section 6, stage 1", "as printed: (a, -b sin, b cos)", "torques",
              f"off by {error(stage1=-1):.0%} ({where})", below(error(stage1=-1), 1e-12),
              "a misprint: (8) has the opposite signs"),
        claim("section 6, stage 2", "as printed: p - W (a - rho)", "torques",
              f"off by {error(stage2=-1):.0%} ({where})", below(error(stage2=-1), 1e-12),
              "a misprint: (18) has a plus"),
        claim("eqs. (35), (45)", "force of a prismatic joint", "e . v",
              f"work and energy differ by {printed:.0%} in example 1; by {rough(balance)} with the sign reversed",
              below(printed, 1e-9),
              "a sign: e . v is the force along z, but the coordinate b counts against z by (19)"),
    ]  # fmt: skip
    return findings, []


def projected(arm: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """Return (29) for many states: the sum over links of A^T hd + B^T m (cdd - g), with A and B of (32)-(36)."""
    partial, R = arm.partial_velocities(q), arm.link_poses(q)[..., :3, :3]
    steady = np.einsum("slij,slkj->slki", R, arm.convective_accelerations(q, qd))
    tau = np.zeros_like(q)
    for i, link in enumerate(arm.links):
        B, A = partial[:, i, :3], partial[:, i, 3:]
        w, wd = np.einsum("sij,sj->si", A, qd), np.einsum("sij,sj->si", A, qdd) + steady[:, i, 0]
        force = link.mass * (np.einsum("sij,sj->si", B, qdd) + steady[:, i, 2] - np.array(arm.gravity))
        inertia = R[:, i] @ np.array(link.inertia) @ np.swapaxes(R[:, i], 1, 2)
        momentum, rate = (np.einsum("sij,sj->si", inertia, x) for x in (w, wd))
        tau += np.einsum("sij,si->sj", B, force) + np.einsum("sij,si->sj", A, rate + np.cross(w, momentum))
    return tau


def frames(table: Sequence[Row], q: Array) -> Array:
    """Return the pose of the last frame in the base, by (7) and (8)."""
    T = np.eye(4)
    for row, x in zip(table, q, strict=True):
        Q, a = _joint(row, x)
        T = T @ np.block([[Q, a[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    return T


def _joint(row: Row, q: float, sign: float = 1.0) -> tuple[Array, Array]:
    """Return Q (7) and a (8) of a joint; `sign` is that of the lever arm of a prismatic joint in stage 1."""
    prismatic = row["type"] == "prismatic"
    theta, b = (row["theta"], sign * (row["b"] + q)) if prismatic else (row["theta"] + q, row["b"])
    (c, s), (ca, sa) = ((math.cos(x), math.sin(x)) for x in (theta, row["alpha"]))
    Q = np.array([[c, -s, 0], [ca * s, ca * c, -sa], [sa * s, sa * c, ca]])
    return Q, np.array([row["a"], b * sa, -b * ca])


def stages(table: Sequence[Row], q: Array, qd: Array, qdd: Array, stage1: float = 1.0, stage2: float = 1.0) -> Array:
    """Return the torques by the algorithm of section 6, in the coordinates of the paper; a sign of -1 is as printed."""
    e, zero = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    w, wd, rho, W, p = zero, zero, zero, np.zeros((3, 3)), np.array([0, 0, 9.81])
    links = []
    for row, x, xd, xdd in zip(table, q, qd, qdd, strict=True):
        Q, a = _joint(row, x, stage1)
        p = Q.T @ (p + stage2 * W @ (a - rho))
        w, wd, rho = Q.T @ w, Q.T @ wd, np.array(row["com"])
        if row["type"] == "prismatic":
            p = p - 2 * np.cross(w, xd * e) - xdd * e  # (20)
        else:
            wd, w = wd + np.cross(w, xd * e) + xdd * e, w + xd * e  # (12), (13)
        W = np.cross(wd, np.eye(3)).T + np.outer(w, w) - w @ w * np.eye(3)  # (53)
        p = p + W @ rho
        inertia = np.diag(row["inertia"][:3])
        hd = inertia @ wd + np.cross(w, inertia @ w)  # (2)
        links.append((Q, a, hd + np.cross(rho, row["mass"] * p), row["mass"] * p, row["type"] == "prismatic"))
    tau, force, moment = [], zero, zero
    for Q, a, own_moment, own_force, prismatic in reversed(links):
        force, moment = force + own_force, moment + own_moment
        tau.append(force[2] if prismatic else moment[2])  # (44), (45)
        force, moment = Q @ force, Q @ moment + np.cross(a, Q @ force)  # (46)-(49)
    return np.array(tau[::-1])


def _power_balance(arm: Robot) -> tuple[float, float]:
    """Return the errors of work against energy in example 1, with our and the printed sign of the force of joint 3."""
    run = aw.torques_along(arm, EXAMPLE_1)
    gain = run.energy[-1] - run.energy[0]
    printed = run.tau * np.array([1, 1, -1, 1, 1, 1])
    works = (np.sum(tau * run.qd) * (run.t[1] - run.t[0]) for tau in (run.tau, printed))  # the power is periodic
    ours, theirs = (abs(float(work / gain) - 1) for work in works)
    return ours, theirs


# ----------------------------------------------------------------------------------------------------------- example 1


def _example_1() -> Part:
    """Return the findings on figures 4 and 5: the Stanford arm."""
    arm, other = aw.load("stanford"), along_z3()
    run, extended = aw.torques_along(arm, EXAMPLE_1, every=0.05), aw.torques_along(other, EXAMPLE_1, every=0.05)
    t, along_z = run.t, run.tau * np.array([1, 1, -1, 1, 1, 1])
    law = EXAMPLE_1(0.0)[0] + np.outer(t - np.sin(B * t) / B, A)
    ends = float(np.abs(run.qd[[0, -1]]).max() + np.abs(run.qdd[[0, -1]]).max())
    peaks = ", ".join(f"{x:.3g}" for x in np.abs(run.tau).max(axis=0))
    turned = np.degrees(run.q[-1] - run.q[0])
    two = [float(r.tau[-1, 1]) for r in (run, extended)]

    def torques(time: Array) -> Array:
        return np.asarray(arm.inverse_dynamics(*EXAMPLE_1(time), formulation="kane") * [1, 1, -1, 1, 1, 1])

    findings = [
        unchecked("figure 3", "Stanford arm with its frames", "drawing", "no dimensions in the text at hand"),
        claim("figure 4", "joint trajectories", "theta(0) + A (t - sin(B t)/B)",
              f"joints 1 and 2 by {turned[0]:.0f} and {turned[1]:.0f} deg, joint 3 by {run.q[-1, 2]:.1f} m; at rest at "
              "both ends", below(max(float(np.abs(run.q - law).max()), ends), 1e-12)),
        unchecked("figure 5", "driving torques and force", "curves", CURVES, f"largest: {peaks} Nm (N)"),
        _stored("figure 5", "joint 3 by b3", "stored_b3", torques),
        _stored("figure 5", "joint 3 by d3", "stored_d3", lambda x: other.inverse_dynamics(*EXAMPLE_1(x))),
        unchecked("figure 5", "direction of joint 3", "b3 = A3 (t - sin(B t)/B)",
                  f"{CURVES}; read literally, b3 > 0 retracts the hand",
                  f"torque of joint 2 at the end: {two[0]:.3f} Nm by b3, {two[1]:.3f} Nm by d3 = -b3"),
    ]  # fmt: skip
    readings = [Curve(name, t.tolist(), r.tau[:, 1].tolist()) for name, r in (("b3 > 0", run), ("d3 > 0", extended))]
    plots = [
        Plot("Figure 4: rotations", "t, s", "angle, deg", per_joint(t, np.degrees(run.q), (0, 1)),
             note="Joints 4 to 6 move as joint 1."),
        Plot("Figure 4: joint 3", "t, s", "b3, m", per_joint(t, run.q, (2,))),
        Plot("Figure 5: joints 2 and 3", "t, s", "torque, Nm; force, N", per_joint(t, along_z, (1, 2)),
             note="The force of joint 3 is drawn along z3, as (45) has it."),
        Plot("Figure 5: joints 1, 4, 5 and 6", "t, s", "torque, Nm", per_joint(t, along_z, (0, 3, 4, 5))),
        Plot("Example 1: torque of joint 2 by direction of joint 3", "t, s", "torque, Nm", readings),
    ]  # fmt: skip
    return findings, plots


def along_z3() -> Robot:
    """Return the Stanford arm with the coordinate d = -b, so that a positive q3 extends it."""
    table = [{**row, "d": -row["b"]} for row in STANFORD]
    return Robot.from_dh([{k: v for k, v in row.items() if k != "b"} for row in table], "modified", name="stanford, d3")


def _readings_of_table_2() -> Part:
    """Return the sensitivity to the lost entries of table 2 and of the body of link 6."""
    exact = _peaks(STANFORD)
    peaks = []
    for signs in itertools.product((1, -1), repeat=4):
        table = [dict(row) for row in STANFORD]
        for i, sign in zip((1, 2, 4, 5), signs, strict=True):
            table[i]["alpha"] *= sign
        peaks.append(_peaks(table))
    spread = np.abs(np.array(peaks) / exact - 1)[:, :5].max()
    *arm, hand = STANFORD
    moved = _peaks([*arm, {**hand, "com": [0.0, 0.0, 0.2]}])
    findings = [
        unchecked("table 2", "signs of the four right angles", "lost in the text at hand",
                  "only -0.1, 90, -0.6 and zeros are left of the table; all + is taken, as in table 3",
                  f"16 choices change the largest torques of joints 1 to 5 by {spread:.0%} at most"),
        unchecked("section 7.1", "centre of mass of link 6", "four zeros",
                  "a vector of four numbers is printed; zero is taken",
                  f"(0, 0, 0.2) m instead: joint 4 {exact[3]:.3f} -> {moved[3]:.3f} Nm, joint 5 {exact[4]:.3f} -> "
                  f"{moved[4]:.3f} Nm"),
    ]  # fmt: skip
    return findings, []


def _peaks(table: Sequence[Row]) -> Array:
    """Return the largest torques of example 1 by `stages`, without compilation for each reading."""
    states = zip(*EXAMPLE_1(np.linspace(0, 10, 101)), strict=True)
    return np.asarray(np.abs([stages(table, *state) for state in states]).max(axis=0))


# ----------------------------------------------------------------------------------------------------------- example 2


def pose(y: float) -> Array:
    """Return the pose of the hand on the path, its axis horizontal along x."""
    return np.array([[0, 0, 1, 1.33], [0, 1, 0, y], [-1, 0, 0, 1.80], [0, 0, 0, 1.0]])


def line(arm: Robot, spline: trajectory.Trajectory) -> trajectory.Trajectory:
    """Return the joint trajectory of example 2, by numeric inverse kinematics."""
    guess = np.radians([0, 90, -135, 45, 90, 90])
    return trajectory.cartesian_line(arm, pose(0.0), pose(1.0), spline, guess)


def _path() -> Part:
    """Return the findings on table 3 and figures 6 and 7: the path, its spline, the joints."""
    arm = aw.load("thomas_tesar")
    spline, other = trajectory.normal_spline(0, 1, 1.0), trajectory.quintic([0, 1], [0, 1])
    motion = line(arm, spline)
    t = np.linspace(0, 1, 101)
    q = motion(t)[0]
    x, _, z = arm.forward_kinematics(np.radians(TABLE_3_ANGLES))[:3, 3]
    start, end = (", ".join(f"{v:.2f}" for v in np.degrees(row) + 0.0) for row in q[[0, -1]].round(9))
    on_path = np.array([pose(float(s)) for s in spline(t)[0][:, 0]])
    off = float(np.abs(arm.forward_kinematics(q) - on_path).max())
    still = float(np.abs(np.array(spline([0.0, 1.0])[1:])).max())
    wrist = float(np.linalg.norm(np.diff(arm.link_positions(q[0])[4:6], axis=0)))
    peaks = [float(np.abs(aw.torques_along(arm, line(arm, s)).tau[:, 0]).max()) for s in (spline, other)]
    findings = [
        claim("table 3", "hand at the initial angles", "x = 1.33, z = 1.80 m", f"x = {x:.4f}, z = {z:.4f} m",
              [below(abs(x - 1.33), 0.005), below(abs(z - 1.80), 0.005)],
              "the initial angles of table 3 do not lie on the path", words="m, off by", against=Against.NUMBER),
        claim("table 3", "initial angles, deg", ", ".join(f"{v:g}" for v in TABLE_3_ANGLES), start,
              below(float(np.abs(np.degrees(q[0]) - TABLE_3_ANGLES).max()), 0.05),
              f"hand horizontal at y = 0; 68.5 and 39.6 are, within 0.1, those at y = 1 m ({end}): the table mixes "
              "two postures", words="deg, off by", against=Against.NUMBER),
        claim("figure 6", "normal spline", "zero initial and final velocities and accelerations",
              f"4-5-6-7 polynomial: {rough(still)}", below(still, 1e-9),
              remark="the 3-4-5 polynomial has them too; the source of the spline is not at hand"),
        unchecked("figure 6", "y = s(t)", "curve", f"{CURVES}; {INFERRED}",
                  f"0 to 1 m; largest torque of joint 1 {peaks[0]:.0f} Nm, with the 3-4-5 polynomial "
                  f"{peaks[1]:.0f} Nm"),
        claim("section 7.2", "not wrist-partitioned", "axes 4, 5, 6 have no common point",
              f"axes 4 and 5 are {wrist:.1f} m apart", above(wrist, 0.1)),
        claim("figure 7", "straight line without change of orientation", "numeric inverse kinematics",
              f"hand on the line, to {rough(off)}", below(off, 1e-10)),
        unchecked("figure 7", "joint trajectories", "curves", f"{CURVES}; {INFERRED}", f"from {start} to {end} deg"),
    ]  # fmt: skip
    curves = [Curve(name, t.tolist(), s(t)[0][:, 0].tolist(), dashed=name != "4-5-6-7")
              for name, s in (("4-5-6-7", spline), ("3-4-5", other))]  # fmt: skip
    plots = [
        Plot("Figure 6: normal spline", "t, s", "y, m", curves),
        Plot("Figure 7: joint trajectories", "t, s", "angle, deg", per_joint(t, np.degrees(q))),
    ]
    return findings, plots


def _example_2() -> Part:
    """Return the findings on figure 8, by both readings of the frames of the bodies."""
    distal, literal = aw.load("thomas_tesar"), Robot.from_dh(SIX_AXIS, "angeles", name="literal")
    motion = line(distal, trajectory.normal_spline(0, 1, 1.0))
    runs = [aw.torques_along(arm, motion, every=0.01) for arm in (distal, literal)]
    tops = [", ".join(f"{x:.0f}" for x in np.abs(run.tau).max(axis=0)) for run in runs]
    alike = float(np.abs(distal.forward_kinematics(runs[0].q) - literal.forward_kinematics(runs[0].q)).max())
    doubts = [aw.problems(arm) for arm in (distal, literal)]
    findings = [
        unchecked("figure 8", "driving torques, bodies in distal frames", "curves", f"{CURVES}; {INFERRED}",
                  f"largest: {tops[0]} Nm"),
        _stored("figure 8", "distal frames", "stored_distal", lambda t: distal.inverse_dynamics(*motion(t))),
        unchecked("figure 8", "driving torques, bodies in the paper's frames", "curves",
                  f"{CURVES}; {INFERRED}; the hand moves alike, to {rough(alike)}", f"largest: {tops[1]} Nm"),
        _stored("figure 8", "paper's frames", "stored_literal", lambda t: literal.inverse_dynamics(*motion(t))),
        claim("section 7.2", "tensor of link 1 in frame 1", "diag(0, 62, 0)", "no inertia about joint 1",
              same(len(doubts[1]), 0),
              f"no such body: {doubts[1][0].split(': ', 1)[1]}; in distal frames the 62 kg m^2 turn about joint 1 and "
              f"nothing is wrong ({len(doubts[0])} doubts), so the data are those of standard DH", words="doubts"),
    ]  # fmt: skip
    plots = [
        Plot(f"Figure 8: torques, bodies in {name} frames", "t, s", "torque, Nm", per_joint(run.t, run.tau), note=note)
        for name, run, note in zip(
            ("distal", "the paper's"),
            runs,
            ("The packaged robot.", "The same numbers read in the frames that the paper defines."),
            strict=True,
        )
    ]
    return findings, plots
