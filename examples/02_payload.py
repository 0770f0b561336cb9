"""What a payload takes of every motor: is the robot strong enough, and how much may it carry?

`arm.with_payload(5.0)` is another robot. For many payloads the payload is a runtime parameter (`vary=`): one
function is compiled, and each state has its own. Torques are linear in the mass, so the largest one is found at once.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg

arm = aw.load("ur5e")
strength = np.array([joint.max_torque for joint in arm.joints])
stretched, folded = np.array([0, -0.2, 0.2, 0, 1.57, 0]), np.array([1.5, -1.8, 1.9, -1.5, -1.57, 0.5])
motion = aw.trajectory.quintic([0, 2, 4], [folded, stretched, folded])


q, qd, qdd = motion(np.linspace(0, motion.duration, 241))
torques = aw.compile(arm, "inverse_dynamics", vary=["payload.mass", "payload.com"])
masses = np.linspace(0, 8, 17)
tau = np.array([torques(q, qd, qdd, mass, [0, 0, 0.1]) for mass in masses])  # 10 cm beyond the flange
shares = np.abs(tau).max(axis=1) / strength  # (masses, joints): the largest along the motion
for mass, row in zip(masses[::5], shares[::5], strict=True):
    print(f"{mass:3.1f} kg:", " ".join(f"{share:4.0%}" for share in row))

grows = (tau[-1] - tau[0]) / masses[-1]  # N m for each kilogram, at every instant
left = strength - np.sign(grows) * tau[0]
most = np.where(grows != 0, left / np.maximum(np.abs(grows), 1e-12), np.inf).min(axis=0)
weak = int(np.argmin(most))
print(f"{most[weak]:.2f} kg at most along this motion: {arm.joints[weak].name} gives out first")
held = aw.torques_along(arm.with_payload(most[weak], com=[0, 0, 0.1]), motion)
print(held.utilisation)

curves = [Curve(j.name, masses.tolist(), (100 * shares[:, i]).tolist()) for i, j in enumerate(arm.joints)]
curves.append(Curve("limit", [0, 8], [100, 100], dashed=True, colour="#000000"))
show(svg(arm, stretched), Plot("How much of each motor of a UR5e", "payload kg", "% of its torque", curves).svg())
