"""Grigorov (2013): the closed-form equations of a five-joint hydraulic arm, its motion, torques and oscillations.

B. Grigorov, 'A generalized Newton-Euler algorithm for dynamic simulation of robot-manipulators with revolute joints'.
The formulation is `formulations/equilibrium.py`. The paper prints one number of its arm, the load of 3200 N, and no
number of its results: the packaged robot `grigorov` and the constants below are a plausible stand-in. The figures show
what the paper describes, and only its statements can be checked. Tables called 'stored' are results of an independent
NumPy prototype for the same stand-in, not of the paper.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import armwright as aw
from armwright import torque, trajectory
from armwright.algebra import Array
from armwright.check.evaluation import relative_difference
from armwright.formulations import find_formulation, formulations
from armwright.graph import Graph
from armwright.model.records import JointModel, LinkModel
from armwright.model.transforms import ZERO_TENSOR
from armwright.pages.report.plot import Curve, Plot, per_joint
from armwright.robot import Robot
from armwright.study.operation_counts import count_on, count_operations, degree, formula, products_and_sums
from armwright.study.papers.finding import (
    NOTHING,
    Against,
    Finding,
    PaperStudy,
    Part,
    above,
    below,
    claim,
    rough,
    same,
    stored,
    unchecked,
)
from armwright.study.published import tables
from armwright.trace.tracing import general_mechanism

GRIGOROV_TABLES = tables("grigorov2013")
MISPRINTS = GRIGOROV_TABLES["misprints"]

CLOSED = "equilibrium"
"""Grigorov's closed form among the formulations."""

VIA = np.radians([[0, 60, -95, 35, 0], [35, 45, -70, 25, -20], [70, 30, -60, 30, -40]])
VIA_TIMES = (0.0, 3.0, 6.0)

LOAD, GRAVITY = 3200.0, 9.81
"""The load, N, the only number of the arm in the paper, and gravity, m/s^2."""

STIFFNESS = np.array([6e5, 9e5, 6e5, 2.5e5, 2e4])
JOINT_DAMPING = np.array([2.5e3, 4e3, 2.5e3, 6e2, 1e2])
CLOSURE: dict[str, Any] = {"q0": VIA[0], "qd0": np.radians([6.0, -5.0, 8.0, -6.0, 10.0])}
"""The state in which the valves close."""

NO_DATA = "the paper prints neither dimensions nor masses nor a number of its results"
STAND_IN = "stand-in data"


def study() -> PaperStudy:
    """Return all findings and figures of the paper."""
    arm = aw.load("grigorov")
    motion = trajectory.cubic(VIA_TIMES, VIA)
    parts: dict[Callable[[], Part], float] = {
        _equations: 1.4,
        partial(_trajectories, arm, motion): 0.1,
        partial(_torques, arm, motion): 0.1,
        partial(_oscillation, arm): 0.1,
        partial(_printed_sign, arm): 0.1,
        partial(_load_as_force, arm, motion): 0.1,
        partial(_integrators, arm): 0.7,
        _growth: 5.8,
        partial(_piecewise, arm, motion): 0.3,
        partial(_independent, arm, motion): 0.5,
        partial(_cylinders, arm, motion): 0.9,
    }
    return PaperStudy.of_parts(
        "grigorov2013",
        "Grigorov 2013: generalised Newton-Euler equations for robots with revolute joints",
        "The closed-form equations are right once four misprints are corrected, and agree with recursion, with "
        "Pinocchio and with MuJoCo. The arm of the example is not described, so a stand-in shows what figures 3 to 5 "
        "look like. Torques in closed form grow with n^2 as stated; the mass matrix as written grows with n^3. One "
        "torque can be had alone, but that of the first joint takes more operations than all of them by recursion.",
        parts,
    )


STORED, HALF_A_DIGIT = "values stored from a prototype", 0.5e-6


# ------------------------------------------------------------------------------------------------- equations (5), (12)


def _equations() -> Part:
    """Return the findings on the closed form against recursion, and on its misprints, for a general arm."""
    arm = aw.random_robot(6, seed=1, prismatic=0.0).with_gravity([0, 0, 0])
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 50, 6))
    exact = arm.inverse_dynamics(q, qd, qdd)

    def error(printed: str) -> float:
        ours = [closed_form(arm, *state, printed) for state in zip(q, qd, qdd, strict=True)]
        return float(np.median([relative_difference(tau, right) for tau, right in zip(ours, exact, strict=True)]))

    by_name = relative_difference(arm.inverse_dynamics(q, qd, qdd, formulation=CLOSED), exact)
    back = relative_difference(arm.forward_dynamics(q, qd, exact, formulation=CLOSED), qdd)
    findings = [
        claim("figure 1, eq. (5)", "moments of all links beyond a joint balance its torque", "closed form",
              f"as by recursion, to {rough(max(error(''), by_name))}", below(max(error(""), by_name), 1e-12)),
        claim("eq. (13)", "one set of equations for the forward and the inverse problem", "both are solved",
              f"accelerations come back, to {rough(back)}", below(back, 1e-10)),
        *_velocity_terms(arm, q, qd, qdd),
    ]  # fmt: skip
    for where, printed, why in MISPRINTS:
        off = error(printed)
        obtained = f"off by {off:.0%} (general 6R, no gravity)"
        findings.append(claim(where, f"as printed: {printed}", "torques", obtained, below(off, 1e-12), why))
    return findings, []


def _velocity_terms(arm: Robot, q: Array, qd: Array, qdd: Array) -> list[Finding]:
    """Return the findings on the velocity terms (7), (8) and H of (12)."""
    links, torques = [], []
    steady, partial, exact = arm.convective_accelerations(q, qd), arm.partial_velocities(q), arm.coriolis_matrix(q, qd)
    for k, frames in enumerate(arm.link_poses(q)):
        R, P = frames[:, :3, :3], frames[:, :3, 3]
        by_joints = partial[k] @ qdd[k]
        for i, (_, wd, vC) in enumerate(_in_world(arm, R, P, qd[k], qdd[k])):
            links.append(relative_difference(by_joints[i, 3:] + R[i] @ steady[k, i, 0], wd))
            links.append(relative_difference(by_joints[i, :3] + R[i] @ steady[k, i, 2], vC))
        torques.append(relative_difference(steady_torques(arm, R, P, qd[k], steady[k]), exact[k] @ qd[k]))
    apart, off = max(links), max(torques)
    return [
        claim("eqs. (7), (8)", "C_eps and C_VC and a part linear in the joint accelerations are those of (6)", "sums",
              f"for every link, to {rough(apart)}", below(apart, 1e-11)),
        claim("eq. (12)", "H from C_eps, C_VC and w x I w", "H(theta, theta-dot)",
              f"C(q, qd) qd of Christoffel symbols, to {rough(off)}", below(off, 1e-11)),
    ]  # fmt: skip


def steady_torques(arm: Robot, R: Array, P: Array, qd: Array, steady: Array) -> Array:
    """Return H of (12), with the missing rotation before C_VC; `steady` has C_eps, C_V and C_VC of every link."""
    w, H = np.zeros(3), np.zeros(arm.n)
    for i, link in enumerate(arm.links):
        w = w + R[i][:, 2] * qd[i]
        spin, (C_eps, _, C_VC) = R[i].T @ w, steady[i]
        inertia = np.array(link.inertia)
        moment = R[i] @ (np.cross(spin, inertia @ spin) + inertia @ C_eps)
        for j in range(i + 1):
            arm_to = P[i] + R[i] @ link.com - P[j]
            H[j] += R[j][:, 2] @ (moment + link.mass * np.cross(arm_to, R[i] @ C_VC))
    return H


def closed_form(arm: Robot, q: Array, qd: Array, qdd: Array, printed: str = "") -> Array:
    """Return the torques of equation (5) in NumPy, with the misprint that `printed` names."""
    frames = arm.link_poses(q)
    R, P = frames[:, :3, :3], frames[:, :3, 3]
    motions = _in_world(arm, R, P, qd, qdd)
    steady = _in_world(arm, R, P, qd, np.zeros(arm.n))  # (8): without joint accelerations
    tau = np.zeros(arm.n)
    for j in range(arm.n):
        for i, link in enumerate(arm.links[j:], start=j):
            jR, jPC = R[j].T @ R[i], R[j].T @ (P[i] + R[i] @ link.com - P[j])
            (w, wd, vC), inertia = (R[i].T @ x for x in motions[i]), np.array(link.inertia)
            vC = jR @ vC
            if printed == "C_VCi without jR_i":
                C_VC = R[i].T @ steady[i][2]
                vC = vC - jR @ C_VC + C_VC
            spin = inertia @ jR @ wd if printed == "I_i jR_i" else jR @ inertia @ wd
            mass = arm.links[j if printed == "m_j" else i].mass
            weight = np.cross(jPC, R[j].T @ np.array(arm.gravity) * link.mass)
            tau[j] += (mass * np.cross(jPC, vC) + spin + jR @ np.cross(w, inertia @ w) - weight)[2]
    return tau


def _in_world(arm: Robot, R: Array, P: Array, qd: Array, qdd: Array) -> list[tuple[Array, Array, Array]]:
    """Return equations (6) in base axes: w, wd and the acceleration of the centre of mass of every link."""
    w, wd, vd, origin, motions = np.zeros(3), np.zeros(3), np.zeros(3), P[0], []
    for i, link in enumerate(arm.links):
        z, s, c = R[i][:, 2], P[i] - origin, R[i] @ link.com
        vd = vd + np.cross(wd, s) + np.cross(w, np.cross(w, s))
        wd = wd + np.cross(w, z * qd[i]) + z * qdd[i]
        w = w + z * qd[i]
        motions.append((w, wd, vd + np.cross(wd, c) + np.cross(w, np.cross(w, c))))
        origin = P[i]
    return motions


# ------------------------------------------------------------------------------------------------------ figures 2 to 4


def _trajectories(arm: Robot, motion: trajectory.Trajectory) -> Part:
    """Return the findings on figures 2 and 3: the arm, and cubic trajectories through three points."""
    t = np.linspace(0, 6, 301)
    q, qd, qdd = motion(t)
    slowest = np.degrees(np.abs(motion(3.0)[1]).min())
    before, after = (np.array(motion(3 + side * 1e-9)) for side in (-1, 1))
    jump = float(np.abs(after - before).max())
    tilt = float(np.abs(arm.forward_kinematics(q)[:, :3, 2] - [0, 0, 1]).max())
    missed = float(np.abs(arm.inverse_kinematics(arm.forward_kinematics(VIA), VIA + 0.1) - VIA).max())
    findings = [
        unchecked("figure 2", "CAD model of the arm", "five joints, load 3200 N", NO_DATA),
        unchecked("figure 3", "positions, velocities, accelerations of five joints", "curves", NO_DATA),
        claim("figure 3", "does not stop at the middle point", "every joint moves",
              f"at {slowest:.3g} deg/s or more", above(slowest, 0.1), remark=STAND_IN),
        claim("figure 3", "third-order polynomials through three points", "smooth at the middle point",
              "nothing jumps up to the acceleration", below(jump, 1e-8), remark=STAND_IN),
        claim("section 3", "the load is horizontal at any time", "horizontal", f"tilted by {rough(tilt)}",
              below(tilt, 1e-12), remark=STAND_IN),
        claim("section 3", "place and heading of a horizontal load give the five joints", "inverse kinematics",
              f"joints found again, to {rough(missed)}", below(missed, 1e-9), remark=STAND_IN),
    ]  # fmt: skip
    quantities = (("positions", "deg", q), ("velocities", "deg/s", qd), ("accelerations", "deg/s²", qdd))
    plots = [
        Plot(f"Figure 3: {name} of the five joints", "t, s", f"{name}, {unit}", per_joint(t, np.degrees(values)))
        for name, unit, values in quantities
    ]
    return findings, plots


def _torques(arm: Robot, motion: trajectory.Trajectory) -> Part:
    """Return the findings on figure 4: the torques of joints 2 to 4 along figure 3."""
    run = aw.torques_along(arm, motion, every=0.02)
    ranges = ", ".join(f"{i + 1}: {run.tau[:, i].min():.0f} to {run.tau[:, i].max():.0f}" for i in (1, 2, 3))
    axes = arm.link_poses(motion(2.0)[0])[1:4, :3, 2]
    off = float(np.abs(axes - axes[0]).max() + np.abs(axes[:, 2]).max())
    findings = [
        unchecked("figure 4", "torques of joints 2 to 4", "curves", NO_DATA, f"{ranges} Nm"),
        stored("figure 4", STORED, GRIGOROV_TABLES["stored_torques"],
               lambda t: arm.inverse_dynamics(*motion(t), formulation=CLOSED), HALF_A_DIGIT, STAND_IN),
        claim("figure 4", "axes of joints 2 to 4", "parallel, horizontal", f"to {rough(off)}", below(off, 1e-12),
              remark=STAND_IN),
    ]  # fmt: skip
    note = "Nearly all of it carries the weight of boom, stick and load: the motion is slow."
    curves = per_joint(run.t, run.tau, (1, 2, 3))
    return findings, [Plot("Figure 4: torques of joints 2 to 4", "t, s", "torque, Nm", curves, note=note)]


def _load_as_force(arm: Robot, motion: trajectory.Trajectory) -> Part:
    """Return the finding on N_Q of (12): the load as a force on the last link instead of a body."""
    q, qd, qdd = motion(np.linspace(0, 6, 61))
    empty, rest = without_load(arm), np.zeros_like(q)
    pulled = load_wrenches(arm, q)
    still = relative_difference(empty.inverse_dynamics(q, rest, rest, link_wrenches=pulled, formulation=CLOSED),
                       arm.gravity_torque(q))  # fmt: skip
    moving = empty.inverse_dynamics(q, qd, qdd, link_wrenches=pulled, formulation=CLOSED)
    inertia = np.abs(moving - arm.inverse_dynamics(q, qd, qdd)).max(axis=0)
    missing = ", ".join(f"{x:.0f}" for x in inertia[1:4])
    finding = claim(
        "section 3", "a load of 3200 N attached to the last link, as the force N_Q of (12)", "3200 N",
        f"at rest as the body that weighs as much, to {rough(still)}; along figure 3 the inertia of that body is "
        f"missing, up to {missing} Nm for joints 2 to 4", below(still, 1e-12), remark=STAND_IN,
    )  # fmt: skip
    return [finding], []


def without_load(arm: Robot) -> Robot:
    """Return the arm without the mass of the load at the centre of mass of the last link."""
    *inner, last = arm.links
    return replace(arm, links=(*inner, replace(last, mass=last.mass - LOAD / GRAVITY)))


def load_wrenches(arm: Robot, q: Array) -> Array:
    """Return the wrench of the load on the last link, in its axes: (states, links, 6)."""
    wrenches = np.zeros((*q.shape[:-1], arm.n, 6))
    force = np.swapaxes(arm.link_poses(q)[..., -1, :3, :3], -1, -2) @ np.array([0.0, 0.0, -LOAD])
    wrenches[..., -1, :3], wrenches[..., -1, 3:] = force, np.cross(arm.links[-1].com, force)
    return wrenches


# ------------------------------------------------------------------------------------------------------------ figure 5


def closed_valves(arm: Robot, sign: float = 1.0) -> torque.Law:
    """Return the law of oil behind closed valves (14): a spring with a damper on each joint, at rest where they closed.

    With sign = -1 the spring is as printed, and pushes away from its free position.
    """
    k = sign * STIFFNESS
    return torque.spring_damper(k, JOINT_DAMPING, VIA[0] + arm.gravity_torque(VIA[0]) / k)


def _oscillation(arm: Robot) -> Part:
    """Return the findings on figure 5: the valves close on a moving arm."""
    run = aw.simulate(arm, closed_valves(arm), **CLOSURE, duration=1.5, rtol=1e-10, every=0.005)
    swing = np.degrees(run.q - VIA[0])
    peaks = ", ".join(f"{x:.2f}" for x in np.abs(swing).max(axis=0))
    passes = int(np.sum(np.diff(np.sign(swing[1:]), axis=0) != 0, axis=0).min())
    growth, frequencies = _linearised(arm, STIFFNESS)
    findings = [
        unchecked("figure 5", "oscillation of the five joints", "curves", f"{NO_DATA}, and no stiffness or damping",
                  f"up to {peaks} deg"),
        stored("figure 5", STORED, GRIGOROV_TABLES["stored_oscillation"],
               lambda t: swing[np.rint(t / 0.005).astype(int)], HALF_A_DIGIT, STAND_IN),
        claim("figure 5", "oscillations about the initial positions", "every joint oscillates",
              f"each passes its own {passes} times or more in 1.5 s; {frequencies[0]:.2f} to {frequencies[-1]:.1f} Hz, "
              f"slowest decay {-growth:.2f} 1/s", [above(passes, 3), below(growth, 0)], remark=STAND_IN,
              words="passes and growth"),
    ]  # fmt: skip
    note = f"Spring and damper (14) with the sign that restores. Energy balance: {run.audit.energy_error:.0e}."
    title = "Figure 5: oscillation after sudden closure of the valves"
    return findings, [Plot(title, "t, s", "deviation, deg", per_joint(run.t, swing), note=note)]


def _linearised(arm: Robot, stiffness: Array) -> tuple[float, Array]:
    """Return the fastest growth (1/s) and undamped frequencies (Hz) of small deviations from equilibrium."""
    rest = np.zeros(arm.n)
    weight, _, M = arm.inverse_dynamics_derivatives(VIA[0], rest, rest)
    K, D = np.linalg.solve(M, np.diag(stiffness) + weight), np.linalg.solve(M, np.diag(JOINT_DAMPING))
    rates = np.linalg.eigvals(np.block([[np.zeros_like(K), np.eye(arm.n)], [-K, -D]]))
    undamped = np.sqrt(np.linalg.eigvals(K).astype(complex)).real / (2 * np.pi)
    return float(rates.real.max()), np.sort(undamped)


def _printed_sign(arm: Robot) -> Part:
    """Return the finding that equation (14) as printed pushes every joint away from its free position."""
    diverging, restored = (
        aw.simulate(arm, closed_valves(arm, sign), **CLOSURE, duration=0.3, every=0.005) for sign in (-1.0, 1.0)
    )
    deviation = {run: np.degrees(np.abs(run.q - VIA[0]).max(axis=1)) for run in (diverging, restored)}
    growth, _ = _linearised(arm, -STIFFNESS)
    lost = float(diverging.t[np.argmax(deviation[diverging] > 90)])
    finding = claim(
        "eq. (14)", "as printed: +k (theta - theta0)", "oscillation",
        f"grows with {growth:.0f} 1/s; a joint has turned by 90 deg after {lost:.2f} s", below(growth, 0),
        "a misprint: oil that is compressed pushes back, so the sign of the spring is minus", words="growth",
    )  # fmt: skip
    curves = [
        Curve(name, run.t[1:].tolist(), deviation[run][1:].tolist())
        for name, run in (("printed: +k", diverging), ("restoring: -k", restored))
    ]
    return [finding], [Plot("Equation (14) as printed diverges", "t, s", "largest deviation, deg", curves, y_log=True)]


def _integrators(arm: Robot) -> Part:
    """Return the findings on integrators: ODE23 (bs32) and Kutta-Merson of the paper, and two modern ones."""
    law = closed_valves(arm)

    def points(integrator: str, powers: range) -> list[tuple[int, float]]:
        settings: list[dict[str, Any]] = [{"rtol": 10.0**-p, "atol": 10.0 ** -(p + 3)} for p in powers]
        runs = [
            aw.simulate(arm, law, **CLOSURE, duration=1.5, integrator=integrator, every=0.05, **s) for s in settings
        ]
        return [(run.statistics.evaluations, float(np.abs(run.q - exact.q).max())) for run in runs]

    exact = aw.simulate(arm, law, **CLOSURE, duration=1.5, rtol=1e-12, every=0.05)
    # powers of the finest tolerances; radau runs in Python, which is slower
    last = {"bs32": 7, "merson43": 7, "dop853": 9, "radau": 5}
    found = {name: points(name, range(3, power + 1)) for name, power in last.items()}
    evaluations, error = found["bs32"][0]
    others = ", ".join(f"{name} {found[name][0][0]}" for name in ("dop853", "radau"))
    finding = claim(
        "figure 5", "ODE23 integrates it (bs32 at Matlab's default tolerance)", "solved with ODE23",
        f"error {np.degrees(error):.0e} deg, {evaluations} evaluations ({others})", below(error, 1e-4),
        words="rad, error",
        remark="all four manage: at these stiffnesses the equations oscillate and are not stiff",
    )  # fmt: skip
    evaluations, error = found["merson43"][0]
    merson = claim(
        "section 2", "Kutta-Merson integrates it (merson43 at the same tolerance)", "easy to integrate",
        f"error {np.degrees(error):.0e} deg, {evaluations} evaluations", below(error, 1e-4), words="rad, error",
    )  # fmt: skip
    curves = [Curve(name, [n for n, _ in p], [e for _, e in p], marks=True) for name, p in found.items()]
    plot = Plot("Figure 5 by four integrators", "evaluations of the accelerations", "largest error of a joint, rad",
                curves, x_log=True, y_log=True, note="bs32 is the pair of ODE23; radau is implicit.")  # fmt: skip
    return [finding, merson], [plot]


# ------------------------------------------------------------------------------------------------- section 4: the cost


def _growth() -> Part:
    """Return the findings on operations of the closed form and of recursions, for 1 to 12 joints."""
    sizes = list(range(1, 13))
    methods = [f.name for f in formulations("inverse_dynamics")]
    totals = {name: [operations("inverse_dynamics", name, n) for n in sizes] for name in methods}
    matrices = {name: [operations("mass_matrix", name, n) for n in sizes] for name in (CLOSED, "composite_body")}
    products, sums = formula(find_formulation("inverse_dynamics", CLOSED))
    recursive = {name: values for name, values in totals.items() if name != CLOSED}
    bent = sum("^" in formula(find_formulation("inverse_dynamics", name))[0] for name in recursive)
    most = np.max(list(recursive.values()), axis=0)
    dearest = [n for n, ours, others in zip(sizes, totals[CLOSED], most, strict=True) if ours > others]
    findings = [
        claim("section 4", "not very effective from order of growth point of view: torques", "close to O(N^2)",
              f"{products} products, {sums} sums", same(degree(products), 2), words="degree"),
        claim("section 4", "torques: exponent of growth from n = 6 to 12", "close to O(N^2)",
              f"{_exponent(totals[CLOSED])}", below(abs(_exponent(totals[CLOSED]) - 2), 0.5), words="2, off by"),
        claim("section 4", "mass matrix: exponent of growth from n = 6 to 12", "close to O(N^2)",
              f"{_exponent(matrices[CLOSED])}", below(abs(_exponent(matrices[CLOSED]) - 2), 0.5),
              f"the sums over i, j, k of (10) make it cubic, {formula(find_formulation('mass_matrix', CLOSED))[0]} "
              "products: the "
              "exponent tends to 3", words="2, off by"),
        claim("section 1", "recursive algorithms", "O(N)",
              f"all {len(recursive)} of them; the closed form costs more than each from {dearest[0]} joints on",
              [same(bent, 0), same(len(dearest), len(sizes) - dearest[0] + 1)], words="exceptions and sizes"),
    ]  # fmt: skip
    curves = [Curve(name, sizes, values, marks=name == CLOSED) for name, values in totals.items()]
    curves += [Curve(f"M: {name}", sizes[1:], values[1:], dashed=True) for name, values in matrices.items()]
    note = "General robots, every parameter known off line. Solid: all torques. Dashed: the mass matrix."
    title = "Operations against the number of joints"
    return findings, [Plot(title, "joints", "products and sums", curves, y_log=True, note=note)]


def operations(problem: str, name: str, n: int) -> int:
    """Return products and sums for a general robot."""
    return products_and_sums(count_operations(problem, name, joints=n))


def _exponent(totals: list[int]) -> float:
    return round(float(np.log2(totals[11] / totals[5])), 2)


def _piecewise(arm: Robot, motion: trajectory.Trajectory) -> Part:
    """Return the findings on 'each torque is computed without regard to the others', and its cost."""
    state = [np.ascontiguousarray(x) for x in motion(np.linspace(0, 6, 10_000))]
    tau = arm.inverse_dynamics(*state)
    error = max(relative_difference(arm.joint_torque(j, *state), tau[:, j]) for j in range(1, 4))
    alone = [operations_alone(6, j) for j in range(6)]
    closed, recursive = (operations("inverse_dynamics", f, 6) for f in (CLOSED, "cartesian_tensor"))
    first, last = (_nanoseconds(partial(arm.joint_torque, j, *state), len(tau)) for j in (0, 4))
    whole = _nanoseconds(partial(arm.inverse_dynamics, *state), len(tau))
    findings = [
        claim("section 4", "each torque is computed without regard to the others", "piecewise solution",
              f"joints 2 to 4 alone agree, to {rough(error)}", below(error, 1e-12)),
        unchecked("section 4", "cost of one torque alone, six joints", NOTHING,
                  "the paper counts nothing; alone pays for the outer joints only",
                  f"{alone[0]} (joint 1) to {alone[-1]} (joint 6) operations; all six: {closed} in closed form, "
                  f"{recursive} by recursion"),
        unchecked("section 4", "time of one torque, compiled, on this machine", NOTHING, "the paper measures nothing",
                  f"joint 1: {first:.0f} ns, joint 5: {last:.0f} ns, all five: {whole:.0f} ns", timed=True),
    ]  # fmt: skip
    joints = list(range(1, 7))
    curves = [
        Curve("one torque alone", joints, alone, marks=True),
        Curve("all six, closed form", joints, [closed] * 6, dashed=True),
        Curve("all six, recursive", joints, [recursive] * 6, dashed=True),
    ]
    return findings, [Plot("One torque alone (general robot, six joints)", "joint", "products and sums", curves)]


def operations_alone(n: int, joint: int) -> int:
    """Return products and sums for the torque of one joint (from 0) of a general robot."""
    graph = Graph()
    return products_and_sums(count_on(general_mechanism(graph, n), graph, find_formulation(f"joint_torque[{joint}]")))


def _nanoseconds(f: Callable[[], Array], states: int) -> float:
    return min(timeit.repeat(f, number=1, repeat=5)) / states * 1e9


# -------------------------------------------------------------------------------------------- independent simulators


def _independent(arm: Robot, motion: trajectory.Trajectory) -> Part:
    """Return the findings on the verification, with Pinocchio and MuJoCo in place of Autodesk Inventor."""
    why = "the model is not published; in its place, Pinocchio and MuJoCo"
    inventor = unchecked("section 4", "verified with Autodesk Inventor", "verified", why)
    return [inventor, _pinocchio(arm, motion), _mujoco(arm)], []


def _pinocchio(arm: Robot, motion: trajectory.Trajectory) -> Finding:
    where, what = "section 4", "torques of figure 4 in Pinocchio"
    try:
        from armwright.study.peers.pinocchio import Pinocchio  # noqa: PLC0415
    except ImportError as missing:
        return unchecked(where, what, "verified", f"Pinocchio is not installed ({missing})")
    peer = Pinocchio(arm)
    states = motion(np.linspace(0, 6, 61))
    theirs = np.array([peer.inverse_dynamics(*state, np.zeros(6)) for state in zip(*states, strict=True)])
    error = relative_difference(arm.inverse_dynamics(*states, formulation=CLOSED), theirs)
    return claim(where, what, "verified", f"agree, to {rough(error)}", below(error, 1e-12), remark=STAND_IN)


def _mujoco(arm: Robot) -> Finding:
    """Return the finding on MuJoCo, with its dynamics, springs and integrator of order 4, and steps of 1 ms."""
    where, what = "section 4", "oscillation of figure 5 in MuJoCo"
    try:
        import mujoco  # noqa: PLC0415

        from armwright.study.peers.mujoco import MuJoCo  # noqa: PLC0415
    except ImportError as missing:
        return unchecked(where, what, "verified", f"MuJoCo is not installed ({missing})")
    run = aw.simulate(arm, closed_valves(arm), **CLOSURE, duration=1.5, rtol=1e-10, every=0.01)
    peer = MuJoCo(arm)
    model, data = peer.model, peer.data
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    model.jnt_stiffness[:], model.dof_damping[:] = STIFFNESS, JOINT_DAMPING
    model.qpos_spring[:] = VIA[0] + arm.gravity_torque(VIA[0]) / STIFFNESS
    data.qpos[:], data.qvel[:] = CLOSURE["q0"], CLOSURE["qd0"]
    error = 0.0
    for q in run.q[1:]:
        mujoco.mj_step(model, data, 10)
        error = max(error, float(np.abs(data.qpos - q).max()))
    return claim(where, what, "verified", f"agree, to {np.degrees(error):.0e} deg", below(error, 1e-7), remark=STAND_IN)


# ----------------------------------------------------------------------------------------------------------- cylinders

CYLINDERS = {
    "boom": (("column", (0.35, 0.0, -0.7), np.pi / 2), (0.8, 0.1, 0.0), 0.95),
    "stick": (("boom", (0.9, 0.35, 0.0), 0.0), (-0.35, 0.05, 0.0), 0.9),
    "tilt": (("stick", (0.6, 0.3, 0.0), 0.0), (-0.05, 0.25, 0.0), 0.9),
}
"""By the link that a cylinder turns: link and pivot of its barrel, point of its rod, closed length."""


def with_cylinders(arm: Robot, by_stroke: bool) -> Robot:
    """Return the arm with massless cylinders on boom, stick and tilt, each in a loop with the joint that it turns.

    The coordinates are the strokes of the cylinders if `by_stroke`, otherwise the angles of the joints.
    """
    joints, links, parents = list(arm.joints), list(arm.links), list(arm.parents)
    names = [link.name for link in arm.links]
    for name, ((on, (x, y, z), alpha), _, length) in CYLINDERS.items():
        joints += [
            JointModel(f"{name}_barrel", "revolute", alpha, x, 0.0, 0.0, y=y, z=z),
            JointModel(f"{name}_stroke", "prismatic", -np.pi / 2, 0.0, length, 0.0),
        ]
        parents += [names.index(on), len(links)]
        links += [LinkModel(f"{name}_{part}", 0.0, (0.0, 0.0, 0.0), ZERO_TENSOR) for part in ("barrel", "rod")]
    tree = replace(arm, joints=tuple(joints), links=tuple(links), parents=tuple(parents), tip=arm.tip)
    for name, (_, push, _) in CYLINDERS.items():
        turned_by = arm.joints[names.index(name)].name
        dependent = (f"{name}_barrel", turned_by if by_stroke else f"{name}_stroke")
        reference = {joint.name: float(q) for joint, q in zip(arm.joints, VIA[0], strict=True)}
        tree = tree.with_loop(
            (name, f"{name}_rod"), (push, (0.0, 0.0, 0.0)), name=name, dependent=dependent,
            reference={**reference, f"{name}_barrel": -0.5 if name != "boom" else 0.0, f"{name}_stroke": 0.3},
        )  # fmt: skip
    return tree


def strokes(arm: Robot, q: Array) -> tuple[Array, Array]:
    """Return the strokes of the cylinders at joint angles (..., 5), and their lever arms; (..., 3) each."""
    poses, names = with_cylinders(arm, by_stroke=False).link_poses(q), [link.name for link in arm.links]
    columns = []
    for k, (name, (_, push, closed)) in enumerate(CYLINDERS.items()):
        pivot = poses[..., names.index(name), :, :]
        barrel = poses[..., arm.n + 2 * k, :3, 3]
        end = (pivot @ np.array([*push, 1.0]))[..., :3]
        along = end - barrel
        length = np.linalg.norm(along, axis=-1)
        motion = np.cross(pivot[..., :3, 2], end - pivot[..., :3, 3])
        columns.append((length - closed, np.sum(along * motion, axis=-1) / length))
    stroke, arms = (np.stack(values, axis=-1) for values in zip(*columns, strict=True))
    return stroke, arms


UNDRIVEN_JOINTS, CYLINDER_JOINTS = [0, 4], [1, 2, 3]
"""The joints without and with a cylinder. With strokes as coordinates, these follow the former joints."""


def _cylinders(arm: Robot, motion: trajectory.Trajectory) -> Part:
    """Return the findings on forces of cylinders, and on the closure of the valves with strokes as coordinates."""
    by_stroke = with_cylinders(arm, by_stroke=True)
    q = np.asarray(motion(np.linspace(*VIA_TIMES[::2], 61))[0])
    stroke, arms = strokes(arm, q)
    forces = by_stroke.gravity_torque(np.column_stack([q[:, UNDRIVEN_JOINTS], stroke]))[:, 2:]
    off = relative_difference(forces, arm.gravity_torque(q)[:, CYLINDER_JOINTS] / arms)
    swing, difference = _closure_by_strokes(arm, by_stroke)
    findings = [
        claim("section 3", "forces of cylinders that hold the arm", "virtual work",
              f"{np.abs(forces).max() / 1e3:.0f} kN at most; as torques over lever arms to {rough(off)}",
              below(off, 1e-9), "not by virtual work", remark=STAND_IN, words="off by", against=Against.THEORY),
        claim("eq. (14)", "k and d transferred to the joints", "oscillation", "as with springs in the cylinders, to "
              f"{100 * difference:.0f} % of the largest deviation, {np.degrees(swing):.2f} deg", below(difference, 0.1),
              "the transfer would not do", remark=STAND_IN, words="difference"),
    ]  # fmt: skip
    return findings, []


def _closure_by_strokes(arm: Robot, by_stroke: Robot) -> tuple[float, float]:
    """Return the largest deviation of boom, stick and tilt after closure, and the difference of both models over it."""
    (at, arms), start = strokes(arm, VIA[0]), CLOSURE["qd0"]
    k, d = (np.concatenate([x[UNDRIVEN_JOINTS], x[CYLINDER_JOINTS] / arms**2]) for x in (STIFFNESS, JOINT_DAMPING))
    q0 = np.concatenate([VIA[0][UNDRIVEN_JOINTS], at])
    qd0 = np.concatenate([start[UNDRIVEN_JOINTS], start[CYLINDER_JOINTS] * arms])
    law = torque.spring_damper(k, d, q0 + by_stroke.gravity_torque(q0) / k)
    run = aw.simulate(by_stroke, law, q0=q0, qd0=qd0, duration=0.5, every=0.01)
    reference = aw.simulate(arm, closed_valves(arm), **CLOSURE, duration=0.5, every=0.01)
    swing = (run.q[:, 2:] - at) / arms
    expected = reference.q[:, CYLINDER_JOINTS] - VIA[0][CYLINDER_JOINTS]
    largest = float(np.abs(expected).max())
    return largest, float(np.abs(swing - expected).max()) / largest
