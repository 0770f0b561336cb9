"""The controls of a pose: a slider for every freedom, a gizmo at the tool, payloads and gravity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.model.description import EARTH_GRAVITY
from armwright.names import shown
from armwright.pages.viewer import readout
from armwright.pages.viewer.figure import pose_matrix, viser_pose
from armwright.pages.viewer.pose_state import MAX_PAYLOAD_MASS, PAYLOAD_COUNT, JointSlider, PoseState
from armwright.pages.viewer.worker import Worker

GRAVITY_CHOICES = {
    "Earth": EARTH_GRAVITY,
    "Moon": (0.0, 0.0, -1.62),
    "Mars": (0.0, 0.0, -3.71),
    "none": (0.0, 0.0, 0.0),
}
CUSTOM_GRAVITY = "custom"
ORIENTATION_CHOICES = {"position and orientation": "full", "position and axis": "axis", "position": "free"}


SLIDER_STEPS = {"rad": 0.1, "m": 1e-3}
"""The steps of sliders: tenths of a degree, and millimetres."""


def _slider_scale(joint: JointSlider) -> float:
    """Return the factor from units of the robot to those of a slider: sliders of angles are in degrees."""
    return 180 / np.pi if joint.unit == "rad" else 1.0


def _slider_unit(joint: JointSlider) -> str:
    return "degrees" if joint.unit == "rad" else joint.unit


class PosePanel:
    """Sliders, buttons and a gizmo; each changes the state and calls `changed`."""

    def __init__(self, server: Any, state: PoseState, worker: Worker, changed: Callable[[], None]) -> None:
        self._server, self._gui, self.state, self._worker, self._changed = server, server.gui, state, worker, changed
        self._rng = np.random.default_rng()
        self._dragging = False
        self._buttons()
        self._sliders = self._all_sliders()
        self._tool_controls()
        self._load_controls()
        self._gizmo = self._add_gizmo()

    def _then_changed(self, action: Callable[[], None]) -> Callable[[], None]:
        def both() -> None:
            action()
            self._changed()

        return both

    def _buttons(self) -> None:
        buttons = self._gui.add_button_group("Pose", ("home", "random"))

        def go() -> None:
            if buttons.value == "home":
                self.state.set_pose(self.state.home)
            else:
                self.state.randomise(self._rng)

        buttons.on_click(self._worker.on("pose", self._then_changed(go)))

    def _all_sliders(self) -> dict[JointSlider, Any]:
        """Return the sliders of the joints in an open folder, those of a floating base in a closed one."""
        joints = [joint for joint in self.state.joint_sliders if not joint.of_base]
        base = [joint for joint in self.state.joint_sliders if joint.of_base]
        return self._folder("Joints", joints, True) | self._folder("Base", base, False)

    def _folder(self, title: str, sliders: list[JointSlider], expanded: bool) -> dict[JointSlider, Any]:
        """Return the sliders in a folder, whose title has their unit if all have the same."""
        if not sliders:
            return {}
        units = {_slider_unit(joint) for joint in sliders}
        common = f" ({units.pop()})" if len(units) == 1 else ""
        with self._gui.add_folder(title + common, expand_by_default=expanded):
            return {joint: self._slider(joint, "" if common else f" ({_slider_unit(joint)})") for joint in sliders}

    def _slider(self, joint: JointSlider, unit: str) -> Any:
        slider = self._gui.add_slider(
            shown(joint.name) + unit,
            min=joint.low * _slider_scale(joint),
            max=joint.high * _slider_scale(joint),
            step=SLIDER_STEPS[joint.unit],
            initial_value=float(np.clip(self.state.value(joint), joint.low, joint.high)) * _slider_scale(joint),
        )
        move = self._then_changed(lambda: self.state.set_joint(joint, slider.value / _slider_scale(joint)))
        slider.on_update(self._worker.on(f"joint {joint.joint}", move))
        return slider

    def _tool_controls(self) -> None:
        with self._gui.add_folder("Tool"):
            self._frames = {shown(name): name for name in self.state.frames}
            self._frame = self._gui.add_dropdown("Drag", tuple(self._frames))
            self._follows = self._gui.add_dropdown("Follow", tuple(ORIENTATION_CHOICES), initial_value=self._followed())
            self._reach = self._gui.add_html("")
        self._frame.on_update(self._worker.on("frame", self._choose_frame))
        self._follows.on_update(self._worker.on("frame", self._place_gizmo))

    def _choose_frame(self) -> None:
        self._follows.value = self._followed()
        self._place_gizmo()
        self._changed()

    def _followed(self) -> str:
        """Return the choice in "Follow" for the pose components that the frame can follow."""
        kind = self.state.orientation_for(self.frame)
        return next(words for words, meant in ORIENTATION_CHOICES.items() if meant == kind)

    def _load_controls(self) -> None:
        state = self.state
        with self._gui.add_folder("Load"):
            has_tool = state.robot.tip is not None
            self._loads = [self._load(k, has_tool) for k in range(PAYLOAD_COUNT)]
            known = next((name for name, g in GRAVITY_CHOICES.items() if tuple(state.gravity) == g), CUSTOM_GRAVITY)
            gravity = self._gui.add_dropdown("Gravity", (*GRAVITY_CHOICES, CUSTOM_GRAVITY), initial_value=known)
            vector = self._gui.add_vector3("m/s\u00b2", tuple(state.gravity), step=0.1, visible=known == CUSTOM_GRAVITY)

        def choose() -> None:
            vector.visible = gravity.value == CUSTOM_GRAVITY
            state.set_gravity(GRAVITY_CHOICES.get(gravity.value, vector.value))

        gravity.on_update(self._worker.on("gravity", self._then_changed(choose)))
        vector.on_update(self._worker.on("gravity", self._then_changed(choose)))

    def _load(self, k: int, has_tool: bool) -> tuple[Any, Any]:
        """Return the controls of the mass and the centre of one payload."""
        load, which = self.state.loads[k], "" if k == 0 else "Second "
        title = f"{which}{'payload' if which else 'Payload'} (kg)"
        mass = self._gui.add_number(title, load.mass, min=0.0, max=MAX_PAYLOAD_MASS, step=0.1, visible=has_tool)
        com = self._gui.add_vector3("Its centre (m)", load.com, step=0.01, visible=has_tool)
        change = self._then_changed(lambda: self.state.set_payload(mass.value, com.value, k))
        for control in (mass, com):
            control.on_update(self._worker.on(f"load {k}", change))
        return mass, com

    def _add_gizmo(self) -> Any:
        gizmo = self._server.scene.add_transform_controls(
            "/gizmo",
            scale=0.22 * self.state.size,
            line_width=3.0,
            depth_test=False,
            disable_rotations=self.orientation == "free",
            **viser_pose(self.state.pose(self.frame)),
        )

        async def dragged(event: Any) -> None:
            if event.client_id is not None:
                self._worker.post("drag", lambda: self._follow(event.phase == "end"))

        gizmo.on_update(dragged)
        return gizmo

    @property
    def frame(self) -> str:
        return self._frames[self._frame.value]

    @property
    def orientation(self) -> Any:
        return ORIENTATION_CHOICES[self._follows.value]

    def end_drag(self) -> None:
        """End a drag whose end the browser has not reported."""
        self._dragging = False

    def show_gizmo(self, on: bool) -> None:
        self._gizmo.visible = on

    def _follow(self, done: bool) -> None:
        """Move the robot to the gizmo; when the drag is done, the gizmo moves to the robot."""
        target = pose_matrix(self._gizmo.position, self._gizmo.wxyz)
        reach = self.state.follow(target, self.frame, self.orientation)
        self._reach.content = readout.status("" if reach.reached else str(reach), reach.reached)
        self._dragging = not done
        self._changed()

    def _place_gizmo(self) -> None:
        pose = viser_pose(self.state.pose(self.frame))
        self._gizmo.disable_rotations = self.orientation == "free"
        self._gizmo.position, self._gizmo.wxyz = pose["position"], pose["wxyz"]

    def refresh(self) -> None:
        """Show the state on sliders, loads and gizmo; a gizmo that is dragged stays where it is."""
        for joint, control in self._sliders.items():
            value = float(np.clip(self.state.value(joint), joint.low, joint.high)) * _slider_scale(joint)
            if abs(control.value - value) > SLIDER_STEPS[joint.unit] / 2:
                control.value = round(value, 4)
        for (mass, com), load in zip(self._loads, self.state.loads, strict=True):
            if mass.value != load.mass:
                mass.value = load.mass
            if tuple(com.value) != load.com:
                com.value = load.com
        self.refresh_gizmo()

    def refresh_gizmo(self) -> None:
        if not self._dragging:
            self._place_gizmo()
