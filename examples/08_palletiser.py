"""A palletiser: parallelograms keep its flange level, and the loops are found in closed form.

Its bars and rockers move with the four motors and are no coordinates of their own: torques, simulation and exports go
on as for any arm, by every formulation, and what the bars weigh is counted.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Plot, per_joint
from armwright.pages.scene import svg

robot = aw.load("palletiser")
print(f"{robot.name}: {robot.n} motors move {len(robot.links)} links")
low, high = np.array([joint.limits for joint in robot.joints]).T
pick, place = low + (high - low) * [[0.7, 0.6, 0.3, 0.6], [0.3, 0.4, 0.6, 0.4]]
motion = aw.trajectory.quintic([0, 1.5, 3], [pick, place, pick])

run = aw.torques_along(robot.with_payload(60.0), motion)
axis = robot.forward_kinematics(run.q)[:, :3, 2]
print("the flange tilts by", f"{np.ptp(axis, axis=0).max():.0e}", "while it moves")
print("peak torque N m", np.abs(run.tau).max(axis=0).round(1).tolist())
for name in ("newton_euler", "lagrange", "khalil"):
    other = robot.inverse_dynamics(run.q, run.qd, run.qdd, formulation=name)
    off = np.abs(other - robot.inverse_dynamics(run.q, run.qd, run.qdd)).max()
    print(f"{name} differs by {off:.0e} N m")
show(svg(robot, pick), Plot("A palletiser with 60 kg", "s", "N m", per_joint(run.t, run.tau)).svg())
