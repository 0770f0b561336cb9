"""A straight line or a circle of the tool in space, as a motion of the joints.

    s        progress along the way, from 0 to 1, a function of time (the law)
    d, d'    the twist of the tool for a unit rate of s, in the axes of the world, and how it changes with s: on a line
             it does not, since the tool turns about a fixed axis
    q(s)     the joints on the way; q' and q'' are derivatives with respect to s

The joints at a few places of the way come from the robot's inverse kinematics; a spline through them is a guess for
every other place, which Newton steps on the pose make exact. From J q' = d follow q' and, differentiated, q''. A joint
motion that does not move the tool is that of the spline, so a robot with more joints than the task needs has one, too.
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
from armwright.trajectory.argument_checks import check_numbers, number, numbers, one_per_joint, read_only, short
from armwright.trajectory.motion_base import PathMotion, State, Trajectory
from armwright.trajectory.polynomial import PiecewisePolynomial
from armwright.trajectory.splines import spline

TWIST_ROWS = {"full": 6, "axis": 5, "free": 3}
"""How many components of a twist count, in the axes of the tool: all, all but the rotation about z, the velocity."""

POSE_TOLERANCE = (
    1e-12  # what may be missing of a pose, in radians, and relative to its distance where that is above a metre
)
POSE_NEWTON_STEPS = 12
SINGULAR_VALUE_TOLERANCE = (
    1e-10  # singular values of the Jacobian below this part of the largest one count as zero in Newton's method
)
STRETCHED_TOLERANCE = 10 * POSE_TOLERANCE**0.5
"""The same for velocities: a pose within `POSE_TOLERANCE` determines joints of a stretched arm to its square root."""

PROGRESS_TOLERANCE = 1e-9  # how far from 0 and 1 the law may start and end


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
        """The poses at s, shape s.shape + (4, 4)."""

    def twists(self, s: Array) -> tuple[Array, Array]:
        """d and d' at s: linear, then angular."""


@dataclass(frozen=True, eq=False)
class PoseLine:
    """Poses from a first one along a displacement and about a fixed axis, in the axes of the world."""

    pose: Array
    displacement: Array
    turn: Array

    def twists(self, s: Array) -> tuple[Array, Array]:
        twist = np.broadcast_to(np.concatenate([self.displacement, self.turn]), (*s.shape, 6))
        return twist, np.zeros_like(twist)

    def __call__(self, s: Array) -> Array:
        """The poses at s, shape s.shape + (4, 4)."""
        T = np.broadcast_to(self.pose, (*s.shape, 4, 4)).copy()
        T[..., :3, :3] = rotated(self.turn, s) @ self.pose[:3, :3]
        T[..., :3, 3] += s[..., np.newaxis] * self.displacement
        return T


@dataclass(frozen=True, eq=False)
class PoseCircle:
    """Poses from a first one around a centre, by an angle about an axis of the world; `turning`, the tool turns too."""

    pose: Array
    center: Array
    turn: Array
    turning: bool

    def twists(self, s: Array) -> tuple[Array, Array]:
        arm = self._arm(s)
        linear = np.cross(self.turn, arm)
        angular = np.broadcast_to(self.turn * self.turning, linear.shape)
        rate = np.concatenate([np.cross(self.turn, linear), np.zeros_like(angular)], axis=-1)
        return np.concatenate([linear, angular], axis=-1), rate

    def __call__(self, s: Array) -> Array:
        T = np.broadcast_to(self.pose, (*s.shape, 4, 4)).copy()
        if self.turning:
            T[..., :3, :3] = rotated(self.turn, s) @ self.pose[:3, :3]
        T[..., :3, 3] = self.center + self._arm(s)
        return T

    def _arm(self, s: Array) -> Array:
        """From the centre to the tool."""
        return np.asarray(rotated(self.turn, s) @ (self.pose[:3, 3] - self.center))


@dataclass(frozen=True, repr=False, eq=False)
class CartesianPath(PathMotion):
    """A way of the tool, the law of progress on it, and a guess for the joints at any s; see `cartesian_line`."""

    robot: KinematicRobot
    way: ToolPath
    law: Trajectory
    guess: PiecewisePolynomial
    orientation: str

    @property
    def n(self) -> int:
        return self.guess.n

    instead = "use sampled(trajectory), a spline near it"

    def along(self, s: Array) -> State:
        """q, q' and q'' at s."""
        guess, first, second = self.guess._at(s)
        q = self._exact(guess, s)
        J = self.robot.jacobian(q, axes="frame")
        pose, (twist, rate) = self.robot.forward_kinematics(q), self.way.twists(s)
        wanted = _in_tool_axes(pose, twist)
        inverse = self._inverse(J, STRETCHED_TOLERANCE)
        first = first + _times(inverse, self._counted(wanted - _times(J, first)))
        moving = _times(J, first)
        self._check_velocity(self._counted(wanted - moving), s, float(np.abs(twist).max(initial=1.0)))
        # what is at rest in the world, seen from a tool that turns
        turning = _in_tool_axes(pose, rate) - _cross(moving[..., 3:], wanted)
        known = _times(self.robot.jacobian_derivative(q, first, axes="frame"), first) + _times(J, second)
        return q, first, second + _times(inverse, self._counted(turning - known))

    def _exact(self, q: Array, s: Array) -> Array:
        """Joints near q for which the tool is on its way at s."""
        T = self.way(s)
        scale = np.abs(T[..., :3, 3]).max(initial=1.0)
        for _ in range(POSE_NEWTON_STEPS):
            now = self.robot.forward_kinematics(q)
            error = self._counted(_in_tool_axes(now, pose_error(now, T, self.orientation)))
            if np.abs(error).max(initial=0.0) <= POSE_TOLERANCE * scale:
                return q
            q = q + _times(self._inverse(self.robot.jacobian(q, axes="frame"), SINGULAR_VALUE_TOLERANCE), error)
        raise InputError(
            f"the tool cannot follow its way near s = {_largest_error_message(error, s)}: {np.abs(error).max():.1e} m "
            "or rad are missing; keep away from singular postures, or give more knots="
        )

    def _counted(self, twist: Array) -> Array:
        """Return the components of a twist (..., 6), in the axes of the tool, that count."""
        return twist[..., : TWIST_ROWS[self.orientation]]

    def _inverse(self, J: Array, smallest: float) -> Array:
        """From what counts of a twist to the smallest joint velocities that give it."""
        inverse: Array = np.linalg.pinv(J[..., : TWIST_ROWS[self.orientation], :], rcond=smallest)
        return inverse

    def _check_velocity(self, missing: Array, s: Array, scale: float) -> None:
        if np.abs(missing).max(initial=0.0) > STRETCHED_TOLERANCE * scale:
            raise InputError(
                f"the tool meets a singular posture near s = {_largest_error_message(missing, s)}, where no joint "
                "velocity moves it along its way; choose another way or another q0"
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
    """The tool on a straight line from one 4x4 pose to another, turning about a fixed axis meanwhile.

    `law` is a trajectory of one joint from 0 to 1, the part of the way done at time t: normal_spline(0, 1, duration),
    cycloidal, trapezoidal, or linear([0, duration], [0, 1]) for constant speed. `q0` is a guess for the joints at the
    start; it decides between the postures that reach the start. `orientation` is "full", "axis" (the tool may spin
    about its z axis) or "free" (only the position counts). `knots` is at how many places of the line the inverse
    kinematics are solved beforehand; the joints at any time are exact for any number, as long as these lead there.
    """
    first, last = (_pose(name, pose) for name, pose in (("start_pose", start_pose), ("end_pose", end_pose)))
    turn = rotation_vector(last[:3, :3] @ first[:3, :3].T)
    line = PoseLine(read_only(first), read_only(last[:3, 3] - first[:3, 3]), read_only(turn))
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
    """The tool on a circle, or an arc of it, from a 4x4 pose around a centre, counterclockwise about an axis.

    Centre (metres) and axis are in the axes of the world; the axis stands on the plane of the circle, which the start
    pose
    lies in. `angle` is how far it goes, in radians, negative for clockwise and more than 2 pi for several rounds. The
    tool keeps its orientation, or with `turning` turns with the circle. The rest is as in `cartesian_line`.
    """
    first, middle = _pose("start_pose", start_pose), _triple("center", center)
    along = _triple("axis", axis)
    along = along / (np.abs(along).max() or 1.0)
    length, far = float(np.linalg.norm(along)), first[:3, 3] - middle
    radius = float(np.linalg.norm(far))
    if length == 0 or radius == 0:
        wrong = f"axis = {axis!r}" if length == 0 else f"center = {center!r}, where the tool is"
        raise InputError(f"{wrong}; expected an axis that is not zero, and a centre away from the start pose")
    above = float(far @ along) / length
    if abs(above) > PLANE_TOLERANCE * radius:
        raise InputError(
            f"the start lies {short(above)} m along the axis from the centre; expected it in the plane of the circle, "
            f"such as center = {(middle + above * along / length).round(9).tolist()}"
        )
    if not isinstance(turning, (bool, np.bool_)):
        raise InputError(f"turning = {turning!r}; expected True or False: whether the tool turns with the circle")
    turn = along / length * number("angle", angle, "radians")
    if not turn.any():
        raise InputError("angle = 0: expected how far around the tool goes, in radians")
    circle = PoseCircle(read_only(first), read_only(middle), read_only(turn), bool(turning))
    return _cartesian_path(robot, circle, law, q0, orientation, knots)


PLANE_TOLERANCE = 1e-6
"""The part of its radius by which a circle may miss the start pose."""


def _cartesian_path(
    robot: KinematicRobot, way: ToolPath, law: Trajectory, q0: ArrayLike, orientation: str, knots: int
) -> CartesianPath:
    """The joints along a way, by inverse kinematics from place to place."""
    if orientation not in TWIST_ROWS:
        raise unknown("orientation", orientation, TWIST_ROWS)
    places = np.linspace(0.0, 1.0, whole_number("knots", knots, 2))
    _check_law(law)
    check_numbers(robot, "a trajectory")
    begin = one_per_joint("q0", q0, robot.n)
    q = robot.inverse_kinematics(way(places), begin, path=True, orientation=orientation)
    return CartesianPath(robot, way, law, spline(places, q), orientation)


def _triple(name: str, value: ArrayLike) -> Array:
    array = numbers(name, value, "three numbers")
    if array.shape != (3,):
        raise InputError(f"{name} = {value!r}: expected three numbers, x, y and z")
    return array


def pose_error(now: Array, wanted: Array, orientation: str) -> Array:
    """A twist (..., 6) that leads, to first order, from one pose to the other."""
    turn = np.cross(np.swapaxes(now[..., :3, :3], -1, -2), np.swapaxes(wanted[..., :3, :3], -1, -2))  # axis by axis
    angular = turn[..., 2, :] if orientation == "axis" else turn.sum(axis=-2) / 2
    return np.concatenate([wanted[..., :3, 3] - now[..., :3, 3], angular], axis=-1)


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a rotation, the angle between 0 and pi."""
    twice_sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = float(np.arctan2(np.linalg.norm(twice_sine), np.trace(R) - 1))
    if angle < 2:
        return np.asarray(twice_sine / 2 / np.sinc(angle / np.pi))
    axes = (R + R.T) / 2 - np.cos(angle) * np.eye(3)  # (1 - cos) times axis axis^T, known well near half a turn
    axis = axes[np.argmax(np.diag(axes))]
    return np.asarray(axis * (np.copysign(angle, axis @ twice_sine) / np.linalg.norm(axis)))


def rotated(turn: Array, s: Array) -> Array:
    """The rotation by s times a rotation vector, shape s.shape + (3, 3), by Rodrigues' formula."""
    angle = np.linalg.norm(turn)
    x, y, z = turn / angle if angle > 0 else turn
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    a = (s * angle)[..., np.newaxis, np.newaxis]
    return np.asarray(np.eye(3) + np.sin(a) * K + 2 * np.sin(a / 2) ** 2 * (K @ K))


def _check_law(law: Trajectory) -> None:
    if not isinstance(law, Trajectory) or law.n != 1:
        got = f"{law.n} joints" if isinstance(law, Trajectory) else type(law).__name__
        raise InputError(f"law is for {got}; expected a trajectory of one joint from 0 to 1, as normal_spline(0, 1, T)")
    begin, end = (float(law(law.knots[k])[0][0]) for k in (0, -1))
    if abs(begin) > PROGRESS_TOLERANCE or abs(end - 1) > PROGRESS_TOLERANCE:
        raise InputError(f"law goes from {short(begin)} to {short(end)}; expected from 0 to 1, the whole of the line")


def _pose(name: str, value: ArrayLike) -> Array:
    def fail(message: str) -> NoReturn:
        raise InputError(f"{name}: {message}")

    return np.array(as_transform(value, fail))


def _in_tool_axes(T: Array, twist: Array) -> Array:
    """A twist (..., 6) in the axes of the world, seen in those of the frame T."""
    to_tool = np.swapaxes(T[..., :3, :3], -1, -2)
    return np.concatenate([_times(to_tool, twist[..., :3]), _times(to_tool, twist[..., 3:])], axis=-1)


def _cross(angular: Array, twist: Array) -> Array:
    """angular x linear, then angular x angular part of a twist."""
    return np.concatenate([np.cross(angular, twist[..., :3]), np.cross(angular, twist[..., 3:])], axis=-1)


def _times(matrices: Array, vectors: Array) -> Array:
    """Matrix times vector for each state."""
    product: Array = (matrices @ vectors[..., np.newaxis])[..., 0]
    return product


def _largest_error_message(error: Array, s: Array) -> str:
    """The place with the largest error, for a message."""
    return short(s.flat[np.argmax(np.abs(error).max(axis=-1))])
