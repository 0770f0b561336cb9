"""A thousand rollouts at once, and only what is wanted of each.

`simulate_batch` runs rollouts in the lanes of vector registers; gains, starts, payloads, gravity may differ in each. With `measure=`
peaks, energies and errors are found inside the compiled loop, and no records are kept: memory does not grow with time.
"""

import sys

import numpy as np
from pictures import show

import armwright as aw
from armwright.report.plot import Curve, Plot

COUNT = 128 if "--quick" in sys.argv else 2048
arm = aw.load("ur5e")
home = np.array([0.0, -1.2, 1.6, -0.4, 1.2, 0.0])
motion = aw.trajectory.quintic([0, 1], [home, home + [1.2, 0.5, -0.8, 0.6, -0.4, 1.0]]).holding()
rng = np.random.default_rng(0)
mass = rng.uniform(0, 5, COUNT)
kp = rng.uniform(20, 400, COUNT)

batch = aw.simulate_batch(
    arm,
    aw.torque.computed_torque(motion, kp=np.repeat(kp[:, None], arm.n, axis=1), kd=2 * np.sqrt(kp)[:, None] * np.ones(6), model=arm),
    q0=home,
    duration=1.5,
    vary={"payload.mass": mass},
    measure=["peak_torque", "tracking_error", "energy"],
)
error = 1e3 * batch.measured["tracking_error"].max(axis=1)
print(f"{COUNT} rollouts in {batch.seconds:.2f} s, {batch.steps_per_second:.2g} steps a second")
print("peak torque of each joint, over all", batch.measured["peak_torque"].max(axis=0).round(1), "N m")
for low, high in ((20, 50), (50, 150), (150, 400)):
    some = (kp >= low) & (kp < high)
    print(f"kp {low:3d} to {high:3d}: {error[some].mean():6.1f} mrad beside the motion in the mean, {error[some].max():6.1f} at most")

groups = [("below 1 kg", mass < 1), ("1 to 3 kg", (mass >= 1) & (mass < 3)), ("above 3 kg", mass >= 3)]
curves = [Curve(name, kp[some].tolist(), error[some].tolist(), line=False) for name, some in groups]
show(Plot(f"{COUNT} controllers that do not know their payload", "kp 1/s^2", "mrad at most", curves, y_log=True).svg())
