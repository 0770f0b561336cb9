"""The controls of a run: simulate from the pose shown, play, scrub, and curves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import ArmwrightError
from armwright.names import shown
from armwright.pages.viewer import readout
from armwright.pages.viewer.playback import (
    PLAYBACK_SPEEDS,
    QUANTITY_CURVES,
    Curves,
    Playback,
    curves_of,
    with_other_run,
)
from armwright.pages.viewer.pose_simulation import DRIVE_CHOICES, MAX_SECONDS, simulate_from
from armwright.pages.viewer.pose_state import PoseState
from armwright.pages.viewer.worker import Worker
from armwright.progress import progress_reported
from armwright.simulation import Run

CURVE_COLOURS = (
    "#4c78a8",
    "#e4572e",
    "#2f9e6e",
    "#b279a2",
    "#e0a030",
    "#17a2b8",
    "#8c564b",
    "#9aa53c",
    "#d6649f",
    "#7f7f7f",
)
CURSOR_INTERVAL = 0.12
"""The time between moves of the cursor in the curves, s of the run at speed 1."""


class RunPanel:
    """Buttons and a time slider; `moved` is called when the cursor moves, `opened` with new runs."""

    def __init__(
        self,
        server: Any,
        state: PoseState,
        worker: Worker,
        moved: Callable[[], None],
        opened: Callable[[Playback], None],
    ) -> None:
        self._server, self._gui, self._state, self._worker = server, server.gui, state, worker
        self._moved, self._opened = moved, opened
        self.playback: Playback | None = None
        self._drawn: Curves | None = None
        self._marked = -np.inf
        self._running, self._stopped = False, threading.Event()
        self._simulation_controls()
        self._player_controls()

    def _simulation_controls(self) -> None:
        joints = self._state.robot.joints
        with self._gui.add_folder("Simulate from this pose"):
            self._law = self._gui.add_dropdown("Drive", DRIVE_CHOICES, initial_value=DRIVE_CHOICES[0])
            self._duration = self._gui.add_number("Seconds", 2.0, min=0.1, max=MAX_SECONDS, step=0.1)
            limits = any(joint.max_torque is not None for joint in joints)
            self._limited = self._gui.add_checkbox("Within the torque limits", limits, disabled=not limits)
            stops = any(joint.limits is not None for joint in joints)
            self._stops = self._gui.add_checkbox("Stops at the joint limits", False, disabled=not stops)
            self._button = self._gui.add_button("Simulate")
            self._status = self._gui.add_html("")
        self._button.on_click(self._worker.on("simulate", self._simulate))

    def _simulate(self) -> None:
        """Simulate in a second thread, so that the page responds and the button stops it."""
        if self._running:
            self.stop()
            self._status.content = readout.status("stopping ...")
            return
        self._stopped.clear()
        self._running, self._button.label = True, "Stop"
        self._status.content = readout.status("simulating ...")
        settings = (self._law.value, float(self._duration.value), bool(self._limited.value), bool(self._stops.value))
        robot, q = self._state.loaded_robot, self._state.q.copy()

        def run() -> None:
            try:
                with progress_reported(self._show_progress):
                    result = simulate_from(robot, q, *settings)
                self._worker.post("simulated", lambda: self._show_run(result))
            except (ArmwrightError, ArithmeticError, np.linalg.LinAlgError) as error:
                text = str(error)
                self._worker.post("simulated", lambda: self._failed(text))

        threading.Thread(target=run, daemon=True, name="armwright simulation").start()

    def _show_progress(self, share: float) -> None:
        """Show the progress of a simulation. Stop raises KeyboardInterrupt in it; the result so far is shown."""
        if self._stopped.is_set():
            raise KeyboardInterrupt
        self._worker.post("progress", lambda: self._show_share(share))

    def _show_share(self, share: float) -> None:
        if self._running and not self._stopped.is_set():
            self._status.content = readout.status(f"simulating ... {share:.0%}")

    def stop(self) -> None:
        """Stop the simulation that runs."""
        self._stopped.set()

    def _show_run(self, run: Run) -> None:
        self._running, self._button.label = False, "Simulate"
        playback = Playback([run])
        self.open(playback)
        playback.play()
        self._show_playing()

    def _failed(self, text: str) -> None:
        self._running, self._button.label = False, "Simulate"
        self._status.content = readout.status(text, False)

    def _player_controls(self) -> None:
        with self._gui.add_folder("Play", visible=False) as self._player:
            self._play = self._gui.add_button("Play")
            self._speed = self._gui.add_dropdown("Speed", tuple(PLAYBACK_SPEEDS), initial_value="1x")
            self._loop = self._gui.add_checkbox("Repeat", False)
            self._time = self._gui.add_slider("Time (s)", min=0.0, max=1.0, step=1e-3, initial_value=0.0)
        self._play.on_click(self._worker.on("play", self._toggle))
        self._time.on_update(self._worker.on("seek", self._seek))
        self._speed.on_update(self._worker.on("speed", self._set_speed))

    def add_curves(self, folder: Any) -> None:
        """Add the choice of curves; a folder holds the plot."""
        self._curves = folder
        self._what = self._gui.add_dropdown("Quantity", tuple(QUANTITY_CURVES), initial_value="torque")
        self._what.on_update(self._worker.on("curves", self._draw))
        self._plot: Any = None

    def open(self, playback: Playback) -> None:
        """Show other runs from their start."""
        playback.speed = PLAYBACK_SPEEDS[self._speed.value]
        self.playback = playback
        self._player.visible = True
        self._status.content = readout.status(run_summary(playback.first), not playback.first.utilisation.doubts)
        self._time.min, self._time.max = playback.begin, max(playback.end, playback.begin + 1e-3)
        self._opened(playback)
        if not playback.first.tau.any():
            self._what.value = "speed"
        self._draw()
        self.show()

    def _set_speed(self) -> None:
        if self.playback is not None:
            self.playback.speed = PLAYBACK_SPEEDS[self._speed.value]

    def _toggle(self) -> None:
        if self.playback is None:
            return
        if self.playback.playing:
            self.playback.pause()
        else:
            self.playback.play()
        self._show_playing()
        self.show()

    def _seek(self) -> None:
        if self.playback is not None:
            self.playback.pause()
            self.playback.seek(float(self._time.value))
            self._show_playing()
            self.show()

    def pause(self) -> None:
        if self.playback is not None and self.playback.playing:
            self.playback.pause()
            self._show_playing()

    def _show_playing(self) -> None:
        assert self.playback is not None
        self._play.label = "Pause" if self.playback.playing else "Play"

    def tick(self, seconds: float) -> bool:
        """Advance by seconds of wall-clock time; return True while the run plays."""
        playback = self.playback
        if playback is None or not playback.playing:
            return False
        playback.advance(seconds)
        if not playback.playing and self._loop.value:
            playback.play()
        if not playback.playing:
            self._show_playing()
        self.show()
        return playback.playing

    def show(self) -> None:
        """Show the state at the cursor."""
        assert self.playback is not None
        playback = self.playback
        with self._server.atomic():
            self._time.value = round(float(np.clip(playback.t, self._time.min, self._time.max)), 3)
            if not playback.playing or abs(playback.t - self._marked) > CURSOR_INTERVAL * playback.speed:
                self._mark()
            self._moved()

    def _draw(self) -> None:
        """Draw the curves of the first run, and those of a second one dashed."""
        if self.playback is None:
            return
        if not curves_of(self.playback.first, self._what.value).names:
            self._what.value = "torque"
        curves, *others = (curves_of(run, self._what.value) for run in self.playback.runs[:2])
        count = len(curves.names)
        curves = with_other_run(curves, others[0]) if others else curves
        self._drawn = curves
        if self._plot is not None:
            self._plot.remove()
        axis = {"stroke": "#8a8f98", "grid": {"stroke": "rgba(128,128,128,0.2)"}, "ticks": {"show": False}}
        lines = [
            {
                "label": name,
                "stroke": CURVE_COLOURS[i % count % len(CURVE_COLOURS)],
                "width": 1.5,
                "points": {"show": False},
                **({"dash": (5, 4)} if i >= count else {}),
            }
            for i, name in enumerate(curves.names)
        ]
        cursor = {"label": "now", "stroke": "#8a8f98", "width": 1, "dash": (4, 3), "points": {"show": False}}
        with self._curves:
            self._plot = self._gui.add_uplot(
                with_cursor(curves, self.playback.t),
                ({"label": "t (s)"}, *lines, cursor),
                title=curves.unit,
                scales={"x": {"time": False, "auto": True}, "y": {"auto": False, "range": curves.range}},
                axes=({**axis}, {**axis, "size": 46}),
                legend={"show": len(lines) <= 12},
                aspect=1.2,
            )

    def _mark(self) -> None:
        assert self.playback is not None
        self._marked = self.playback.t
        if self._plot is not None and self._drawn is not None:
            self._plot.data = with_cursor(self._drawn, self.playback.t)


def with_cursor(curves: Curves, t: float) -> tuple[Array, ...]:
    """Return times, curves and a last row for the cursor: at the bottom, with a spike to the top at its time."""
    t = float(np.clip(t, curves.t[0], curves.t[-1]))
    k = int(np.searchsorted(curves.t, t))
    times = np.insert(curves.t, k, [t] * 3)
    rows = [np.insert(row, k, [np.interp(t, curves.t, row)] * 3) for row in curves.values]
    low, high = curves.range
    line = np.full(len(times), low)
    line[k + 1] = high
    return (times, *rows, line)


def run_summary(run: Run) -> str:
    """Return a sentence on a run: its duration, the event that ended it, and the limits it exceeds."""
    summary = f"{run.t[-1] - run.t[0]:g} s in {1000 * run.statistics.seconds:.3g} ms"
    summary += f", ended by {shown(run.ended_by)}" if run.ended_by else ""
    summary += f", {shown(run.message)}" if run.message else ""
    doubts = run.utilisation.doubts
    more = f"; and {len(doubts) - 2} more" if len(doubts) > 2 else ""
    return "; ".join([summary, *doubts[:2]]) + more
