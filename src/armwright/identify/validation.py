"""Identified parameters on data that did not go into them: what they leave of each torque there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.identify.measured_data import Measurement

WORSE_RATIO = 2.0
"""Times what the fit leaves of its own data: more on other data means that it does not hold there."""


@dataclass(frozen=True, eq=False)
class Validation:
    """What identified parameters leave of the torques of other data.

    data       these data
    tau        the torques of the model along them (k, n)
    residuals  of each joint, as those of the fit
    fitted     those of the fit, on its own data
    described  those of the robot as it was described, on these data
    """

    data: Measurement
    tau: Array
    residuals: tuple[Any, ...]
    fitted: tuple[Any, ...]
    described: tuple[Any, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """Joints of which the model leaves more than twice the part of the torque that it leaves of its own data."""
        pairs = zip(self.residuals, self.fitted, strict=True)
        return tuple(
            here.joint for here, there in pairs if here.relative > WORSE_RATIO * max(there.relative, TIME_ROUNDING)
        )

    def __str__(self) -> str:
        rows = zip(self.residuals, self.fitted, self.described, strict=True)
        return "\n".join(
            f"{here.joint}: {here.rms:.3g} left, {here.relative:.2%} of the torque ({there.relative:.2%} of the data "
            f"of the fit; {before.relative:.2%} by the robot as described)"
            for here, there, before in rows
        )

    __repr__ = __str__


TIME_ROUNDING = 1e-9
"""Part of a torque that data without noise leave."""


def check_other_data(fitted: Measurement, others: Measurement) -> None:
    """Raise an error for data that went into the fit themselves."""
    same = all(np.array_equal(getattr(fitted, name), getattr(others, name)) for name in ("q", "tau"))
    if same:
        raise InputError(
            "the data to validate with are those of the fit, on which it is as good as it can be; expected data of "
            "another motion of the same robot"
        )


def moving(data: Measurement, friction: bool, standstill: float) -> Array:
    """Return which torques count (k, n): with friction, those of joints that do not nearly stand still."""
    if not friction:
        return np.ones(data.tau.shape, bool)
    return np.asarray(np.abs(data.qd) >= standstill * np.abs(data.qd).max(axis=0))
