"""A straight line or a circle of the tool in space, as a motion of the joints.

    s        progress along the path, from 0 to 1, a function of time (the law)
    d, d'    the twist of the tool per unit of s, in the axes of the world, and its derivative by s, zero on a line
    q(s)     the joints along the path; q' and q'' are derivatives with respect to s

Inverse kinematics give the joints at some points of the path; a spline through them is a guess at all others, which
Newton steps on the pose correct. J q' = d gives q' and, differentiated, q''. The null-space motion of a redundant robot
is that of the spline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.errors import InputError, unknown
from armwright.model.table_reader import as_transform
from armwright.trajectory.argument_checks import check_scalar_joints, number, numbers, one_per_joint, read_only, short
from armwright.trajectory.motion_base import PathMotion, State, Trajectory
from armwright.trajectory.polynomial import PiecewisePolynomial
from armwright.trajectory.splines import spline

TWIST_ROWS = {"full": 6, "axis": 5, "free": 3}
"""Number of twist components that count, in the axes of the tool: all, all but rotation about z, only the velocity."""

POSE_TOLERANCE = 1e-12  # error of a pose: radians, metres, and relative for poses more than a metre away
POSE_NEWTON_STEPS = 12
SINGULAR_VALUE_TOLERANCE = 1e-10  # relative singular value of the Jacobian that counts as zero in Newton's method
STRETCHED_TOLERANCE = 10 * POSE_TOLERANCE**0.5
"""The same for velocities: at a stretched arm an error of the pose moves joints by its square root."""

PROGRESS_TOLERANCE = 1e-9  # of the first and last value of the law, 0 and 1


class KinematicRobot(Protocol):
    """The methods of a robot that a tool path requires."""

    @property
    def n(self) -> int: ...
    def forward_kinematics(self, q: ArrayLike, /) -> Array: ...
    def jacobian(self, q: ArrayLike, /, *, axes: str) -> Array: ...
    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike, /, *, axes: str) -> Array: ...
    def inverse_kinematics(self, T: ArrayLike, q0: ArrayLike, *, path: bool, orientation: str) -> Array: ...


class ToolPath(Protocol):
    """Poses of the tool from s = 0 to 1."""

    def __call__(self, s: Array) -> Array:
        """Return the poses at s, shape s.shape + (4, 4)."""

    def twists(self, s: Array) -> tuple[Array, Array]:
        """Return d and d' at s: linear, then angular."""


@dataclass(frozen=True, eq=False)
class PoseLine:
    """Poses from a first one by a displacement and a rotation vector, in the axes of the world."""

    pose: Array
    displacement: Array
    rotation: Array

    def twists(self, s: Array) -> tuple[Array, Array]:
        twist = np.broadcast_to(np.concatenate([self.displacement, self.rotation]), (*s.shape, 6))
        return twist, np.zeros_like(twist)

    def __call__(self, s: Array) -> Array:
        T = np.broadcast_to(self.pose, (*s.shape, 4, 4)).copy()
        T[..., :3, :3] = rotated(self.rotation, s) @ self.pose[:3, :3]
        T[..., :3, 3] += s[..., np.newaxis] * self.displacement
        return T


@dataclass(frozen=True, eq=False)
class PoseCircle:
    """Poses from a first one around a centre, by a rotation vector; with `turning` the tool rotates too."""

    pose: Array
    center: Array
    rotation: Array
    turning: bool

    def twists(self, s: Array) -> tuple[Array, Array]:
        linear = np.cross(self.rotation, self._radius(s))
        angular = np.broadcast_to(self.rotation * self.turning, linear.shape)
        rate = np.concatenate([np.cross(self.rotation, linear), np.zeros_like(angular)], axis=-1)
        return np.concatenate([linear, angular], axis=-1), rate

    def __call__(self, s: Array) -> Array:
        T = np.broadcast_to(self.pose, (*s.shape, 4, 4)).copy()
        if self.turning:
            T[..., :3, :3] = rotated(self.rotation, s) @ self.pose[:3, :3]
        T[..., :3, 3] = self.center + self._radius(s)
        return T

    def _radius(self, s: Array) -> Array:
        """Return the vectors from the centre to the tool."""
        return np.asarray(rotated(self.rotation, s) @ (self.pose[:3, 3] - self.center))


@dataclass(frozen=True, repr=False, eq=False)
class CartesianPath(PathMotion):
    """A path of the tool, the law of progress along it, and a guess for the joints at any s; see `cartesian_line`."""

    robot: KinematicRobot
    path: ToolPath
    law: Trajectory
    guess: PiecewisePolynomial
    orientation: str

    @property
    def n(self) -> int:
        return self.guess.n

    instead = "use sampled(trajectory), a spline near it"

    def along(self, s: Array) -> State:
        """Return q, q' and q'' at s."""
        guess, dq_ds, d2q_ds2 = self.guess._at(s)
        q = self._corrected(guess, s)
        J = self.robot.jacobian(q, axes="frame")
        pose, (twist, rate) = self.robot.forward_kinematics(q), self.path.twists(s)
        tool_twist = _in_tool_axes(pose, twist)
        inverse = self._inverse(J, STRETCHED_TOLERANCE)
        dq_ds = dq_ds + _times(inverse, self._relevant(tool_twist - _times(J, dq_ds)))
        reached = _times(J, dq_ds)
        self._check_velocity(self._relevant(tool_twist - reached), s, float(np.abs(twist).max(initial=1.0)))
        tool_rate = _in_tool_axes(pose, rate) - _cross(reached[..., 3:], tool_twist)  # in the rotating tool axes
        drift = _times(self.robot.jacobian_derivative(q, dq_ds, axes="frame"), dq_ds) + _times(J, d2q_ds2)
        return q, dq_ds, d2q_ds2 + _times(inverse, self._relevant(tool_rate - drift))

    def _corrected(self, q: Array, s: Array) -> Array:
        """Return the joints near q that put the tool on its path at s."""
        T = self.path(s)
        scale = np.abs(T[..., :3, 3]).max(initial=1.0)
        for _ in range(POSE_NEWTON_STEPS):
            pose = self.robot.forward_kinematics(q)
            error = self._relevant(_in_tool_axes(pose, pose_error(pose, T, self.orientation)))
            if np.abs(error).max(initial=0.0) <= POSE_TOLERANCE * scale:
                return q
            q = q + _times(self._inverse(self.robot.jacobian(q, axes="frame"), SINGULAR_VALUE_TOLERANCE), error)
        raise InputError(
            f"the tool cannot follow its path near s = {_worst_place(error, s)}: an error of {np.abs(error).max():.1e} "
            "m or rad remains; keep away from singular postures, or give more knots="
        )

    def _relevant(self, twist: Array) -> Array:
        """Return the components of a twist (..., 6), in the axes of the tool, that count."""
        return twist[..., : TWIST_ROWS[self.orientation]]

    def _inverse(self, J: Array, tolerance: float) -> Array:
        """Return the pseudoinverse of the rows of J that count."""
        inverse: Array = np.linalg.pinv(J[..., : TWIST_ROWS[self.orientation], :], rcond=tolerance)
        return inverse

    def _check_velocity(self, missing: Array, s: Array, scale: float) -> None:
        if np.abs(missing).max(initial=0.0) > STRETCHED_TOLERANCE * scale:
            raise InputError(
                f"the posture near s = {_worst_place(missing, s)} is singular: no joint velocity moves the tool along "
                "its path; choose another path or another q0"
            )


def cartesian_line(
    robot: KinematicRobot,
    start_pose: ArrayLike,
    end_pose: ArrayLike,
    law: Trajectory,
    q0: ArrayLike,
    orientation: str = "full",
    knots: int = 65,
) -> CartesianPath:
    """Return a motion of the tool on a straight line between two 4x4 poses, rotating about a fixed axis.

    `law` is a trajectory of one joint from 0 to 1, the fraction of the path at time t: normal_spline(0, 1, duration),
    cycloidal, trapezoidal, or linear([0, duration], [0, 1]) for constant speed. `q0` is a guess for the joints at the
    start; it decides between the postures that reach the start. `orientation` is "full", "axis" (the tool may rotate
    about its z axis) or "free" (only the position counts). Inverse kinematics are solved beforehand at `knots` points
    of the line; the joints at any time are exact for any number that leads to a solution.
    """
    first, last = (_pose(name, pose) for name, pose in (("start_pose", start_pose), ("end_pose", end_pose)))
    rotation = rotation_vector(last[:3, :3] @ first[:3, :3].T)
    line = PoseLine(read_only(first), read_only(last[:3, 3] - first[:3, 3]), read_only(rotation))
    return _cartesian_path(robot, line, law, q0, orientation, knots)


def cartesian_circle(
    robot: KinematicRobot,
    start_pose: ArrayLike,
    center: ArrayLike,
    axis: ArrayLike,
    law: Trajectory,
    q0: ArrayLike,
    angle: float = 2 * np.pi,
    turning: bool = False,
    orientation: str = "full",
    knots: int = 129,
) -> CartesianPath:
    """Return a motion of the tool on a circle or an arc, from a 4x4 pose around a centre.

    Centre (metres) and axis are in the axes of the world. The axis is normal to the plane of the circle, in which the
    start pose lies. `angle` (radians) is counterclockwise about the axis, and more than 2 pi for several rounds. The
    tool keeps its orientation, or with `turning` rotates with the circle. The rest is as in `cartesian_line`.
    """
    first, middle, normal = _pose("start_pose", start_pose), _triple("center", center), _triple("axis", axis)
    normal = normal / (np.abs(normal).max() or 1.0)
    length, arm = float(np.linalg.norm(normal)), first[:3, 3] - middle
    radius = float(np.linalg.norm(arm))
    if length == 0 or radius == 0:
        wrong = f"axis = {axis!r}" if length == 0 else f"center = {center!r}, where the tool is"
        raise InputError(f"{wrong}; expected an axis that is not zero, and a centre away from the start pose")
    above = float(arm @ normal) / length
    if abs(above) > PLANE_TOLERANCE * radius:
        raise InputError(
            f"the start lies {short(above)} m along the axis from the centre; expected it in the plane of the circle, "
            f"such as center = {(middle + above * normal / length).round(9).tolist()}"
        )
    if not isinstance(turning, (bool, np.bool_)):
        raise InputError(f"turning = {turning!r}; expected True or False: whether the tool turns with the circle")
    rotation = normal / length * number("angle", angle, "radians")
    if not rotation.any():
        raise InputError("angle = 0: expected the angle of the arc, in radians")
    circle = PoseCircle(read_only(first), read_only(middle), read_only(rotation), bool(turning))
    return _cartesian_path(robot, circle, law, q0, orientation, knots)


PLANE_TOLERANCE = 1e-6
"""Distance of the start pose from the plane of the circle, relative to the radius."""


def _cartesian_path(
    robot: KinematicRobot, path: ToolPath, law: Trajectory, q0: ArrayLike, orientation: str, knots: int
) -> CartesianPath:
    """Return the motion along a path, with a spline through its inverse kinematics."""
    if orientation not in TWIST_ROWS:
        raise unknown("orientation", orientation, TWIST_ROWS)
    s = np.linspace(0.0, 1.0, whole_number("knots", knots, 2))
    _check_law(law)
    check_scalar_joints(robot, "a trajectory")
    begin = one_per_joint("q0", q0, robot.n)
    q = robot.inverse_kinematics(path(s), begin, path=True, orientation=orientation)
    return CartesianPath(robot, path, law, spline(s, q), orientation)


def _triple(name: str, value: ArrayLike) -> Array:
    array = numbers(name, value, "three numbers")
    if array.shape != (3,):
        raise InputError(f"{name} = {value!r}: expected three numbers, x, y and z")
    return array


def pose_error(pose: Array, target: Array, orientation: str) -> Array:
    """Return the twist (..., 6) that leads, to first order, from a pose to its target."""
    rotation = np.cross(np.swapaxes(pose[..., :3, :3], -1, -2), np.swapaxes(target[..., :3, :3], -1, -2))
    angular = rotation[..., 2, :] if orientation == "axis" else rotation.sum(axis=-2) / 2
    return np.concatenate([target[..., :3, 3] - pose[..., :3, 3], angular], axis=-1)


def rotation_vector(R: Array) -> Array:
    """Return axis times angle of a rotation, the angle between 0 and pi."""
    twice_sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = float(np.arctan2(np.linalg.norm(twice_sine), np.trace(R) - 1))
    if angle < 2:
        return np.asarray(twice_sine / 2 / np.sinc(angle / np.pi))
    axes = (R + R.T) / 2 - np.cos(angle) * np.eye(3)  # (1 - cos) axis axis^T, accurate near half a turn
    axis = axes[np.argmax(np.diag(axes))]
    return np.asarray(axis * (np.copysign(angle, axis @ twice_sine) / np.linalg.norm(axis)))


def rotated(rotation: Array, s: Array) -> Array:
    """Return the rotation by s times a rotation vector, shape s.shape + (3, 3), by Rodrigues' formula."""
    angle = np.linalg.norm(rotation)
    x, y, z = rotation / angle if angle > 0 else rotation
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    a = (s * angle)[..., np.newaxis, np.newaxis]
    return np.asarray(np.eye(3) + np.sin(a) * K + 2 * np.sin(a / 2) ** 2 * (K @ K))


def _check_law(law: Trajectory) -> None:
    if not isinstance(law, Trajectory) or law.n != 1:
        got = f"{law.n} joints" if isinstance(law, Trajectory) else type(law).__name__
        raise InputError(f"law is for {got}; expected a trajectory of one joint from 0 to 1, as normal_spline(0, 1, T)")
    begin, end = (float(law(law.knots[k])[0][0]) for k in (0, -1))
    if abs(begin) > PROGRESS_TOLERANCE or abs(end - 1) > PROGRESS_TOLERANCE:
        raise InputError(f"law goes from {short(begin)} to {short(end)}; expected from 0 to 1")


def _pose(name: str, value: ArrayLike) -> Array:
    def fail(message: str) -> NoReturn:
        raise InputError(f"{name}: {message}")

    return np.array(as_transform(value, fail))


def _in_tool_axes(T: Array, twist: Array) -> Array:
    """Return a twist (..., 6) in the axes of the frame T, from those of the world."""
    to_tool = np.swapaxes(T[..., :3, :3], -1, -2)
    return np.concatenate([_times(to_tool, twist[..., :3]), _times(to_tool, twist[..., 3:])], axis=-1)


def _cross(angular: Array, twist: Array) -> Array:
    """Return angular x linear, then angular x angular part of a twist."""
    return np.concatenate([np.cross(angular, twist[..., :3]), np.cross(angular, twist[..., 3:])], axis=-1)


def _times(matrices: Array, vectors: Array) -> Array:
    """Return matrix times vector for each state."""
    product: Array = (matrices @ vectors[..., np.newaxis])[..., 0]
    return product


def _worst_place(error: Array, s: Array) -> str:
    """Return the s of the largest error, for a message."""
    return short(s.flat[np.argmax(np.abs(error).max(axis=-1))])
