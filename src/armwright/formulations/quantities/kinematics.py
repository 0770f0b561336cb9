"""Where the links are and how they move: poses, and the geometric Jacobian of the tool frame with its rate.

    W, o     rotation and origin of a frame, seen from the world
    s        from the origin of the frame before to that of a frame, in the axes of the world
    r        from the origin of a frame to that of the tool, in the axes of the world
    l, e     one column of the Jacobian: velocity of the tool's origin and angular velocity of the tool for a unit
             rate of one joint; for a revolute joint e is its axis, for a prismatic one l is
    v, u     the same, of the tool relative to a link: summed over the joints beyond it
    w        angular velocity of a link: summed over the joints up to it

The linear rows come first, as the force does in a wrench, so that J^T takes a tip wrench to joint torques. 'Base' means
the axes of the world, in which the base is placed; 'tip' means the axes of the tool frame itself.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from armwright.algebra import ZERO, Matrix, Scalar, Vector, Z
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import Joint, Mechanism, Pose

Rows = list[list[Scalar]]
Motion = TypeVar("Motion")


class Column(NamedTuple):
    """One column of a Jacobian."""

    l: Vector  # noqa: E741
    e: Vector


NOTHING = Column(ZERO, ZERO)


class Placed(NamedTuple):
    """A link frame by its rotation and by the way to it from the one before."""

    W: Matrix
    s: Vector


def placed(mechanism: Mechanism, q: Coordinates) -> list[Placed]:
    return outward(
        mechanism.parents, _place, Placed(mechanism.base.rotation, mechanism.base.position), mechanism.joints, q
    )


def _place(last: Placed, joint: Joint, q: Scalar) -> Placed:
    R = joint.rotation(q)
    return Placed(Matrix(*(R.T @ row for row in last.W)), last.W @ joint.offset(q))


def link_frames(mechanism: Mechanism, q: Coordinates) -> list[Pose]:
    """Each link frame, seen from the world."""
    start = Pose(mechanism.base.rotation, mechanism.base.position)
    return outward(mechanism.parents, _added, start, placed(mechanism, q))


def _added(last: Pose, link: Placed) -> Pose:
    return Pose(link.W, last.position + link.s)


def tool_frame(mechanism: Mechanism, frames: list[Pose]) -> Pose:
    """The tool frame seen from wherever the link frames are seen from."""
    link = mechanism.tool_link
    last = frames[link] if link >= 0 else mechanism.base
    W, o = last.rotation, last.position
    return Pose(W.dot(mechanism.tool.rotation), o + W @ mechanism.tool.position)


def _homogeneous(pose: Pose) -> Rows:
    return [*([*row, p] for row, p in zip(pose.rotation, pose.position, strict=True)), [0, 0, 0, 1]]


def forward_kinematics(mechanism: Mechanism, q: Coordinates) -> Rows:
    """The tool frame seen from the world, 4 x 4."""
    return _homogeneous(tool_frame(mechanism, link_frames(mechanism, q)))


def link_poses(mechanism: Mechanism, q: Coordinates) -> list[Rows]:
    """Each link frame seen from the world, n x 4 x 4."""
    frames = link_frames(mechanism, q)
    return [_homogeneous(frames[i]) for i in mechanism.solid]


def link_positions(mechanism: Mechanism, q: Coordinates) -> Rows:
    """The origins of frame 0, of every link frame and of the tool frame, if there is one, in the world."""
    frames = link_frames(mechanism, q)
    points = [mechanism.base.position, *(frames[i].position for i in mechanism.solid)]
    if mechanism.tip is not None:
        points.append(tool_frame(mechanism, frames).position)
    return [list(o) for o in points]


def jacobian(mechanism: Mechanism, q: Coordinates) -> Rows:
    """6 x n: velocity of the tool's origin and angular velocity of the tool, in the axes of the world."""
    return _rows(base_columns(mechanism, q))


def tip_jacobian(mechanism: Mechanism, q: Coordinates) -> Rows:
    """6 x n: the same velocities in the axes of the tool frame; independent of the base and of the first joint."""
    return _rows(tip_columns(mechanism, q))


def partial_velocities(mechanism: Mechanism, q: Coordinates) -> list[Rows]:
    """n x 6 x n: of every link, velocity of its centre of mass and angular velocity per unit rate of each joint.

    Kane's, as Angeles, Ma and Rojas (1989) have them in (32)-(36): B_j above A_j, in the axes of the world.
    """
    links, bodies = placed(mechanism, q), mechanism.bodies
    return [_rows(_base_columns(mechanism, links, j, links[j].W @ bodies[j].com)) for j in mechanism.solid]


def jacobian_derivative(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> Rows:
    """dJ/dt, J in the axes of the world: a column turns with its link, and its lever arm grows by what lies beyond."""
    columns = base_columns(mechanism, q)
    turning = _carried(mechanism, outward(mechanism.parents, _add_angular, ZERO, columns, qd))
    beyond = _carried(mechanism, inward(mechanism.parents, _add_beyond, NOTHING, columns, qd))
    return _rows(
        Column(w.cross(c.l) + c.e.cross(rest.l), w.cross(c.e))
        for c, w, rest in zip(columns, turning, beyond, strict=True)
    )


def tip_jacobian_derivative(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> Rows:
    """dJ/dt, J in the axes of the tool: seen from there, a joint moves against all the joints beyond it."""
    columns = tip_columns(mechanism, q)
    beyond = _carried(mechanism, inward(mechanism.parents, _add_beyond, NOTHING, columns, qd))
    return _rows(
        Column(c.l.cross(rest.e) + c.e.cross(rest.l), c.e.cross(rest.e))
        for c, rest in zip(columns, beyond, strict=True)
    )


def _carried(mechanism: Mechanism, motions: list[Motion]) -> list[Motion]:
    """For each joint the motion of the link that has its axis: of all freedoms of a ball, the body that they turn."""
    motions = list(motions)
    for ball in mechanism.balls:
        own = slice(ball.rows.start, ball.rows.stop)
        motions[own] = [motions[own.stop - 1]] * ball.freedoms
    return motions


def base_columns(mechanism: Mechanism, q: Coordinates) -> list[Column]:
    """From the tip inward, adding up the lever arm: that takes no difference of positions."""
    links, tip = placed(mechanism, q), mechanism.tool_link
    if tip < 0:
        return [NOTHING] * mechanism.n
    return _base_columns(mechanism, links, tip, links[tip].W @ mechanism.tool.position)


def _base_columns(mechanism: Mechanism, links: list[Placed], tip: int, r: Vector) -> list[Column]:
    """Of a point of link `tip` that is r from its origin; joints that it does not hang on have no part in it."""
    columns = [NOTHING] * mechanism.n
    for i in mechanism.inward_from(tip):
        axis = links[i].W @ Z
        columns[i] = Column(axis, ZERO) if mechanism.joints[i].prismatic else Column(axis.cross(r), axis)
        r = r + links[i].s
    return columns


def tip_columns(mechanism: Mechanism, q: Coordinates) -> list[Column]:
    """From the tip inward: the pose of the tool frame seen from frame i gives column i."""
    columns, tool = [NOTHING] * mechanism.n, mechanism.tool
    for i in mechanism.inward_from(mechanism.tool_link):
        joint = mechanism.joints[i]
        x, y, axis = tool.rotation  # the axes of frame i, seen from the tool
        r, R = tool.position, joint.rotation(q[i])
        columns[i] = Column(axis, ZERO) if joint.prismatic else Column(y * r.x - x * r.y, axis)
        turned = Matrix(*(R @ direction for direction in tool.rotation.T)).T
        tool = Pose(turned, joint.offset(q[i]) + R @ r)
    return columns


def _add_angular(w: Vector, column: Column, qd: Scalar) -> Vector:
    sum_: Vector = w + column.e * qd
    return sum_


def _add_beyond(beyond: Column, column: Column, qd: Scalar) -> tuple[Column, Column]:
    return Column(beyond.l + column.l * qd, beyond.e + column.e * qd), beyond


def _rows(columns: Iterable[Column]) -> Rows:
    return [list(row) for row in zip(*((*c.l, *c.e) for c in columns), strict=True)]
