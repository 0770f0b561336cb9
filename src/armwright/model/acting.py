"""What acts on a robot besides its drives and its weight: springs, and what carries weight."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from armwright.errors import ModelError, ModelWarning, listed
from armwright.mechanism import FREEDOMS

if TYPE_CHECKING:
    from armwright.model.description import Description


def check_springs(robot: Description) -> None:
    """A ball has one spring for all of its rotation, which is straight."""
    rows = robot.rows
    for ball in robot.balls:
        own = rows[ball.joint : ball.joint + ball.freedoms]
        if any(any(row.spring_curve) for row in own):
            raise ModelError(
                f"robot {robot.name!r}: a spring with a curve is for joints of one freedom, not {ball.kind}"
            )
        turning = {row.spring_stiffness for row in own if not row.prismatic}
        if len(turning) > 1:
            raise ModelError(
                f"robot {robot.name!r}: the freedoms of {own[0].name.rpartition('.')[0]} that turn have springs of "
                f"{', '.join(f'{k:g}' for k in sorted(turning))}; expected one stiffness for all of them"
            )


def warn_of_urdf(robot: Description) -> None:
    """Warn of what acts, and a URDF has no words for."""
    several = [row for row in robot.rows if row.kind in FREEDOMS]
    gone = [
        *(f"the spring of {row.name}" for row in robot.rows if row.sprung),
        *(f"the compensated weight of {link.name}" for link in robot.links if link.compensated_mass),
        *(f"friction and rotor of {row.name}" for row in several if row.viscous or row.coulomb or row.armature),
    ]
    if gone:
        warnings.warn(f"{robot.name}: URDF has no place for {listed(gone)}", ModelWarning, stacklevel=4)
