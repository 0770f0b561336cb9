"""The torques along a motion by inverse dynamics on arrays, for which nothing is compiled."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.formulations import default_for
from armwright.mechanism import Mechanism


def torques(mechanism: Mechanism, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the torques of all joints, shape (joints, instants), for states (instants, joints)."""
    tau = default_for("inverse_dynamics", mechanism)(mechanism, *(list(x.T) for x in (q, qd, qdd)))
    return np.array([np.broadcast_to(np.asarray(row, dtype=float), len(q)) for row in tau])
