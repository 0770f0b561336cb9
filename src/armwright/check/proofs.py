"""Proofs that the numbers of a robot are consistent: at random states, by conservation laws and other programs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.check.evaluation import STATE_COUNT, evaluate, random_states, relative_difference, rigid_bodies_only
from armwright.check.findings import Proof
from armwright.errors import ArmwrightError, SimulationError, UnreachableError
from armwright.formulations import default_for, formulations
from armwright.formulations.parts.coordinates import mechanism_at, positions, rates
from armwright.model.loop_positions import open_loop
from armwright.robot import Robot
from armwright.simulation import simulate

Peer: TypeAlias = Callable[[Robot, Array, Array, Array], Array]
"""Torques (k, n) of a robot without friction and rotors by another program, from states (k, n)."""

AGREEMENT = 1e-10
"""Largest relative difference: rounding of about a thousand operations, with a margin."""

MAX_ENERGY_LOSS = 1e-7
"""Largest relative loss of energy in free fall."""

FALL_SECONDS = 0.25
"""Duration of the free fall: long enough for high speeds, short enough for a chaotic arm."""

MASS_MATRIX_POSITIONS = 100

LOOP_TRIES = 10
"""Random positions per state of a robot with loops; few of them close."""


def prove(robot: Robot, peers: Mapping[str, Peer] | None = None) -> tuple[Proof, ...]:
    """Return all proofs, also after one that fails or cannot be tested."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if robot.loops and not len(_states(robot, 1)[0]):
            return (Proof("loops close", False, f"they close at none of {LOOP_TRIES} random positions"),)
        return (
            *_agreement(robot),
            _definite_mass_matrix(robot),
            _energy_conservation(robot),
            *_peer_agreement(robot, peers or {}),
        )


def _states(robot: Robot, count: int = STATE_COUNT, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return up to `count` random states with closed loops, and accelerations that keep them closed."""
    if not robot.loops:
        return random_states(robot, count, seed)
    q, qd, qdd = random_states(robot, LOOP_TRIES * count, seed)
    states: list[tuple[Array, Array, Array]] = []
    for at, speed, more in zip(q, qd, qdd, strict=True):
        with suppress(UnreachableError):
            if len(states) < count and open_loop(robot, at.tolist()) is None:
                states.append((*robot.closed(at, speed), more))
    if not states:
        return q[:0], qd[:0], qdd[:0]
    q, qd, qdd = (np.stack(part) for part in zip(*states, strict=True))
    if robot.mechanism().constrained_loops:  # accelerations that the motors can produce
        tau = qdd * [joint.max_torque != 0 for joint in robot.joints]
        qdd = evaluate(robot, "forward_dynamics", q, qd, tau)
    return q, qd, qdd


def _proof(name: str, value: float, allowed: float, text: str) -> Proof:
    finite = value if math.isfinite(value) else None
    return Proof(name, bool(value <= allowed), text, finite, allowed)


def _agreement(robot: Robot) -> Iterator[Proof]:
    """Yield proofs that all formulations agree; the condition of the mass matrix scales that of forward dynamics."""
    q, qd, qdd = _states(robot)
    tau = evaluate(robot, "inverse_dynamics", q, qd, qdd)
    condition = float(np.max(np.linalg.cond(evaluate(robot, "mass_matrix", q))))
    for problem, state in (
        ("inverse_dynamics", (q, qd, qdd)),
        ("mass_matrix", (q,)),
        ("bias", (q, qd)),
        ("forward_dynamics", (q, qd, tau)),
    ):
        reference = qdd if problem == "forward_dynamics" else evaluate(robot, problem, *state)
        allowed = AGREEMENT * max(1.0, 1e-2 * condition) if problem == "forward_dynamics" else AGREEMENT
        mechanism = robot.mechanism()
        default = default_for(problem, mechanism).name
        others = [f.name for f in formulations(problem) if f.name != default and f.takes(mechanism)]
        min_scale = float(np.max(np.abs(tau))) if problem == "bias" else 0.0  # it is zero without gravity
        worst, who = max((_error(robot, problem, other, state, reference, min_scale), other) for other in others)
        text = f"{len(others) + 1} formulations, {len(q)} states: {worst:.1e} at worst ({who})"
        yield _proof(f"{problem.replace('_', ' ')} agrees", worst, allowed, text)


def _error(
    robot: Robot, problem: str, formulation: str, state: tuple[Array, ...], reference: Array, min_scale: float
) -> float:
    try:
        return relative_difference(evaluate(robot, problem, *state, formulation=formulation), reference, min_scale)
    except (ArmwrightError, ArithmeticError, ValueError):
        return float("inf")


def _definite_mass_matrix(robot: Robot) -> Proof:
    """Return the proof of a definite mass matrix, scaled to a unit diagonal to be independent of units and sizes."""
    q = _states(robot, MASS_MATRIX_POSITIONS, seed=1)[0]
    M = evaluate(robot, "mass_matrix", q)
    name = "mass matrix is positive definite"
    diagonal = np.einsum("kii->ki", M)
    if not np.isfinite(M).all() or np.any(diagonal <= 0):
        return Proof(name, False, f"a diagonal entry is {float(np.nanmin(diagonal)):.3g}")
    scale = np.sqrt(diagonal)
    smallest = float(np.min(np.linalg.eigvalsh(M / scale[:, :, None] / scale[:, None, :])))
    condition = float(np.max(np.linalg.cond(M)))
    low = f", and an eigenvalue of {smallest:.1e} relative to the diagonal" if smallest <= 1e-13 else ""
    return Proof(name, not low, f"{len(q)} positions: condition {condition:.3g} at worst{low}", smallest)


def _energy_conservation(robot: Robot) -> Proof:
    """Return the proof of constant energy in free fall without friction, from a random state."""
    name = "energy is conserved"
    falling = robot.map_joints(lambda joint: replace(joint, viscous=0.0, coulomb=0.0))
    q, qd, _ = _states(robot, 1, seed=2)
    try:
        run = simulate(falling, None, q[0], qd[0], FALL_SECONDS, every=FALL_SECONDS / 5, rtol=1e-10)
    except ArmwrightError as error:
        range_ended = bool(robot.loops) and isinstance(error, SimulationError)  # a loop may reach the end of its range
        return Proof(name, None if range_ended else False, f"free fall is impossible: {error}")
    loss = run.audit.energy_error
    return _proof(name, loss, MAX_ENERGY_LOSS, f"{FALL_SECONDS:g} s of free fall: {loss:.1e} of the energy is lost")


def _peer_agreement(robot: Robot, peers: Mapping[str, Peer]) -> Iterator[Proof]:
    """Yield proofs that inverse dynamics agrees with other programs, for the tree of rigid bodies."""
    model, state = replace(rigid_bodies_only(robot).without_couplings(), loops=()), _states(robot)
    still = mechanism_at(replace(robot.mechanism(), loops=()), list(state[0].T))
    q, qd, qdd = (
        np.stack(np.broadcast_arrays(np.zeros(len(x)), *of_rows(still, list(x.T)))[1:], axis=-1, dtype=float)
        for of_rows, x in zip((positions, rates, rates), state, strict=True)
    )
    q = np.insert(q, [ball.rows.stop for ball in robot.balls], 0.0, axis=1)
    for ball, model_ball in zip(robot.balls, model.balls, strict=True):
        q[:, model_ball.entries] = state[0][:, ball.entries]
    expected = evaluate(model, "inverse_dynamics", q, qd, qdd)
    for who, torques in peers.items():
        name = f"{who} agrees"
        try:
            worst = relative_difference(torques(model, q, qd, qdd), expected)
        except Exception as error:  # another program may raise anything; the other proofs continue
            first = str(error).strip().split("\n")[0]
            yield Proof(name, None, f"{type(error).__name__}: {first}")
            continue
        tree = " of the tree without its loops" if robot.loops else ""
        yield _proof(name, worst, AGREEMENT, f"inverse dynamics{tree}, {len(q)} states: {worst:.1e} at worst")
