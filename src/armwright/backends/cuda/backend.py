"""The backend of NVIDIA's cards: the entry of target "cuda"."""

from __future__ import annotations

from typing import Any

from armwright.backends.cuda.host import device
from armwright.backends.cuda.host.chain_launcher import ChainLauncher
from armwright.backends.cuda.host.inverse_kinematics_launcher import InverseKinematicsLauncher
from armwright.backends.cuda.host.program_launcher import ProgramLauncher
from armwright.backends.cuda.host.rollout_launcher import RolloutLauncher
from armwright.backends.cuda.kernels.rollout import Motion
from armwright.backends.interface import Backend

UNROLLED_JOINTS = 32
"""Joints of the longest chain with straight code. For 30 joints, inverse dynamics then takes a quarter of the memory of
a loop, and problems without a loop need not be interpreted."""

LOOP_JOINTS = {"forward_dynamics": 22}
"""Joints from which on a loop is faster, as straight code spills too much to memory; docs/gpu.md has both times."""


def _rollout(*parts: Any) -> RolloutLauncher:
    *motion, dtype = parts
    return RolloutLauncher(Motion(*motion), dtype)


BACKEND = Backend(
    kernel=ProgramLauncher,
    loop=ChainLauncher,
    rollout=_rollout,
    device=device,
    search=InverseKinematicsLauncher,
    solve_loop_size=5,
    max_unrolled_joints=UNROLLED_JOINTS,
    loop_sizes=LOOP_JOINTS,
)
"""The backend of NVIDIA's cards."""
