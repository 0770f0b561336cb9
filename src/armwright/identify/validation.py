"""The residuals of identified parameters on data that were not used in the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.identify.measured_data import Measurement

WORSE_RATIO = 2.0
"""The ratio of residuals on other data to those of the fit above which the model counts as worse there."""


@dataclass(frozen=True, eq=False)
class Validation:
    """The residuals of identified parameters on other data.

    data       the other data
    tau        the torques of the model along them (k, n)
    residuals  the residual of each joint on the other data
    fitted     the same on the data of the fit
    described  the same with the prior robot, on the other data
    """

    data: Measurement
    tau: Array
    residuals: tuple[Any, ...]
    fitted: tuple[Any, ...]
    described: tuple[Any, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """The joints whose relative residual is more than twice that on the data of the fit."""
        pairs = zip(self.residuals, self.fitted, strict=True)
        return tuple(
            other.joint for other, fit in pairs if other.relative > WORSE_RATIO * max(fit.relative, RESIDUAL_ROUNDING)
        )

    def __str__(self) -> str:
        rows = zip(self.residuals, self.fitted, self.described, strict=True)
        return "\n".join(
            f"{other.joint}: residual {other.rms:.3g}, {other.relative:.2%} of the torque ({fit.relative:.2%} of the "
            f"data of the fit; {prior.relative:.2%} by the robot as described)"
            for other, fit, prior in rows
        )

    __repr__ = __str__


RESIDUAL_ROUNDING = 1e-9
"""The relative residual of data without noise."""


def check_other_data(fitted: Measurement, others: Measurement) -> None:
    """Raise `InputError` for the data of the fit itself."""
    same = all(np.array_equal(getattr(fitted, name), getattr(others, name)) for name in ("q", "tau"))
    if same:
        raise InputError(
            "the data to validate with are those of the fit; expected data of another motion of the same robot"
        )


def moving(data: Measurement, friction: bool, standstill: float) -> Array:
    """Return the mask of used torques (k, n): with friction, those of joints that move."""
    if not friction:
        return np.ones(data.tau.shape, bool)
    return np.asarray(np.abs(data.qd) >= standstill * np.abs(data.qd).max(axis=0))
