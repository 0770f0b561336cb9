"""Bodies and transforms in other frames, with rounding errors set to zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armwright.algebra import Array
from armwright.model.records import JointModel, LinkModel
from armwright.model.transforms import Transform, Triple, cos_sin, tensor, tensor_entries, transform, triple

ROUNDING_TOLERANCE = 1e-14
"""Sines below this are zero, and so are lengths relative to the size of the robot."""

TENSOR_TOLERANCE = 1e-14
"""Entries of a tensor below this, relative to its trace, are zero."""


def inverse(T: Array) -> Array:
    """Return the inverse of a transform (4, 4)."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = T[:3, :3].T, -T[:3, :3].T @ T[:3, 3]
    return result


def link_in_frame(body: LinkModel, T: Array) -> LinkModel:
    """Return a link in a new frame, in which its current frame has the pose T."""

    def moved(point: Triple) -> Triple:
        x, p = np.asarray(point), T[:3, 3]
        return triple(rounded_zeros(R @ x + p, ROUNDING_TOLERANCE * max(np.abs(x).max(), np.abs(p).max())))

    R = T[:3, :3]
    inertia = R @ np.asarray(body.inertia) @ R.T
    clean = rounded_zeros(inertia, TENSOR_TOLERANCE * float(np.trace(inertia)))
    visuals = tuple(visual.moved(T) for visual in body.visuals)
    link = LinkModel(body.name, body.mass, moved(body.com), tensor(tensor_entries((clean + clean.T) / 2)), visuals)
    if not body.compensated_mass:
        return link
    return replace(link, compensated_mass=body.compensated_mass, compensated_com=moved(body.compensated_com))


def rounded_zeros(x: Array, tolerance: float) -> Array:
    """Return x with entries up to `tolerance` set to zero; such rounding errors would cost operations."""
    return np.where(np.abs(x) <= abs(tolerance), 0.0, x)


def rounded_transform(T: Array) -> Transform:
    """Return a transform as numbers, with zeros and ones free of rounding errors."""
    rounded = np.array(T)
    for integer in (-1.0, 0.0, 1.0):
        rounded[:3, :3][np.abs(T[:3, :3] - integer) <= ROUNDING_TOLERANCE] = integer
    rounded[:3, 3] = rounded_zeros(T[:3, 3], ROUNDING_TOLERANCE * np.abs(T[:3, 3]).max())
    return transform(rounded)


def zero_placement(joint: JointModel) -> Array:
    """Return the transform from the parent's frame to the joint's frame at q = 0."""
    (ca, sa), (ct, st), (cg, sg) = cos_sin(joint.alpha), cos_sin(joint.theta), cos_sin(joint.gamma)
    turn = np.array([[cg, -sg, 0, 0], [sg, cg, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    x = np.array([[1, 0, 0, joint.a], [0, ca, -sa, joint.y], [0, sa, ca, joint.z], [0, 0, 0, 1]], dtype=float)
    z = np.array([[ct, -st, 0, 0], [st, ct, 0, 0], [0, 0, 1, joint.d], [0, 0, 0, 1]], dtype=float)
    T: Array = turn @ x @ z
    return T
