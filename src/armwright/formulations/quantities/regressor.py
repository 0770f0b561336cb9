"""The regressor Y with tau = Y(q, qd, qdd) pi: inverse dynamics of links that have one of the ten parameters only.

Torque is linear in the parameters, so column k of Y is the torque of a robot whose parameter k is one and whose others
are zero. The formulation is Khalil's, which works in the ten parameters; a massless link costs nothing, so the column
of a link is traced only along the joints up to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from armwright.algebra import ZERO, Scalar, Symmetric, Vector
from armwright.formulations import khalil
from armwright.formulations.parts.coordinates import to_coordinates
from armwright.formulations.parts.link_motion import TensorMotion, tensor_motion
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.rotors_and_friction import ball_rotor_torques, joint_friction
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import Joint, Mechanism, MomentLink, Wrench

LINK_PARAMETERS = 10
MASSLESS_LINK = MomentLink(0, ZERO, Symmetric(0, 0, 0, 0, 0, 0))


def unit_link(k: int) -> MomentLink:
    """Return a link whose parameter k is one and whose others are zero."""
    ten = [int(i == k) for i in range(LINK_PARAMETERS)]
    return MomentLink(ten[0], Vector(*ten[1:4]), Symmetric(*ten[4:]))


def link_columns(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> Iterator[list[Scalar]]:
    """Yield the torques of all joints for each parameter of each link."""
    motions = tensor_motion(mechanism, q, qd, qdd)
    for i in mechanism.solid:
        path = list(mechanism.inward_from(i))[::-1]
        inner = (range(-1, len(path) - 1), [mechanism.joints[j] for j in path], [motions[j] for j in path])
        for k in range(LINK_PARAMETERS):
            torques = dict(zip(path, _torques(*inner, unit_link(k)), strict=True))
            yield [torques.get(j, 0) for j in range(mechanism.n)]


def _torques(
    parents: Sequence[int], joints: list[Joint], motions: list[TensorMotion], link: MomentLink
) -> list[Scalar]:
    """Return the torques of the joints on the path to a link while all other links are massless."""
    links = [*[MASSLESS_LINK] * (len(joints) - 1), link]
    return inward(
        parents, khalil.force_step, khalil.KhalilForce(ZERO, ZERO), joints, links, motions, [Wrench()] * len(joints)
    )


def joint_columns(mechanism: Mechanism, qd: Coordinates, qdd: Coordinates) -> Iterator[list[Scalar]]:
    """Yield the torques of all joints for viscous friction, Coulomb friction and rotor of each joint that has them."""
    bare = [replace(joint, viscous=0, coulomb=0, armature=0) for joint in mechanism.joints]
    for i in mechanism.friction_joints:
        for unit in ({"viscous": 1}, {"coulomb": 1}):
            yield joint_friction(replace(mechanism, joints=_with_changes(bare, i, **unit)), qd)
        rotors = ball_rotor_torques(replace(mechanism, joints=_with_changes(bare, i, armature=1)), qd)
        yield [torque + qdd[i] if j == i else torque for j, torque in enumerate(rotors)]


def _with_changes(joints: Sequence[Joint], i: int, **changes: Scalar) -> tuple[Joint, ...]:
    return tuple(replace(joint, **changes) if j == i else joint for j, joint in enumerate(joints))


def rows(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, _loads: Loads = ()
) -> list[list[Scalar]]:
    """Return the rows of Y, over any scalar; q, qd and qdd are those of the joints of the chain."""
    columns = [
        to_coordinates(mechanism, column)
        for column in (*link_columns(mechanism, q, qd, qdd), *joint_columns(mechanism, qd, qdd))
    ]
    return [list(row) for row in zip(*columns, strict=True)]
