"""A thousand rollouts at once, and only what is wanted of each.

`simulate_batch` runs rollouts in the lanes of vector registers; gains, starts, payloads, gravity may differ in each.
With `measure=` peaks, energies and errors are found inside the compiled loop, and no records are kept: memory does
not grow with time.
"""

import sys

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot

COUNT = 128 if "--quick" in sys.argv else 2048
arm = aw.load("ur5e")
home = np.array([0.0, -1.2, 1.6, -0.4, 1.2, 0.0])
place = home + np.array([1.2, 0.5, -0.8, 0.6, -0.4, 1.0])
motion = aw.trajectory.quintic([0, 1], [home, place]).holding()
rng = np.random.default_rng(0)
mass = rng.uniform(0, 1, COUNT)
kp = np.exp(rng.uniform(np.log(50), np.log(3000), COUNT))
gains = np.repeat(kp[:, None], arm.n, axis=1)  # (rollouts, joints)

batch = aw.simulate_batch(
    arm,
    aw.torque.computed_torque(motion, kp=gains, kd=2 * np.sqrt(gains), model=arm),
    q0=home,
    duration=1.5,
    vary={"payload.mass": mass},
    measure=["peak_torque", "tracking_error", "energy"],
)
error = 1e3 * batch.measured["tracking_error"].max(axis=1)
print(f"{COUNT} rollouts in {batch.seconds:.2f} s, {batch.steps_per_second:.2g} steps a second")
print("peak torque of each joint, over all", batch.measured["peak_torque"].max(axis=0).round(1), "N m")
for low, high in ((50, 200), (200, 800), (800, 3000)):
    some = (kp >= low) & (kp < high)
    print(
        f"kp {low:3d} to {high:4d}: {error[some].mean():6.1f} mrad beside the motion, {error[some].max():6.1f} at most"
    )

groups = [("below 0.2 kg", mass < 0.2), ("0.2 to 0.6 kg", (mass >= 0.2) & (mass < 0.6)), ("above 0.6 kg", mass >= 0.6)]
curves = [Curve(name, kp[some].tolist(), error[some].tolist(), line=False) for name, some in groups]
show(
    Plot(
        f"{COUNT} controllers that do not know their payload",
        "kp 1/s^2",
        "mrad at most",
        curves,
        x_log=True,
        y_log=True,
    ).svg()
)
