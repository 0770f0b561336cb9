"""What the shapes of a link say about where its mass can be.

Meshes are read as triangles from binary and ASCII STL, OBJ and COLLADA, with limits on their size, and nothing else of
them: no textures, no materials, no files they name. One that is not understood says nothing. Which file a name means,
and that it lies in the model's folder, is for `model.meshes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError
from armwright.model import xml

LARGEST = 16 << 20
"""Bytes of a mesh file."""

MOST = 1_000_000
"""Triangles of a mesh."""

KEPT = 16
"""Meshes that are remembered."""

FARTHEST = 1e4
"""Metres: a vertex beyond is none."""

DEEPEST = 50
"""Nodes of a COLLADA scene in one another."""

ROUND = 24
"""Sides of what stands for a circle."""


class NotUnderstood(Exception):  # noqa: N818
    """A mesh file that says nothing."""


@dataclass(frozen=True, eq=False)
class Part:
    """A box, cylinder (along z), sphere or mesh on a link: sides of the box around it, or the scale, and its pose.

    Another kind of shape, and a mesh whose file may not be read, are parts that are not understood. `name` is that of
    the mesh in the file.
    """

    kind: str
    sides: Array
    pose: Array
    file: Path | None = None
    name: str = ""

    @property
    def triangles(self) -> Array:
        """In the link frame, with the outside to the right of all of them or to the left of all of them."""
        if self.kind == "mesh" and self.file is not None:
            own = triangles(self.file)
        elif self.kind in _PROFILES:
            own = _revolved(*_PROFILES[self.kind])
        else:
            raise NotUnderstood(self.kind)
        return self._placed(own)

    @property
    def corners(self) -> Array:
        """Those of the box around it, in the link frame."""
        return self._placed(np.array(list(itertools.product((-0.5, 0.5), repeat=3))))

    def _placed(self, own: Array) -> Array:
        placed: Array = (own * self.sides) @ self.pose[:3, :3].T + self.pose[:3, 3]
        return placed

    @property
    def solid(self) -> bool:
        """Whether it has a volume without reading a file."""
        return self.kind in _PROFILES and bool(np.all(self.sides > 0))

    def tensor(self, mass: float) -> Array:
        """Of a solid with one density, about its middle, in the axes of the link frame."""
        x, y, z = self.sides**2
        if self.kind == "box":
            own = np.array([y + z, x + z, x + y]) / 12
        elif self.kind == "cylinder":
            own = np.array([x / 16 + z / 12, x / 16 + z / 12, x / 8])
        else:
            own = np.array([x, x, x]) / 10
        R = self.pose[:3, :3]
        tensor: Array = R @ np.diag(mass * own) @ R.T
        return tensor


def _revolved(profile: Sequence[tuple[float, float]], sides: int) -> Array:
    """A profile of radii and heights turned about z; four sides make a box."""
    angles = (np.arange(sides) + 0.5) * 2 * np.pi / sides
    rings = [np.stack([r * np.cos(angles), r * np.sin(angles), np.full(sides, z)], axis=1) for r, z in profile]
    found = []
    for one, two in itertools.pairwise(rings):
        next_one, next_two = np.roll(one, -1, axis=0), np.roll(two, -1, axis=0)
        found += [np.stack([one, next_one, next_two], axis=1), np.stack([one, next_two, two], axis=1)]
    return np.concatenate(found)


_HALF_CIRCLE = [(0.5 * float(np.sin(a)), -0.5 * float(np.cos(a))) for a in np.linspace(0, np.pi, ROUND // 2 + 1)]
_PROFILES = {
    "box": ([(0.0, -0.5), (0.5**0.5, -0.5), (0.5**0.5, 0.5), (0.0, 0.5)], 4),
    "cylinder": ([(0.0, -0.5), (0.5, -0.5), (0.5, 0.5), (0.0, 0.5)], ROUND),
    "sphere": (_HALF_CIRCLE, ROUND),
}
"""Each with sides of length one, and how many sides it is given."""


@dataclass(frozen=True, eq=False)
class Skin:
    """All that a link shows, or all it is touched at."""

    parts: tuple[Part, ...]

    @property
    def meshes(self) -> bool:
        return any(part.kind == "mesh" for part in self.parts)

    @property
    def lost(self) -> tuple[str, ...]:
        """The meshes that are not there, or may not be read."""
        return tuple(part.name for part in self.parts if part.kind == "mesh" and part.file is None)

    @cached_property
    def hull(self) -> Hull | None:
        """Read when it is asked for; None if there is nothing, or a part that is not understood."""
        try:
            found = [_outwards(part.triangles) for part in self.parts]
        except NotUnderstood:
            return None
        return Hull(np.concatenate(found)) if found else None


def _outwards(own: Array) -> Array:
    """Turned so that they enclose a positive volume: parts may be mirrored."""
    middle = own.reshape(-1, 3).mean(axis=0)
    return own[:, ::-1] if np.linalg.det(own - middle).sum() < 0 else own


@dataclass(frozen=True, eq=False)
class Hull:
    """Triangles (n, 3, 3) in the link frame, taken for the skin of a body."""

    triangles: Array

    @cached_property
    def corners(self) -> Array:
        corners: Array = self.triangles.reshape(-1, 3)
        return corners

    @cached_property
    def filled(self) -> tuple[Array, Array] | None:
        """The middle of the body, and its second moment about that for a mass of 1, if all of it has one density.

        Tetrahedra from a point amid the corners to each triangle, those that face it counted negative. None where the
        skin has such holes that less is left than a hundredth of the box around it.
        """
        amid = self.corners.mean(axis=0)
        arms = self.triangles - amid
        volumes = np.linalg.det(arms) / 6
        if not volumes.sum() > 0.01 * np.prod(np.ptp(self.corners, axis=0)) > 0:
            return None
        shares, sums = volumes / volumes.sum(), arms.sum(axis=1)
        middle = shares @ sums / 4
        squares = np.einsum("t,tki,tkj->ij", shares, arms, arms) + np.einsum("t,ti,tj->ij", shares, sums, sums)
        moment: Array = squares / 20 - np.outer(middle, middle)
        return (amid + middle, moment) if np.linalg.eigvalsh(moment)[0] > 0 else None

    def span(self, u: Array) -> tuple[float, float]:
        """From where to where it reaches along a direction."""
        along = self.corners @ u
        return float(along.min()), float(along.max())


def triangles(path: Path) -> Array:
    """The triangles of a mesh file as (n, 3, 3), in metres where the file says what its unit is."""
    if path.suffix.lower() not in READERS:
        raise NotUnderstood(path.suffix)
    try:
        stat = path.stat()
        if stat.st_size > LARGEST:
            raise NotUnderstood("too large")
        found = _read(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError, LookupError, ArithmeticError, MemoryError, ModelError) as error:
        raise NotUnderstood(str(error)) from None
    if not 0 < len(found) <= MOST or not np.all(np.abs(found) < FARTHEST):
        raise NotUnderstood("no triangles, or too many, or nowhere")
    return found


@lru_cache(maxsize=KEPT)
def _read(path: Path, _changed: int, _size: int) -> Array:
    """Remembered: a mesh is often what a link shows and what it is touched at, on several links."""
    with np.errstate(all="ignore"):
        found = READERS[path.suffix.lower()](path)
    found.flags.writeable = False
    return found


def _stl(path: Path) -> Array:
    """Binary: 80 bytes, their number, and 50 bytes for each: normal, corners, and two bytes nobody uses."""
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    if len(data) == 84 + 50 * count and count:
        rows = np.frombuffer(data, np.uint8, 50 * count, 84).reshape(count, 50)
        return np.ascontiguousarray(rows[:, 12:48]).view("<f4").reshape(count, 3, 3).astype(float)
    if data.lstrip()[:5].lower() != b"solid":
        raise NotUnderstood("neither binary nor ASCII STL")
    words = data.split()
    starts = [i for i, word in enumerate(words) if word.lower() == b"vertex"]
    return np.array([[float(x) for x in words[i + 1 : i + 4]] for i in starts]).reshape(-1, 3, 3)


def _obj(path: Path) -> Array:
    corners: list[list[float]] = []
    index: list[int] = []
    sizes: list[int] = []
    for line in path.read_bytes().split(b"\n"):
        words = line.split()
        if words and words[0] == b"v":
            corners.append([float(x) for x in words[1:4]])
        elif words and words[0] == b"f":
            named = [int(word.split(b"/", 1)[0]) for word in words[1:]]
            index += [i - 1 if i > 0 else len(corners) + i for i in named]
            sizes.append(len(named))
            if len(sizes) > MOST or len(index) > 3 * MOST:
                raise NotUnderstood("too many faces")
    return _picked(np.array(corners), _fans(np.array(index, dtype=int), np.array(sizes, dtype=int)))


def _fans(index: Array, sizes: Array) -> Array:
    """Polygons as triangles (n, 3), by the indices of their corners; `sizes` are how many corners each has."""
    if np.any(sizes < 0) or sizes.sum() != len(index):
        raise NotUnderstood("polygons with more corners than there are, or fewer")
    starts, counts = np.cumsum(sizes) - sizes, np.maximum(sizes - 2, 0)
    first = np.repeat(starts, counts)
    later = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first
    return np.stack([index[first], index[later + 1], index[later + 2]], axis=1)


def _picked(corners: Array, chosen: Array) -> Array:
    if len(chosen) > MOST or (chosen.size and chosen.min() < 0):
        raise NotUnderstood("too many triangles, or a corner before the first")
    picked: Array = corners.reshape(-1, 3)[chosen]
    return picked


def _dae(path: Path) -> Array:
    """COLLADA: the geometries where the nodes of its scene put them. Readers disagree on axes other than Z_UP."""
    root = xml.read(path)
    if {element.tag for element in root.walk()} & {"instance_node", "instance_controller", "skew", "lookat"}:
        raise NotUnderstood("a scene of other things than geometries")
    asset = root.one("asset")
    up, unit = (asset.one("up_axis"), asset.one("unit")) if asset else (None, None)
    if up is None or up.text.strip() != "Z_UP":
        raise NotUnderstood("its axes")
    metre = unit.number("meter", 1.0) if unit else 1.0
    geometries = [e for library in root.all("library_geometries") for e in library.all("geometry")]
    shapes = {e.text_of("id"): _geometry(e) for e in geometries}
    scenes = [scene for library in root.all("library_visual_scenes") for scene in library.all("visual_scene")]
    if len(scenes) != 1:
        raise NotUnderstood("several scenes")
    found, count = [np.zeros((0, 3, 3))], 0
    for part in (part for node in scenes[0].all("node") for part in _placed(node, np.eye(4), shapes, 0)):
        found.append(metre * part)
        count += max(len(part), 1)
        if count > MOST:  # one geometry may stand in many places
            raise NotUnderstood("too many triangles")
    return np.concatenate(found)


def _placed(node: xml.Element, T: Array, shapes: dict[str, Array], depth: int) -> Iterator[Array]:
    if depth > DEEPEST:
        raise NotUnderstood("nodes too deep")
    for step in node.children:
        if step.tag in ("matrix", "translate", "rotate", "scale"):
            T = T @ _step(step)
    for instance in node.all("instance_geometry"):
        yield shapes[instance.text_of("url").removeprefix("#")] @ T[:3, :3].T + T[:3, 3]
    for child in node.all("node"):
        yield from _placed(child, T, shapes, depth + 1)


def _step(step: xml.Element) -> Array:
    numbers = np.array(step.text.split(), dtype=float)
    if step.tag == "matrix":
        return numbers.reshape(4, 4)
    T: Array = np.eye(4)
    if step.tag == "translate":
        T[:3, 3] = numbers
    elif step.tag == "scale":
        T[:3, :3] = np.diag(numbers)
    else:
        x, y, z = axis = numbers[:3] / np.linalg.norm(numbers[:3])
        c, s = np.cos(np.radians(numbers[3])), np.sin(np.radians(numbers[3]))
        T[:3, :3] = c * np.eye(3) + s * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) + (1 - c) * np.outer(axis, axis)
    return T


def _geometry(element: xml.Element) -> Array:
    """The triangles of one <geometry>; lines and points have none."""
    mesh = element.one("mesh")
    if mesh is None:
        raise NotUnderstood("a geometry that is not a mesh")
    sources = {source.text_of("id"): source for source in mesh.all("source")}
    vertices = {v.text_of("id"): _input(v, "POSITION").text_of("source")[1:] for v in mesh.all("vertices")}
    found = []
    for part in mesh.children:
        if part.tag in ("polygons", "trifans", "tristrips"):
            raise NotUnderstood(part.tag)
        if part.tag in ("triangles", "polylist") and part.number("count", 0):
            stride, vertex = 1 + max(int(e.number("offset", 0)) for e in part.all("input")), _input(part, "VERTEX")
            corners = sources[vertices[vertex.text_of("source")[1:]]].need("float_array")
            indices = np.array(part.need("p").text.split(), dtype=int).reshape(-1, stride)
            index = indices[:, int(vertex.number("offset", 0))]
            found.append(_picked(np.array(corners.text.split(), dtype=float), _polygons(part, index)))
    return np.concatenate(found) if found else np.zeros((0, 3, 3))


def _polygons(part: xml.Element, index: Array) -> Array:
    if part.tag == "triangles":
        return index.reshape(-1, 3)
    return _fans(index, np.array(part.need("vcount").text.split(), dtype=int))


def _input(element: xml.Element, semantic: str) -> xml.Element:
    (found,) = (e for e in element.all("input") if e.attributes.get("semantic") == semantic)
    return found


READERS: dict[str, Callable[[Path], Array]] = {".stl": _stl, ".obj": _obj, ".dae": _dae}
