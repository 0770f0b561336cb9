"""Limits, armature and damping that the actuators of an MJCF file add to its joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.model.mjcf.options import disabled


@dataclass
class JointActuation:
    """The sum of the actuators of a joint, reflected to the joint."""

    effort: float | None = None
    armature: float = 0.0
    viscous: float = 0.0


def joint_actuation(mujoco: Any, spec: Any) -> dict[str, JointActuation]:
    """Return the actuators by joint, and remove them from the model, since some need unbounded memory."""
    drives: dict[str, JointActuation] = {}
    flags, groups = int(spec.option.disableflags), int(spec.option.disableactuator)
    disabled_all, damped = disabled(mujoco, flags, "ACTUATION"), not disabled(mujoco, flags, "DAMPER")
    clamped = not disabled(mujoco, flags, "CLAMPCTRL")
    for actuator in list(spec.actuators):
        drive = drives.setdefault(actuator.target, JointActuation())
        gear = float(actuator.gear[0])
        drive.armature += float(np.ravel(getattr(actuator, "armature", 0.0))[0]) * gear**2
        drive.viscous += float(np.ravel(getattr(actuator, "damping", 0.0))[0]) * gear**2 * damped
        switched_off = disabled_all or bool(groups >> int(actuator.group) & 1)
        force = None if switched_off else _largest_force(mujoco, actuator, clamped)
        if force is not None:
            drive.effort = max(drive.effort or 0.0, force * abs(gear))
        spec.delete(actuator)
    return drives


def _largest_force(mujoco: Any, actuator: Any, clamped: bool) -> float | None:
    """Return the largest force of an actuator before its gear: its limit, or that at full control of a motor."""
    bounds = []
    if int(actuator.forcelimited):  # on, or automatic
        bounds.append(float(np.abs(actuator.forcerange).max()))
    motor = (
        actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED
        and actuator.biastype == mujoco.mjtBias.mjBIAS_NONE
        and actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE
    )
    if motor and clamped and int(actuator.ctrllimited):
        bounds.append(float(np.abs(actuator.ctrlrange).max()) * abs(float(actuator.gainprm[0])))
    return min((bound for bound in bounds if bound), default=None)
