"""Composite rigid bodies about their centres of mass: Walker and Orin (1982), the third of their four methods.

M. W. Walker, D. E. Orin, 'Efficient dynamic computer simulation of robotic mechanisms', J. Dyn. Syst. Meas.
Control 104 (1982), method 3, which Mata et al. (2002) compare with as CRBA. Everything outside joint i
is one rigid body, given by its mass, its centre of mass and its inertia about that centre. A unit acceleration of joint
i alone requires a force F and a moment N at the centre; passed inward to joint j they are the entry of i and j.

    M, c, E  mass, centre of mass and inertia about it of all links from i on, in the frame of link i
    F, N     the force that accelerates the centre of mass, and the moment that turns the body about it
    f, n     force and moment about the origin of a link, passed from link to link

The paper was not available; the method follows its descriptions in papers that cite it, in the frames of this project,
with z_i on the axis of joint i. Added: without mass there is no centre of mass, and shares of the mass are zero.
`composite_body` computes the same matrix with the inertia about the origin of each link in place of E, and needs two
thirds of the operations.
"""

from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from armwright.algebra import ZERO, Rotation, Scalar, Symmetric, Vector, Z, point_inertia, vanishes
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.spatial import Pair
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Joint, Link, Mechanism


class Composite(NamedTuple):
    M: Scalar
    c: Vector
    E: Symmetric


def mass_matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """Return the mass matrix as rows."""
    n, joints = mechanism.n, mechanism.joints
    R = [joint.rotation(qi) for joint, qi in zip(joints, q, strict=True)]
    s = [joint.offset(qi) for joint, qi in zip(joints, q, strict=True)]
    composites = inward(mechanism.parents, _composite, list[Composite](), mechanism.bodies, R, s)
    H: SquareMatrix = [[0] * n for _ in range(n)]
    for i in range(n):
        wrench = _unit_wrench(joints[i], composites[i])
        H[i][i] = wrench.along(joints[i])
        for k, j in pairwise(mechanism.inward_from(i)):
            f = R[k] @ wrench.linear
            wrench = Pair(f, R[k] @ wrench.angular + s[k].cross(f))
            H[i][j] = H[j][i] = wrench.along(joints[j])
    return H


def _composite(outer: list[Composite], link: Link, R: Rotation, s: Vector) -> tuple[list[Composite], Composite]:
    """Return a link and everything outwards as one body: in the parent's frame, and in its own."""
    body = reduce(_joined, outer, Composite(link.mass, link.com, link.inertia))
    return [Composite(body.M, s + R @ body.c, R.rotate(body.E))], body


def _joined(one: Composite, other: Composite) -> Composite:
    M = one.M + other.M
    c = _share(one.M, M) * one.c + _share(other.M, M) * other.c
    return Composite(M, c, other.E + _moved(other.M, other.c - c) + one.E + _moved(one.M, one.c - c))


def _share(part: Scalar, whole: Scalar) -> Scalar:
    """Return part / whole; masses are known off line, so that a whole of zero is a number, never a symbol."""
    return 0 if vanishes(whole) else part / whole


def _moved(mass: Scalar, r: Vector) -> Symmetric:
    """Return the growth of an inertia from the centre of mass to a point at distance r (parallel-axis rule)."""
    inertia: Symmetric = point_inertia(r) * mass
    return inertia


def _unit_wrench(joint: Joint, body: Composite) -> Pair:
    """Return the wrench of a unit acceleration of the composite body about joint i, everything else at rest."""
    F = Z * body.M if joint.prismatic else Z.cross(body.c * body.M)
    N = ZERO if joint.prismatic else body.E.third_column
    return Pair(F, N + body.c.cross(F))
