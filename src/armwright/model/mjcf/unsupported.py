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
"""The number of effects listed in one warning."""


def unsupported_effects(model: Any, links: LinkBuilder) -> list[str]:
    """Return effects on joints and bodies of a compiled model that are not read."""
    m, told = model, [*links.couplings.unread]
    bent, yields = getattr(m, "dof_dampingpoly", np.zeros((m.nv, 1))), getattr(m, "jnt_springyield", np.zeros(m.njnt))
    for j, name in enumerate(links.joint_names):
        if JOINT_KINDS[int(m.jnt_type[j])] in MULTI_FREEDOM_KINDS and curve_of(m, j):
            told.append(f"the spring of joint {name} beyond the linear")
        drive = links.drives.get(name)
        if JOINT_KINDS[int(m.jnt_type[j])] in MULTI_FREEDOM_KINDS and drive and (drive.armature or drive.viscous):
            told.append(f"the armature and damping of the actuators of joint {name}")
        if yields[j]:
            told.append(f"that the spring of joint {name} yields")
        if np.any(bent[m.jnt_dofadr[j]]):
            told.append(f"the damping of joint {name} beyond the linear")
    told += [
        f"the gravity compensation of body {name}, which some of its joints leave to their drives"
        for name, g, ways in zip(links.names, m.body_gravcomp, links.by_drives, strict=True)
        if g and len(ways) > 1
    ]
    return told


def warn_of_unsupported(path: Path, left_out: Iterable[str]) -> None:
    """Warn of effects that are not read."""
    if told := list(left_out):
        listed = "; ".join(told[:MAX_LISTED_EFFECTS]) + (
            f"; and {len(told) - MAX_LISTED_EFFECTS} more" if len(told) > MAX_LISTED_EFFECTS else ""
        )
        warnings.warn(f"{path}: not taken over: {listed}", ModelWarning, stacklevel=3)
