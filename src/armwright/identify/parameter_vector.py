"""The parameters that torque is linear in: ten for each link and three for each joint.

link i    m, mx my mz, Ixx Iyy Izz Ixy Ixz Iyz    mass, first moment, inertia about the link origin, in link frame i
joint i   viscous, coulomb, armature              tau += viscous qd + coulomb sign(qd) + armature qdd

The vector has the ten of link 1, of link 2, ..., then the three of joint 1, of joint 2, ..., mimic joints included. A
ball, free or planar joint has none. Joints are numbered as `print(robot)` does. The payload of a robot counts as a part
of the link that carries it.

The ten as one matrix are the pseudo-inertia (P. Wensing, S. Kim, J.-J. Slotine, 'Linear matrix inequalities for
physically consistent inertial parameter identification', IEEE Robotics and Automation Letters 3 (2018)): the second
moments of the mass over (x, y, z, 1), positive definite for every possible body, and T P T^T in another frame.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array
from armwright.errors import InputError
from armwright.model.description import Description
from armwright.model.followers import split_followers
from armwright.model.records import JointModel, LinkModel
from armwright.model.transforms import tensor, tensor_entries, triple
from armwright.robot import Robot

LINK_PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
JOINT_PARAMETERS = ("viscous", "coulomb", "armature")
LINK_SIZE, JOINT_SIZE = len(LINK_PARAMETERS), len(JOINT_PARAMETERS)


def parameter_names(robot: Description | int) -> tuple[str, ...]:
    """Return the names of all parameters of a robot, in order: m1, mx1, ..., Iyz1, m2, ..., viscous1, coulomb1, ...

    A number means a robot with that many links, each on a joint of one freedom. Mimic joints count.
    """
    if isinstance(robot, Description):
        links, joints = len(robot.links), robot.mechanism().friction_joints
    elif isinstance(robot, bool) or not isinstance(robot, int) or robot < 1:
        raise InputError(f"parameter_names got {robot!r}; expected a Robot, or how many links it has")
    else:
        links, joints = robot, list(range(robot))
    of_links = [f"{name}{i + 1}" for i in range(links) for name in LINK_PARAMETERS]
    return (*of_links, *(f"{name}{i + 1}" for i in joints for name in JOINT_PARAMETERS))


def parameters(robot: Description) -> Array:
    """Return the parameters of a robot, in the order of `parameter_names`; the payload counts as a part of its link."""
    if not isinstance(robot, Description):
        raise InputError(f"parameters got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    mechanism = robot.mechanism()
    bodies = [mechanism.links[i] for i in mechanism.solid]
    friction_joints = [mechanism.joints[i] for i in mechanism.friction_joints]
    links = [x for link in bodies for x in (link.mass, *link.moment, *link.origin_inertia)]
    joints = [x for joint in friction_joints for x in (joint.viscous, joint.coulomb, joint.armature)]
    return np.array([*links, *joints], float)


def with_parameters(robot: Robot, values: ArrayLike) -> Robot:
    """Return the robot with other parameters and no payload: the payload is a part of the link that carried it."""
    n, friction_joints = len(robot.links), robot.mechanism().friction_joints
    size = LINK_SIZE * n + JOINT_SIZE * len(friction_joints)
    vector = checked_array("values", values, (size,), np.dtype(float), "the parameters of `parameters(robot)`")
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError(f"values of shape {vector.shape}: expected one vector of finite numbers")
    links, joints = vector[: LINK_SIZE * n].reshape(n, LINK_SIZE), vector[LINK_SIZE * n :].reshape(-1, JOINT_SIZE)
    rows = list(robot.rows)
    for i, three in zip(friction_joints, joints, strict=True):
        rows[i] = _joint(rows[i], three)
    moving, following = split_followers(rows)
    return replace(
        robot,
        links=tuple(
            _with_body(link, link_of_parameters(link.name, ten)) for link, ten in zip(robot.links, links, strict=True)
        ),
        joints=moving,
        followers=following,
        payload=None,
    )


def link_of_parameters(name: str, ten: Array) -> LinkModel:
    """Return a link from the ten parameters of its body."""
    m, h, about_origin = float(ten[0]), ten[1:4], np.array(tensor(ten[4:]))
    if m == 0 and np.any(h):
        raise InputError(f"{name} has no mass and a first moment {h.tolist()}; expected a mass, or no first moment")
    com = h / m if m else np.zeros(3)
    central = about_origin - m * (com @ com * np.eye(3) - np.outer(com, com))
    return LinkModel(name, m, triple(com), tensor(tensor_entries(central)))


def _with_body(link: LinkModel, body: LinkModel) -> LinkModel:
    """Return a link with the inertial parameters of another."""
    return replace(link, mass=body.mass, com=body.com, inertia=body.inertia)


def _joint(joint: JointModel, three: Array) -> JointModel:
    viscous, coulomb, armature = three.tolist()
    rotor = armature / (joint.gear * joint.gear) if joint.gear else 0.0
    return replace(joint, viscous=viscous, coulomb=coulomb, rotor_inertia=rotor)


def _basis() -> Array:
    """Return the pseudo-inertia of a unit of each of the ten parameters, shape (10, 4, 4)."""
    E = np.zeros((LINK_SIZE, 4, 4))
    E[0, 3, 3] = 1
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1
        E[4 + k, :3, :3] = np.eye(3) / 2  # the second moment is 1/2 tr(I) 1 - I
        E[4 + k, k, k] = -0.5
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        E[7 + k, i, j] = E[7 + k, j, i] = -1
    return E


PSEUDO_INERTIA_BASIS = _basis()


def pseudo_inertia(ten: Array) -> Array:
    """Return pseudo-inertias (..., 4, 4) from parameters (..., 10)."""
    return np.tensordot(ten, PSEUDO_INERTIA_BASIS, axes=1)


def parameters_of_pseudo_inertia(pseudo: Array) -> Array:
    """Return parameters (..., 10) from pseudo-inertias (..., 4, 4)."""
    second = pseudo[..., :3, :3]
    total = np.trace(second, axis1=-2, axis2=-1)
    diagonal = total[..., None] - np.diagonal(second, axis1=-2, axis2=-1)
    products = -np.stack([second[..., 0, 1], second[..., 0, 2], second[..., 1, 2]], axis=-1)
    return np.concatenate([pseudo[..., 3:, 3], pseudo[..., :3, 3], diagonal, products], axis=-1)


def frame_change(transform: Array) -> Array:
    """Return the matrix (10, 10) from the parameters of a body in one frame to those in another.

    `transform` is the pose of the first frame in the second.
    """
    return parameters_of_pseudo_inertia(transform @ PSEUDO_INERTIA_BASIS @ transform.T).T
