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
    link_triangles,
    lit_colours,
    split_long_edges,
    view_axes,
)
from armwright.pages.scene.extent import floor_below
from armwright.robot import Robot

SLIDE_PIXELS = (1280, 720)
"""The width and height of a slide, pixels."""

MIN_PIXELS, MAX_PIXELS = 64, 4096
"""The limits of a side of a picture, pixels."""

ROBOT_SHARE = 0.8
"""The part of a picture that the robot fills."""

MAX_RASTER_TRIANGLES, OVERSAMPLING = 30_000, 2
"""The largest number of triangles, and the factor by which a picture is drawn larger for smooth edges."""

MAX_RASTER_EDGE = 0.03
"""The longest edge of a triangle, as a part of the robot's size; long triangles cannot be sorted by distance."""

BACKGROUND_COLOUR, GRID_COLOUR = (247, 248, 250), (222, 226, 232)
SHADOW_COLOUR, TEXT_COLOUR = (228, 231, 236), (55, 65, 81)
FLOOR_CELLS = 12
"""The number of squares along a side of the floor."""


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
    """A robot on a floor, with a camera that shows all of it in every pose of a motion."""

    def __init__(self, robot: Robot, q: Array, camera: Camera) -> None:
        """`q` (k, nq) are the positions of the motion."""
        self.robot, self.camera, self.pillow = robot, camera, pillow()
        self.axes = view_axes(camera.azimuth, camera.elevation)
        longest = MAX_RASTER_EDGE * appearance_of(robot).size
        self.parts = [
            (link, split_long_edges(faces, np.zeros((len(faces), 3)), longest)[0], colour)
            for link, faces, colour in link_triangles(robot, MAX_RASTER_TRIANGLES)
        ]
        corners = np.concatenate([_corners(self._placed(links)) for links in robot.link_poses(q)])
        self.low, self.high = corners.min(axis=0), corners.max(axis=0)
        self.floor = floor_below(robot, appearance_of(robot), q[0])
        viewed = np.concatenate([corners, self._on_floor(corners)]) @ self.axes.T
        low, high = viewed[:, :2].min(axis=0), viewed[:, :2].max(axis=0)
        pixels = OVERSAMPLING * np.array(camera.size)
        self.scale = float(ROBOT_SHARE * (pixels / np.maximum(high - low, 1e-9)).min())
        self.middle, self.centre = (low + high) / 2, pixels / 2

    def draw(self, q: Array, caption: str = "") -> Any:
        """Return the robot at a position (nq,) as an image of Pillow."""
        size = tuple(OVERSAMPLING * x for x in self.camera.size)
        image = self.pillow.Image.new("RGB", size, BACKGROUND_COLOUR)
        pen = self.pillow.ImageDraw.Draw(image)
        for line in self._grid():
            pen.line(self._points(line), fill=GRID_COLOUR, width=OVERSAMPLING)
        placed = self._placed(self.robot.link_poses(q))
        if self.camera.elevation > 0:
            for face in self._polygons(self._on_floor(np.concatenate([faces for faces, _ in placed]))):
                pen.polygon(face, fill=SHADOW_COLOUR)
        faces = np.concatenate([faces for faces, _ in placed])
        colours = np.concatenate([lit_colours(part, colour) for part, colour in placed])
        order = back_to_front(faces @ self.axes.T)
        fills = (255 * colours[order]).round().astype(int).tolist()
        for face, fill in zip(self._polygons(faces[order]), fills, strict=True):
            pen.polygon(face, fill=tuple(fill))
        image = image.reduce(OVERSAMPLING)
        if caption:
            self._write(image, caption)
        return image

    def _placed(self, links: Array) -> list[tuple[Array, Any]]:
        poses = [np.asarray(self.robot.base) if link < 0 else links[link] for link, _, _ in self.parts]
        parts = zip(self.parts, poses, strict=True)
        return [(faces @ T[:3, :3].T + T[:3, 3], colour) for (_, faces, colour), T in parts]

    def _on_floor(self, points: Array) -> Array:
        """Return the shadows of points on the floor."""
        shadows = points.copy()
        shadows[..., 2] = self.floor
        return shadows

    def _grid(self) -> Iterator[Array]:
        """Yield the lines of the floor, (2, 3) each."""
        half = 0.75 * float((self.high - self.low)[:2].max() + (self.high - self.low)[2] / 2)
        x, y = (self.low[:2] + self.high[:2]) / 2
        for k in np.linspace(-half, half, FLOOR_CELLS + 1):
            yield np.array([[x + k, y - half, self.floor], [x + k, y + half, self.floor]])
            yield np.array([[x - half, y + k, self.floor], [x + half, y + k, self.floor]])

    def _points(self, points: Array) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self._pixels(points).tolist()]

    def _polygons(self, faces: Array) -> list[list[tuple[float, float]]]:
        """Return the corners of triangles in pixels."""
        return [[(x, y) for x, y in face] for face in self._pixels(faces).tolist()]

    def _pixels(self, points: Array) -> Array:
        viewed = (points @ self.axes.T)[..., :2]
        pixels: Array = (viewed - self.middle) * (self.scale * np.array([1.0, -1.0])) + self.centre
        return pixels

    def _write(self, image: Any, caption: str) -> None:
        height = max(12, self.camera.size[1] // 32)
        font = self.pillow.ImageFont.load_default(size=height)
        place = (height, self.camera.size[1] - 2 * height)
        self.pillow.ImageDraw.Draw(image).text(place, caption, fill=TEXT_COLOUR, font=font)


def _corners(placed: Iterable[tuple[Array, Any]]) -> Array:
    """Return the corners of the boxes around shapes."""
    corners = []
    for faces, _ in placed:
        low, high = faces.min(axis=(0, 1)), faces.max(axis=(0, 1))
        corners += [np.where(bits, high, low) for bits in np.ndindex(2, 2, 2)]
    return np.array(corners)


def pillow() -> Any:
    """Return Pillow; without it an InputError says what to install."""
    try:
        import PIL.Image  # noqa: PLC0415  (only for pictures)
        import PIL.ImageDraw  # noqa: PLC0415
        import PIL.ImageFont  # noqa: PLC0415
    except ImportError:
        raise InputError("pictures need Pillow: pip install 'armwright[plot]'") from None
    return PIL


def write_picture(image: Any, path: str | Path) -> Path:
    """Write an image as PNG."""
    if Path(path).suffix.lower() != ".png":
        raise InputError(f"cannot write {path}: expected a file that ends in .png")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return _written(path, buffer.getvalue())


def write_film(frames: Iterable[Any], path: str | Path, rate: float) -> Path:
    """Write images as GIF or MP4, `rate` per second."""
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
    """Return a film that repeats; the unit of time in GIF is 1/100 s."""
    quantized = (frame.quantize(128) for frame in frames)
    buffer, first = io.BytesIO(), next(quantized)
    hundredths = max(2, round(100 / rate))
    first.save(buffer, "GIF", save_all=True, append_images=quantized, duration=10 * hundredths, loop=0)
    return buffer.getvalue()


def _mp4(frames: Iterable[Any], rate: float) -> bytes:
    """Return a film in H.264, in a form that browsers and slides play, by ffmpeg."""
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
        _, messages = pipe.communicate()
        if pipe.returncode:
            raise InputError(f"ffmpeg cannot write the film: {messages.decode(errors='replace').strip()}")
        return target.read_bytes()
