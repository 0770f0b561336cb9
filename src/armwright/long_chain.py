"""Inverse dynamics of long chains: the steps of the Cartesian-tensor formulation, traced once for any joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import ZERO, Matrix, Rotation, Scalar, Symmetric, Vector
from armwright.backends.rolled import KINDS, Rolled
from armwright.chain import Joint, Wrench
from armwright.formulations.actuators import rubbing
from armwright.formulations.cartesian_tensor import Augmented, Carried, Loaded, augmented, force_step, load_step
from armwright.formulations.motion import Motion, base_motion
from armwright.graph.expression import Expr, Graph
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.regroup import regrouped

STATE, SAVED, CARRY, PARAMETERS = 18, 15, 6, 18


@dataclass(frozen=True)
class Tables:
    """One row of parameters per joint, its kind (0 revolute, 1 prismatic), and the state of the base."""

    parameters: NDArray[Any]
    kinds: NDArray[np.uint8]
    base: NDArray[Any]


def tables(robot: Description, dtype: str) -> Tables:
    chain = regrouped(robot.chain(), euler=True)
    bodies = augmented(chain, [0.0] * chain.n)
    rows = [
        (j.ca, j.sa, j.a, j.d, model.theta, body.M, *body.u, *body.K, j.armature, j.viscous, j.coulomb)
        for j, model, body in zip(chain.joints, robot.joints, bodies, strict=True)
    ]
    kinds = np.array([joint.prismatic for joint in chain.joints], dtype=np.uint8)
    base = np.array(_state(base_motion(chain)), dtype=dtype)
    return Tables(np.array(rows, dtype=dtype), kinds, base)


def _state(m: Motion) -> list[Scalar]:
    return [*m.w, *m.wd, *(x for row in m.Omega for x in row), *m.sdd]


@cache
def steps() -> Rolled:
    """The outward and inward steps for both kinds of joints."""
    return Rolled(
        outward={kind: _outward(kind) for kind in KINDS},
        inward={kind: _inward(kind) for kind in KINDS},
        state=STATE,
        saved=SAVED,
        carry=CARRY,
        parameters=PARAMETERS,
    )


def _symbols(graph: Graph, name: str, count: int) -> tuple[Expr, ...]:
    return tuple(graph.input(f"{name}{k}") for k in range(count))


def _joint(kind: str, p: tuple[Expr, ...]) -> tuple[Joint, Augmented]:
    ca, sa, a, d, theta, M, ux, uy, uz, *rest = p
    joint = Joint(kind == "prismatic", ca, sa, a, d, theta, 0, *rest[6:])
    return joint, Augmented(M, Vector(ux, uy, uz), Symmetric(*rest[:6]))


def _outward(kind: str) -> Program:
    graph = Graph()
    state, parameters = _symbols(graph, "state", STATE), _symbols(graph, "parameter", PARAMETERS)
    q, qd, qdd = (_symbols(graph, name, 1) for name in ("q", "qd", "qdd"))
    w, wd, x, y, z, sdd = (Vector(*state[i : i + 3]) for i in range(0, STATE, 3))
    last = Loaded(Motion(Rotation(1, 0, 1, 0), ZERO, w, wd, Matrix(x, y, z), sdd), ZERO, ZERO)
    joint, body = _joint(kind, parameters)
    link = load_step(last, joint, body, q[0], qd[0], qdd[0], Wrench())
    m = link.motion
    saved = [m.R.ct, m.R.st, *m.s, *m.sdd, *link.eta, *link.mu, joint.armature * qdd[0] + rubbing(joint, qd[0])]
    arguments = (("state", state), ("parameters", parameters), ("q", q), ("qd", qd), ("qdd", qdd))
    return Program(arguments, (*_state(m), *saved), (STATE + SAVED,))


def _inward(kind: str) -> Program:
    graph = Graph()
    carry, parameters = _symbols(graph, "carry", CARRY), _symbols(graph, "parameter", PARAMETERS)
    saved = _symbols(graph, "saved", SAVED)
    joint, body = _joint(kind, parameters)
    R = Rotation(joint.ca, joint.sa, saved[0], saved[1])
    s, sdd, eta, mu = (Vector(*saved[i : i + 3]) for i in (2, 5, 8, 11))
    link = Loaded(Motion(R, s, ZERO, ZERO, Matrix(ZERO, ZERO, ZERO), sdd), eta, mu)
    handed, tau = force_step(Carried(Vector(*carry[:3]), Vector(*carry[3:])), joint, body, link)
    arguments = (("carry", carry), ("parameters", parameters), ("saved", saved))
    return Program(arguments, (*handed.eta, *handed.mu, tau + saved[14]), (CARRY + 1,))
