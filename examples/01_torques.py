"""Load a robot and find the torques of a motion.

A robot is a name of `aw.robots()` or the path of a URDF, xacro, MuJoCo or TOML file. A motion is anything of
`aw.trajectory`; `torques_along` has positions, speeds, torques and powers along it, by inverse dynamics, and how much
of each motor that takes.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Plot, per_joint
from armwright.pages.scene import svg

arm = aw.load("panda")
home = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
pick = np.array([0.9, 0.3, 0.1, -1.7, 0.2, 2.0, 0.4])
place = np.array([-0.9, 0.4, -0.2, -1.4, -0.2, 1.8, 1.0])
motion = aw.trajectory.quintic([0, 1.0, 2.8, 3.8], [home, pick, place, home])

run = aw.torques_along(arm, motion)
print(f"{arm.name}: {arm.n} joints, {motion.duration} s")
print("peak torque N m ", np.abs(run.tau).max(axis=0).round(2))
print("peak speed rad/s", np.abs(run.qd).max(axis=0).round(2))
print(run.utilisation)

tau = arm.inverse_dynamics(run.q, run.qd, run.qdd)  # the same by hand: one state (n,) or any batch (..., n)
assert np.allclose(tau, run.tau)
held = arm.gravity_torque(pick)
print("standing at the pick takes", held.round(1), "N m")

curves = per_joint(run.t, run.tau)
show(svg(arm, pick), Plot("Torques of the Panda, pick and place", "s", "N m", curves).svg())
