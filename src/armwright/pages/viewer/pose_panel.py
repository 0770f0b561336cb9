"""The controls of a pose: a slider for every freedom, the tool to drag, what it holds and where down is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.model.description import EARTH_GRAVITY
from armwright.names import shown
from armwright.pages.viewer import readout
from armwright.pages.viewer.figure import placed, pose_of
from armwright.pages.viewer.stance import HEAVIEST, HELD, Lever, Stance
from armwright.pages.viewer.worker import Worker

GRAVITY = {"Earth": EARTH_GRAVITY, "Moon": (0.0, 0.0, -1.62), "Mars": (0.0, 0.0, -3.71), "none": (0.0, 0.0, 0.0)}
CUSTOM = "custom"
FOLLOWS = {"position and orientation": "full", "position and axis": "axis", "position": "free"}


STEPS = {"rad": 0.1, "m": 1e-3}
"""Of sliders: tenths of a degree, and millimetres."""


def _scale(lever: Lever) -> float:
    """How many units of a slider one of the robot's is: sliders of angles are in degrees."""
    return 180 / np.pi if lever.unit == "rad" else 1.0


def _shown_unit(lever: Lever) -> str:
    return "degrees" if lever.unit == "rad" else lever.unit


class PosePanel:
    """Sliders, buttons and a gizmo; what is asked for goes to the stance, and `changed` is called."""

    def __init__(self, server: Any, stance: Stance, worker: Worker, changed: Callable[[], None]) -> None:
        self._server, self._gui, self.stance, self._worker, self._changed = server, server.gui, stance, worker, changed
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
                self.stance.put(self.stance.home)
            else:
                self.stance.shuffle(self._rng)

        buttons.on_click(self._worker.on("pose", self._then_changed(go)))

    def _all_sliders(self) -> dict[Lever, Any]:
        """Those of joints open, those of a base that floats folded away."""
        joints = [lever for lever in self.stance.levers if not lever.of_base]
        base = [lever for lever in self.stance.levers if lever.of_base]
        return self._folder("Joints", joints, True) | self._folder("Base", base, False)

    def _folder(self, title: str, levers: list[Lever], opened: bool) -> dict[Lever, Any]:
        """A folder that says the unit, where there is one for all."""
        if not levers:
            return {}
        units = {_shown_unit(lever) for lever in levers}
        common = f" ({units.pop()})" if len(units) == 1 else ""
        with self._gui.add_folder(title + common, expand_by_default=opened):
            return {lever: self._slider(lever, "" if common else f" ({_shown_unit(lever)})") for lever in levers}

    def _slider(self, lever: Lever, unit: str) -> Any:
        slider = self._gui.add_slider(
            shown(lever.name) + unit,
            min=lever.low * _scale(lever),
            max=lever.high * _scale(lever),
            step=STEPS[lever.unit],
            initial_value=float(np.clip(self.stance.value(lever), lever.low, lever.high)) * _scale(lever),
        )
        turn = self._then_changed(lambda: self.stance.turn(lever, slider.value / _scale(lever)))
        slider.on_update(self._worker.on(f"joint {lever.joint}", turn))
        return slider

    def _tool_controls(self) -> None:
        with self._gui.add_folder("Tool"):
            self._frames = {shown(name): name for name in self.stance.frames}
            self._frame = self._gui.add_dropdown("Drag", tuple(self._frames))
            self._follows = self._gui.add_dropdown("Follow", tuple(FOLLOWS), initial_value=self._followed())
            self._reach = self._gui.add_html("")
        self._frame.on_update(self._worker.on("frame", self._choose_frame))
        self._follows.on_update(self._worker.on("frame", self._place_gizmo))

    def _choose_frame(self) -> None:
        self._follows.value = self._followed()
        self._place_gizmo()
        self._changed()

    def _followed(self) -> str:
        """What of its pose the frame can follow."""
        kind = self.stance.orientation_for(self.frame)
        return next(words for words, meant in FOLLOWS.items() if meant == kind)

    def _load_controls(self) -> None:
        stance = self.stance
        with self._gui.add_folder("Load"):
            hand = stance.robot.tip is not None
            self._loads = [self._load(k, hand) for k in range(HELD)]
            known = next((name for name, g in GRAVITY.items() if tuple(stance.gravity) == g), CUSTOM)
            gravity = self._gui.add_dropdown("Gravity", (*GRAVITY, CUSTOM), initial_value=known)
            vector = self._gui.add_vector3("m/s\u00b2", tuple(stance.gravity), step=0.1, visible=known == CUSTOM)

        def choose() -> None:
            vector.visible = gravity.value == CUSTOM
            stance.fall(GRAVITY.get(gravity.value, vector.value))

        gravity.on_update(self._worker.on("gravity", self._then_changed(choose)))
        vector.on_update(self._worker.on("gravity", self._then_changed(choose)))

    def _load(self, k: int, hand: bool) -> tuple[Any, Any]:
        """The mass and the centre of one payload."""
        held, which = self.stance.loads[k], "" if k == 0 else "Second "
        mass = self._gui.add_number(
            f"{which}{'payload' if which else 'Payload'} (kg)", held.mass, min=0.0, max=HEAVIEST, step=0.1, visible=hand
        )
        com = self._gui.add_vector3("Its centre (m)", held.com, step=0.01, visible=hand)
        change = self._then_changed(lambda: self.stance.load(mass.value, com.value, k))
        for control in (mass, com):
            control.on_update(self._worker.on(f"load {k}", change))
        return mass, com

    def _add_gizmo(self) -> Any:
        gizmo = self._server.scene.add_transform_controls(
            "/gizmo",
            scale=0.22 * self.stance.size,
            line_width=3.0,
            depth_test=False,
            disable_rotations=self.orientation == "free",
            **placed(self.stance.pose(self.frame)),
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
        return FOLLOWS[self._follows.value]

    def let_go(self) -> None:
        """Nobody drags any more."""
        self._dragging = False

    def show_gizmo(self, on: bool) -> None:
        self._gizmo.visible = on

    def _follow(self, done: bool) -> None:
        """The robot goes where the gizmo is; when it is let go it comes to where the robot is."""
        target = pose_of(self._gizmo.position, self._gizmo.wxyz)
        reach = self.stance.follow(target, self.frame, self.orientation)
        self._reach.content = readout.told("" if reach.reached else str(reach), reach.reached)
        self._dragging = not done
        self._changed()

    def _place_gizmo(self) -> None:
        where = placed(self.stance.pose(self.frame))
        self._gizmo.disable_rotations = self.orientation == "free"
        self._gizmo.position, self._gizmo.wxyz = where["position"], where["wxyz"]

    def refresh(self) -> None:
        """Sliders, load and gizmo as the robot stands; the gizmo stays with the hand that drags it."""
        for lever, slider in self._sliders.items():
            value = float(np.clip(self.stance.value(lever), lever.low, lever.high)) * _scale(lever)
            if abs(slider.value - value) > STEPS[lever.unit] / 2:
                slider.value = round(value, 4)
        for (mass, com), held in zip(self._loads, self.stance.loads, strict=True):
            if mass.value != held.mass:
                mass.value = held.mass
            if tuple(com.value) != held.com:
                com.value = held.com
        self.refresh_gizmo()

    def refresh_gizmo(self) -> None:
        if not self._dragging:
            self._place_gizmo()
