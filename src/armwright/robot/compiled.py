"""A robot that compiles each of its problems once and keeps the function."""

from __future__ import annotations

from typing import Self

from armwright.errors import InputError
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.kinematics import Solver
from armwright.lazy import cached_property
from armwright.robot.changes import ChangeableRobot

AXES_BY_FRAME = {"base": "world", "tip": "frame"}
"""Values of `frame` that name the axes of the tool's Jacobian, unless frames of the robot have these names."""


class CompiledRobot(ChangeableRobot):
    """A robot with its compiled functions, its solvers of inverse kinematics and its views at other frames."""

    @cached_property
    def _functions(self) -> dict[tuple[str, str], Function]:
        return {}

    @cached_property
    def _solvers(self) -> dict[tuple[str | tuple[str, ...], bool, tuple[str, ...], str], Solver]:
        return {}

    @cached_property
    def _views(self) -> dict[str, Self]:
        return {}

    def _compiled(self, problem: str, formulation: str | None = None) -> Function:
        """Return the function of a problem, compiled at the first call."""
        key = (problem, formulation if isinstance(formulation, str) else repr(formulation))
        if key not in self._functions:
            self._functions[key] = compile_function(self, problem, formulation)
        return self._functions[key]

    def _solver(
        self, orientation: str | tuple[str, ...], path: bool, frames: tuple[str, ...] = (), target: str = "cpu"
    ) -> Solver:
        """Return the solver of inverse kinematics for these options, made at the first call."""
        known = orientation if isinstance(orientation, (str, tuple)) else repr(orientation)
        key = (known, bool(path), frames, target if isinstance(target, str) else repr(target))
        if key not in self._solvers:
            self._solvers[key] = Solver(self, *key)
        return self._solvers[key]

    def _view_at(self, frame: str | None) -> Self:
        """Return this robot with the frame of that name in place of the tool, and with its compiled functions."""
        if frame is None:
            return self
        views: dict[str, Self] = self._views
        if not isinstance(frame, str) or frame not in views:
            views[frame] = self.with_task_frame(frame)
        return views[frame]

    def _view_and_axes(self, frame: str | None, axes: str) -> tuple[Self, str]:
        """Return the view at a frame and the axes; "base" and "tip" mean axes of the tool if no frame has the name."""
        if isinstance(frame, str) and frame in AXES_BY_FRAME and frame not in self.frame_names:
            if axes != "world":
                raise InputError(f"frame={frame!r} already names the axes; omit axes={axes!r}")
            return self, AXES_BY_FRAME[frame]
        return self._view_at(frame), axes
