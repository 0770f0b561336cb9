"""The physically consistent parameters that are nearest to measured base parameters.

Many full sets of parameters have the same base parameters; with noise, none of these may be possible for bodies. The
result is the set that minimises

    1/2 |R (K pi - beta)|^2  +  weight * sum over links of  tr(P0^-1 P) - log det(P0^-1 P) - 4

R (K pi - beta) is the distance from the base parameters K pi to the measured beta, in standard deviations; P is
the pseudo-inertia of a link and P0 that of the prior. The second term (the log-det divergence of
T. Lee, P. Wensing, F. Park, 'Geometric robot dynamic identification', IEEE Trans. Robotics 36 (2020)) does not depend
on frames and units, and is infinite at the limits of possible bodies. Friction and rotors have the same term with
numbers in place of matrices. The problem is convex. As the weight goes to zero, bodies fit the measured parameters as
well as they can, and parameters that the data do not determine stay as near as possible to the prior.

Newton's method solves it while the weight decreases. Each step is a linear least-squares problem, as the second
derivatives of the divergence are products of L^-1 E L^-T, P = L L^T, over the basis E of the ten parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.identify.parameter_vector import (
    LINK_SIZE,
    PSEUDO_INERTIA_BASIS,
    parameters_of_pseudo_inertia,
    pseudo_inertia,
)

MIN_BARRIER_WEIGHT = 1e-4
"""The result then misses the best fit by less than a tenth of a standard deviation in all."""

WEIGHT_REDUCTION = 0.2
WEIGHT_HALVINGS = 5  # bisection steps for the largest weight within the allowed misfit
MAX_BARRIER_STEPS = 60  # for one weight
MAX_DECREMENT = 1e-8
MIN_LINE_STEP = 1e-12  # of the line search
WIDE, NARROW = 0.2, 0.05  # metres: radii of gyration of links without a prior
MIN_MOMENT_RATIO = 0.02  # smallest to largest second moment of a body


@dataclass(frozen=True)
class NearestBodies:
    """The data of |R (K x - beta)|: x has the ten parameters of each link, then numbers above zero.

    `references` (links, 4, 4) and `positives` (numbers,) are the prior.
    """

    RK: Array
    Rbeta: Array
    references: Array
    positives: Array

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return the pseudo-inertias (links, 4, 4) and the positive numbers of x."""
        links = len(self.references)
        return pseudo_inertia(x[: LINK_SIZE * links].reshape(links, LINK_SIZE)), x[LINK_SIZE * links :]

    def misfit(self, x: Array) -> float:
        """Return half the sum of squares, in standard deviations."""
        return float(0.5 * np.sum((self.RK @ x - self.Rbeta) ** 2))

    def divergence(self, x: Array) -> float:
        """Return the log-det divergence from the prior; infinite if no body has these parameters."""
        P, positives = self.split(x)
        if (positives <= 0).any():
            return float("inf")
        try:
            factors = np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            return float("inf")
        ratio = positives / self.positives
        traces = np.linalg.solve(self.references, P).trace(axis1=-2, axis2=-1)
        logs = 2 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum() - np.linalg.slogdet(self.references)[1].sum()
        return float(np.sum(ratio - np.log(ratio) - 1) + traces.sum() - logs - 4 * len(P))

    def newton(self, x: Array, weight: float) -> tuple[Array, float]:
        """Return the Newton step and the predicted decrease of the sum."""
        G, g = self._divergence_rows(x)
        root = np.sqrt(weight)
        A = np.concatenate([self.RK, root * G])
        b = np.concatenate([self.RK @ x - self.Rbeta, root * g])
        scale = np.linalg.norm(A, axis=0)
        step = -np.linalg.lstsq(A / scale, b, rcond=1e-15)[0] / scale
        return step, float(np.sum((A @ step) ** 2))

    def _divergence_rows(self, x: Array) -> tuple[Array, Array]:
        """Return G and g: the divergence has the first derivatives G^T g and the second derivatives G^T G."""
        P, positives = self.split(x)
        links, numbers = len(P), np.arange(len(positives))
        G = np.zeros((16 * links + len(numbers), x.size))
        g = np.empty(len(G))
        for i, L in enumerate(np.linalg.cholesky(P)):
            rows, inverse = slice(16 * i, 16 * (i + 1)), np.linalg.inv(L)
            G[rows, LINK_SIZE * i : LINK_SIZE * (i + 1)] = (
                (inverse @ PSEUDO_INERTIA_BASIS @ inverse.T).reshape(LINK_SIZE, 16).T
            )
            g[rows] = (L.T @ np.linalg.solve(self.references[i], L) - np.eye(4)).ravel()
        G[16 * links + numbers, LINK_SIZE * links + numbers] = 1 / positives
        g[16 * links :] = positives / self.positives - 1
        return G, g


def nearest_bodies(problem: NearestBodies, allowance: float = 0.0) -> Array:
    """Return the physically consistent x that is nearest to the measured parameters.

    Among those whose misfit exceeds the best by at most `allowance`, return the one nearest to the prior.
    """
    x = np.concatenate([parameters_of_pseudo_inertia(problem.references).ravel(), problem.positives])
    weight = max(problem.misfit(x) / max(len(x), 1), MIN_BARRIER_WEIGHT)
    path = [(weight, x := _minimum(problem, x, weight))]
    while weight > MIN_BARRIER_WEIGHT:
        weight = max(weight * WEIGHT_REDUCTION, MIN_BARRIER_WEIGHT)
        path.append((weight, x := _minimum(problem, x, weight)))
    max_misfit = problem.misfit(x) + allowance
    first = next(k for k, (_, x) in enumerate(path) if problem.misfit(x) <= max_misfit)
    weight, x = path[first]
    upper = path[first - 1][0] if first else weight
    for _ in range(WEIGHT_HALVINGS if allowance else 0):
        middle = np.sqrt(weight * upper)
        candidate = _minimum(problem, x, middle)
        if problem.misfit(candidate) <= max_misfit:
            weight, x = middle, candidate
        else:
            upper = middle
    return x


def _minimum(problem: NearestBodies, x: Array, weight: float) -> Array:
    def objective(x: Array) -> float:
        return problem.misfit(x) + weight * problem.divergence(x)

    value = objective(x)
    for _ in range(MAX_BARRIER_STEPS):
        step, decrease = problem.newton(x, weight)
        if decrease <= MAX_DECREMENT * weight:
            break
        length = 1.0
        while (new_value := objective(x + length * step)) > value - 0.1 * length * decrease:
            length *= 0.5
            if length < MIN_LINE_STEP:
                return x
        x, value = x + length * step, new_value
    return x


def plausible_bodies(tens: Array) -> Array:
    """Return positive definite pseudo-inertias (links, 4, 4) near those of parameters `tens` (links, 10).

    The search has to start with possible bodies: links without mass get some, and thin or missing bodies some width.
    """
    masses = tens[:, 0]
    mean = float(masses[masses > 0].mean()) if (masses > 0).any() else 1.0
    return np.array([_thickened(ten, 0.1 * mean) for ten in tens])


def _thickened(ten: Array, min_mass: float) -> Array:
    m = float(ten[0])
    com = ten[1:4] / m if m > 0 else np.zeros(3)
    values, vectors = np.linalg.eigh(pseudo_inertia(ten)[:3, :3] - max(m, 0.0) * np.outer(com, com))
    if m <= 0:
        m = max(min_mass, values.max() / WIDE**2)
    values = np.maximum(values, MIN_MOMENT_RATIO * max(values.max(), m * NARROW**2))
    P = np.zeros((4, 4))
    P[:3, :3] = vectors @ np.diag(values) @ vectors.T + m * np.outer(com, com)
    P[:3, 3] = P[3, :3] = m * com
    P[3, 3] = m
    return P
