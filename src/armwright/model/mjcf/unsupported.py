"""Warnings of effects and shapes of an MJCF file that are not read."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from armwright.errors import ModelWarning
from armwright.model.mjcf.link_builder import JOINT_KINDS, LinkBuilder, curve_of
from armwright.model.tree import MULTI_FREEDOM_KINDS

MAX_LISTED_EFFECTS = 8
"""The largest number of effects listed in one warning."""


def unsupported_effects(model: Any, links: LinkBuilder) -> list[str]:
    """Return effects on joints and bodies of a compiled model that are not read."""
    m, effects = model, [*links.couplings.unread]
    damping_curves = getattr(m, "dof_dampingpoly", np.zeros((m.nv, 1)))
    yields = getattr(m, "jnt_springyield", np.zeros(m.njnt))
    for j, name in enumerate(links.joint_names):
        if JOINT_KINDS[int(m.jnt_type[j])] in MULTI_FREEDOM_KINDS and curve_of(m, j):
            effects.append(f"the spring of joint {name} beyond the linear")
        drive = links.drives.get(name)
        if JOINT_KINDS[int(m.jnt_type[j])] in MULTI_FREEDOM_KINDS and drive and (drive.armature or drive.viscous):
            effects.append(f"the armature and damping of the actuators of joint {name}")
        if yields[j]:
            effects.append(f"the yielding spring of joint {name}")
        if np.any(damping_curves[m.jnt_dofadr[j]]):
            effects.append(f"the damping of joint {name} beyond the linear")
    effects += [
        f"the gravity compensation of body {name}, which is by the drives of some of its joints"
        for name, g, flags in zip(links.names, m.body_gravcomp, links.by_drives, strict=True)
        if g and len(flags) > 1
    ]
    return effects


def warn_of_unsupported(path: Path, unread: Iterable[str]) -> None:
    """Warn of effects that are not read."""
    if effects := list(unread):
        more = f"; and {len(effects) - MAX_LISTED_EFFECTS} more" if len(effects) > MAX_LISTED_EFFECTS else ""
        listed = "; ".join(effects[:MAX_LISTED_EFFECTS]) + more
        warnings.warn(f"{path}: not taken over: {listed}", ModelWarning, stacklevel=3)
