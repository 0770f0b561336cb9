"""Mata et al. (2002), (1) to (5), (21) and section 3: the Gibbs function, its gradient and its Hessian."""

from __future__ import annotations

import numpy as np

import armwright as aw
from armwright.algebra import Array
from armwright.check.evaluation import relative_difference
from armwright.formulations import Formulation, find_formulation
from armwright.robot import Robot
from armwright.study.operation_counts import count_operations, degree, formula, products_and_sums
from armwright.study.papers.finding import Finding, above, below, claim, rough, same

OURS, RANDOM_STATES = "gibbs_appell", 20


def gibbs(arm: Robot) -> list[Finding]:
    """Return findings on the Gibbs function, from which the paper derives its algorithms, in random states."""
    q, qd, qdd = np.random.default_rng(5).uniform(-1, 1, (3, RANDOM_STATES, arm.n))
    tau, D = arm.inverse_dynamics(q, qd, qdd, formulation=OURS), arm.mass_matrix(q, formulation=OURS)
    gradient = relative_difference(aw.compile(arm, "gibbs_gradient")(q, qd, qdd), tau)
    matrix = relative_difference(hessian(arm, q, qd), D)
    direct = find_formulation("mass_matrix", "gibbs_hessian")
    products, sums = formula(direct)
    apart = relative_difference(arm.mass_matrix(q, formulation=direct.name), D)
    return [
        claim("Eq. (21)", "a simple algorithm of order n^3", "O(n^3)",
              f"{products} products, {sums} sums; the matrix of section 4.2, to {rough(apart)}",
              [same(degree(products), 3), below(apart, 1e-12)], words="degree, off by"),
        claim("Eq. (21)", "applied directly takes a high number of operations", "more than section 4.2",
              f"{total(direct)} for six joints, {total(find_formulation('mass_matrix', OURS))} by section 4.2",
              above(total(direct), total(find_formulation("mass_matrix", OURS)))),
        claim("Eq. (5)", "torques are the gradient of the Gibbs function by the joint accelerations", "tau = dG/dqdd",
              f"those of section 4.1, to {rough(gradient)} ({arm.name}, random states)", below(gradient, 1e-12)),
        claim("Section 3", "the mass matrix is the Hessian of the Gibbs function", "D = d2G/dqdd2",
              f"that of section 4.2, to {rough(matrix)}", below(matrix, 1e-10)),
    ]  # fmt: skip


def total(method: Formulation) -> int:
    """Return products and sums of a mass matrix for six general joints."""
    return products_and_sums(count_operations("mass_matrix", method.name, joints=6))


def hessian(arm: Robot, q: Array, qd: Array) -> Array:
    """Return the Hessian by differences, which are exact for a function quadratic in the joint accelerations."""
    units = np.eye(arm.n)

    def G(qdd: Array) -> Array:
        return arm.gibbs_function(q, qd, np.broadcast_to(qdd, q.shape))

    rows = [[G(a + b) - G(a) - G(b) + G(0 * a) for b in units] for a in units]
    return np.moveaxis(np.array(rows), -1, 0)
