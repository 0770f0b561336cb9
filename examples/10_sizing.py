"""Which motor and gearbox for each joint? Actuators carry each other's weight, so all are chosen together.

`aw.size` finds the lightest set of a catalogue for all motions and payloads, with heat, efficiency, margins and
inertia counted, and proves that no other set is lighter.
"""

import numpy as np
from pictures import show

import armwright as aw

arm = aw.load("ur5e")
home, place = [0, -1.5, 1.5, 0, 0, 0], [1.5, -0.6, 0.8, -1.5, 1.5, 1.0]
motion = aw.trajectory.quintic([0, 1, 2], [home, place, home])

found = aw.size(arm, [motion], payloads=[5.0], objective="mass", reserve=0.1)
print(found)
shoulder = found.best.joints[1]
print("the shoulder is limited by", shoulder.binding)

run = aw.torques_along(found.fitted.with_payload(5.0), motion)  # the robot with what was chosen
print("largest torques with its actuators on", np.abs(run.tau).max(axis=0).round(1), "N m")
assert not run.utilisation.doubts
show(found.plots[1].svg())
