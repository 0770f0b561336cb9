"""Sampling-based predictive control of the Panda: its tip follows a moving target, with a new plan every 10 ms.

Model predictive path integral control (Williams et al. 2017): from where the arm is, 2048 torque sequences of 50 steps
are tried, drawn about the last plan; each weighs exp(-cost / temperature), and their mean is the next plan, whose first
step is applied. The arm is as its maker hands it over: gravity is compensated, and the joints are damped. But it
carries 1.5 kg of which the planner does not know: by what the joints come out slower than planned, a torque is added.

Samples lie side by side in memory, (steps, joints, samples): compiled code reads that fastest, and so does NumPy.
"""

import sys
import time

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg

DT, KNOT = 0.01, 5
"""Seconds of a step, and steps for which noise stays as it is: smoother torques, and fewer numbers to draw."""
HOME = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8], np.float32)
ARM = aw.load("panda").with_friction(viscous=[3, 10, 3, 5, 0.5, 0.5, 0.1])
MODEL = aw.stepper(ARM.with_gravity([0, 0, 0]), dt=DT, integrator="rk2", dtype="float32")
LOADED = ARM.with_payload(1.5, [0, 0, 0.05])
PLANT = aw.stepper(LOADED, dt=DT, substeps=10)
TIP = aw.compile(ARM, "forward_kinematics", dtype="float32")

INERTIA = np.diag(ARM.mass_matrix(HOME)).astype(np.float32)
STRENGTH = np.array([joint.max_torque for joint in ARM.joints], np.float32)
CENTRE = ARM.forward_kinematics(HOME)[:3, 3]


def target(t: np.ndarray) -> np.ndarray:
    """A circle in a vertical plane, 12 cm in radius and a turn in 3 s, which grows from its lowest point."""
    radius, angle = 0.12 * np.minimum(t, 1.0), 2 * np.pi / 3 * t
    return CENTRE + np.stack([0 * t, radius * np.sin(angle), radius * (1 - np.cos(angle))], axis=-1)


class Planner:
    """Torques for the next steps, from where the arm is."""

    def __init__(self, samples: int, steps: int, threads: int, temperature: float = 0.05, seed: int = 0) -> None:
        self.samples, self.steps, self.threads, self.temperature = samples, steps, threads, temperature
        self.plan = np.zeros((steps, ARM.n), np.float32)
        self.rng = np.random.default_rng(seed)
        self.noise = np.minimum(5 * INERTIA, 0.3 * STRENGTH)  # 5 rad/s^2 of each joint

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = self.sampled()
        Q, V, good = MODEL.rollout(q, qd, tau.transpose(2, 0, 1), threads=self.threads, raises=False)
        Q[~good], V[~good] = HOME, 0  # one that diverged weighs nothing
        cost = np.where(good, self.cost(t, Q[:, KNOT::KNOT], V[:, KNOT::KNOT]), np.inf)
        weights = np.exp((cost.min() - cost) / self.temperature)
        self.plan = tau @ (weights / weights.sum())
        return self.plan[0]

    def sampled(self) -> np.ndarray:
        """Torques (steps, joints, samples) about the last plan a step later: noise, and its opposite as another."""
        half = self.rng.standard_normal((self.steps // KNOT, 1, ARM.n, self.samples // 2), dtype=np.float32)
        half *= self.noise[:, None]
        drawn = np.concatenate([half, -half], axis=-1)
        later = np.concatenate([self.plan[1:], self.plan[-1:]]).reshape(-1, KNOT, ARM.n, 1)
        tau = (later + drawn).reshape(self.steps, ARM.n, self.samples)
        return np.clip(tau, -STRENGTH[:, None], STRENGTH[:, None], out=tau)

    def cost(self, t: float, Q: np.ndarray, V: np.ndarray) -> np.ndarray:
        """How far the tip is from its target, with a little for speed and for joints far from home."""
        poses = TIP(Q, threads=self.threads)
        ahead = t + DT * KNOT * np.arange(1, Q.shape[1] + 1)
        terms = (poses[..., :3, 3] - target(ahead).astype(np.float32), 100.0), (V, 2e-3), (Q - HOME, 5e-3)
        return sum(weight * np.einsum("kti,kti->k", x, x) for x, weight in terms)


def main(seconds: float = 3.0, samples: int = 2048, steps: int = 50, threads: int = 2) -> dict[str, np.ndarray]:
    planner, q, qd = Planner(samples, steps, threads), HOME.astype(float), np.zeros(ARM.n)
    unknown, spent, tips = np.zeros(ARM.n), [], []
    times = DT * np.arange(round(seconds / DT))
    for t in times:
        begin = time.perf_counter()
        torque = planner(t, q, qd)
        spent.append(time.perf_counter() - begin)
        expected = MODEL.step(q, qd, torque)[1]
        motors = np.clip(torque + unknown + ARM.gravity_torque(q), -STRENGTH, STRENGTH)
        q, qd = PLANT.step(q, qd, motors)
        unknown += 0.2 * ARM.mass_matrix(q) @ (expected - qd) / DT
        tips.append(ARM.forward_kinematics(q)[:3, 3])
    error = np.linalg.norm(np.array(tips) - target(times + DT), axis=1)
    print(
        f"{samples} samples of {steps} steps: {1 / np.median(spent):.0f} plans a second ({1 / min(spent):.0f} at best)"
    )
    late = error[len(error) // 3 :]
    print(
        f"the tip is {1e3 * np.sqrt(np.mean(late**2)):.1f} mm from its target (RMS), {1e3 * late.max():.1f} mm at most,"
    )
    weight = LOADED.gravity_torque(q) - ARM.gravity_torque(q)
    print(f"found of the payload: {unknown[1]:.1f} N m at joint 2, where its weight is {weight[1]:.1f} N m")
    paths = (("target", 100 * target(times + DT)), ("tip", 100 * np.array(tips)))
    curves = [Curve(name, p[:, 1].tolist(), p[:, 2].tolist(), dashed=name == "target") for name, p in paths]
    show(svg(LOADED, HOME), Plot("The tip follows its target", "y cm", "z cm", curves).svg())
    return {"error": error, "unknown": unknown, "weight": weight}


if __name__ == "__main__":
    main(**({"seconds": 0.5, "samples": 256, "steps": 40} if "--quick" in sys.argv else {}))
