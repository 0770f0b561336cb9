"""The viewer: a robot or a run on a page in the browser, with sliders, a tool to drag, and live torques (viser).

`state` and `playback` hold what is shown and know no browser; `page` and its panels put it there; `server` listens.
"""

from armwright.pages.viewer.viewer import Viewer, view

__all__ = ["Viewer", "view"]
