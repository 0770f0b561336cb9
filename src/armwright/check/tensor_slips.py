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
"""Relative differences of masses and centres of twins; of equal tensors; of tensors that may be equal."""

MIN_CHANGE = 0.1
"""Least change of a tensor by a slip, over its largest entry; below, it is negligible."""

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
"""Slips by the words for their correction: kind of finding, and correction in the axes of the file."""


def alternative_tensors(body: Body) -> Iterator[tuple[str, Array]]:
    """Yield corrected tensors in the axes of the link, each with the words for the correction."""
    written = (body.tensor + body.tensor.T) / 2
    for how, (_, slip) in TENSOR_SLIPS.items():
        other = body.rotation @ slip(written) @ body.rotation.T
        if is_physical(other) and not tensors_agree(other, body.inertia, MIN_CHANGE):
            yield how, other


def twin_slip(body: Body, twins: Twins) -> tuple[str, str] | None:
    """Return (correction, twin) if no twin has this tensor and one has the corrected one, mirrored like its centre.

    A twin may have its axes in another order.
    """
    found = twins.similar_to(body, TWIN_TOLERANCE)
    distance, size = np.linalg.norm(body.com), np.max(np.abs(body.inertia))
    plain = np.linalg.norm(twins.coms[found] - body.com, axis=1) <= TWIN_TOLERANCE * distance
    if not len(found) or np.any(plain & (_difference(twins.tensors[found], body.inertia) <= SIMILAR_TENSOR * size)):
        return None
    moved = np.einsum("mij,kj->kmi", AXIS_CHANGES, twins.coms[found])
    k, m = np.nonzero(np.linalg.norm(moved - body.com, axis=-1) <= TWIN_TOLERANCE * distance)
    theirs = AXIS_CHANGES[m] @ twins.tensors[found[k]] @ AXIS_CHANGES[m].transpose(0, 2, 1)
    if not len(k) or np.min(_difference(theirs, body.inertia)) <= SIMILAR_TENSOR * size:
        return None
    mirrored = m < MIRROR_COUNT
    k, theirs = k[mirrored], theirs[mirrored]
    for how, other in alternative_tensors(body):
        off = _difference(theirs, other)
        if off.min(initial=np.inf) <= SAME_TENSOR * size:
            return how, twins.names[found[k[off.argmin()]]]
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
    given = min(moment_distance(second_moment(body.inertia), S, sized=False) for S in solids)
    nearest, how = min(
        (moment_distance(second_moment(other), S, sized=False), how) for how, other in others.items() for S in solids
    )
    return (how, given, nearest) if nearest <= MAX_SHAPE_DISTANCE and given >= nearest + MIN_SHAPE_GAIN else None
