"""The page of a viewer: connects the state, the panels and viser."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.model.records import Payload
from armwright.model.visual import visual_pose
from armwright.pages.scene import appearance_of, floor_below, view_directions
from armwright.pages.scene.appearance import PAYLOAD_DENSITY
from armwright.pages.scene.link_shapes import PAYLOAD_COLOUR, translation
from armwright.pages.viewer import readout
from armwright.pages.viewer.figure import RobotFigure
from armwright.pages.viewer.playback import Playback
from armwright.pages.viewer.pose_panel import PosePanel
from armwright.pages.viewer.pose_state import PoseState
from armwright.pages.viewer.run_panel import RunPanel
from armwright.pages.viewer.worker import Worker
from armwright.robot import Robot
from armwright.simulation import Run

VISIBILITY_SWITCHES = {
    "Bodies": ("shapes", True),
    "Transparent": ("transparent", False),
    "Frames of links": ("frames", False),
    "Names of links": ("names", False),
    "Centres of mass": ("centres", False),
    "Inertia ellipsoids": ("ellipsoids", False),
}
PANEL_WIDTH = 340
NARROW_SCREEN = 440
"""The width in pixels below which a screen counts as that of a phone, whose lower part the controls cover."""

CAMERA_TRIES, CAMERA_WAIT = 6, 0.5
"""The number of attempts to set the camera of a new page, and the seconds between them."""


class ViewerPage:
    """A robot with its controls, and the runs that are played."""

    def __init__(self, server: Any, robot: Robot, runs: Sequence[Run] = (), payloads: Sequence[Payload] = ()) -> None:
        self._server = server
        self.state = PoseState(robot, payloads)
        self._worker = Worker(self._tick)
        self._figure = RobotFigure(server, "/robot", robot, self.state.size)
        self._ghosts: list[RobotFigure] = []
        self._add_floor_and_camera()
        self._live_panel()
        self._main_panel()
        self._draw_payloads()
        if runs:
            self.state.set_pose(runs[0].q[0])
            self._player.open(Playback(runs))
        else:
            self.refresh()
        self._add_shapes(self._figure, robot.without_payload())
        server.on_client_connect(self._adapt_camera)
        self._worker.start()

    @property
    def playback(self) -> Playback | None:
        return self._player.playback

    def close(self) -> None:
        self._player.stop()
        self._worker.stop()

    def suspend(self) -> None:
        """Stop motion and computation, as no browser shows the page."""
        self._player.stop()
        self._worker.post("alone", self._player.pause)
        self._worker.post("let go", self._pose.end_drag)

    def _tick(self, seconds: float) -> bool:
        return self._player.tick(seconds)

    def _add_floor_and_camera(self) -> None:
        scene, size = self._server.scene, self.state.size
        cell = 10.0 ** np.floor(np.log10(0.4 * size))
        sizes = {"cell_size": cell, "section_size": 10 * cell, "fade_distance": 20 * size, "shadow_opacity": 0.25}
        colours = {"cell_color": (185, 190, 198), "section_color": (130, 136, 148)}
        self._floor = scene.add_grid("/floor", infinite_grid=True, **sizes, **colours)
        axes = scene.world_axes
        axes.visible, axes.axes_length, axes.axes_radius, axes.origin_radius = True, 0.25 * size, 0.005 * size, 0.0
        origins = self.state.frame_origins
        low, high = origins.min(axis=0), origins.max(axis=0)
        camera, distance = self._server.initial_camera, max(size, 1.2 * float(np.linalg.norm(high - low)))
        right, toward, up = view_directions(self.state.gravity)
        scene.set_up_direction(up)
        camera.look_at, camera.up = (low + high) / 2, up
        camera.position = (low + high) / 2 + distance * (0.85 * right + 0.8 * toward + 0.42 * up)

    def _adapt_camera(self, client: Any) -> None:
        """Move the camera back on a phone, where the controls cover the lower part of the picture."""
        camera, first = client.camera, self._server.initial_camera
        if camera.image_width >= NARROW_SCREEN:
            return
        away = 1.7 * (first.position - first.look_at)
        position, offset = first.look_at + away, 0.55 * np.tan(camera.fov / 2) * np.linalg.norm(away) * first.up
        for _ in range(CAMERA_TRIES):  # a page that has just opened may still reset its camera
            with client.atomic():
                camera.position, camera.look_at = position, first.look_at - offset
            time.sleep(CAMERA_WAIT)
            if client.client_id not in self._server.get_clients() or np.allclose(camera.position, position, rtol=0.01):
                return

    def _live_panel(self) -> None:
        """Add the panel of results, on the left."""
        gui = self._server.gui
        panel = gui.add_panel()
        with panel.add_tab("Live"):
            self._heading = gui.add_html(readout.heading(self.state.robot))
            self._mode = gui.add_html("")
            self._live = gui.add_html("")
            self._where = gui.add_html("")
            self._curves = gui.add_folder("Curves", visible=False)
        panel.dock_left()
        panel.set_width(PANEL_WIDTH)

    def _main_panel(self) -> None:
        gui = self._server.gui
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self._pose = PosePanel(self._server, self.state, self._worker, self._pose_changed)
        with tabs.add_tab("Run"):
            self._player = RunPanel(self._server, self.state, self._worker, self._moved, self._opened)
        with tabs.add_tab("Look"):
            self._switches()
        with self._curves:
            self._player.add_curves(self._curves)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH)

    def _switches(self) -> None:
        for text, (what, on) in VISIBILITY_SWITCHES.items():
            self._switch(text, on, lambda on, what=what: self._show(what, on))
        self._switch("Gizmo at the tool", True, self._pose.show_gizmo)

    def _switch(self, text: str, on: bool, action: Any) -> None:
        box = self._server.gui.add_checkbox(text, on)
        box.on_update(self._worker.on(text, lambda: action(bool(box.value))))

    def _show(self, what: str, on: bool) -> None:
        for figure in (self._figure, *self._ghosts):
            figure.show(what, on)

    def _add_shapes(self, figure: RobotFigure, robot: Robot) -> None:
        appearance = appearance_of(robot)
        if appearance.notes and figure is self._figure:
            self._heading.content = readout.heading(robot, list(dict.fromkeys(appearance.notes))[:3])
        if figure is self._figure:
            self._floor.position = (0.0, 0.0, floor_below(robot, appearance, self.state.q))
        figure.add_shapes(appearance)

    def _draw_payloads(self) -> None:
        """Draw each payload as a sphere of its mass at its centre."""
        robot = self.state.robot
        if robot.tip is None:
            return
        for k, load in enumerate(self.state.loads):
            radius = (3 * load.mass / (4 * np.pi * PAYLOAD_DENSITY)) ** (1 / 3)
            pose = np.asarray(visual_pose(np.asarray(robot.tool_frame.pose) @ translation(load.com)))
            self._server.scene.add_icosphere(
                f"/robot/link{robot.tip}/payload{k}",
                max(radius, 1e-6),
                color=tuple(int(255 * x) for x in PAYLOAD_COLOUR[:3]),
                position=pose[:3, 3],
                visible=radius > 0,
            )
        self._shown_loads = tuple(self.state.loads)

    def _pose_changed(self) -> None:
        """Pause the run after a user has changed the pose or the load."""
        self._player.pause()
        self.refresh()

    def refresh(self) -> None:
        """Show the present state on the whole page."""
        with self._server.atomic():
            self._show_robot()
            self._pose.refresh()
            self._mode.content = readout.section("Torques that hold this pose", self._floats)
            self._live.content = readout.holding_table(self.state.static_load())
            self._show_tool()

    def _show_robot(self) -> None:
        self._figure.move(self.state.poses)
        if self.state.robot.tip is not None and self._shown_loads != tuple(self.state.loads):
            self._draw_payloads()

    @property
    def _floats(self) -> str:
        """Return a note on the torques of a floating base; "" if the base is fixed."""
        floats = any(slider.of_base for slider in self.state.joint_sliders)
        return "those of the base must come from outside, as there is no ground here" if floats else ""

    def _show_tool(self) -> None:
        frame = self._pose.frame
        self._where.content = readout.pose_lines(frame, self.state.pose(frame))

    def _opened(self, playback: Playback) -> None:
        """Show other runs: the robot moves as the first, a ghost as each further one."""
        for ghost in self._ghosts:
            ghost.remove()
        self._ghosts = []
        for k, run in enumerate(playback.runs[1:]):
            ghost = RobotFigure(self._server, f"/ghost{k}", run.robot, self.state.size, ghost=True)
            self._add_shapes(ghost, run.robot)
            self._ghosts.append(ghost)
        self._curves.visible = True

    def _moved(self) -> None:
        """Show the runs at the cursor."""
        playback = self._player.playback
        assert playback is not None
        instant = playback.at(playback.first)
        self.state.set_pose(instant.q)
        self.state.set_payload(instant.payload_mass)
        self.state.set_payload(0.0, place=1)  # a run has one payload
        self._show_robot()
        for ghost, run in zip(self._ghosts, playback.runs[1:], strict=True):
            ghost.move(run.robot.link_poses(playback.at(run).q))
        self._mode.content = readout.section("Torques and speeds of the run")
        self._live.content = readout.instant_table(instant)
        self._show_tool()
        if playback.playing:
            self._pose.refresh_gizmo()
        else:
            self._pose.refresh()
