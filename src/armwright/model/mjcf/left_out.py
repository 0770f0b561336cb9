"""What acts on a robot in MuJoCo, or is seen there, and is not taken over."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from armwright.errors import ModelWarning
from armwright.model.mjcf.links import KINDS, Links
from armwright.model.tree import SEVERAL

MOST_LISTED = 8
"""Of what is not taken over, in one warning."""

FREEDOMS = {0: 6, 1: 3, 2: 1, 3: 1}
RUBBING = {"damping": "dof_damping", "frictionloss": "dof_frictionloss", "armature": "dof_armature"}
"""What a ball or free joint has in MuJoCo and not here."""


def acting(model: Any, links: Links) -> list[str]:
    """What acts on the joints and bodies of a compiled model and will not here."""
    m, told = model, [*links.couplings.left_out]
    bent = getattr(m, "dof_dampingpoly", np.zeros((m.nv, 1)))
    for j, name in enumerate(links.joint_names):
        if m.jnt_stiffness[j]:
            told.append(f"the spring of joint {name}")
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + FREEDOMS[int(m.jnt_type[j])])
        if KINDS[int(m.jnt_type[j])] in SEVERAL:
            told += [f"the {what} of joint {name}" for what, of in RUBBING.items() if np.any(getattr(m, of)[dofs])]
        if np.any(bent[m.jnt_dofadr[j]]):
            told.append(f"the damping of joint {name} beyond the linear")
    told += [
        f"the gravity compensation of body {name}" for name, g in zip(links.names, m.body_gravcomp, strict=True) if g
    ]
    return told


def tell(path: Path, left_out: Iterable[str]) -> None:
    """A warning that lists what is not taken over."""
    if told := list(left_out):
        listed = "; ".join(told[:MOST_LISTED]) + (
            f"; and {len(told) - MOST_LISTED} more" if len(told) > MOST_LISTED else ""
        )
        warnings.warn(f"{path}: not taken over: {listed}", ModelWarning, stacklevel=3)
