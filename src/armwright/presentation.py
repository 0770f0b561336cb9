"""Presenters: the functions of `pages` that show a robot, a run or a trajectory, each imported on first use.

`Robot`, `Run` and `Trajectory` have methods that show them, but `pages` depends on these modules. So their methods call
`present` with the name of a presenter of the table below.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

PRESENTERS = {
    "film_run": "armwright.pages.video",
    "picture_robot": "armwright.pages.video",
    "plot_robot": "armwright.pages.plots",
    "plot_run": "armwright.pages.plots",
    "plot_torque_speed": "armwright.pages.plots",
    "robot_cell": "armwright.pages.notebook_cells",
    "run_cell": "armwright.pages.notebook_cells",
    "trajectory_cell": "armwright.pages.notebook_cells",
    "view": "armwright.pages.viewer",
    "write_run_page": "armwright.pages.run_scene",
}
"""Functions by name, with the modules that define them."""


class ServedPage(Protocol):
    """A page in the browser, served until `close`."""

    @property
    def url(self) -> str:
        """The address of the page."""

    def close(self) -> None:
        """Stop serving the page."""

    def wait(self, once: bool = False) -> None:
        """Serve the page until Ctrl-C, or with `once` until the last browser has left it; then close it."""


def present(presenter: str, *args: Any, **options: Any) -> Any:
    """Call a presenter by its name and return its result."""
    # By text: an import statement would make the lower packages depend on pages, and every simulation load them.
    return getattr(import_module(PRESENTERS[presenter]), presenter)(*args, **options)
