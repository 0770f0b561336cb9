"""Dynamics of a robot by frax, compiled with JAX and vectorised over states."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # frax advises on settings of XLA
    import frax

from armwright.model.urdf_writer import urdf_text
from armwright.robot import Robot

_WEIGHTLESS = """<link name="{}"><inertial><mass value="0"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>"""  # frax needs a body on every link


class Frax:
    """frax's functions of one robot, from its URDF."""

    def __init__(self, arm: Robot) -> None:
        jax.config.update("jax_enable_x64", True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            urdf = urdf_text(arm)
            for name in ("base_link", "tool"):
                urdf = urdf.replace(f'<link name="{name}" />', _WEIGHTLESS.format(name))
            path.write_text(urdf)
            model = frax.Robot(str(path))
        up = np.array([*(-np.array(arm.gravity)), 0, 0, 0])
        self.inverse_dynamics = _batched(lambda q, qd, qdd: model.rnea(q, qd, qdd, up, None))
        self.forward_dynamics = _batched(lambda q, qd, tau: model.forward_dynamics(q, qd, tau, None))
        self.mass_matrix = _batched(model.crba)


def _batched(function: Callable[..., Any]) -> Callable[..., NDArray[Any]]:
    compiled = jax.jit(jax.vmap(function))

    def call(*arrays: Any) -> NDArray[Any]:
        result: NDArray[Any] = compiled(*arrays).block_until_ready()
        return result

    return call
