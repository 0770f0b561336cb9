"""Poses of the links, and the geometric Jacobian of the tool frame with its rate.

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


class JacobianColumn(NamedTuple):
    """One column of a Jacobian."""

    l: Vector  # noqa: E741
    e: Vector


ZERO_COLUMN = JacobianColumn(ZERO, ZERO)


class LinkPlacement(NamedTuple):
    """The rotation of a link frame, and the vector to its origin from that of its parent."""

    W: Matrix
    s: Vector


def link_placements(mechanism: Mechanism, q: Coordinates) -> list[LinkPlacement]:
    """Return rotation and offset of each link frame, in the axes of the world."""
    base = LinkPlacement(mechanism.base.rotation, mechanism.base.position)
    return outward(mechanism.parents, _place, base, mechanism.joints, q)


def _place(last: LinkPlacement, joint: Joint, q: Scalar) -> LinkPlacement:
    R = joint.rotation(q)
    return LinkPlacement(Matrix(*(R.T @ row for row in last.W)), last.W @ joint.offset(q))


def link_frames(mechanism: Mechanism, q: Coordinates) -> list[Pose]:
    """Return each link frame in the world."""
    start = Pose(mechanism.base.rotation, mechanism.base.position)
    return outward(mechanism.parents, _add_offset, start, link_placements(mechanism, q))


def _add_offset(last: Pose, link: LinkPlacement) -> Pose:
    return Pose(link.W, last.position + link.s)


def tool_frame(mechanism: Mechanism, frames: list[Pose]) -> Pose:
    """Return the tool frame in the frame in which the link frames are given."""
    link = mechanism.tool_link
    last = frames[link] if link >= 0 else mechanism.base
    W, o = last.rotation, last.position
    return Pose(W.dot(mechanism.tool.rotation), o + W @ mechanism.tool.position)


def _homogeneous(pose: Pose) -> Rows:
    return [*([*row, p] for row, p in zip(pose.rotation, pose.position, strict=True)), [0, 0, 0, 1]]


def forward_kinematics(mechanism: Mechanism, q: Coordinates) -> Rows:
    """Return the tool frame in the world, 4 x 4."""
    return _homogeneous(tool_frame(mechanism, link_frames(mechanism, q)))


def link_poses(mechanism: Mechanism, q: Coordinates) -> list[Rows]:
    """Return each link frame in the world, n x 4 x 4."""
    frames = link_frames(mechanism, q)
    return [_homogeneous(frames[i]) for i in mechanism.solid]


def link_positions(mechanism: Mechanism, q: Coordinates) -> Rows:
    """Return the origins of frame 0, of every link frame and of the tool frame, if there is one, in the world."""
    frames = link_frames(mechanism, q)
    points = [mechanism.base.position, *(frames[i].position for i in mechanism.solid)]
    if mechanism.tip is not None:
        points.append(tool_frame(mechanism, frames).position)
    return [list(o) for o in points]


def jacobian(mechanism: Mechanism, q: Coordinates) -> Rows:
    """Return the Jacobian, 6 x n: velocity of the tool's origin above its angular velocity, in world axes."""
    return _rows(base_columns(mechanism, q))


def tip_jacobian(mechanism: Mechanism, q: Coordinates) -> Rows:
    """Return the Jacobian in the axes of the tool frame, 6 x n; independent of the base and of the first joint."""
    return _rows(tip_columns(mechanism, q))


def partial_velocities(mechanism: Mechanism, q: Coordinates) -> list[Rows]:
    """Return, for every link, velocity of its centre of mass and angular velocity per unit joint rate, n x 6 x n.

    Kane's, after Angeles, Ma and Rojas (1989), (32)-(36): B_j above A_j, in the axes of the world.
    """
    links, bodies = link_placements(mechanism, q), mechanism.bodies
    return [_rows(_base_columns(mechanism, links, j, links[j].W @ bodies[j].com)) for j in mechanism.solid]


def jacobian_derivative(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> Rows:
    """Return dJ/dt in the axes of the world: columns rotate with their links, lever arms move with the outer links."""
    columns = base_columns(mechanism, q)
    angular = _body_motions(mechanism, outward(mechanism.parents, _add_angular, ZERO, columns, qd))
    beyond = _body_motions(mechanism, inward(mechanism.parents, _add_beyond, ZERO_COLUMN, columns, qd))
    return _rows(
        JacobianColumn(w.cross(c.l) + c.e.cross(rest.l), w.cross(c.e))
        for c, w, rest in zip(columns, angular, beyond, strict=True)
    )


def tip_jacobian_derivative(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> Rows:
    """Return dJ/dt in the axes of the tool: seen from there, a joint moves against all the joints beyond it."""
    columns = tip_columns(mechanism, q)
    beyond = _body_motions(mechanism, inward(mechanism.parents, _add_beyond, ZERO_COLUMN, columns, qd))
    return _rows(
        JacobianColumn(c.l.cross(rest.e) + c.e.cross(rest.l), c.e.cross(rest.e))
        for c, rest in zip(columns, beyond, strict=True)
    )


def _body_motions(mechanism: Mechanism, motions: list[Motion]) -> list[Motion]:
    """Return for each joint the motion of the link with its axis; freedoms of a ball have that of their body."""
    motions = list(motions)
    for ball in mechanism.balls:
        rows = slice(ball.rows.start, ball.rows.stop)
        motions[rows] = [motions[rows.stop - 1]] * ball.freedoms
    return motions


def base_columns(mechanism: Mechanism, q: Coordinates) -> list[JacobianColumn]:
    """Return the columns of the Jacobian from the tip inward; summing lever arms takes no difference of positions."""
    links, tip = link_placements(mechanism, q), mechanism.tool_link
    if tip < 0:
        return [ZERO_COLUMN] * mechanism.n
    return _base_columns(mechanism, links, tip, links[tip].W @ mechanism.tool.position)


def _base_columns(mechanism: Mechanism, links: list[LinkPlacement], tip: int, r: Vector) -> list[JacobianColumn]:
    """Return the columns of a point of link `tip` at r from its origin; joints that do not move it have zeros."""
    columns = [ZERO_COLUMN] * mechanism.n
    for i in mechanism.inward_from(tip):
        axis = links[i].W @ Z
        prismatic = mechanism.joints[i].prismatic
        columns[i] = JacobianColumn(axis, ZERO) if prismatic else JacobianColumn(axis.cross(r), axis)
        r = r + links[i].s
    return columns


def tip_columns(mechanism: Mechanism, q: Coordinates) -> list[JacobianColumn]:
    """Return the columns from the tip inward: the pose of the tool in frame i gives column i."""
    columns, tool = [ZERO_COLUMN] * mechanism.n, mechanism.tool
    for i in mechanism.inward_from(mechanism.tool_link):
        joint = mechanism.joints[i]
        x, y, axis = tool.rotation  # the axes of frame i, seen from the tool
        r, R = tool.position, joint.rotation(q[i])
        columns[i] = JacobianColumn(axis, ZERO) if joint.prismatic else JacobianColumn(y * r.x - x * r.y, axis)
        rotation = Matrix(*(R @ direction for direction in tool.rotation.T)).T
        tool = Pose(rotation, joint.offset(q[i]) + R @ r)
    return columns


def _add_angular(w: Vector, column: JacobianColumn, qd: Scalar) -> Vector:
    sum_: Vector = w + column.e * qd
    return sum_


def _add_beyond(beyond: JacobianColumn, column: JacobianColumn, qd: Scalar) -> tuple[JacobianColumn, JacobianColumn]:
    return JacobianColumn(beyond.l + column.l * qd, beyond.e + column.e * qd), beyond


def _rows(columns: Iterable[JacobianColumn]) -> Rows:
    return [list(row) for row in zip(*((*c.l, *c.e) for c in columns), strict=True)]
