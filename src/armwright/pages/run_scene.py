"""The scene of a run: the robot's shapes and the poses of its links over time, as plain numbers for its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armwright import files
from armwright.algebra import Array
from armwright.errors import InputError
from armwright.model.visual import Mesh, Visual, shape_lengths
from armwright.names import shown
from armwright.pages.report.run_page import base64_text, sampled_records
from armwright.pages.report.run_page import page as page_of
from armwright.pages.scene import Appearance, Triangles, appearance_of, floor_below, triangles, view_directions
from armwright.pages.scene.link_shapes import JOINT_SHAPE
from armwright.robot import Robot
from armwright.simulation.run import Run

MAX_POSE_TIMES, MAX_POSE_NUMBERS = 600, 60_000
"""The largest numbers of times and of entries of all poses on a page, which interpolates between them."""

MAX_PAGE_TRIANGLES = 150_000
"""The largest number of triangles on a page, about two megabytes."""

MIN_MESH_TRIANGLES = 400
"""The number of triangles below which no mesh is reduced."""

GHOST_DISTANCE = 2e-3
"""The distance from the reference, relative to the robot's size, above which a ghost shows it."""


def page(run: Run, title: str, scenario: str = "") -> str:
    """Return the page of a run; `scenario` is the text of the file that repeats it."""
    return page_of(run, scene_data(run), title, scenario)


def write_run_page(run: Run, path: str | Path, title: str | None = None) -> Path:
    """Write the page of a run and return its path."""
    text = page(run, title or f"{run.robot.name}")
    try:
        return files.write(path, text)
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"cannot write the page to {path!r}: {error}") from None


def scene_data(run: Run) -> dict[str, Any]:
    """Return the shapes of a run's robot in the frames of its links, and the poses of these frames over time."""
    robot, appearance = run.robot, appearance_of(run.robot.without_payload())
    records = sampled_records(len(run.t), min(MAX_POSE_TIMES, MAX_POSE_NUMBERS // (7 * len(robot.links))))
    shapes, meshes = _shapes(appearance)
    return {
        "size": appearance.size,
        "generated": appearance.generated,
        "notes": [shown(note) for note in appearance.notes],
        "base": np.asarray(robot.base, dtype=float).ravel().tolist(),
        "free": any(robot.rows[i].kind == "free" for i in robot.link_rows),
        "directions": [direction.tolist() for direction in view_directions(robot.gravity)],
        "floor": floor_below(robot, appearance, run.q[0]),
        "links": len(robot.links),
        "joints": _joints_before(robot),
        "shapes": [*shapes, *_payload_shapes(run)],
        "meshes": meshes,
        "t": base64_text(run.t[records], "<f8"),
        "poses": base64_text(as_quaternions(robot.link_poses(run.q[records]))),
        "ghost": _ghost(run, records, appearance.size),
        "tracks": _traces(robot),
    }


def _joints_before(robot: Robot) -> list[dict[str, Any]]:
    """Return the kind of the joint before each link, and its index (-1 for a follower)."""
    index_of = {joint.name: i for i, joint in enumerate(robot.joints)}
    joints = []
    for joint_row in robot.link_rows:
        row = robot.rows[joint_row]
        kind = row.kind or ("prismatic" if row.prismatic else "revolute")
        joints.append({"joint": -1 if row.mimic else index_of[row.name], "kind": kind})
    return joints


def _payload_shapes(run: Run) -> list[dict[str, Any]]:
    """Return the shapes of the payloads, each with the time span in which the tool carries it."""
    shapes = []
    for phase in run.phases or (run,):
        robot = phase.robot
        if robot.payload is not None and robot.tip is not None:
            shape = appearance_of(robot).links[robot.tip][-1]
            shapes.append(_shape(robot.tip, shape, {}) | {"from": float(phase.t[0]), "to": float(phase.t[-1])})
    return shapes


def _shapes(appearance: Appearance) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return all shapes with their links (-1 is the base), and all different meshes."""
    bodies = enumerate((appearance.base, *appearance.links), start=-1)
    shapes = [(i, visual) for i, visuals in bodies for visual in visuals]
    meshes = list(dict.fromkeys(visual.shape for _, visual in shapes if isinstance(visual.shape, Mesh)))
    indices = {mesh: k for k, mesh in enumerate(meshes)}
    return [_shape(link, visual, indices) for link, visual in shapes], _meshes([triangles(mesh) for mesh in meshes])


def _shape(link: int, visual: Visual, indices: dict[Mesh, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"link": link, "pose": np.asarray(visual.pose, dtype=float).ravel().tolist()}
    if visual.rgba is not None:
        row["rgba"] = [float(x) for x in visual.rgba]
    if visual.name == JOINT_SHAPE:
        row["joint"] = True
    if isinstance(visual.shape, Mesh):
        return row | {"mesh": indices[visual.shape]}
    kind, sizes = shape_lengths(visual.shape)
    return row | {"kind": kind, "sizes": [float(x) for x in sizes]}


def _meshes(meshes: Sequence[Triangles]) -> list[dict[str, Any]]:
    """Return meshes as base64 texts, reduced by the same factor if they have too many triangles."""
    count = sum(len(one.faces) for one in meshes)
    share = min(1.0, MAX_PAGE_TRIANGLES / max(count, 1))
    return [_mesh(one.coarser(max(int(share * len(one.faces)), MIN_MESH_TRIANGLES))) for one in meshes]


def _mesh(mesh: Triangles) -> dict[str, Any]:
    """Return a mesh with vertices rounded to 1/65535 of each side of its box; equal ones are merged."""
    low = mesh.vertices.min(axis=0)
    step = np.maximum(mesh.vertices.max(axis=0) - low, 1e-9) / 65535
    grid = np.round((mesh.vertices - low) / step).astype(np.int64)
    if mesh.colours is not None:
        grid = np.concatenate([grid, mesh.colours[:, :3].astype(np.int64)], axis=1)
    vertices, vertex_of = np.unique(grid, axis=0, return_inverse=True)
    faces = vertex_of.ravel()[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    row = {"low": low.tolist(), "step": step.tolist(), "vertices": base64_text(vertices[:, :3], "<u2")}
    row |= {"wide": len(vertices) > 65535, "faces": base64_text(faces, "<u4" if len(vertices) > 65535 else "<u2")}
    return row if mesh.colours is None else row | {"colours": base64_text(vertices[:, 3:], "u1")}


def as_quaternions(poses: Array) -> Array:
    """Return poses (..., 4, 4) as x y z and quaternions x y z w (..., 7), continuous along the first axis."""
    R = poses[..., :3, :3]
    trace = np.einsum("...ii", R)
    diagonal = np.einsum("...ii->...i", R)
    squares = np.concatenate([1 + 2 * diagonal - trace[..., None], 1 + trace[..., None]], axis=-1)
    largest = squares.argmax(axis=-1)
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, yz, zx = R[..., 1, 0] + R[..., 0, 1], R[..., 2, 1] + R[..., 1, 2], R[..., 0, 2] + R[..., 2, 0]
    rows = [
        np.stack(row, axis=-1)
        for row in (
            (squares[..., 0], xy, zx, x),
            (xy, squares[..., 1], yz, y),
            (zx, yz, squares[..., 2], z),
            (x, y, z, squares[..., 3]),
        )
    ]
    candidates = np.stack(rows, axis=-2)
    q = np.take_along_axis(candidates, largest[..., None, None], axis=-2)[..., 0, :]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    signs = np.cumprod(np.where(np.sum(q[1:] * q[:-1], axis=-1) < 0, -1.0, 1.0), axis=0)
    q[1:] *= signs[..., None]
    return np.concatenate([poses[..., :3, 3], q], axis=-1)


def _ghost(run: Run, records: Array, size: float) -> str | None:
    """Return the poses of the links along the reference, or None if the run stays close to it."""
    if run.reference is None or run.robot.balls:
        return None
    reference = run.reference[0][records]  # nan in phases without a reference
    poses = run.robot.link_poses(np.where(np.isfinite(reference), reference, run.q[records]))
    distances = np.linalg.norm(poses[..., :3, 3] - run.robot.link_poses(run.q[records])[..., :3, 3], axis=-1)
    return base64_text(as_quaternions(poses)) if np.max(distances, initial=0.0) > GHOST_DISTANCE * size else None


def _traces(robot: Robot) -> list[list[float]]:
    """Return the points that a page traces (link, position on it): the tool, else a free base, else the last links."""
    if robot.tip is not None:
        return [[robot.tip, *np.asarray(robot.tool_frame.pose, dtype=float)[:3, 3].tolist()]]
    free = [i for i, joint_row in enumerate(robot.link_rows) if robot.rows[joint_row].kind == "free"]
    return [[i, *robot.links[i].com] for i in free or _leaves(robot)]


def _leaves(robot: Robot) -> Iterable[int]:
    return [i for i in range(len(robot.links)) if i not in robot.parents]
