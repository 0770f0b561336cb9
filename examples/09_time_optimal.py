"""As fast as the motors allow: the quickest motion along a path, and which limit holds it back when.

At every moment some joint is at its limit of torque or speed, or a faster motion would exist. With `jerk=`
accelerations do not jump.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg

arm = aw.load("panda").with_payload(2.0).with_friction(viscous=2.0, coulomb=0.5)
home = np.array([0.0, -0.8, 0.0, -2.0, 0.0, 1.6, 0.8])
points = home + np.array([[0] * 7, [0.6, 0.4, 0.2, 0.3, -0.4, 0.2, 0.5], [1.2, 0.1, -0.2, 0.6, 0.3, 0, -0.5]])
fastest = aw.trajectory.time_optimal(arm, points)
gentle = aw.trajectory.time_optimal(arm, points, jerk=500.0)
print(f"{fastest.duration:.3f} s; with a jerk of 500 rad/s^3 at most {gentle.duration:.3f} s")
for stretch in fastest.limiting:
    print(" ", stretch)

run = aw.torques_along(arm, fastest, every=0.01)
share = 100 * np.abs(run.qd) / [joint.max_velocity for joint in arm.joints]
curves = [Curve(f"speed of joint {i + 1}", run.t.tolist(), share[:, i].tolist()) for i in range(arm.n)]
show(svg(arm, points[1]), Plot("The Panda as fast as it can go", "s", "% of the speed limit", curves).svg())
