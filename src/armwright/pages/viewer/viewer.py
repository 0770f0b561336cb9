"""The viewer: start its server, open its page, close both."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.model.records import Payload
from armwright.pages.report.html import escape
from armwright.pages.viewer.server import ALL_INTERFACES, LOCAL_HOST, silenced, start_server
from armwright.robot import Robot
from armwright.simulation import Run

if TYPE_CHECKING:
    from armwright.pages.viewer.viewer_page import ViewerPage

RELOAD_SECONDS = 3.0
"""Seconds after which a closed page counts as left; reloading is faster."""


class Viewer:
    """A page that shows a robot or runs, served until `close`. A notebook embeds it below its cell."""

    def __init__(self, server: Any, host: str) -> None:
        self._server, self._host = server, host
        self._left, self._closed = threading.Event(), threading.Event()
        self._page: ViewerPage | None = None
        self._lock = threading.Lock()
        self._leave_timer: threading.Timer | None = None
        atexit.register(self.close)
        server.on_client_connect(self._connected)
        server.on_client_disconnect(self._disconnected)

    @property
    def url(self) -> str:
        """The address of the page."""
        host = LOCAL_HOST if self._host in ALL_INTERFACES else self._host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._server.get_port()}"

    @property
    def page(self) -> ViewerPage:
        """The content of the page: the pose, and the run that is played."""
        assert self._page is not None
        return self._page

    def fill(self, robot: Robot, runs: tuple[Run, ...], payloads: Sequence[Payload]) -> None:
        """Fill the page, which may be open already."""
        from armwright.pages.viewer.viewer_page import ViewerPage  # noqa: PLC0415  (slow; the browser opens first)

        self._page = ViewerPage(self._server, robot, runs, payloads)

    def close(self) -> None:
        """Close the page and stop everything that runs for it."""
        if self._closed.is_set():
            return
        self._closed.set()
        atexit.unregister(self.close)
        if self._page is not None:
            self._page.close()
        with silenced():
            self._server.stop()

    def wait(self, once: bool = False) -> None:
        """Wait for Ctrl-C, or if `once` until the last page is closed; then close the viewer."""
        try:
            while not self._closed.wait(0.2) and not (once and self._left.is_set()):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def _connected(self, _client: Any) -> None:
        with self._lock:
            if self._leave_timer is not None:
                self._leave_timer.cancel()
                self._leave_timer = None

    def _disconnected(self, _client: Any) -> None:
        if self._server.get_clients():
            return
        if self._page is not None:
            self._page.suspend()
        with self._lock:
            self._leave_timer = threading.Timer(RELOAD_SECONDS, self._left.set)
            self._leave_timer.daemon = True
            self._leave_timer.start()

    def __repr__(self) -> str:
        return f"<viewer at {self.url}>"

    def _repr_html_(self) -> str:
        style = "width:100%;height:640px;border:1px solid #ccc;border-radius:6px"
        return f'<iframe src="{escape(self.url)}" style="{style}" title="armwright viewer"></iframe>'


def view(
    shown: Robot | Run,
    *others: Run,
    host: str = LOCAL_HOST,
    port: int | None = None,
    browser: bool | None = None,
    payloads: Sequence[Payload] = (),
) -> Viewer:
    """Show a robot, or a run with others as ghosts, on a page; return at once.

    The server listens at `host`, by default for this machine only, at `port` or a free one. `browser` opens the page in
    a browser; by default if there is a screen and no notebook. `payloads` are the bodies of a robot's payload, which
    are shown separately.
    """
    runs = (shown, *others) if isinstance(shown, Run) else others
    if not isinstance(shown, (Robot, Run)) or not all(isinstance(run, Run) for run in runs):
        kinds = ", ".join(type(x).__name__ for x in (shown, *others))
        raise InputError(f"view got {kinds}; expected a robot, or runs")
    robot = shown.robot if isinstance(shown, Run) else shown
    server = start_server(host, port, "armwright")
    viewer = Viewer(server, host)
    try:
        if _has_screen() if browser is None else browser:
            webbrowser.open(viewer.url)
        viewer.fill(robot, runs, payloads)
    except BaseException:
        viewer.close()
        raise
    return viewer


def _has_screen() -> bool:
    """Return True if a browser can open: not in a notebook, nor without a display."""
    if "ipykernel" in sys.modules:
        return False
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
