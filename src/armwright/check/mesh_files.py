"""The triangles of mesh files: binary and ASCII STL, OBJ and COLLADA, with limits on their size.

Textures, materials and referenced files are not read. `model.meshes` finds files in the model's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError
from armwright.model import xml

MAX_MESH_FILE_BYTES = 16 << 20
"""Largest size of a mesh file."""

MAX_MESH_TRIANGLES = 1_000_000
"""Largest number of triangles of a mesh."""

CACHED_MESHES = 16
"""Number of meshes that are cached."""

MAX_VERTEX_DISTANCE = 1e4
"""Largest distance of a vertex from the origin, metres."""

MAX_SCENE_DEPTH = 50
"""Largest depth of nodes in a COLLADA scene."""


class UnreadableMesh(Exception):  # noqa: N818
    """A mesh file that cannot be used."""


def mesh_triangles(path: Path) -> Array:
    """Return the triangles of a mesh file, shape (n, 3, 3), in metres if the file names its unit."""
    if path.suffix.lower() not in MESH_READERS:
        raise UnreadableMesh(path.suffix)
    try:
        stat = path.stat()
        if stat.st_size > MAX_MESH_FILE_BYTES:
            raise UnreadableMesh("too large")
        triangles = _read(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError, LookupError, ArithmeticError, MemoryError, ModelError) as error:
        raise UnreadableMesh(str(error)) from None
    if not 0 < len(triangles) <= MAX_MESH_TRIANGLES or not np.all(np.abs(triangles) < MAX_VERTEX_DISTANCE):
        raise UnreadableMesh("no triangles, too many, or too far from the origin")
    return triangles


@lru_cache(maxsize=CACHED_MESHES)
def _read(path: Path, _changed: int, _size: int) -> Array:
    """Return the triangles, cached: a mesh is often visual and collision shape of several links."""
    with np.errstate(all="ignore"):
        triangles = MESH_READERS[path.suffix.lower()](path)
    triangles.flags.writeable = False
    return triangles


def _stl(path: Path) -> Array:
    """Read STL. Binary: 80 bytes, the number of triangles, and for each normal, corners and two unused bytes."""
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    if len(data) == 84 + 50 * count and count:
        rows = np.frombuffer(data, np.uint8, 50 * count, 84).reshape(count, 50)
        return np.ascontiguousarray(rows[:, 12:48]).view("<f4").reshape(count, 3, 3).astype(float)
    if data.lstrip()[:5].lower() != b"solid":
        raise UnreadableMesh("neither binary nor ASCII STL")
    words = data.split()
    starts = [i for i, word in enumerate(words) if word.lower() == b"vertex"]
    return np.array([[float(x) for x in words[i + 1 : i + 4]] for i in starts]).reshape(-1, 3, 3)


def _obj(path: Path) -> Array:
    """Read OBJ: vertices and faces."""
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
            if len(sizes) > MAX_MESH_TRIANGLES or len(index) > 3 * MAX_MESH_TRIANGLES:
                raise UnreadableMesh("too many faces")
    return _indexed(np.array(corners), _fans(np.array(index, dtype=int), np.array(sizes, dtype=int)))


def _fans(index: Array, sizes: Array) -> Array:
    """Return polygons as triangles (n, 3) of corner indices; `sizes` are the numbers of corners."""
    if np.any(sizes < 0) or sizes.sum() != len(index):
        raise UnreadableMesh("polygons with too many or too few corners")
    starts, counts = np.cumsum(sizes) - sizes, np.maximum(sizes - 2, 0)
    first = np.repeat(starts, counts)
    later = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first
    return np.stack([index[first], index[later + 1], index[later + 2]], axis=1)


def _indexed(corners: Array, indices: Array) -> Array:
    """Return the triangles with given indices of corners."""
    if len(indices) > MAX_MESH_TRIANGLES or (indices.size and indices.min() < 0):
        raise UnreadableMesh("too many triangles, or a corner before the first")
    triangles: Array = corners.reshape(-1, 3)[indices]
    return triangles


def _dae(path: Path) -> Array:
    """Read COLLADA: geometries at the nodes of its scene. Readers disagree on axes other than Z_UP."""
    root = xml.read(path)
    if {element.tag for element in root.walk()} & {"instance_node", "instance_controller", "skew", "lookat"}:
        raise UnreadableMesh("a scene with more than geometries")
    asset = root.one("asset")
    up, unit = (asset.one("up_axis"), asset.one("unit")) if asset else (None, None)
    if up is None or up.text.strip() != "Z_UP":
        raise UnreadableMesh("its axes")
    metre = unit.number("meter", 1.0) if unit else 1.0
    geometries = [e for library in root.all("library_geometries") for e in library.all("geometry")]
    shapes = {e.text_of("id"): _geometry(e) for e in geometries}
    scenes = [scene for library in root.all("library_visual_scenes") for scene in library.all("visual_scene")]
    if len(scenes) != 1:
        raise UnreadableMesh("several scenes")
    parts, count = [np.zeros((0, 3, 3))], 0
    for part in (part for node in scenes[0].all("node") for part in _placed_geometries(node, np.eye(4), shapes, 0)):
        parts.append(metre * part)
        count += max(len(part), 1)
        if count > MAX_MESH_TRIANGLES:  # one geometry may be used many times
            raise UnreadableMesh("too many triangles")
    return np.concatenate(parts)


def _placed_geometries(node: xml.Element, T: Array, shapes: dict[str, Array], depth: int) -> Iterator[Array]:
    if depth > MAX_SCENE_DEPTH:
        raise UnreadableMesh("nodes too deep")
    for step in node.children:
        if step.tag in ("matrix", "translate", "rotate", "scale"):
            T = T @ _transform(step)
    for instance in node.all("instance_geometry"):
        yield shapes[instance.text_of("url").removeprefix("#")] @ T[:3, :3].T + T[:3, 3]
    for child in node.all("node"):
        yield from _placed_geometries(child, T, shapes, depth + 1)


def _transform(step: xml.Element) -> Array:
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
    """Return the triangles of a <geometry>; lines and points have none."""
    mesh = element.one("mesh")
    if mesh is None:
        raise UnreadableMesh("a geometry that is not a mesh")
    sources = {source.text_of("id"): source for source in mesh.all("source")}
    vertices = {v.text_of("id"): _input(v, "POSITION").text_of("source")[1:] for v in mesh.all("vertices")}
    triangles = []
    for part in mesh.children:
        if part.tag in ("polygons", "trifans", "tristrips"):
            raise UnreadableMesh(part.tag)
        if part.tag in ("triangles", "polylist") and part.number("count", 0):
            stride, vertex = 1 + max(int(e.number("offset", 0)) for e in part.all("input")), _input(part, "VERTEX")
            corners = sources[vertices[vertex.text_of("source")[1:]]].need("float_array")
            indices = np.array(part.need("p").text.split(), dtype=int).reshape(-1, stride)
            index = indices[:, int(vertex.number("offset", 0))]
            triangles.append(_indexed(np.array(corners.text.split(), dtype=float), _polygons(part, index)))
    return np.concatenate(triangles) if triangles else np.zeros((0, 3, 3))


def _polygons(part: xml.Element, index: Array) -> Array:
    if part.tag == "triangles":
        return index.reshape(-1, 3)
    return _fans(index, np.array(part.need("vcount").text.split(), dtype=int))


def _input(element: xml.Element, semantic: str) -> xml.Element:
    (source,) = (e for e in element.all("input") if e.attributes.get("semantic") == semantic)
    return source


MESH_READERS: dict[str, Callable[[Path], Array]] = {".stl": _stl, ".obj": _obj, ".dae": _dae}
