"""Forward dynamics by repeated inverse dynamics, after Walker and Orin (1982), the first of their four methods.

M. W. Walker, D. E. Orin, 'Efficient dynamic computer simulation of robotic mechanisms', J. Dyn. Syst. Meas.
Control 104 (1982). One call of inverse dynamics without acceleration gives the bias; one with a unit acceleration of a
joint, at rest and without gravity, gives the column of that joint in the mass matrix. The paper was not available;
the method follows its descriptions in papers that cite it.

A trace costs less: it omits the zeros of a unit acceleration, and the half of the symmetric matrix that its
factorisation does not read. `walker_orin_3` is their third method, composite bodies; the other two are not implemented.
"""

from dataclasses import replace

from armwright.algebra import ZERO, Scalar
from armwright.formulations import newton_euler
from armwright.formulations.parts.coordinates import congruent, convective, positions, rates, to_coordinates
from armwright.formulations.parts.linear import cholesky
from armwright.formulations.parts.rotors_and_friction import rotor_torques, with_rotors
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import Mechanism, Wrench


def forward_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint accelerations."""
    n, x, v = mechanism.n, positions(mechanism, q), rates(mechanism, qd)
    c = convective(mechanism, v)
    bias = (
        to_coordinates(mechanism, newton_euler.inverse_dynamics(mechanism, x, v, c, loads)),
        rotor_torques(mechanism, c),
    )
    still, unloaded = replace(mechanism, gravity=ZERO), (Wrench(),) * n
    columns = [
        newton_euler.inverse_dynamics(still, x, [0] * n, [int(i == j) for i in range(n)], unloaded) for j in range(n)
    ]
    force = [t - links - rotor for t, links, rotor in zip(tau, *bias, strict=True)]
    return cholesky(congruent(mechanism, with_rotors(mechanism, columns)), force)
