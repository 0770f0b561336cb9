"""The fifteen steps of section 4.1 of Mohan and Saha (2007), in the frames of the paper.

A. Mohan, S. K. Saha, 'A recursive, numerically stable, and efficient simulation algorithm for serial robots',
Multibody System Dynamics 17 (2007). Frame i sits at joint i on link i-1, so the mass matrix of link i turns with
theta_i: it is computed in frame i for every state. `denoc` is the same algorithm in frames fixed to the links.

    Q, a     rotation from frame i+1 to frame i, and the vector from O_i to O_{i+1}, in both frames
    M, M^, M-    mass matrix of link i; articulated, before and after joint i is eliminated: blocks vv, vw, ww
    psi^, m^, psi    M^ p, p^T M^ p, their quotient        phi^, eta, phi~, mu~, mu    as in (31)-(37)

Deviations: links may have any shape; the counts of the paper are for bent rods. Step 3 halves C_5 and distinguishes
M_vw; step 5 rotates all blocks; step 9 does not assume the zero of psi^, which only the last link has; the indices of
steps 10 to 15 are corrected; a rotor adds to m^; step 4 takes the bias from `denoc`.
"""

from typing import NamedTuple

from armwright.algebra import Scalar, Symmetric, Vector, outer
from armwright.formulations import denoc
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import ZERO_PAIR, Inertia, Pair, axis, rigid
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import AnyLink, Joint, Mechanism, MomentLink


class FrameChange(NamedTuple):
    """Steps 1 and 2: from frame i to frame i+1, by theta and b of joint i, then by a and alpha of joint i+1."""

    ct: Scalar
    st: Scalar
    ca: Scalar
    sa: Scalar
    a: Vector
    a_beyond: Vector

    def inward(self, v: Vector) -> Vector:
        """Q v, in 8 products and 4 sums."""
        y, z = self.ca * v.y - self.sa * v.z, self.sa * v.y + self.ca * v.z
        return Vector(self.ct * v.x - self.st * y, self.st * v.x + self.ct * y, z)

    def outward(self, v: Vector) -> Vector:
        """Q^T v."""
        y = self.ct * v.y - self.st * v.x
        return Vector(self.ct * v.x + self.st * v.y, self.ca * y + self.sa * v.z, self.ca * v.z - self.sa * y)


class OuterJoint(NamedTuple):
    """The quantities of joint i+1 that frame i needs, in frame i+1."""

    joint: Joint
    M_bar: Inertia
    eta: Pair


class EliminatedJoint(NamedTuple):
    """The quantities of joint i that the outward recursion needs."""

    crossing: FrameChange | None
    psi: Pair
    phi: Scalar


def forward_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint accelerations."""
    bias = denoc.inverse_dynamics(mechanism, q, qd, [0] * mechanism.n, loads)
    phi = [t - b for t, b in zip(tau, bias, strict=True)]  # step 4
    last: OuterJoint | None = None
    solved = inward(mechanism.parents, _factor, last, mechanism.joints, mechanism.links, q, phi)
    start: tuple[EliminatedJoint | None, Pair, Scalar] = (None, ZERO_PAIR, 0)
    return [qdd for _, _, qdd in outward(mechanism.parents, _acceleration, start, mechanism.joints, solved)]


def _factor(
    beyond: OuterJoint | None, joint: Joint, link: AnyLink, q: Scalar, phi: Scalar
) -> tuple[OuterJoint, EliminatedJoint]:
    """Steps 1 to 12 for one joint."""
    M, crossing, phi_hat, carried = mass_matrix(joint, link, q), None, phi, ZERO_PAIR
    if beyond is not None:
        crossing = frame_change(joint, beyond.joint, q)
        M = articulated(M, beyond.M_bar, crossing)
        carried = wrench_inward(crossing, beyond.eta)
        phi_hat = phi - carried.along(joint)  # step 10
    column = M.column(joint)  # step 6
    inverse = 1 / (column.along(joint) + joint.armature)  # step 7
    psi = column.times(inverse)  # step 8
    eta = psi.times(phi_hat).plus(carried)  # step 11
    solved = EliminatedJoint(crossing, psi, phi_hat * inverse)  # step 12
    return OuterJoint(joint, without_joint(M, column, psi), eta), solved


def frame_change(joint: Joint, outer_joint: Joint, q: Scalar) -> FrameChange:
    """Steps 1 and 2."""
    R, b, a, ca, sa = joint.rotation(q), joint.extension(q), outer_joint.a, outer_joint.ca, outer_joint.sa
    return FrameChange(R.ct, R.st, ca, sa, Vector(a * R.ct, a * R.st, b), Vector(a, b * sa, b * ca))


def mass_matrix(joint: Joint, link: AnyLink, q: Scalar) -> Inertia:
    """Step 3: moved to O_i along the axis, off line if the joint is revolute, and rotated by theta."""
    R, b, m, h, J = joint.rotation(q), joint.extension(q), link.mass, link.moment, link.origin_inertia
    shift = b * (2 * h.z + m * b)
    moved = Symmetric(J.xx + shift, J.yy + shift, J.zz, J.xy, J.xz - b * h.x, J.yz - b * h.y)
    moment = Vector(R.ct * h.x - R.st * h.y, R.st * h.x + R.ct * h.y, h.z + m * b)
    return rigid(MomentLink(m, moment, moved.rotate_z(R.ct, R.st)))


def articulated(M: Inertia, M_bar: Inertia, crossing: FrameChange) -> Inertia:
    """Step 5: M + A^T M- A, all blocks moved to O_i in frame i+1, where zeros remain, then rotated."""
    moved = M_bar.moved(crossing.a_beyond)
    return M.plus(moved.rotate_x(crossing.ca, crossing.sa).rotate_z(crossing.ct, crossing.st))


def without_joint(M: Inertia, column: Pair, psi: Pair) -> Inertia:
    """Step 9: M^ - psi^ psi^T."""
    (u, v), (pu, pv) = column, psi
    return Inertia(_minus_product(M.A, u, pu), M.B - outer(u, pv), _minus_product(M.C, v, pv))


def _minus_product(S: Symmetric, u: Vector, v: Vector) -> Symmetric:
    products = u.x * v.x, u.y * v.y, u.z * v.z, u.x * v.y, u.x * v.z, u.y * v.z
    return Symmetric(*(s - p for s, p in zip(S, products, strict=True)))


def wrench_inward(crossing: FrameChange, eta: Pair) -> Pair:
    """Steps 10 and 11: A^T eta, the moment moved in frame i+1."""
    force, moment = eta
    return Pair(crossing.inward(force), crossing.inward(moment + crossing.a_beyond.cross(force)))


def _acceleration(
    last: tuple[EliminatedJoint | None, Pair, Scalar], joint: Joint, solved: EliminatedJoint
) -> tuple[EliminatedJoint | None, Pair, Scalar]:
    """Steps 13 to 15."""
    inner, mu, _ = last
    carried = ZERO_PAIR if inner is None or inner.crossing is None else twist_outward(inner.crossing, mu)
    qdd = solved.phi - solved.psi.dot(carried)  # step 13
    return solved, carried.plus(axis(joint, qdd)), qdd  # step 15


def twist_outward(crossing: FrameChange, mu: Pair) -> Pair:
    """Step 14: A mu."""
    linear, angular = mu
    return Pair(crossing.outward(linear - crossing.a.cross(angular)), crossing.outward(angular))
