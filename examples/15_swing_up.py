"""An acrobot swings up: iLQR with the exact discrete model of a stepper.

Two rods hang from a pivot, and the one motor sits at the joint between them: the arm must pump itself up and arrive
upright and at rest. iLQR (Li and Todorov 2004; regularised as in Tassa, Erez and Todorov 2012) goes round three calls:

    rollout      1024 random torques at once: the best of them to begin with
    linearised   A and B of every step of a motion, exactly, in one call
    step         the motion under new feedback, for all step lengths of a line search at once; one that diverges is nan

At the end `aw.simulate` goes along the same torques with error control, where numbers compile nothing: 200 calls.
"""

import sys

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot

ROD = {
    "type": "revolute",
    "alpha": 0,
    "d": 0,
    "mass": 1.0,
    "com": [0.5, 0, 0],
    "inertia": [1e-3, 0.083, 0.083, 0, 0, 0],
}
ROBOT = aw.Robot.from_dh([{**ROD, "a": 0}, {**ROD, "a": 1.0}], convention="modified", gravity=[0, -9.81, 0])
HANGING, UPRIGHT = np.array([-np.pi / 2, 0, 0, 0]), np.array([np.pi / 2, 0, 0, 0])
MOTOR = np.array([0.0, 1.0])
"""Which joint has one."""

DT = 0.02
STEPPER = aw.stepper(ROBOT, dt=DT, substeps=10)
EFFORT, END = 0.1 * DT, np.array([1e4, 1e4, 1e3, 1e3])
"""Weights of the torques squared, and of the state at the end."""
LENGTHS = 0.5 ** np.arange(12)


def cost(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Of states x (..., steps + 1, 4) and torques u (..., steps); infinite where a motion diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = (EFFORT * np.sum(u * u, axis=-1) + np.sum(END * (x[..., -1, :] - UPRIGHT) ** 2, axis=-1)) / 2
    return np.where(np.isfinite(total), total, np.inf)


def first_guess(steps: int, many: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The best of many random torques, each constant for a fifth of a second."""
    levels = np.random.default_rng(seed).normal(0, 2, (many, -(-steps // 10)))
    u = np.repeat(levels, 10, axis=1)[:, :steps]
    q, qd, _ = STEPPER.rollout(HANGING[:2], HANGING[2:], u[..., None] * MOTOR, raises=False)
    x = np.concatenate([q, qd], axis=-1)
    best = np.argmin(cost(x, u))
    return x[best], u[best]


def backward(x: np.ndarray, u: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Torques to add, k (steps,), and feedback, K (steps, 4), by Riccati's recursion.

    The larger `weight`, the nearer new states are to stay to the old ones.
    """
    A, B = STEPPER.linearised(x[:-1, :2], x[:-1, 2:], u[:, None] * MOTOR)
    B = B @ MOTOR
    k, K = np.empty(len(u)), np.empty((len(u), 4))
    v, V = END * (x[-1] - UPRIGHT), np.diag(END)
    for i in reversed(range(len(u))):
        slope, curve, mixed = EFFORT * u[i] + B[i] @ v, EFFORT + B[i] @ V @ B[i], B[i] @ V @ A[i]
        held = curve + weight * (B[i] @ B[i])
        k[i], K[i] = -slope / held, -(mixed + weight * (B[i] @ A[i])) / held
        v = A[i].T @ v + K[i] * (slope + curve * k[i]) + mixed * k[i]
        V = A[i].T @ V @ A[i] + curve * np.outer(K[i], K[i]) + np.outer(K[i], mixed) + np.outer(mixed, K[i])
    return k, K


def forward(x: np.ndarray, u: np.ndarray, k: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The motions under u + length k + K (x_new - x), of all step lengths at once."""
    new_x, new_u = np.empty((len(LENGTHS), *x.shape)), np.empty((len(LENGTHS), len(u)))
    new_x[:, 0] = x[0]
    for i in range(len(u)):
        here = new_x[:, i]
        new_u[:, i] = u[i] + LENGTHS * k[i] + (here - x[i]) @ K[i]
        q, qd, _ = STEPPER.step(here[:, :2], here[:, 2:], new_u[:, i, None] * MOTOR, raises=False)
        new_x[:, i + 1, :2], new_x[:, i + 1, 2:] = q, qd
    return new_x, new_u


def optimised(x: np.ndarray, u: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """iLQR until a round gains less than a thousandth."""
    now, weight = cost(x, u), 1.0
    print(f"round   0: cost {now:10.3f}")
    for number in range(1, most + 1):
        new_x, new_u = forward(x, u, *backward(x, u, weight))
        costs = cost(new_x, new_u)
        best = np.argmin(costs)
        gain = now - costs[best]
        weight *= 0.3 if gain > 0 and LENGTHS[best] > 0.2 else 4.0
        if gain > 0:
            x, u, now = new_x[best], new_u[best], costs[best]
        if number % 10 == 0 or 0 < gain < 1e-3 * now:
            print(
                f"round {number:3d}: cost {now:10.3f}, {np.linalg.norm(x[-1] - UPRIGHT):.1e} from upright and at rest"
            )
        if 0 < gain < 1e-3 * now:
            break
    return x, u


def checked(u: np.ndarray) -> np.ndarray:
    """Where error-controlled simulations arrive under the same torques, each held for a step."""
    x = HANGING
    for torque in u:
        run = aw.simulate(ROBOT, torque * MOTOR, x[:2], x[2:], duration=DT, every=DT)
        x = np.concatenate([run.q[-1], run.qd[-1]])
    return x


def main(steps: int = 200, many: int = 1024, most: int = 300, seed: int = 0) -> tuple[np.ndarray, ...]:
    x, u = optimised(*first_guess(steps, many, seed), most)
    end = checked(u)
    angle, speed = np.abs(x[-1] - UPRIGHT).reshape(2, 2).max(axis=1)
    print(
        f"after {steps * DT:.1f} s: {angle:.1e} rad from upright at {speed:.1e} rad/s; at most {abs(u).max():.1f} N m"
    )
    print(f"by aw.simulate, rtol 1e-9, it ends {np.abs(end - x[-1]).max():.1e} from there")
    times = (DT * np.arange(len(x))).tolist()
    curves = [Curve(name, times, x[:, i].tolist()) for i, name in enumerate(("shoulder rad", "elbow rad"))]
    curves.append(Curve("torque / 10 N m", times[:-1], (u / 10).tolist(), dashed=True))
    show(Plot("An acrobot swings up", "s", "", curves).svg())
    return x, u, end


if __name__ == "__main__":
    main(**({"steps": 150, "many": 64, "most": 60} if "--quick" in sys.argv else {}))
