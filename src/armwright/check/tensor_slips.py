"""Evidence that products of inertia have the opposite sign, or that two moments of inertia are exchanged.

The tensor remains possible. The evidence is a twin, the same link on the other side of the robot, with the corrected
tensor; or the meshes of the link, whose tensor for one density is like the corrected one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from armwright.algebra import Array
from armwright.check.file_model import Body
from armwright.check.origin_tensors import Twins, mesh_moments, moment_distance
from armwright.rules.tensors import is_physical, second_moment, tensors_agree, with_negated_products

TWIN_TOLERANCE, SAME_TENSOR, SIMILAR_TENSOR = 0.005, 0.01, 0.05
"""Largest relative differences of masses and centres of twins, of equal tensors, and of similar tensors."""

MIN_CHANGE = 0.1
"""Smallest change of a tensor by a slip, over its largest entry, that is not negligible."""

MAX_SHAPE_DISTANCE, MIN_SHAPE_GAIN = 0.6, 0.6
"""Largest distance of a corrected tensor from that of the solid meshes, and least gain by the correction.

The distance is that of the logarithms of ratios of second moments less their mean: it compares shapes, not sizes. Half
of the links of published files are closer than 0.6.
"""

AXIS_CHANGES = np.array(
    [
        np.eye(3)[list(order)] * signs
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1.0, -1.0), repeat=3)
    ]
)
MIRROR_COUNT = 8
"""Axes in any order and direction; the first eight keep the order."""


def _exchanged(i: int, j: int, inertia: Array) -> Array:
    other = inertia.copy()
    other[i, i], other[j, j] = inertia[j, j], inertia[i, i]
    return other


TENSOR_SLIPS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "with opposite signs of its products": ("flipped products", with_negated_products),
    "with Ixx and Iyy exchanged": ("exchanged moments", partial(_exchanged, 0, 1)),
    "with Ixx and Izz exchanged": ("exchanged moments", partial(_exchanged, 0, 2)),
    "with Iyy and Izz exchanged": ("exchanged moments", partial(_exchanged, 1, 2)),
}
"""Slips by the text of their correction: kind of finding, and correction in the axes of the file."""


def alternative_tensors(body: Body) -> Iterator[tuple[str, Array]]:
    """Yield (text of the correction, corrected tensor in the axes of the link)."""
    written = (body.tensor + body.tensor.T) / 2
    for how, (_, correct) in TENSOR_SLIPS.items():
        other = body.rotation @ correct(written) @ body.rotation.T
        if is_physical(other) and not tensors_agree(other, body.inertia, MIN_CHANGE):
            yield how, other


def twin_slip(body: Body, twins: Twins) -> tuple[str, str] | None:
    """Return (correction, twin) if no twin has this tensor and one, mirrored like its centre, has the corrected one.

    The axes of a twin may be in another order.
    """
    similar = twins.similar_to(body, TWIN_TOLERANCE)
    distance, size = np.linalg.norm(body.com), np.max(np.abs(body.inertia))
    plain = np.linalg.norm(twins.coms[similar] - body.com, axis=1) <= TWIN_TOLERANCE * distance
    if not len(similar) or np.any(plain & (_difference(twins.tensors[similar], body.inertia) <= SIMILAR_TENSOR * size)):
        return None
    moved = np.einsum("mij,kj->kmi", AXIS_CHANGES, twins.coms[similar])
    k, m = np.nonzero(np.linalg.norm(moved - body.com, axis=-1) <= TWIN_TOLERANCE * distance)
    tensors = AXIS_CHANGES[m] @ twins.tensors[similar[k]] @ AXIS_CHANGES[m].transpose(0, 2, 1)
    if not len(k) or np.min(_difference(tensors, body.inertia)) <= SIMILAR_TENSOR * size:
        return None
    mirrored = m < MIRROR_COUNT
    k, tensors = k[mirrored], tensors[mirrored]
    for how, other in alternative_tensors(body):
        errors = _difference(tensors, other)
        if errors.min(initial=np.inf) <= SAME_TENSOR * size:
            return how, twins.names[similar[k[errors.argmin()]]]
    return None


def _difference(tensors: Array, tensor: Array) -> Array:
    difference: Array = np.max(np.abs(tensors - tensor), axis=(1, 2))
    return difference


def mesh_slip(body: Body) -> tuple[str, float, float] | None:
    """Return (correction, distance from the solid meshes, corrected distance), or None."""
    others = dict(alternative_tensors(body))
    solids = mesh_moments(body) if others else []
    if not solids:
        return None
    distance = min(moment_distance(second_moment(body.inertia), S, with_size=False) for S in solids)
    corrected, how = min(
        (moment_distance(second_moment(other), S, with_size=False), how)
        for how, other in others.items()
        for S in solids
    )
    return (
        (how, distance, corrected)
        if corrected <= MAX_SHAPE_DISTANCE and distance >= corrected + MIN_SHAPE_GAIN
        else None
    )
