"""A quadruped stands: forces on its feet, and what its motors give.

A robot is a tree of any joints, and its base may float; q has the position and quaternion of the base first, as in
Pinocchio. The base has no motor, so the feet must hold it: `support_forces` finds forces at frames that do, the least
ones.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg

dog = aw.load("anymal_c")
feet = ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"]
hips = {"LF": (0.4, -0.8), "RF": (0.4, -0.8), "LH": (-0.4, 0.8), "RH": (-0.4, 0.8)}


def pose(bend: float) -> np.ndarray:
    """It crouches the more its knees are bent."""
    q = dog.neutral.copy()
    q[7:] = [bend * x for leg in ("LF", "LH", "RF", "RH") for x in (0.0, *hips[leg])]
    return q


stands, still = pose(1.0), np.zeros(dog.n)
weight = 9.81 * sum(link.mass for link in dog.links)
forces = dog.support_forces(stands, still, still, contacts=feet)
up = {foot: (dog.forward_kinematics(stands, frame=foot)[:3, :3] @ forces.wrenches[foot][:3])[2] for foot in feet}
print(f"it weighs {weight:.1f} N; its feet carry", {foot: round(float(force), 1) for foot, force in up.items()})
print("motors, leg by leg", forces.tau[6:].reshape(4, 3).round(2).tolist(), "N m")
print("left for the base", np.abs(forces.tau[:6]).max().round(9), "centre of mass", dog.center_of_mass(stands).round(3))

bends = np.linspace(0.4, 1.8, 15)
tau = np.array([np.abs(dog.support_forces(pose(b), still, still, contacts=feet).tau[6:9]) for b in bends])
curves = [Curve(name, bends.tolist(), tau[:, i].tolist()) for i, name in enumerate(("abduction", "hip", "knee"))]
show(svg(dog, stands), Plot("ANYmal C crouches: torques of a leg", "how far its knees are bent", "N m", curves).svg())
