"""Newton-Euler with symbols of CasADi, as C code that the C compiler compiles."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from armwright.formulations import find_formulation
from armwright.robot import Robot


class CasADi:
    """Functions of CasADi for the columns of arrays (n, states)."""

    def __init__(self, arm: Robot, states: int, folder: Path) -> None:
        q, qd, qdd = (casadi.SX.sym(name, size) for name, size in (("q", arm.nq), ("qd", arm.n), ("qdd", arm.n)))
        columns = [casadi.vertsplit(x) for x in (q, qd, qdd)]
        mechanism = arm.mechanism(casadi.SX)
        tau = find_formulation("inverse_dynamics", "newton_euler")(mechanism, *columns, loads=mechanism.wrenches())
        function = casadi.Function("rnea", [q, qd, qdd], [casadi.vertcat(*tau)])
        source, library = folder / "rnea.c", folder / "rnea.so"
        generator = casadi.CodeGenerator("rnea.c")
        generator.add(function)
        generator.generate(f"{folder}/")
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True)
        self._mapped = casadi.external("rnea", str(library)).map(states)

    def inverse_dynamics(self, *columns: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._mapped(*columns))
