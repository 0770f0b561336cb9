"""What canonical frames save: inverse dynamics counted in the frames a file has, and in ours.

The same Newton-Euler recursion is traced twice, with everything known of the robot folded in: once with every joint
placed and turned as the URDF file says, once on the canonical chain. Canonical frames are chosen for what is compiled
by default, on base parameters, where the offset of a centre of mass along a parallel axis is free and a distance
between frames is not; the plain recursion may count a little more in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from armwright.algebra import ZERO, Matrix, Scalar, Vector, cos, sin
from armwright.formulations import find
from armwright.graph import OperationCount, count
from armwright.graph.expression import Expr, Graph
from armwright.model.canonical import Placed
from armwright.model.description import Description, symmetric
from armwright.trace import cheapest, traced


@dataclass(frozen=True)
class Savings:
    """Newton-Euler in the file's frames, in canonical ones, and what is compiled by default."""

    file: OperationCount
    canonical: OperationCount
    compiled: OperationCount


def savings(placed: Sequence[Placed], robot: Description) -> Savings:
    """`placed` are the joints as the file has them, `robot` the same in canonical frames."""
    bare = tuple(replace(j, viscous=0.0, coulomb=0.0, rotor_inertia=0.0) for j in robot.joints)
    links_alone = replace(robot, joints=bare)
    own = find("inverse_dynamics", "newton_euler")
    return Savings(
        _in_own_frames(placed, robot.gravity),
        count(traced(own, links_alone).program.outputs),
        count(cheapest("inverse_dynamics", links_alone).program.outputs),
    )


def _in_own_frames(placed: Sequence[Placed], gravity: tuple[float, float, float]) -> OperationCount:
    graph, n = Graph(), len(placed)
    q, qd, qdd = ([graph.input(f"{name}{i}") for i in range(n)] for name in ("q", "qd", "qdd"))
    return count(_newton_euler(placed, -Vector(*gravity), q, qd, qdd))


def _newton_euler(
    placed: Sequence[Placed], start: Vector, q: list[Expr], qd: list[Expr], qdd: list[Expr]
) -> list[Scalar]:
    """Luh, Walker and Paul's recursion with joints placed anywhere."""
    w, wd, vd = ZERO, ZERO, start
    frames: list[tuple[Matrix, Vector, Vector, Vector, Vector]] = []
    for joint, x, v, a in zip(placed, q, qd, qdd, strict=True):
        u = Vector(*map(_tidy, joint.axis.tolist()))
        R = _matrix(joint.placement)
        s = Vector(*map(_tidy, joint.placement[:3, 3].tolist()))
        if joint.prismatic:
            s = s + (R @ u) * x
        else:
            R = R.dot(_turn(u, x))
        vd = R.T @ (vd + wd.cross(s) + w.cross(w.cross(s)))
        w, wd = R.T @ w, R.T @ wd
        if joint.prismatic:
            vd = vd + 2 * w.cross(u * v) + u * a
        else:
            wd = wd + w.cross(u * v) + u * a
            w = w + u * v
        m, r, inertia = joint.body.mass, Vector(*joint.body.com), symmetric(joint.body.inertia)
        F = (vd + wd.cross(r) + w.cross(w.cross(r))) * m
        N = inertia @ wd + w.cross(inertia @ w) + r.cross(F)
        frames.append((R, s, F, N, u))
    f, moment = ZERO, ZERO
    torques: list[Scalar] = []
    for joint, (R, s, F, N, u) in zip(reversed(placed), reversed(frames), strict=True):
        f, moment = f + F, moment + N
        torques.append(u.dot(f) if joint.prismatic else u.dot(moment))
        f = R @ f
        moment = R @ moment + s.cross(f)
    return torques[::-1]


def _tidy(x: float) -> float:
    """Zeros and ones as the file meant them."""
    return round(x) if abs(x - round(x)) < 1e-9 else x


def _matrix(T: object) -> Matrix:
    rows = [Vector(*map(_tidy, row[:3])) for row in T[:3].tolist()]  # type: ignore[index]
    return Matrix(*rows)


def _turn(u: Vector, x: Scalar) -> Matrix:
    """Rodrigues' formula: for an axis of the frame most of it is zero or one."""
    c, s = cos(x), sin(x)
    v = 1 - c
    one = [u.x, u.y, u.z]
    if sorted(map(abs, one)) == [0, 0, 1]:
        v = 0  # the products of the axis with itself give 1 - c + c
    entry = [[one[i] * one[j] * v for j in range(3)] for i in range(3)]
    cross = [[0, -u.z, u.y], [u.z, 0, -u.x], [-u.y, u.x, 0]]
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            diagonal = (1 if not isinstance(v, Expr) and abs(one[i]) == 1 else c) if i == j else 0
            row.append(entry[i][j] + diagonal + cross[i][j] * s)
        rows.append(Vector(*row))
    return Matrix(*rows)
