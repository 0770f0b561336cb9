"""Ten thousand PD controllers tried at once: which gains follow a motion closely without driving the motors hard?

The law is PD with gravity compensated, as most arms come with it. Its gains matter: the controller knows neither of the
payload in the hand nor of inertia and Coriolis forces, so low gains lag and sag, and high ones answer the 0.1 rad by
which the arm starts beside its motion with all the torque there is. (Computed torque follows with almost any gains as
long as its model is right, and there would be little to tune.)

Gains are numbers of the compiled loop: an array (candidates, joints) is one call, and other gains compile nothing.
"""

import sys

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot

HOME = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
PLACE = np.array([0.8, 0.2, -0.3, -1.5, 0.4, 1.9, 0.2])
START = HOME + 0.1 * np.array([1, -1, 1, -1, 1, -1, 1])
MOTION = aw.trajectory.quintic([0, 1], [HOME, PLACE]).holding()

ARM = aw.load("panda")
LOADED = ARM.with_payload(2.0, [0, 0, 0.05])
STRENGTH = np.array([joint.max_torque for joint in ARM.joints])


def candidates(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gains kp and kd (count, joints), as springs and dampers on the inertia that each joint sees.

    A candidate has a bandwidth of 3 to 30 rad/s, of which every joint has half to twice, and is damped by 0.3 to 1.2.
    """
    rng = np.random.default_rng(seed)
    inertia = np.diag(ARM.mass_matrix(HOME))
    bandwidth = np.exp(rng.uniform(np.log(3), np.log(30), (count, 1)) + rng.uniform(-0.7, 0.7, (count, ARM.n)))
    damping = rng.uniform(0.3, 1.2, (count, ARM.n))
    return inertia * bandwidth**2, 2 * damping * inertia * bandwidth


def controller(kp: np.ndarray, kd: np.ndarray) -> aw.torque.Law:
    """It knows the arm without its payload, and the motors give no more than they can."""
    return aw.torque.pd_gravity(MOTION, kp, kd, model=ARM).limited(STRENGTH)


def merits(run: aw.Run | aw.BatchRun) -> list[np.ndarray]:
    """Root mean squares: of the tracking error in rad, and of the torques as parts of what the motors can give."""
    columns = run.q - MOTION(run.t)[0], run.tau / STRENGTH
    return [np.sqrt(np.mean(np.square(x), axis=(-2, -1))) for x in columns]


def front(error: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """Those that none beats in both, the closest follower first."""
    order = np.lexsort((effort, error))
    return order[effort[order] <= np.minimum.accumulate(effort[order])]


def main(count: int = 10_000, threads: int = 2) -> dict[str, np.ndarray]:
    kp, kd = candidates(count)
    asked = {"q0": START, "duration": 1.5, "every": 0.02}
    batch = aw.simulate_batch(LOADED, controller(kp, kd), **asked, threads=threads, dtype="float32")
    error, effort = merits(batch)
    best = int(np.argmin(error / 0.01 + effort / 0.1))  # 10 mrad are as bad as a tenth of the torque
    run = aw.simulate(LOADED, controller(kp[best], kd[best]), **asked)  # float64, error control
    checked = merits(run)

    print(f"{count} candidates x 1.5 s in {batch.seconds:.2f} s: {count / batch.seconds:.0f} rollouts a second")
    print(f"best: kp {np.round(kp[best], 1)}, kd {np.round(kd[best], 1)}")
    print(f"  in the batch     {1e3 * error[best]:6.2f} mrad beside the motion, {effort[best]:.1%} of the torque (RMS)")
    print(f"  by aw.simulate   {1e3 * checked[0]:6.2f} mrad beside the motion, {checked[1]:.1%} of the torque")
    unbeaten = front(error, effort)
    print(f"{len(unbeaten)} are beaten by none in both, such as")
    for k in unbeaten[np.linspace(0, len(unbeaten) - 1, 5).astype(int)]:
        print(f"  kp of joint 2 {kp[k, 1]:6.0f}: {1e3 * error[k]:6.2f} mrad, {effort[k]:.1%} of the torque")
    tried = Curve("tried", (1e3 * error).tolist(), (100 * effort).tolist(), line=False, colour="#94a3b8")
    ends = Curve("beaten by none", (1e3 * error[unbeaten]).tolist(), (100 * effort[unbeaten]).tolist(), marks=True)
    show(Plot(f"{count} PD controllers", "mrad beside the motion", "% of the torque", [tried, ends]).svg())
    return {"error": error, "effort": effort, "best": best, "checked": checked, "front": unbeaten}


if __name__ == "__main__":
    main(count=500 if "--quick" in sys.argv else 10_000)
