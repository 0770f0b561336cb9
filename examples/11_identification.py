"""The parameters of a robot from measured torques, with their deviations.

Torque is linear in masses, first moments, inertias, friction and rotors. Which of them show is known before anything
is measured; a motion that shows them well is found; the rest is least squares. Here a simulated robot is measured
with 3 % noise.
"""

import sys

import numpy as np
from pictures import show

import armwright as aw
from armwright import identify
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg

robot = aw.load("rr" if "--quick" in sys.argv else "puma560_geared")
base, true = identify.base_parameters(robot), identify.parameters(robot)
print(f"{len(base)} combinations of {len(true)} parameters show in the torques of {robot.name}")

motion = identify.excitation(robot, velocity=1.5, acceleration=6.0, starts=8, iterations=3)
run = aw.torques_along(robot, motion, every=0.01)  # stands for the real robot
noise = 0.03 * np.sqrt((run.tau**2).mean(axis=0)) * np.random.default_rng(0).normal(size=run.tau.shape)

found = identify.estimate(robot, identify.measurement(run.t, run.q, run.tau + noise, run.qd, run.qdd))
off = (found.values - base.values(true)) / found.deviations
print(f"condition of the motion {identify.condition(robot, *motion(run.t)):.1f}")
print(f"{np.mean(np.abs(off) < 2):.0%} within two standard deviations of the truth, {np.abs(off).max():.1f} at most")
for joint in found.residuals:
    print(f"  {joint.joint}: {joint.relative:.1%} of its torque is left unexplained")
error = np.abs(found.robot.inverse_dynamics(run.q, run.qd, run.qdd) - run.tau).max(axis=0)
print("torques of the robot found are wrong by", error.round(3), "N m at most, with the noise gone")

i = int(np.argmax(np.abs(run.tau).max(axis=0)))
curves = [
    Curve("measured", run.t.tolist(), (run.tau + noise)[:, i].tolist(), line=False),
    Curve("explained", run.t.tolist(), found.robot.inverse_dynamics(run.q, run.qd, run.qdd)[:, i].tolist()),
]
show(svg(robot), Plot(f"Torque of joint {i + 1}, measured and explained", "s", "N m", curves).svg())
