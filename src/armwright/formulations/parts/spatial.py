"""Twists, wrenches and 6x6 inertias, carried across a joint as two screws: one along z, one along x.

The frame change Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d) is a screw about x after a screw about z. Moving a
quantity along one axis at a time touches few entries, which makes this cheaper than one general 6x6 transform. Branches
and nearly parallel axes add shifts along y and z and a rotation about z, a ball joint adds a general transform; none of
these is computed if it is known to be the identity.

    v, w     velocity (or acceleration) of the link origin, angular velocity (or acceleration)
    f, n     force, and moment about the link origin
    Inertia  (f, n) = [[A, B], [B^T, C]] (v, w)
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Matrix, Rotation, Scalar, Symmetric, Vector, Z, rotate, rotate_z, structural
from armwright.mechanism import AnyLink, Joint, Pose


class Pair(NamedTuple):
    """(v, w) of a twist or (f, n) of a wrench."""

    linear: Vector
    angular: Vector

    def plus(self, other: "Pair") -> "Pair":
        return Pair(self.linear + other.linear, self.angular + other.angular)

    def times(self, k: Scalar) -> "Pair":
        return Pair(self.linear * k, self.angular * k)

    def dot(self, other: "Pair") -> Scalar:
        """Return the power of a wrench and a twist."""
        return self.linear.dot(other.linear) + self.angular.dot(other.angular)

    def along(self, joint: Joint) -> Scalar:
        """The component on the joint axis, p^T x."""
        return self.linear.z if joint.prismatic else self.angular.z


ZERO_PAIR = Pair(ZERO, ZERO)


def axis(joint: Joint, rate: Scalar = 1) -> Pair:
    """The twist p qd of a joint."""
    return Pair(Z * rate, ZERO) if joint.prismatic else Pair(ZERO, Z * rate)


class Inertia(NamedTuple):
    """A symmetric 6x6 matrix: A and C symmetric, B general."""

    A: Symmetric
    B: Matrix
    C: Symmetric

    def plus(self, other: "Inertia") -> "Inertia":
        return Inertia(self.A + other.A, self.B + other.B, self.C + other.C)

    def rotate_z(self, c: Scalar, s: Scalar) -> "Inertia":
        """Return it in axes from which its own are rotated about z."""
        return Inertia(self.A.rotate_z(c, s), _rotate_matrix_z(self.B, c, s), self.C.rotate_z(c, s))

    def rotate_x(self, c: Scalar, s: Scalar) -> "Inertia":
        return Inertia(self.A.rotate_x(c, s), _rotate_matrix_x(self.B, c, s), self.C.rotate_x(c, s))

    def rotated(self, R: Matrix) -> "Inertia":
        """Return it in axes from which its own are rotated by R."""
        return Inertia(rotate(R, self.A), R.dot(self.B).dot(R.T), rotate(R, self.C))

    def moved(self, s: Vector) -> "Inertia":
        """Return it about a point from which the origin is s away: B - A s~, C + s~ B + (s~ B)^T - s~ A s~."""
        (x, y, z), A, B = s, self.A.matrix, self.B
        shifted = Matrix(*(v - row.cross(s) for v, row in zip(B, A, strict=True)))
        both = B + shifted
        more = Symmetric(
            y * both.z.x - z * both.y.x,
            z * both.x.y - x * both.z.y,
            x * both.y.z - y * both.x.z,
            y * shifted.z.y - z * shifted.y.y + z * B.x.x - x * B.z.x,
            y * shifted.z.z - z * shifted.y.z + x * B.y.x - y * B.x.x,
            z * shifted.x.z - x * shifted.z.z + x * B.y.y - y * B.x.y,
        )
        return Inertia(self.A, shifted, self.C + more)

    def times(self, x: Pair) -> Pair:
        return Pair(self.A @ x.linear + self.B @ x.angular, self.B.T @ x.linear + self.C @ x.angular)

    def column(self, joint: Joint) -> Pair:
        """The column of the joint axis, M p."""
        if joint.prismatic:
            return Pair(self.A.third_column, self.B.z)
        return Pair(self.B.T.z, self.C.third_column)


def rigid(link: AnyLink) -> Inertia:
    """Return the 6x6 inertia of a link about its origin."""
    m, h = link.mass, link.moment
    return Inertia(
        Symmetric(m, m, m, 0, 0, 0),
        Matrix(Vector(0, h.z, -h.y), Vector(-h.z, 0, h.x), Vector(h.y, -h.x, 0)),
        link.origin_inertia,
    )


class Pivot(NamedTuple):
    """A joint eliminated from an inertia M: psi = M p / m, 1/m with m = p^T M p + armature, and the rest of M."""

    psi: Pair
    inverse: Scalar
    rest: Inertia


def eliminate(M: Inertia, joint: Joint) -> Pivot:
    """M - (M p)(M p)^T / m. Its row and column along p are M p armature/m: exactly zero without a rotor."""
    column = M.column(joint)
    inverse = 1 / (column.along(joint) + joint.armature)
    psi = column.times(inverse)
    left = column.times(joint.armature * inverse)
    (u, v), (pu, pv) = column, psi
    if joint.prismatic:
        A = _minus_product(M.A, u, pu, left.linear)
        B = Matrix(M.B.x - pv * u.x, M.B.y - pv * u.y, left.angular)
        C = _minus_product(M.C, v, pv)
    else:
        x, y, _ = M.B.T
        A = _minus_product(M.A, u, pu)
        B = Matrix(x - pu * v.x, y - pu * v.y, left.linear).T
        C = _minus_product(M.C, v, pv, left.angular)
    return Pivot(psi, inverse, Inertia(A, B, C))


def _minus_product(S: Symmetric, u: Vector, v: Vector, last: Vector | None = None) -> Symmetric:
    """S - u v^T for parallel u and v, its third row replaced by `last` where that is known."""
    xx, yy, xy = S.xx - u.x * v.x, S.yy - u.y * v.y, S.xy - u.x * v.y
    if last is not None:
        return Symmetric(xx, yy, last.z, xy, last.x, last.y)
    return Symmetric(xx, yy, S.zz - u.z * v.z, xy, S.xz - u.x * v.z, S.yz - u.y * v.z)


class Screw(NamedTuple):
    """The displacement of one joint at one position."""

    R: Rotation
    a: Scalar
    d: Scalar
    y: Scalar = 0
    z: Scalar = 0
    placement: Pose | None = None

    def twist_to_child(self, t: Pair) -> Pair:
        R, a, d, y, z, placement = self
        v, w = t
        if placement is not None:
            v, w = placement.rotation.T @ (v + w.cross(placement.position)), placement.rotation.T @ w
        v, w = rotate_z(v, R.cg, -R.sg), rotate_z(w, R.cg, -R.sg)
        if not (structural(y, 0) and structural(z, 0)):
            v = v + w.cross(Vector(0, y, z))
        v = Vector(v.x, v.y + a * w.z, v.z - a * w.y)
        v, w = _rotated_x(v, R.ca, -R.sa), _rotated_x(w, R.ca, -R.sa)
        v = Vector(v.x + d * w.y, v.y - d * w.x, v.z)
        return Pair(rotate_z(v, R.ct, -R.st), rotate_z(w, R.ct, -R.st))

    def wrench_to_parent(self, x: Pair) -> Pair:
        R, a, d, y, z, placement = self
        f, n = x
        n = Vector(n.x - d * f.y, n.y + d * f.x, n.z)
        f, n = rotate_z(f, R.ct, R.st), rotate_z(n, R.ct, R.st)
        n = Vector(n.x, n.y - a * f.z, n.z + a * f.y)
        f, n = _rotated_x(f, R.ca, R.sa), _rotated_x(n, R.ca, R.sa)
        if not (structural(y, 0) and structural(z, 0)):
            n = n + Vector(0, y, z).cross(f)
        f, n = rotate_z(f, R.cg, R.sg), rotate_z(n, R.cg, R.sg)
        if placement is not None:
            f, n = placement.rotation @ f, placement.rotation @ n
            n = n + placement.position.cross(f)
        return Pair(f, n)

    def inertia_to_parent(self, M: Inertia) -> Inertia:
        R, a, d, y, z, placement = self
        M = _shifted_x(_shifted_z(M, d).rotate_z(R.ct, R.st), a).rotate_x(R.ca, R.sa)
        if not (structural(y, 0) and structural(z, 0)):
            M = M.moved(Vector(0, y, z))
        if not (structural(R.sg, 0) and structural(R.cg, 1)):
            M = M.rotate_z(R.cg, R.sg)
        return M if placement is None else M.rotated(placement.rotation).moved(placement.position)


def screw(joint: Joint, q: Scalar) -> Screw:
    """Return the displacement of a joint at q."""
    return Screw(joint.rotation(q), joint.a, joint.extension(q), joint.y, joint.z, joint.placement)


def _rotated_x(v: Vector, c: Scalar, s: Scalar) -> Vector:
    return Vector(v.x, c * v.y - s * v.z, s * v.y + c * v.z)


def _rotate_matrix_z(B: Matrix, c: Scalar, s: Scalar) -> Matrix:
    """Rot(z) B Rot(z)^T, as a change of B: entries of very different size keep their digits."""
    x, y, z = B
    g, h = x.x - y.y, x.y + y.x
    sp, sm = s * (s * g + c * h), s * (c * g - s * h)
    return Matrix(
        Vector(x.x - sp, x.y + sm, c * x.z - s * y.z),
        Vector(y.x + sm, y.y + sp, s * x.z + c * y.z),
        Vector(c * z.x - s * z.y, s * z.x + c * z.y, z.z),
    )


def _rotate_matrix_x(B: Matrix, c: Scalar, s: Scalar) -> Matrix:
    x, y, z = B
    g, h = y.y - z.z, y.z + z.y
    sp, sm = s * (s * g + c * h), s * (c * g - s * h)
    return Matrix(
        Vector(x.x, c * x.y - s * x.z, s * x.y + c * x.z),
        Vector(c * y.x - s * z.x, y.y - sp, y.z + sm),
        Vector(s * y.x + c * z.x, z.y + sm, z.z + sp),
    )


def _shifted_z(M: Inertia, d: Scalar) -> Inertia:
    """About a point d further down the z axis: B - A s~, C + s~ B + (s~ B)^T - s~ A s~ with s = (0, 0, d)."""
    A, (x, y, z), C = M.A, M.B, M.C
    dxy = d * A.xy
    bx = Vector(x.x - dxy, x.y + d * A.xx, x.z)
    by = Vector(y.x - d * A.yy, y.y + dxy, y.z)
    bz = Vector(z.x - d * A.yz, z.y + d * A.xz, z.z)
    return Inertia(
        A,
        Matrix(bx, by, bz),
        Symmetric(
            C.xx - d * (by.x + y.x),
            C.yy + d * (bx.y + x.y),
            C.zz,
            C.xy + d * (x.x - by.y),
            C.xz - d * y.z,
            C.yz + d * x.z,
        ),
    )


def _shifted_x(M: Inertia, a: Scalar) -> Inertia:
    """The same with s = (a, 0, 0)."""
    A, (x, y, z), C = M.A, M.B, M.C
    ayz = a * A.yz
    bx = Vector(x.x, x.y - a * A.xz, x.z + a * A.xy)
    by = Vector(y.x, y.y - ayz, y.z + a * A.yy)
    bz = Vector(z.x, z.y - a * A.zz, z.z + ayz)
    return Inertia(
        A,
        Matrix(bx, by, bz),
        Symmetric(
            C.xx,
            C.yy - a * (bz.y + z.y),
            C.zz + a * (by.z + y.z),
            C.xy - a * z.x,
            C.xz + a * y.x,
            C.yz + a * (y.y - bz.z),
        ),
    )
