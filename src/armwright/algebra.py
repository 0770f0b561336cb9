"""3-vectors, 3x3 matrices and the DH rotation over any scalar.

A scalar is anything with + - * / and unary minus: a Python float, a numpy.float32, a NumPy array (a batch of
states), an mpmath number, a traced expression. Nothing here looks at a scalar's value, so all of it can be traced.
Structural zeros and ones are the Python integers 0 and 1: a traced expression folds them away, and every numeric
scalar keeps its own precision when it meets them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scalar: TypeAlias = Any
"""float | numpy.floating | numpy.ndarray | mpmath.mpf | graph.Expr: known only by its arithmetic."""

Array: TypeAlias = NDArray[Any]
"""An array of numbers of any kind and shape."""


def elementary(name: str) -> Callable[[Scalar], Scalar]:
    """The function `name` for any scalar: math's, NumPy's, its own context (mpmath) or its own method.

    NumPy's hands an array of a package like it, such as CuPy, over to that.
    """
    of_array: Callable[[Scalar], Scalar] = getattr(np, name)
    of_float: Callable[[Scalar], Scalar] = getattr(math, name, of_array)

    def apply(x: Scalar) -> Scalar:
        if isinstance(x, (int, float)) and not isinstance(x, np.floating):
            return of_float(x)
        if _of_objects(x):
            return np.frompyfunc(apply, 1, 1)(x)
        if isinstance(x, (np.ndarray, np.generic)):
            return of_array(x)
        if hasattr(x, "context"):
            return getattr(x.context, name)(x)
        return getattr(x, name)() if hasattr(x, name) else of_array(x)

    apply.__name__ = name
    apply.__doc__ = f"{name}(x) for any scalar."
    return apply


def _of_objects(*operands: Scalar) -> bool:
    """Return whether any operand is an array of traced scalars, or an array beside a traced scalar."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    return bool(arrays) and (any(x.dtype == object for x in arrays) or any(hasattr(x, "select") for x in operands))


sin = elementary("sin")
cos = elementary("cos")
sign = elementary("sign")
tanh = elementary("tanh")
sqrt = elementary("sqrt")


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two scalars."""
    return _own("minimum", np.minimum, x, y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two scalars."""
    return _own("maximum", np.maximum, x, y)


def _own(name: str, otherwise: Callable[[Scalar, Scalar], Scalar], x: Scalar, y: Scalar) -> Scalar:
    """Apply the method of that name of either traced scalar, or a function to plain numbers."""
    if _of_objects(x, y):
        return np.frompyfunc(lambda a, b: _own(name, otherwise, a, b), 2, 1)(x, y)
    if hasattr(x, name):
        return getattr(x, name)(y)
    return getattr(y, name)(x) if hasattr(y, name) else otherwise(x, y)


def select(x: Scalar, positive: Scalar, otherwise: Scalar) -> Scalar:
    """`positive` where x is above zero, `otherwise` where it is not."""
    if _of_objects(x, positive, otherwise):
        return np.frompyfunc(select, 3, 1)(x, positive, otherwise)
    return (
        x.select(positive, otherwise) if hasattr(x, "select") else np.asarray(np.where(x > 0, positive, otherwise))[()]
    )


def total(terms: Iterable[Scalar]) -> Scalar:
    """Their sum, from a structural zero on."""
    result: Scalar = 0
    for term in terms:
        result = result + term
    return result


def dot(u: Iterable[Scalar], v: Iterable[Scalar]) -> Scalar:
    """The product of a row and a column of any length."""
    return total(a * b for a, b in zip(u, v, strict=True))


class Vector(NamedTuple):
    """(x, y, z)."""

    x: Scalar
    y: Scalar
    z: Scalar

    def __add__(self, v: Vector) -> Vector:  # type: ignore[override]
        return Vector(self.x + v.x, self.y + v.y, self.z + v.z)

    def __sub__(self, v: Vector) -> Vector:
        return Vector(self.x - v.x, self.y - v.y, self.z - v.z)

    def __neg__(self) -> Vector:
        return Vector(-self.x, -self.y, -self.z)

    def __mul__(self, k: Scalar) -> Vector:
        return Vector(self.x * k, self.y * k, self.z * k)

    def __rmul__(self, k: Scalar) -> Vector:
        return self.__mul__(k)

    def dot(self, v: Vector) -> Scalar:
        return self.x * v.x + self.y * v.y + self.z * v.z

    def cross(self, v: Vector) -> Vector:
        return Vector(
            self.y * v.z - self.z * v.y,
            self.z * v.x - self.x * v.z,
            self.x * v.y - self.y * v.x,
        )


ZERO = Vector(0, 0, 0)
Z = Vector(0, 0, 1)


class Symmetric(NamedTuple):
    """A symmetric 3x3 matrix, by its six entries."""

    xx: Scalar
    yy: Scalar
    zz: Scalar
    xy: Scalar
    xz: Scalar
    yz: Scalar

    def __add__(self, s: Symmetric) -> Symmetric:  # type: ignore[override]
        return Symmetric(*(a + b for a, b in zip(self, s, strict=True)))

    def __mul__(self, k: Scalar) -> Symmetric:
        return Symmetric(*(a * k for a in self))

    def __rmul__(self, k: Scalar) -> Symmetric:
        return self.__mul__(k)

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    @property
    def matrix(self) -> Matrix:
        return Matrix(
            Vector(self.xx, self.xy, self.xz), Vector(self.xy, self.yy, self.yz), Vector(self.xz, self.yz, self.zz)
        )

    @property
    def third_column(self) -> Vector:
        return Vector(self.xz, self.yz, self.zz)

    @property
    def euler(self) -> Symmetric:
        """Euler's tensor of an inertia tensor, 1/2 tr(I) 1 - I (Mata eq. 11)."""
        half = (self.xx + self.yy + self.zz) * 0.5
        return Symmetric(half - self.xx, half - self.yy, half - self.zz, -self.xy, -self.xz, -self.yz)

    @property
    def inertia(self) -> Symmetric:
        """The inertia tensor of Euler's tensor, tr(K) 1 - K."""
        return Symmetric(self.yy + self.zz, self.xx + self.zz, self.xx + self.yy, -self.xy, -self.xz, -self.yz)

    def turned_z(self, c: Scalar, s: Scalar) -> Symmetric:
        """Rot(z) S Rot(z)^T in 8 multiplications and 8 additions."""
        p = s * (self.xx - self.yy) + (c + c) * self.xy
        sp = s * p
        return Symmetric(
            self.xx - sp, self.yy + sp, self.zz, c * p - self.xy, c * self.xz - s * self.yz, s * self.xz + c * self.yz
        )

    def turned_x(self, c: Scalar, s: Scalar) -> Symmetric:
        """Rot(x) S Rot(x)^T in 8 multiplications and 8 additions."""
        p = s * (self.yy - self.zz) + (c + c) * self.yz
        sp = s * p
        return Symmetric(
            self.xx, self.yy - sp, self.zz + sp, c * self.xy - s * self.xz, s * self.xy + c * self.xz, c * p - self.yz
        )


class Matrix(NamedTuple):
    """A general 3x3 matrix, by rows."""

    x: Vector
    y: Vector
    z: Vector

    def __add__(self, m: Matrix) -> Matrix:  # type: ignore[override]
        return Matrix(*(a + b for a, b in zip(self, m, strict=True)))

    def __sub__(self, m: Matrix) -> Matrix:
        return Matrix(*(a - b for a, b in zip(self, m, strict=True)))

    def __mul__(self, k: Scalar) -> Matrix:
        return Matrix(*(row * k for row in self))

    def __rmul__(self, k: Scalar) -> Matrix:
        return self.__mul__(k)

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(*(row.dot(v) for row in self))

    def dot(self, m: Matrix) -> Matrix:
        """The matrix product self m."""
        columns = m.T
        return Matrix(*(Vector(*(row.dot(column) for column in columns)) for row in self))

    @property
    def T(self) -> Matrix:
        x, y, z = self
        return Matrix(Vector(x.x, y.x, z.x), Vector(x.y, y.y, z.y), Vector(x.z, y.z, z.z))


for _kind in (Vector, Symmetric, Matrix):
    _kind.__array_ufunc__ = None  # type: ignore[union-attr]  # a NumPy scalar on the left leaves k * v to __rmul__

IDENTITY = Matrix(Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1))


def outer(u: Vector, v: Vector) -> Matrix:
    """Return u v^T."""
    return Matrix(v * u.x, v * u.y, v * u.z)


def point_inertia(r: Vector) -> Symmetric:
    """-r~ r~: the inertia of a unit mass at r about the origin."""
    xx, yy, zz = r.x * r.x, r.y * r.y, r.z * r.z
    return Symmetric(yy + zz, xx + zz, xx + yy, -(r.x * r.y), -(r.x * r.z), -(r.y * r.z))


def sweep(s: Vector, p: Vector) -> Symmetric:
    """-s~ p~ - (s~ p~)^T, the part of the parallel-axis rule that is linear in the first moment p."""
    x, y, z = 2 * s.x * p.x, 2 * s.y * p.y, 2 * s.z * p.z
    return Symmetric(y + z, x + z, x + y, -(s.x * p.y + s.y * p.x), -(s.x * p.z + s.z * p.x), -(s.y * p.z + s.z * p.y))


def point_euler(r: Vector) -> Symmetric:
    """r r^T: Euler's tensor of a unit mass at r."""
    return Symmetric(r.x * r.x, r.y * r.y, r.z * r.z, r.x * r.y, r.x * r.z, r.y * r.z)


def acceleration_tensor(w: Vector, wd: Vector) -> Matrix:
    """wd~ + w~ w~ in 6 multiplications and 9 additions: it takes a body-fixed r to the acceleration of its tip."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Matrix(
        Vector(-(yy + zz), xy - wd.z, xz + wd.y),
        Vector(xy + wd.z, -(xx + zz), yz - wd.x),
        Vector(xz - wd.y, yz + wd.x, -(xx + yy)),
    )


def euler_moment(tensor: Matrix, euler: Symmetric) -> Vector:
    """The vector of T - T^T, T = tensor @ euler (Mata eq. 10): equal to I wd + w x I w, in 15 multiplications.

    Each product of inertia meets a difference of two diagonal entries of the tensor, which saves three products.
    """
    (x, y, z), j = tensor, euler
    return Vector(
        (z.z - y.y) * j.yz + z.x * j.xy - y.x * j.xz + z.y * j.yy - y.z * j.zz,
        (x.x - z.z) * j.xz + x.y * j.yz - z.y * j.xy + x.z * j.zz - z.x * j.xx,
        (y.y - x.x) * j.xy + y.z * j.xz - x.z * j.yz + y.x * j.xx - x.y * j.yy,
    )


def structural(x: Scalar, value: int) -> bool:
    """Return whether a scalar is this integer, known before anything runs."""
    return isinstance(x, int) and x == value


def vanishes(x: Scalar) -> bool:
    """Return whether a scalar is a number and zero; a traced expression is not known yet."""
    return not hasattr(x, "select") and bool(x == 0)


def turned_z(v: Vector, c: Scalar, s: Scalar) -> Vector:
    """Rot(z) v; v itself where nothing turns."""
    return v if structural(s, 0) and structural(c, 1) else Vector(c * v.x - s * v.y, s * v.x + c * v.y, v.z)


class Rotation:
    """The rotation of a joint, R = S Rot(z, gamma) Rot(x, alpha) Rot(z, theta), as plane rotations.

    R @ v takes a vector from the frame of a link to that of its parent, R.T @ v takes it back. With gamma = 0 and no S,
    as everywhere but at branches and beyond ball joints, it is that of a DH row: 8 multiplications, 4 additions.
    """

    __slots__ = ("ca", "cg", "ct", "placement", "sa", "sg", "st")

    def __init__(
        self,
        ca: Scalar,
        sa: Scalar,
        ct: Scalar,
        st: Scalar,
        cg: Scalar = 1,
        sg: Scalar = 0,
        placement: Matrix | None = None,
    ) -> None:
        self.ca, self.sa, self.ct, self.st, self.cg, self.sg, self.placement = ca, sa, ct, st, cg, sg, placement

    def __matmul__(self, v: Vector) -> Vector:
        u = self.st * v.x + self.ct * v.y
        v = Vector(self.ct * v.x - self.st * v.y, self.ca * u - self.sa * v.z, self.sa * u + self.ca * v.z)
        v = turned_z(v, self.cg, self.sg)
        return v if self.placement is None else self.placement @ v

    @property
    def T(self) -> InverseRotation:
        return InverseRotation(self)

    @property
    def matrix(self) -> Matrix:
        ca, sa, ct, st = self.ca, self.sa, self.ct, self.st
        rows = Matrix(Vector(ct, -st, 0), Vector(ca * st, ca * ct, -sa), Vector(sa * st, sa * ct, ca))
        if not (structural(self.sg, 0) and structural(self.cg, 1)):
            rows = Matrix(*(turned_z(column, self.cg, self.sg) for column in rows.T)).T
        return rows if self.placement is None else self.placement.dot(rows)

    @property
    def axis_in_child(self) -> Vector:
        """R^T z: the axis of the parent's joint, seen from this frame."""
        if self.placement is not None:
            return self.T @ Z
        return Vector(self.sa * self.st, self.sa * self.ct, self.ca)

    def similar(self, s: Symmetric) -> Symmetric:
        """R S R^T in 16 multiplications and 16 additions."""
        s = s.turned_z(self.ct, self.st).turned_x(self.ca, self.sa)
        if not (structural(self.sg, 0) and structural(self.cg, 1)):
            s = s.turned_z(self.cg, self.sg)
        return s if self.placement is None else similar(self.placement, s)


class InverseRotation:
    """R^T for the rotation R of a joint."""

    __slots__ = ("of",)

    def __init__(self, of: Rotation) -> None:
        self.of = of

    def __matmul__(self, v: Vector) -> Vector:
        r = self.of
        v = turned_z(v if r.placement is None else r.placement.T @ v, r.cg, -r.sg)
        y = r.ca * v.y + r.sa * v.z
        return Vector(r.ct * v.x + r.st * y, r.ct * y - r.st * v.x, r.ca * v.z - r.sa * v.y)


def similar(R: Matrix, s: Symmetric) -> Symmetric:
    """R S R^T for any R."""
    half = Matrix(*(s @ row for row in R))
    (x, y, z), (hx, hy, hz) = R, half
    return Symmetric(x.dot(hx), y.dot(hy), z.dot(hz), x.dot(hy), x.dot(hz), y.dot(hz))


def from_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Matrix:
    """The rotation matrix of a unit quaternion, in 9 products and 12 sums after three doublings."""
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return Matrix(
        Vector(1 - (yy + zz), xy - wz, xz + wy),
        Vector(xy + wz, 1 - (xx + zz), yz - wx),
        Vector(xz - wy, yz + wx, 1 - (xx + yy)),
    )
