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
from typing import NamedTuple

from armwright.algebra import ZERO, Matrix, Scalar, Vector, Z
from armwright.chain import Chain, Joint, Pose
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates

Rows = list[list[Scalar]]


class Column(NamedTuple):
    """One column of a Jacobian."""

    l: Vector  # noqa: E741
    e: Vector


class Placed(NamedTuple):
    """A link frame by its rotation and by the way to it from the one before."""

    W: Matrix
    s: Vector


def placed(chain: Chain, q: Coordinates) -> list[Placed]:
    return outward(_place, Placed(chain.base.rotation, chain.base.position), chain.joints, q)


def _place(last: Placed, joint: Joint, q: Scalar) -> Placed:
    R = joint.rotation(q)
    return Placed(Matrix(*(R.T @ row for row in last.W)), last.W @ joint.offset(q))


def link_frames(chain: Chain, q: Coordinates) -> list[Pose]:
    """Each link frame, seen from the world."""
    frames, o = [], chain.base.position
    for link in placed(chain, q):
        o = o + link.s
        frames.append(Pose(link.W, o))
    return frames


def tool_frame(chain: Chain, last: Pose) -> Pose:
    """The tool frame seen from wherever the last link frame is seen from."""
    W = last.rotation
    return Pose(W.dot(chain.tool.rotation), last.position + W @ chain.tool.position)


def _homogeneous(pose: Pose) -> Rows:
    return [*([*row, p] for row, p in zip(pose.rotation, pose.position, strict=True)), [0, 0, 0, 1]]


def forward_kinematics(chain: Chain, q: Coordinates) -> Rows:
    """The tool frame seen from the world, 4 x 4."""
    return _homogeneous(tool_frame(chain, link_frames(chain, q)[-1]))


def link_poses(chain: Chain, q: Coordinates) -> list[Rows]:
    """Each link frame seen from the world, n x 4 x 4."""
    return [_homogeneous(frame) for frame in link_frames(chain, q)]


def link_positions(chain: Chain, q: Coordinates) -> Rows:
    """The origins of frame 0, of every link frame and of the tool frame in the world, n + 2 points."""
    frames = link_frames(chain, q)
    tip = frames[-1].position + frames[-1].rotation @ chain.tool.position
    return [list(o) for o in (chain.base.position, *(frame.position for frame in frames), tip)]


def jacobian(chain: Chain, q: Coordinates) -> Rows:
    """6 x n: velocity of the tool's origin and angular velocity of the tool, in the axes of the world."""
    return _rows(base_columns(chain, q))


def tip_jacobian(chain: Chain, q: Coordinates) -> Rows:
    """6 x n: the same velocities in the axes of the tool frame; independent of the base and of the first joint."""
    return _rows(tip_columns(chain, q))


def partial_velocities(chain: Chain, q: Coordinates) -> list[Rows]:
    """n x 6 x n: of every link, velocity of its centre of mass and angular velocity per unit rate of each joint.

    Kane's, as Angeles, Ma and Rojas (1989) have them in (32)-(36): B_j above A_j, in the axes of the world.
    """
    links, found = placed(chain, q), []
    for j, body in enumerate(chain.bodies, start=1):
        inner = inward(_base_step, links[j - 1].W @ body.com, chain.joints[:j], links[:j])
        found.append(_rows([*inner, *[Column(ZERO, ZERO)] * (chain.n - j)]))
    return found


def jacobian_derivative(chain: Chain, q: Coordinates, qd: Coordinates) -> Rows:
    """dJ/dt, J in the axes of the world: a column turns with its link, and its lever arm grows by what lies beyond."""
    columns = base_columns(chain, q)
    turning = outward(_add_angular, ZERO, columns, qd)
    beyond = inward(_add_beyond, Column(ZERO, ZERO), columns, qd)
    return _rows(
        Column(w.cross(c.l) + c.e.cross(rest.l), w.cross(c.e))
        for c, w, rest in zip(columns, turning, beyond, strict=True)
    )


def tip_jacobian_derivative(chain: Chain, q: Coordinates, qd: Coordinates) -> Rows:
    """dJ/dt, J in the axes of the tool: seen from there, a joint moves against all the joints beyond it."""
    columns = tip_columns(chain, q)
    beyond = inward(_add_beyond, Column(ZERO, ZERO), columns, qd)
    return _rows(
        Column(c.l.cross(rest.e) + c.e.cross(rest.l), c.e.cross(rest.e))
        for c, rest in zip(columns, beyond, strict=True)
    )


def base_columns(chain: Chain, q: Coordinates) -> list[Column]:
    """From the tip inward, adding up the lever arm: that takes no difference of positions."""
    links = placed(chain, q)
    return inward(_base_step, links[-1].W @ chain.tool.position, chain.joints, links)


def _base_step(r: Vector, joint: Joint, link: Placed) -> tuple[Vector, Column]:
    axis = link.W @ Z
    return r + link.s, Column(axis, ZERO) if joint.prismatic else Column(axis.cross(r), axis)


def tip_columns(chain: Chain, q: Coordinates) -> list[Column]:
    """From the tip inward: the pose of the tool frame seen from frame i gives column i."""
    return inward(_tip_step, chain.tool, chain.joints, q)


def _tip_step(tool: Pose, joint: Joint, q: Scalar) -> tuple[Pose, Column]:
    x, y, axis = tool.rotation  # the axes of frame i, seen from the tool
    r, R = tool.position, joint.rotation(q)
    column = Column(axis, ZERO) if joint.prismatic else Column(y * r.x - x * r.y, axis)
    turned = Matrix(*(R @ direction for direction in tool.rotation.T)).T
    return Pose(turned, joint.offset(q) + R @ r), column


def _add_angular(w: Vector, column: Column, qd: Scalar) -> Vector:
    sum_: Vector = w + column.e * qd
    return sum_


def _add_beyond(beyond: Column, column: Column, qd: Scalar) -> tuple[Column, Column]:
    return Column(beyond.l + column.l * qd, beyond.e + column.e * qd), beyond


def _rows(columns: Iterable[Column]) -> Rows:
    return [list(row) for row in zip(*((*c.l, *c.e) for c in columns), strict=True)]
