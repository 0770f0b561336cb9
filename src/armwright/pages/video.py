"""Pictures of a robot, and films of a run at equal time steps, interpolated between its records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import check_finite, checked_array
from armwright.errors import InputError
from armwright.pages.scene import Camera, Stage, write_film, write_picture
from armwright.progress import tracked
from armwright.robot import Robot
from armwright.simulation.run import Run

MAX_FRAMES = 3000
"""The largest number of pictures of a film, two minutes, which take about as long to draw."""


def picture_robot(
    robot: Robot, path: str | Path, q: ArrayLike | None, size: tuple[int, int], angles: tuple[float, float]
) -> Path:
    """Draw a robot at q, or at its neutral pose, and write the picture; return its path."""
    position = robot.neutral if q is None else checked_array("q", q, (robot.nq,), np.dtype(float), "one pose")
    check_finite("q", position)
    if position.ndim != 1:
        raise InputError(f"q has shape {position.shape}; expected {robot.nq} numbers, one pose")
    return write_picture(Stage(robot, position[None], Camera(size, *angles)).draw(position), path)


def film_run(
    run: Run, path: str | Path, size: tuple[int, int], rate: float, speed: float, angles: tuple[float, float]
) -> Path:
    """Draw a run as a film, and write this."""
    for name, value in (("rate", rate), ("speed", speed)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < np.inf:
            raise InputError(f"{name} = {value!r}: expected a number above zero")
    camera, span = Camera(size, *angles), float(run.t[-1] - run.t[0]) if len(run.t) else 0.0
    count = int(np.floor(span / speed * rate)) + 1
    if not len(run.t) or not np.isfinite(run.q).all():
        raise InputError("the run has no records, or some that are not finite; expected a motion to draw")
    if count > MAX_FRAMES:
        raise InputError(
            f"{span:g} s at {rate:g} pictures a second make {count} pictures; expected at most {MAX_FRAMES}: take a "
            "larger speed= or a smaller rate="
        )
    times = run.t[0] + np.arange(count) * speed / rate
    positions = positions_at(run, times)
    stage = Stage(run.robot, positions, camera)
    frames = (stage.draw(q, f"{t:.2f} s") for t, q in tracked(list(zip(times, positions, strict=True))))
    return write_film(frames, path, rate)


def positions_at(run: Run, times: Array) -> Array:
    """Return positions (k, nq) at times within a run, interpolated along the shortest displacement between records."""
    if len(run.t) == 1:
        return np.repeat(run.q, len(times), axis=0)
    after = np.clip(np.searchsorted(run.t, times, side="right"), 1, len(run.t) - 1)
    begin, end = run.q[after - 1], run.q[after]
    share = ((times - run.t[after - 1]) / (run.t[after] - run.t[after - 1]))[:, None]
    positions: Array = run.robot.integrate(begin, share * run.robot.difference(begin, end))
    return positions
