"""3-vectors, 3x3 matrices and the DH rotation over any scalar.

A scalar is anything with + - * / and unary minus: a Python float, a numpy.float32, a NumPy array (a batch of
states), an mpmath number, a traced expression. No function here branches on a scalar's value, so all can be traced.
Structural zeros and ones are the Python integers 0 and 1: tracing folds them away, and they do not change the
precision of other scalars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scalar: TypeAlias = Any
"""float | numpy.floating | numpy.ndarray | mpmath.mpf | graph.Expr: anything that supports arithmetic."""

Array: TypeAlias = NDArray[Any]
"""An array of numbers of any kind and shape."""


def elementary(name: str) -> Callable[[Scalar], Scalar]:
    """Return the function `name` for any scalar.

    It calls the function of math, of NumPy or of the scalar's mpmath context, or else the scalar's method. NumPy's
    function also takes arrays of similar packages, such as CuPy.
    """
    array_function: Callable[[Scalar], Scalar] = getattr(np, name)
    float_function: Callable[[Scalar], Scalar] = getattr(math, name, array_function)

    def apply(x: Scalar) -> Scalar:
        if isinstance(x, (int, float)) and not isinstance(x, np.floating):
            return float_function(x)
        if _needs_object_arrays(x):
            return np.frompyfunc(apply, 1, 1)(x)
        if isinstance(x, (np.ndarray, np.generic)):
            return array_function(x)
        if hasattr(x, "context"):
            return getattr(x.context, name)(x)
        return getattr(x, name)() if hasattr(x, name) else array_function(x)

    apply.__name__ = name
    apply.__doc__ = f"{name}(x) for any scalar."
    return apply


def _needs_object_arrays(*operands: Scalar) -> bool:
    """Return whether NumPy must work on objects: an array of traced scalars, or an array with a traced scalar."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    return bool(arrays) and (any(x.dtype == object for x in arrays) or any(hasattr(x, "select") for x in operands))


sin = elementary("sin")
cos = elementary("cos")
sign = elementary("sign")
tanh = elementary("tanh")
sqrt = elementary("sqrt")


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """Return the smaller of two scalars."""
    return _apply_binary("minimum", np.minimum, x, y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """Return the larger of two scalars."""
    return _apply_binary("maximum", np.maximum, x, y)


def _apply_binary(name: str, otherwise: Callable[[Scalar, Scalar], Scalar], x: Scalar, y: Scalar) -> Scalar:
    """Call the method `name` of a traced scalar, or the function `otherwise` for plain numbers."""
    if _needs_object_arrays(x, y):
        return np.frompyfunc(lambda a, b: _apply_binary(name, otherwise, a, b), 2, 1)(x, y)
    if hasattr(x, name):
        return getattr(x, name)(y)
    return getattr(y, name)(x) if hasattr(y, name) else otherwise(x, y)


def select(x: Scalar, positive: Scalar, otherwise: Scalar) -> Scalar:
    """Return `positive` where x > 0, else `otherwise`."""
    if _needs_object_arrays(x, positive, otherwise):
        return np.frompyfunc(select, 3, 1)(x, positive, otherwise)
    return (
        x.select(positive, otherwise) if hasattr(x, "select") else np.asarray(np.where(x > 0, positive, otherwise))[()]
    )


def total(terms: Iterable[Scalar]) -> Scalar:
    """Return the sum, starting from a structural zero."""
    result: Scalar = 0
    for term in terms:
        result = result + term
    return result


def dot(u: Iterable[Scalar], v: Iterable[Scalar]) -> Scalar:
    """Return the dot product of two vectors of any length."""
    return total(a * b for a, b in zip(u, v, strict=True))


class Vector(NamedTuple):
    """A vector (x, y, z)."""

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
        return Vector(self.y * v.z - self.z * v.y, self.z * v.x - self.x * v.z, self.x * v.y - self.y * v.x)


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

    def rotate_z(self, c: Scalar, s: Scalar) -> Symmetric:
        """Return Rot(z) S Rot(z)^T, in 8 multiplications and 8 additions."""
        p = s * (self.xx - self.yy) + (c + c) * self.xy
        sp = s * p
        return Symmetric(
            self.xx - sp, self.yy + sp, self.zz, c * p - self.xy, c * self.xz - s * self.yz, s * self.xz + c * self.yz
        )

    def rotate_x(self, c: Scalar, s: Scalar) -> Symmetric:
        """Return Rot(x) S Rot(x)^T, in 8 multiplications and 8 additions."""
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
        """Return the matrix product self m."""
        columns = m.T
        return Matrix(*(Vector(*(row.dot(column) for column in columns)) for row in self))

    @property
    def T(self) -> Matrix:
        x, y, z = self
        return Matrix(Vector(x.x, y.x, z.x), Vector(x.y, y.y, z.y), Vector(x.z, y.z, z.z))


for _kind in (Vector, Symmetric, Matrix):
    _kind.__array_ufunc__ = None  # type: ignore[union-attr]  # k * v of a NumPy scalar k calls __rmul__

IDENTITY = Matrix(Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1))


def outer(u: Vector, v: Vector) -> Matrix:
    """Return u v^T."""
    return Matrix(v * u.x, v * u.y, v * u.z)


def point_inertia(r: Vector) -> Symmetric:
    """Return -r~ r~, the inertia of a unit mass at r about the origin."""
    xx, yy, zz = r.x * r.x, r.y * r.y, r.z * r.z
    return Symmetric(yy + zz, xx + zz, xx + yy, -(r.x * r.y), -(r.x * r.z), -(r.y * r.z))


def cross_inertia(s: Vector, p: Vector) -> Symmetric:
    """Return -s~ p~ - (s~ p~)^T, the cross term of the parallel-axis theorem for the first moment p."""
    x, y, z = 2 * s.x * p.x, 2 * s.y * p.y, 2 * s.z * p.z
    return Symmetric(y + z, x + z, x + y, -(s.x * p.y + s.y * p.x), -(s.x * p.z + s.z * p.x), -(s.y * p.z + s.z * p.y))


def point_euler(r: Vector) -> Symmetric:
    """Return r r^T, Euler's tensor of a unit mass at r."""
    return Symmetric(r.x * r.x, r.y * r.y, r.z * r.z, r.x * r.y, r.x * r.z, r.y * r.z)


def acceleration_tensor(w: Vector, wd: Vector) -> Matrix:
    """Return wd~ + w~ w~, in 6 multiplications and 9 additions; times a body-fixed r it is the acceleration of r."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Matrix(
        Vector(-(yy + zz), xy - wd.z, xz + wd.y),
        Vector(xy + wd.z, -(xx + zz), yz - wd.x),
        Vector(xz - wd.y, yz + wd.x, -(xx + yy)),
    )


def euler_moment(tensor: Matrix, euler: Symmetric) -> Vector:
    """Return I wd + w x I w as the vector of T - T^T, T = tensor @ euler (Mata eq. 10), in 15 multiplications.

    Each product of inertia multiplies a difference of two diagonal entries of the tensor, which saves three products.
    """
    (x, y, z), j = tensor, euler
    return Vector(
        (z.z - y.y) * j.yz + z.x * j.xy - y.x * j.xz + z.y * j.yy - y.z * j.zz,
        (x.x - z.z) * j.xz + x.y * j.yz - z.y * j.xy + x.z * j.zz - z.x * j.xx,
        (y.y - x.x) * j.xy + y.z * j.xz - x.z * j.yz + y.x * j.xx - x.y * j.yy,
    )


def structural(x: Scalar, value: int) -> bool:
    """Return whether a scalar is a structural constant, the Python integer `value`."""
    return isinstance(x, int) and x == value


def vanishes(x: Scalar) -> bool:
    """Return whether a scalar is the number zero; False for traced expressions."""
    return not hasattr(x, "select") and bool(x == 0)


def rotate_z(v: Vector, c: Scalar, s: Scalar) -> Vector:
    """Return Rot(z) v; v itself if the angle is a structural zero."""
    return v if structural(s, 0) and structural(c, 1) else Vector(c * v.x - s * v.y, s * v.x + c * v.y, v.z)


class Rotation:
    """The rotation of a joint, R = S Rot(z, gamma) Rot(x, alpha) Rot(z, theta), as plane rotations.

    R @ v takes a vector from the frame of a link to that of its parent, R.T @ v takes it back. A DH row has gamma = 0
    and no S (`placement`): 8 multiplications, 4 additions. Links at branches and after ball joints have both.
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
        v = rotate_z(v, self.cg, self.sg)
        return v if self.placement is None else self.placement @ v

    @property
    def T(self) -> InverseRotation:
        return InverseRotation(self)

    @property
    def matrix(self) -> Matrix:
        ca, sa, ct, st = self.ca, self.sa, self.ct, self.st
        rows = Matrix(Vector(ct, -st, 0), Vector(ca * st, ca * ct, -sa), Vector(sa * st, sa * ct, ca))
        if not (structural(self.sg, 0) and structural(self.cg, 1)):
            rows = Matrix(*(rotate_z(column, self.cg, self.sg) for column in rows.T)).T
        return rows if self.placement is None else self.placement.dot(rows)

    @property
    def axis_in_child(self) -> Vector:
        """R^T z: the axis of the parent's joint in this frame."""
        if self.placement is not None:
            return self.T @ Z
        return Vector(self.sa * self.st, self.sa * self.ct, self.ca)

    def rotate(self, s: Symmetric) -> Symmetric:
        """Return R S R^T, in 16 multiplications and 16 additions."""
        s = s.rotate_z(self.ct, self.st).rotate_x(self.ca, self.sa)
        if not (structural(self.sg, 0) and structural(self.cg, 1)):
            s = s.rotate_z(self.cg, self.sg)
        return s if self.placement is None else rotate(self.placement, s)


class InverseRotation:
    """R^T for the rotation R of a joint."""

    __slots__ = ("rotation",)

    def __init__(self, rotation: Rotation) -> None:
        self.rotation = rotation

    def __matmul__(self, v: Vector) -> Vector:
        r = self.rotation
        v = rotate_z(v if r.placement is None else r.placement.T @ v, r.cg, -r.sg)
        y = r.ca * v.y + r.sa * v.z
        return Vector(r.ct * v.x + r.st * y, r.ct * y - r.st * v.x, r.ca * v.z - r.sa * v.y)


def rotate(R: Matrix, s: Symmetric) -> Symmetric:
    """Return R S R^T for any R."""
    half = Matrix(*(s @ row for row in R))
    (x, y, z), (hx, hy, hz) = R, half
    return Symmetric(x.dot(hx), y.dot(hy), z.dot(hz), x.dot(hy), x.dot(hz), y.dot(hz))


def from_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Matrix:
    """Return the rotation matrix of a unit quaternion, in 9 multiplications and 15 additions."""
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return Matrix(
        Vector(1 - (yy + zz), xy - wz, xz + wy),
        Vector(xy + wz, 1 - (xx + zz), yz - wx),
        Vector(xz - wy, yz + wx, 1 - (xx + yy)),
    )
