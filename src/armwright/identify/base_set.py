"""Base parameters: the combinations of parameters that torque depends on. Only these can be identified.

M. Gautier, 'Numerical calculation of the base inertial parameters of robots', J. Robotic Systems 8 (1991): if a column
of the regressor is a combination of others, its parameter only adds a share to theirs. Such columns are found
from random states (`by="qr"`) or from the geometry (`by="rules"`, see `geometric_rules`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, unknown
from armwright.identify.geometric_rules import base_by_rules
from armwright.identify.parameter_vector import JOINT_PARAMETERS, parameter_names
from armwright.identify.regressor_arrays import uncompiled_regressor
from armwright.model.description import Description
from armwright.names import PRINT_ROUNDING

QR_TOLERANCE = 1e-8
"""The largest remainder of a dependent column, relative to its length; rounding alone leaves about 1e-14."""

COEFFICIENT_ROUNDING = 1e-12
"""The relative length below which a column counts as zero."""

PREFERRED_GROUPS = (("Izz", "Ixx", "Ixy", "Ixz", "Iyz", "mx", "my"), JOINT_PARAMETERS, ("mz", "m", "Iyy"))
"""The order in which columns are tested, base to tip in each group; the rules move the last group inward."""

BASE_METHODS = ("rules", "qr")


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Y pi = Y[..., kept] (combination pi): the independent columns, and the base parameters from all parameters."""

    all_names: tuple[str, ...]
    kept: tuple[int, ...]
    combination: Array

    def __len__(self) -> int:
        return len(self.kept)

    def __repr__(self) -> str:
        return f"<{len(self)} base parameters of {len(self.all_names)}>"

    def __str__(self) -> str:
        return "\n".join(f"{i + 1:3}  {text}" for i, text in enumerate(self.expressions))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameter that names each base parameter: the one whose column is kept."""
        return tuple(self.all_names[k] for k in self.kept)

    @property
    def expressions(self) -> tuple[str, ...]:
        """The sum that makes up each base parameter: 'Izz2 + Iyy3 - 0.1865 m3'."""
        return tuple(_sum(row, self.all_names, k) for row, k in zip(self.combination, self.kept, strict=True))

    def values(self, parameters: ArrayLike) -> Array:
        """Return the base parameters (..., b) of all parameters (..., parameters)."""
        return np.asarray(parameters, float) @ self.combination.T

    def columns(self, Y: Array) -> Array:
        """Return the independent columns (..., n, b) of a regressor (..., n, parameters)."""
        return Y[..., list(self.kept)]


def _sum(row: Array, names: tuple[str, ...], first: int) -> str:
    terms = [names[first]]
    for k in np.flatnonzero(np.abs(row) > PRINT_ROUNDING * np.max(np.abs(row))):
        if k != first:
            size = "" if abs(abs(row[k]) - 1) < 1e-9 else f"{abs(row[k]):.4g} "
            terms.append(f"{'-' if row[k] < 0 else '+'} {size}{names[k]}")
    return " ".join(terms)


def base_parameters(
    robot: Description, friction: bool = True, rotors: bool = True, by: str = "rules"
) -> BaseParameters:
    """Return the base parameters of a robot, with or without the friction and the rotor inertias of its joints.

    by   "rules": from the geometry, after Gautier and Khalil; "qr": from the regressor at random states. The rules
         need a serial chain of DH rows without mimic joints; other robots always use "qr"
    """
    if not isinstance(robot, Description):
        raise InputError(f"base_parameters got {type(robot).__name__}; expected a Robot")
    if by not in BASE_METHODS:
        raise unknown("way to base parameters", by, BASE_METHODS)
    return _cached_base(robot, bool(friction), bool(rotors), by if _has_rules(robot) else "qr")


def _has_rules(robot: Description) -> bool:
    """Return whether the rules apply: to a serial chain of DH rows without mimic joints."""
    return robot.mechanism().serial and not robot.followers


@lru_cache(maxsize=64)
def _cached_base(robot: Description, friction: bool, rotors: bool, by: str) -> BaseParameters:
    if by == "qr":
        kept, combination = base_by_qr(robot, friction, rotors)
    else:
        kept, combination = base_by_rules(robot, friction, rotors)
    combination.flags.writeable = False
    return BaseParameters(parameter_names(robot), kept, combination)


def random_states(robot: Description, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return random q, qd, qdd: positions within +-pi (or +-1 m), speeds and accelerations of a typical arm."""
    rng = np.random.default_rng(seed)
    reach = np.where([joint.prismatic for joint in robot.joints], 1.0, np.pi)
    ranges = np.insert(reach, [ball.rates.stop for ball in robot.balls], 1.0)
    q = robot.unit(rng.uniform(-1, 1, (count, robot.nq)) * ranges)
    qd, qdd = rng.uniform(-1, 1, (2, count, robot.n)) * np.array([1.0, 3.0])[:, None, None] * reach
    return q, qd, qdd


def base_by_qr(robot: Description, friction: bool, rotors: bool) -> tuple[tuple[int, ...], Array]:
    """Return the kept columns and the matrix of combinations, from random states."""
    n, names = len(robot.links), parameter_names(robot)
    W = uncompiled_regressor(robot, *random_states(robot, 40 + 20 * n * n // robot.n)).reshape(-1, len(names))
    kept = independent_columns(W, [k for k in _preferred(names) if _is_identified(names[k], friction, rotors)])
    combination = np.zeros((len(kept), len(names)))
    columns = [k for k, name in enumerate(names) if _is_identified(name, friction, rotors)]
    shares = np.linalg.lstsq(W[:, kept], W[:, columns], rcond=None)[0]
    combination[:, columns] = np.where(np.abs(shares) < 1e-9, 0.0, shares)
    combination[:, kept] = np.eye(len(kept))
    return tuple(kept), combination


def _is_identified(name: str, friction: bool, rotors: bool) -> bool:
    kind = name.rstrip("0123456789")
    return {"viscous": friction, "coulomb": friction, "armature": rotors}.get(kind, True)


def _preferred(names: tuple[str, ...]) -> list[int]:
    """Return all columns in order of preference: by group, then base to tip."""
    kinds = [name.rstrip("0123456789") for name in names]
    numbers = [int(name.removeprefix(kind)) for name, kind in zip(names, kinds, strict=True)]
    groups = {kind: (g, k) for g, group in enumerate(PREFERRED_GROUPS) for k, kind in enumerate(group)}
    return sorted(range(len(names)), key=lambda c: (groups[kinds[c]][0], numbers[c], groups[kinds[c]][1]))


def independent_columns(W: Array, order: list[int]) -> list[int]:
    """Return the columns that are no combination of those before them in the order, sorted.

    Gram-Schmidt orthogonalises each column twice, which is enough.
    """
    Q = np.empty((len(W), 0))
    lengths = np.linalg.norm(W, axis=0)
    kept = []
    for k in order:
        length = lengths[k]
        if length <= COEFFICIENT_ROUNDING * lengths.max():
            continue
        rest = W[:, k] / length
        for _ in range(2):
            rest = rest - Q @ (Q.T @ rest)
        residual = np.linalg.norm(rest)
        if residual > QR_TOLERANCE:
            kept.append(k)
            Q = np.column_stack([Q, rest / residual])
    return sorted(kept)
