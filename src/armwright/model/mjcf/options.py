"""The <option> of an MJCF file: flags switch effects off in the compiled model before it is read.

Read are gravity and its flag, and the flags of constraints, equalities, limits, dry friction, springs, dampers,
actuation and limits of controls. Integration, contacts and their solver are not part of a robot. A warning names
effects of air, which are not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SWITCHED_OFF = {
    "CONSTRAINT": ("eq_active0", "jnt_limited", "dof_frictionloss", "tendon_limited", "tendon_frictionloss"),
    "EQUALITY": ("eq_active0",),
    "LIMIT": ("jnt_limited", "tendon_limited"),
    "FRICTIONLOSS": ("dof_frictionloss", "tendon_frictionloss"),
    "SPRING": ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly"),
    "DAMPER": ("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly"),
    "GRAVITY": ("body_gravcomp",),
}
"""For each disabled flag the arrays of the model that become zero."""


def disabled(mujoco: Any, flags: int, name: str) -> bool:
    """Return whether a flag is disabled. Before MuJoCo 3.4 springs and dampers were one flag, PASSIVE."""
    bits = mujoco.mjtDisableBit
    bit = getattr(bits, f"mjDSBL_{name}", None)
    if bit is None and name in ("SPRING", "DAMPER"):
        bit = getattr(bits, "mjDSBL_PASSIVE", None)
    return bit is not None and bool(flags & int(bit))


def switch_off(mujoco: Any, model: Any) -> None:
    """Set the arrays of a compiled model to zero that its flags disable."""
    flags = int(model.opt.disableflags)
    off = {name for name in SWITCHED_OFF if disabled(mujoco, flags, name)}
    for name in sorted(off):
        for array in SWITCHED_OFF[name]:
            if hasattr(model, array):
                getattr(model, array)[:] = 0
    if "GRAVITY" in off:
        model.opt.gravity[:] = 0
    if {"SPRING", "DAMPER"} <= off:  # MuJoCo then has no passive forces
        model.body_gravcomp[:] = 0
        model.opt.density = model.opt.viscosity = 0


def air(model: Any) -> list[str]:
    """Return the effects of air on the bodies of a compiled model."""
    properties = {"density": model.opt.density, "viscosity": model.opt.viscosity}
    found = [f"the {name} of the air" for name, value in properties.items() if value]
    return [*found, *(["the wind of the air"] if found and np.any(model.opt.wind) else [])]
