"""Evidence that products of inertia have the other sign, or that two moments of inertia are exchanged.

Both leave a tensor that some body could have. What speaks against it is a twin, the same link on the other side of the
robot, that has the other tensor; or the meshes of the link, which filled evenly have a tensor like the other one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from armwright.algebra import Array
from armwright.check.about_origin import Twins, filled, unlike
from armwright.check.written import Body
from armwright.rules.tensors import is_physical, second_moment, tensors_agree, with_negated_products

SAME, EQUAL, OTHER = 0.005, 0.01, 0.05
"""Relative: masses and centres of mass of twins; tensors that are the same; tensors that may still be."""

CHANGE = 0.1
"""Of the largest entry that a mistake changes at least: below, it hardly matters."""

NEAR, NEARER = 0.6, 0.6
"""How far a tensor is from that of the filled meshes at most, and by how much it is nearer at least.

By the logarithms of the ratios of second moments, less their mean: the shape, whatever the size. Half of the links of
published files are nearer than 0.6.
"""

MOTIONS = np.array(
    [
        np.eye(3)[list(order)] * signs
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1.0, -1.0), repeat=3)
    ]
)
MIRRORS = 8
"""Axes in any order and direction; the first eight leave the order as it is."""


def _exchanged(i: int, j: int, inertia: Array) -> Array:
    other = inertia.copy()
    other[i, i], other[j, j] = inertia[j, j], inertia[i, i]
    return other


SLIPS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "with the signs of its products turned": ("flipped products", with_negated_products),
    "with Ixx and Iyy exchanged": ("exchanged moments", partial(_exchanged, 0, 1)),
    "with Ixx and Izz exchanged": ("exchanged moments", partial(_exchanged, 0, 2)),
    "with Iyy and Izz exchanged": ("exchanged moments", partial(_exchanged, 1, 2)),
}
"""What may have happened, in the axes that the file has the tensor in, by how it is undone."""


def readings(body: Body) -> Iterator[tuple[str, Array]]:
    """Other tensors that may be meant, in the axes of the link."""
    written = (body.tensor + body.tensor.T) / 2
    for how, (_, slip) in SLIPS.items():
        other = body.turn @ slip(written) @ body.turn.T
        if is_physical(other) and not tensors_agree(other, body.inertia, CHANGE):
            yield how, other


def by_twin(body: Body, twins: Twins) -> tuple[str, str] | None:
    """(how it is undone, the twin), if none has this tensor, mirrored as the centre of mass is, and one has another.

    A twin whose frame has its axes in another order is a twin that has this tensor, too.
    """
    found = twins.of(body, SAME)
    distance, size = np.linalg.norm(body.com), np.max(np.abs(body.inertia))
    plain = np.linalg.norm(twins.coms[found] - body.com, axis=1) <= SAME * distance
    if not len(found) or np.any(plain & (_apart(twins.tensors[found], body.inertia) <= OTHER * size)):
        return None
    moved = np.einsum("mij,kj->kmi", MOTIONS, twins.coms[found])
    k, m = np.nonzero(np.linalg.norm(moved - body.com, axis=-1) <= SAME * distance)
    theirs = MOTIONS[m] @ twins.tensors[found[k]] @ MOTIONS[m].transpose(0, 2, 1)
    if not len(k) or np.min(_apart(theirs, body.inertia)) <= OTHER * size:
        return None
    mirrored = m < MIRRORS
    k, theirs = k[mirrored], theirs[mirrored]
    for how, other in readings(body):
        off = _apart(theirs, other)
        if off.min(initial=np.inf) <= EQUAL * size:
            return how, twins.names[found[k[off.argmin()]]]
    return None


def _apart(tensors: Array, tensor: Array) -> Array:
    apart: Array = np.max(np.abs(tensors - tensor), axis=(1, 2))
    return apart


def by_meshes(body: Body) -> tuple[str, float, float] | None:
    """(how it is undone, how far from the filled meshes the tensor is, and how far it is then)."""
    others = dict(readings(body))
    amid = filled(body) if others else []
    if not amid:
        return None
    given = min(unlike(second_moment(body.inertia), S, sized=False) for S in amid)
    nearest, how = min(
        (unlike(second_moment(other), S, sized=False), how) for how, other in others.items() for S in amid
    )
    return (how, given, nearest) if nearest <= NEAR and given >= nearest + NEARER else None
