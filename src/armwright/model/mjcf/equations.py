"""What the <equality> section of an MJCF file holds together: joints that follow others, and loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.model.mjcf.elimination import Contradiction, Elimination
from armwright.model.mjcf.pose import moved, transform
from armwright.model.tree import TreeLoop


@dataclass(frozen=True)
class Couplings:
    """The joints that follow another, by their number: q = factor q_other + offset, or q = offset without another.

    `left_out` names the couplings that are not taken over.
    """

    by_joint: dict[int, tuple[int | None, float, float]]
    left_out: tuple[str, ...]


def couplings(mujoco: Any, model: Any, joint_names: Sequence[str]) -> Couplings:
    """The couplings of joints of a compiled model.

    MuJoCo counts from the reference: q - ref = c0 + c1 (q_other - ref_other) + ...
    """
    found = Elimination()
    left_out: list[str] = []
    for i in range(model.neq):
        if model.eq_type[i] != mujoco.mjtEq.mjEQ_JOINT or not model.eq_active0[i]:
            continue
        j, other, c = int(model.eq_obj1id[i]), int(model.eq_obj2id[i]), model.eq_data[i]
        if other >= 0 and np.any(c[2:5]):
            left_out.append(f"the curved coupling of {joint_names[j]} to {joint_names[other]}")
            continue
        ref = float(model.qpos0[model.jnt_qposadr[j]])
        factor = float(c[1]) if other >= 0 else 0.0
        start = float(model.qpos0[model.jnt_qposadr[other]]) if other >= 0 else 0.0
        try:
            found.add(j, other if other >= 0 else None, factor, ref + float(c[0]) - factor * start)
        except Contradiction:
            about = joint_names[j] + (f" and {joint_names[other]}" if other >= 0 else "")
            raise Contradiction(
                f"the <equality> of joint {about} contradicts those before it, or repeats them but for "
                "rounding; expected equations that hold at once"
            ) from None
    return Couplings(found.solved(), tuple(left_out))


def loops(mujoco: Any, model: Any, body_names: Sequence[str]) -> Iterator[TreeLoop]:
    """Bodies or sites that are connected in a point, or welded; a weld whose torques count nothing is a point."""
    m, kinds = model, mujoco.mjtEq
    for i in range(m.neq):
        weld = m.eq_type[i] == kinds.mjEQ_WELD
        if not m.eq_active0[i] or not (weld or m.eq_type[i] == kinds.mjEQ_CONNECT):
            continue
        ids, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
        if m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
            bodies = [int(m.site_bodyid[k]) for k in ids]
            poses = [transform(m.site_pos[k], m.site_quat[k]) for k in ids]
        else:
            bodies = list(ids)
            poses = [transform(data[3:6], data[6:10]), moved(data[:3])] if weld else [moved(data[:3]), moved(data[3:6])]
        names = body_names[bodies[0]], body_names[bodies[1]]
        whole = bool(weld and data[10])
        yield TreeLoop(m.equality(i).name or f"{names[0]}-{names[1]}", whole, names, (poses[0], poses[1]))
