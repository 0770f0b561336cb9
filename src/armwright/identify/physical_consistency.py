"""The nearest parameters that bodies can have, to base parameters that were measured.

Base parameters leave many full sets open, and noise may leave none that a body could have. Searched is the set that

    1/2 |R (K pi - beta)|^2  +  weight * sum over links of  tr(P0^-1 P) - log det(P0^-1 P) - 4

makes smallest: R (K pi - beta) is how many standard deviations the base parameters K pi are from the measured beta, P
the pseudo-inertia of a link and P0 that of the robot as it was known. The second part (the log-det divergence of
T. Lee, P. Wensing, F. Park, 'Geometric robot dynamic identification', IEEE Trans. Robotics 36 (2020)) does not depend
on frames and units, and grows without bound where a body ceases to be one; friction and rotors have the same with
numbers in place of matrices. All of it is convex. As the weight goes to zero, what is measured is met as well as bodies
can, and what is not measured stays as near as possible to what was known.

The method is Newton's with the weight reduced in steps; a step is a linear least-squares problem, as the second
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
"""Together, bodies then miss what they could reach by less than a tenth of a standard deviation."""

WEIGHT_REDUCTION = 0.2
WEIGHT_HALVINGS = 5  # of the weight, to find the one that spends what may be spared
MAX_BARRIER_STEPS = 60  # of Newton's method, for one weight
MAX_DECREMENT = 1e-8
MIN_LINE_STEP = 1e-12  # step in the line search
WIDE, NARROW = 0.2, 0.05  # metres: radii of gyration of links of which nothing is known
MIN_MOMENT_RATIO = 0.02  # the least second moment of a body, relative to its largest


@dataclass(frozen=True)
class NearestBodies:
    """The data: |R (K x - beta)|, with x the ten parameters of each link, then numbers above zero.

    `references` (links, 4, 4) and `positives` (numbers,) are what is known before.
    """

    RK: Array
    Rbeta: Array
    references: Array
    positives: Array

    def split(self, x: Array) -> tuple[Array, Array]:
        links = len(self.references)
        return pseudo_inertia(x[: LINK_SIZE * links].reshape(links, LINK_SIZE)), x[LINK_SIZE * links :]

    def misfit(self, x: Array) -> float:
        """1/2 the sum of squares, in standard deviations."""
        return float(0.5 * np.sum((self.RK @ x - self.Rbeta) ** 2))

    def divergence(self, x: Array) -> float:
        """Infinite where there is no such body."""
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
        """The step, and how much the sum should fall by it."""
        G, g = self._divergence_rows(x)
        root = np.sqrt(weight)
        A = np.concatenate([self.RK, root * G])
        b = np.concatenate([self.RK @ x - self.Rbeta, root * g])
        scale = np.linalg.norm(A, axis=0)
        step = -np.linalg.lstsq(A / scale, b, rcond=1e-15)[0] / scale
        return step, float(np.sum((A @ step) ** 2))

    def _divergence_rows(self, x: Array) -> tuple[Array, Array]:
        """G and g: the divergence has the first derivatives G^T g and the second derivatives G^T G."""
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


def nearest_bodies(problem: NearestBodies, spare: float = 0.0) -> Array:
    """The x that bodies and joints can have, nearest to what was measured.

    Where several fit it as well as the best but for `spare`, of the misfit, it is the one nearest to what was known.
    """
    x = np.concatenate([parameters_of_pseudo_inertia(problem.references).ravel(), problem.positives])
    weight = max(problem.misfit(x) / max(len(x), 1), MIN_BARRIER_WEIGHT)
    way = [(weight, x := _minimum(problem, x, weight))]
    while weight > MIN_BARRIER_WEIGHT:
        weight = max(weight * WEIGHT_REDUCTION, MIN_BARRIER_WEIGHT)
        way.append((weight, x := _minimum(problem, x, weight)))
    enough = problem.misfit(x) + spare
    near = next(k for k, (_, x) in enumerate(way) if problem.misfit(x) <= enough)
    weight, x = way[near]
    heavy = way[near - 1][0] if near else weight
    for _ in range(WEIGHT_HALVINGS if spare else 0):
        between = np.sqrt(weight * heavy)
        found = _minimum(problem, x, between)
        if problem.misfit(found) <= enough:
            weight, x = between, found
        else:
            heavy = between
    return x


def _minimum(problem: NearestBodies, x: Array, weight: float) -> Array:
    def total(at: Array) -> float:
        return problem.misfit(at) + weight * problem.divergence(at)

    value = total(x)
    for _ in range(MAX_BARRIER_STEPS):
        step, fall = problem.newton(x, weight)
        if fall <= MAX_DECREMENT * weight:
            break
        length = 1.0
        while (found := total(x + length * step)) > value - 0.1 * length * fall:
            length *= 0.5
            if length < MIN_LINE_STEP:
                return x
        x, value = x + length * step, found
    return x


def plausible_bodies(tens: Array) -> Array:
    """Pseudo-inertias (links, 4, 4) near those of the given links (links, 10), made positive definite if they are not.

    A link without mass gets some, and a body that is too thin in some direction, or not there at all, some width: the
    search has to start with bodies.
    """
    masses = tens[:, 0]
    mean = float(masses[masses > 0].mean()) if (masses > 0).any() else 1.0
    return np.array([_thickened(ten, 0.1 * mean) for ten in tens])


def _thickened(ten: Array, some: float) -> Array:
    m = float(ten[0])
    com = ten[1:4] / m if m > 0 else np.zeros(3)
    values, vectors = np.linalg.eigh(pseudo_inertia(ten)[:3, :3] - max(m, 0.0) * np.outer(com, com))
    if m <= 0:
        m = max(some, values.max() / WIDE**2)
    values = np.maximum(values, MIN_MOMENT_RATIO * max(values.max(), m * NARROW**2))
    P = np.zeros((4, 4))
    P[:3, :3] = vectors @ np.diag(values) @ vectors.T + m * np.outer(com, com)
    P[:3, 3] = P[3, :3] = m * com
    P[3, 3] = m
    return P
