"""Pictures and films of a robot for slides: PNG, GIF and MP4, drawn triangle by triangle from back to front.

Pillow draws and writes (it comes with matplotlib); MP4 is written by ffmpeg, where that is installed.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright import files
from armwright.algebra import Array
from armwright.errors import InputError
from armwright.pages.scene.appearance import appearance_of
from armwright.pages.scene.drawing import (
    DEFAULT_AZIMUTH,
    DEFAULT_ELEVATION,
    back_to_front,
    lit_colours,
    parts,
    split_long_edges,
    view_axes,
)
from armwright.pages.scene.extent import floor_below
from armwright.robot import Robot

SLIDE_PIXELS = (1280, 720)
"""Pixels of a slide."""

MIN_PIXELS, MAX_PIXELS = 64, 4096
"""Pixels that a side of a picture may have."""

ROBOT_SHARE = 0.8
"""The part of a picture that the robot fills."""

MAX_RASTER_TRIANGLES, OVERSAMPLING = 30_000, 2
"""Triangles of a picture, and how many times as large it is drawn, so that edges are smooth."""

MAX_RASTER_EDGE = 0.03
"""The longest edge of a triangle, as a part of the robot's size: a long one has no one place between back and front."""

BACKGROUND_COLOUR, GRID_COLOUR, SHADOW_COLOUR, TEXT_COLOUR = (
    (247, 248, 250),
    (222, 226, 232),
    (228, 231, 236),
    (55, 65, 81),
)
FLOOR_CELLS = 12
"""Squares of the floor from one side to the other."""


@dataclass(frozen=True)
class Camera:
    """The view of a picture: azimuth and elevation in degrees, and its size in pixels."""

    size: tuple[int, int] = SLIDE_PIXELS
    azimuth: float = DEFAULT_AZIMUTH
    elevation: float = DEFAULT_ELEVATION

    def __post_init__(self) -> None:
        fits = isinstance(self.size, Sequence) and len(self.size) == 2
        if not fits or not all(isinstance(x, int) and MIN_PIXELS <= x <= MAX_PIXELS for x in self.size):
            raise InputError(f"size = {self.size!r}; expected two numbers of pixels, {MIN_PIXELS} to {MAX_PIXELS} each")
        for name in ("azimuth", "elevation"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
                raise InputError(f"{name} = {value!r}; expected degrees")


class Stage:
    """A robot on its floor, seen by a camera that shows all of it at every pose it is going to take."""

    def __init__(self, robot: Robot, q: Array, camera: Camera) -> None:
        """`q` (k, nq) are the positions that it is going to take."""
        self.robot, self.camera, self.pillow = robot, camera, pillow()
        self.axes = view_axes(camera.azimuth, camera.elevation)
        longest = MAX_RASTER_EDGE * appearance_of(robot).size
        self.parts = [
            (link, split_long_edges(faces, np.zeros((len(faces), 3)), longest)[0], colour)
            for link, faces, colour in parts(robot, MAX_RASTER_TRIANGLES)
        ]
        corners = np.concatenate([_corners(self._placed(links)) for links in robot.link_poses(q)])
        self.low, self.high = corners.min(axis=0), corners.max(axis=0)
        self.floor = floor_below(robot, appearance_of(robot), q[0])
        seen = np.concatenate([corners, self._on_floor(corners)]) @ self.axes.T
        low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
        drawn = OVERSAMPLING * np.array(camera.size)
        self.scale = float(ROBOT_SHARE * (drawn / np.maximum(high - low, 1e-9)).min())
        self.middle, self.centre = (low + high) / 2, drawn / 2

    def draw(self, q: Array, caption: str = "") -> Any:
        """The robot at a position (nq,), as an image of Pillow."""
        size = tuple(OVERSAMPLING * x for x in self.camera.size)
        image = self.pillow.Image.new("RGB", size, BACKGROUND_COLOUR)
        pen = self.pillow.ImageDraw.Draw(image)
        for line in self._grid():
            pen.line(self._flat(line), fill=GRID_COLOUR, width=OVERSAMPLING)
        placed = self._placed(self.robot.link_poses(q))
        if self.camera.elevation > 0:
            for face in self._flat_all(self._on_floor(np.concatenate([faces for faces, _ in placed]))):
                pen.polygon(face, fill=SHADOW_COLOUR)
        faces = np.concatenate([faces for faces, _ in placed])
        colours = np.concatenate([lit_colours(part, colour) for part, colour in placed])
        order = back_to_front(faces @ self.axes.T)
        fills = (255 * colours[order]).round().astype(int).tolist()
        for face, fill in zip(self._flat_all(faces[order]), fills, strict=True):
            pen.polygon(face, fill=tuple(fill))
        image = image.reduce(OVERSAMPLING)
        if caption:
            self._write(image, caption)
        return image

    def _placed(self, links: Array) -> list[tuple[Array, Any]]:
        poses = [np.asarray(self.robot.base) if link < 0 else links[link] for link, _, _ in self.parts]
        return [
            (faces @ T[:3, :3].T + T[:3, 3], colour) for (_, faces, colour), T in zip(self.parts, poses, strict=True)
        ]

    def _on_floor(self, points: Array) -> Array:
        """Return the shadows of points on the floor."""
        found = points.copy()
        found[..., 2] = self.floor
        return found

    def _grid(self) -> Iterator[Array]:
        """The lines of the floor, each from one point to another."""
        half = 0.75 * float((self.high - self.low)[:2].max() + (self.high - self.low)[2] / 2)
        x, y = (self.low[:2] + self.high[:2]) / 2
        for k in np.linspace(-half, half, FLOOR_CELLS + 1):
            yield np.array([[x + k, y - half, self.floor], [x + k, y + half, self.floor]])
            yield np.array([[x - half, y + k, self.floor], [x + half, y + k, self.floor]])

    def _flat(self, points: Array) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self._pixels(points).tolist()]

    def _flat_all(self, faces: Array) -> list[list[tuple[float, float]]]:
        """The corners of triangles in pixels."""
        return [[(x, y) for x, y in face] for face in self._pixels(faces).tolist()]

    def _pixels(self, points: Array) -> Array:
        seen = (points @ self.axes.T)[..., :2]
        found: Array = (seen - self.middle) * (self.scale * np.array([1.0, -1.0])) + self.centre
        return found

    def _write(self, image: Any, caption: str) -> None:
        high = max(12, self.camera.size[1] // 32)
        font = self.pillow.ImageFont.load_default(size=high)
        place = (high, self.camera.size[1] - 2 * high)
        self.pillow.ImageDraw.Draw(image).text(place, caption, fill=TEXT_COLOUR, font=font)


def _corners(placed: Iterable[tuple[Array, Any]]) -> Array:
    """The corners of the boxes around shapes."""
    found = []
    for faces, _ in placed:
        low, high = faces.min(axis=(0, 1)), faces.max(axis=(0, 1))
        found += [np.where(bits, high, low) for bits in np.ndindex(2, 2, 2)]
    return np.array(found)


def pillow() -> Any:
    """Pillow, or how to get it."""
    try:
        import PIL.Image  # noqa: PLC0415  (pictures are wanted by few)
        import PIL.ImageDraw  # noqa: PLC0415
        import PIL.ImageFont  # noqa: PLC0415
    except ImportError:
        raise InputError("pictures need Pillow: pip install 'armwright[plot]'") from None
    return PIL


def write_picture(image: Any, path: str | Path) -> Path:
    """Write an image as PNG."""
    if Path(path).suffix.lower() != ".png":
        raise InputError(f"cannot write {path}: expected a file that ends in .png")
    held = io.BytesIO()
    image.save(held, "PNG")
    return _written(path, held.getvalue())


def write_film(frames: Iterable[Any], path: str | Path, rate: float) -> Path:
    """Write images as GIF or MP4, so many a second."""
    suffix = Path(path).suffix.lower()
    if suffix == ".gif":
        return _written(path, _gif(frames, rate))
    if suffix == ".mp4":
        return _written(path, _mp4(frames, rate))
    raise InputError(f"cannot write {path}: expected a file that ends in .gif or .mp4")


def _written(path: str | Path, content: bytes) -> Path:
    try:
        return files.write(path, content)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {path}: {error}") from None


def _gif(frames: Iterable[Any], rate: float) -> bytes:
    """A film that repeats; GIF counts in hundredths of a second."""
    few = (frame.quantize(128) for frame in frames)
    held, first = io.BytesIO(), next(few)
    hundredths = max(2, round(100 / rate))
    first.save(held, "GIF", save_all=True, append_images=few, duration=10 * hundredths, loop=0)
    return held.getvalue()


def _mp4(frames: Iterable[Any], rate: float) -> bytes:
    """H.264 as browsers and slides play it, by ffmpeg."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise InputError("MP4 is written by ffmpeg, which is not installed: install it, or write a .gif")
    with tempfile.TemporaryDirectory() as folder:
        target, pipe = Path(folder, "film.mp4"), None
        for frame in frames:
            if pipe is None:
                width, height = frame.size
                command = [
                    *(program, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"),
                    *("-r", f"{rate:g}", "-i", "-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p"),
                    *("-movflags", "+faststart", str(target)),
                ]
                pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            assert pipe.stdin is not None
            pipe.stdin.write(frame.tobytes())
        assert pipe is not None
        _, said = pipe.communicate()
        if pipe.returncode:
            raise InputError(f"ffmpeg cannot write the film: {said.decode(errors='replace').strip()}")
        return target.read_bytes()
