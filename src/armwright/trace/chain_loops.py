"""Chain loops: the steps of two O(n) formulations, traced once for any joint, and the tables of a robot.

Inverse dynamics uses the Cartesian-tensor formulation, forward dynamics the articulated-body one. A sweep records
little for later sweeps, which recompute the rest, because memory traffic dominates the time on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from armwright.algebra import ZERO, Matrix, Rotation, Scalar, Symmetric, Vector, Z, acceleration_tensor
from armwright.backends.interface import CHAIN_JOINTS, ChainLoop, ChainSweep, ChainTables
from armwright.formulations.articulated_body import (
    Articulated,
    EliminatedBody,
    Velocity,
    accelerate_step,
    articulate_step,
    motion_step,
)
from armwright.formulations.cartesian_tensor import (
    Augmented,
    CarriedWrench,
    LoadedLink,
    augmented,
    force_step,
    load_step,
)
from armwright.formulations.parts.link_motion import TensorMotion, base_motion
from armwright.formulations.parts.rotors_and_friction import single_joint_friction
from armwright.formulations.parts.spatial import ZERO_PAIR, Inertia, Pair, Screw
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import Program
from armwright.mechanism import Joint, Mechanism, MomentLink, Wrench
from armwright.model.description import Description
from armwright.trace.regroup import regrouped

PARAMETERS = 18
"""The numbers of a joint and its link: ca, sa, a, d, theta; mass, first moment, tensor; armature, viscous, coulomb."""

Values = tuple[Scalar, ...]


@dataclass(frozen=True)
class ChainProblem:
    """The sweeps of a problem, and the function from a robot to its tables."""

    tables: Callable[[Description, str], ChainTables]
    steps: Callable[[bool], ChainLoop]


def _tables(
    robot: Description, mechanism: Mechanism, bodies: list[Values], starts: list[Scalar], dtype: str
) -> ChainTables:
    rows = [
        (j.ca, j.sa, j.a, j.d, model.theta, *body, j.armature, j.viscous, j.coulomb)
        for j, model, body in zip(mechanism.joints, robot.joints, bodies, strict=True)
    ]
    kinds = np.array([joint.prismatic for joint in mechanism.joints], dtype=np.uint8)
    return ChainTables(np.array(rows, dtype=dtype), kinds, np.array(starts, dtype=dtype))


class _Step:
    """The arguments of one step as symbols, taken in order."""

    def __init__(self, kind: str) -> None:
        self._graph = Graph()
        self._arguments: list[tuple[str, tuple[Expr, ...]]] = []
        self._prismatic = kind == "prismatic"

    def take(self, name: str, count: int) -> tuple[Expr, ...]:
        symbols = tuple(self._graph.input(f"{name}{k}") for k in range(count))
        self._arguments.append((name, symbols))
        return symbols

    def joint(self) -> tuple[Joint, tuple[Expr, ...]]:
        """Return the joint, and mass, first moment and tensor of its link."""
        ca, sa, a, d, theta, *body, armature, viscous, coulomb = self.take("parameters", PARAMETERS)
        return Joint(self._prismatic, ca, sa, a, d, theta, 0, armature, viscous, coulomb), tuple(body)

    def load(self, loaded: bool) -> Wrench:
        if not loaded:
            return Wrench()
        entries = self.take("load", 6)
        return Wrench(Vector(*entries[:3]), Vector(*entries[3:]))

    def program(self, *outputs: Operand) -> Program:
        return Program(tuple(self._arguments), outputs, (len(outputs),))


def _vectors(entries: tuple[Expr, ...]) -> list[Vector]:
    return [Vector(*entries[i : i + 3]) for i in range(0, len(entries), 3)]


# Inverse dynamics: outward with the motion, inward with the force


def _inverse_tables(robot: Description, dtype: str) -> ChainTables:
    mechanism = regrouped(robot.mechanism(), euler=True)
    bodies = [(body.M, *body.u, *body.K) for body in augmented(mechanism, [0.0] * mechanism.n)]
    return _tables(robot, mechanism, bodies, [*_motion_entries(base_motion(mechanism)), *[0.0] * 6], dtype)


def _motion_entries(m: TensorMotion) -> list[Scalar]:
    return [*m.w, *m.wd, *(x for row in m.Omega for x in row), *m.sdd]


@cache
def _inverse_steps(loaded: bool) -> ChainLoop:
    reads = ("q", "qd", "x", *(("load",) if loaded else ()))
    return ChainLoop(
        sweeps=(
            ChainSweep(True, {kind: _load(kind, loaded) for kind in CHAIN_JOINTS}, carry=18, record=9, reads=reads),
            ChainSweep(False, {kind: _force(kind) for kind in CHAIN_JOINTS}, carry=6, record=1, reads=("q",)),
        ),
        inputs={name: 6 if name == "load" else 1 for name in reads},
        parameters=PARAMETERS,
    )


def _body(p: tuple[Expr, ...]) -> Augmented:
    return Augmented(p[0], Vector(*p[1:4]), Symmetric(*p[4:]))


def _load(kind: str, loaded: bool) -> Program:
    step = _Step(kind)
    w, wd, x, y, z, sdd = _vectors(step.take("carry", 18))
    joint, body = step.joint()
    (q,), (qd,), (qdd,) = (step.take(name, 1) for name in ("q", "qd", "x"))
    last = LoadedLink(TensorMotion(Rotation(1, 0, 1, 0), ZERO, w, wd, Matrix(x, y, z), sdd), ZERO, ZERO)
    link = load_step(last, joint, _body(body), q, qd, qdd, step.load(loaded))
    m = link.motion
    eta = link.eta + m.sdd * body[0] if joint.prismatic else link.eta
    actuator = joint.armature * qdd + single_joint_friction(joint, qd)
    return step.program(*_motion_entries(m), m.R.ct, m.R.st, *eta, *link.mu, actuator)


def _force(kind: str) -> Program:
    """Return the inward step; the recorded force already has the acceleration of a prismatic joint."""
    step = _Step(kind)
    eta, mu = _vectors(step.take("carry", 6))
    joint, body = step.joint()
    (q,) = step.take("q", 1)
    ct, st, *vectors, actuator = step.take("record", 9)
    link_eta, link_mu = _vectors(tuple(vectors))
    R = Rotation(joint.ca, joint.sa, ct, st)
    motion = TensorMotion(R, joint.offset(q), ZERO, ZERO, Matrix(ZERO, ZERO, ZERO), ZERO)
    inner, tau = force_step(CarriedWrench(eta, mu), joint, _body(body), LoadedLink(motion, link_eta, link_mu))
    return step.program(*inner.eta, *inner.mu, tau + actuator)


# Forward dynamics: outward with the velocity, inward with the articulated inertia, outward with the acceleration


def _forward_tables(robot: Description, dtype: str) -> ChainTables:
    mechanism = robot.mechanism()
    bodies = [(link.mass, *link.moment, *link.origin_inertia) for link in mechanism.links]
    starts = [*[0.0] * 3, *[0.0] * 27, *(-mechanism.gravity), *[0.0] * 3]
    return _tables(robot, mechanism, bodies, starts, dtype)


@cache
def _forward_steps(loaded: bool) -> ChainLoop:
    loads = ("load",) if loaded else ()
    return ChainLoop(
        sweeps=(
            ChainSweep(True, {kind: _velocity(kind) for kind in CHAIN_JOINTS}, carry=3, record=8, reads=("q", "qd")),
            ChainSweep(
                False,
                {kind: _articulated(kind, loaded) for kind in CHAIN_JOINTS},
                carry=27,
                record=7,
                reads=("q", "qd", "x", *loads),
            ),
            ChainSweep(
                True, {kind: _acceleration(kind) for kind in CHAIN_JOINTS}, carry=6, record=1, reads=("q", "qd")
            ),
        ),
        inputs={"q": 1, "qd": 1, "x": 1, **dict.fromkeys(loads, 6)},
        parameters=PARAMETERS,
    )


def _velocity(kind: str) -> Program:
    step = _Step(kind)
    w = Vector(*step.take("carry", 3))
    joint, _ = step.joint()
    (q,), (qd,) = step.take("q", 1), step.take("qd", 1)
    inner = Velocity(Screw(Rotation(1, 0, 1, 0), 0, 0), w, acceleration_tensor(w, ZERO), ZERO, ZERO_PAIR)
    m = motion_step(inner, joint, q, qd)
    return step.program(*m.w, m.X.R.ct, m.X.R.st, *m.w, *m.zeta)


def _recorded_velocity(joint: Joint, q: Scalar, qd: Scalar, record: tuple[Expr, ...]) -> Velocity:
    """Return the motion of a link from the record of `_velocity`; w may include the joint rate, as z x z = 0."""
    ct, st, *rest = record
    w, zeta = _vectors(tuple(rest))
    X = Screw(Rotation(joint.ca, joint.sa, ct, st), joint.a, joint.extension(q))
    across = w.cross(Z * qd)
    c = Pair(2 * across, ZERO) if joint.prismatic else Pair(ZERO, across)
    return Velocity(X, w, acceleration_tensor(w, ZERO), zeta, c)


def _articulated(kind: str, loaded: bool) -> Program:
    step = _Step(kind)
    A, B, C, pA = (carry := step.take("carry", 27))[:6], carry[6:15], carry[15:21], carry[21:]
    joint, body = step.joint()
    (q,), (qd,), (tau,), load = (*(step.take(name, 1) for name in ("q", "qd", "x")), step.load(loaded))
    motion = _recorded_velocity(joint, q, qd, step.take("record", 8))
    link = MomentLink(body[0], Vector(*body[1:4]), Symmetric(*body[4:]))
    outer = Articulated(Inertia(Symmetric(*A), Matrix(*_vectors(B)), Symmetric(*C)), Pair(*_vectors(pA)))
    inner, solved = articulate_step(outer, joint, link, motion, tau - single_joint_friction(joint, qd), load)
    assert inner.IA is not None
    IA, carried = inner.IA, [x for row in inner.IA.B for x in row]
    forces = [*inner.pA.linear, *inner.pA.angular]
    return step.program(*IA.A, *carried, *IA.C, *forces, *solved.psi.linear, *solved.psi.angular, solved.u)


def _acceleration(kind: str) -> Program:
    step = _Step(kind)
    v, w = _vectors(step.take("carry", 6))
    joint, _ = step.joint()
    (q,), (qd,) = step.take("q", 1), step.take("qd", 1)
    motion = _recorded_velocity(joint, q, qd, step.take("velocity", 8))
    *psi, u = step.take("solved", 7)
    solved = EliminatedBody(motion, Pair(*_vectors(tuple(psi))), u)
    a, qdd = accelerate_step((Pair(v, w), 0), joint, solved)
    return step.program(*a.linear, *a.angular, qdd)


CHAIN_PROBLEMS = {
    "inverse_dynamics": ChainProblem(_inverse_tables, _inverse_steps),
    "forward_dynamics": ChainProblem(_forward_tables, _forward_steps),
}
"""The problems with chain loops."""
