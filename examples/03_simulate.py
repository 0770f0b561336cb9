"""Simulate a robot under computed torque, and have the run say how far it is to be trusted.

The controller's model knows nothing of the 1.5 kg in the hand, so the arm sags; with the right model it does not.
Law, dynamics and integrator are compiled as one loop. `run.audit` balances energy and power, compares with a run that
starts a hair beside, and tells the condition of the mass matrix: a simulation is evidence only if that holds.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg

arm = aw.load("panda")
loaded = arm.with_payload(1.5, com=[0, 0, 0.05])
home = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
away = home + np.array([0.8, 0.5, -0.3, 0.4, 0.4, 0.3, -0.6])
motion = aw.trajectory.quintic([0, 1, 2], [home, away, home]).holding()

curves = []
for label, model in (("model without payload", arm), ("right model", loaded)):
    law = aw.torque.computed_torque(motion, kp=100, kd=20, model=model)
    run = aw.simulate(loaded, law, q0=home, duration=2.5, every=0.02)
    off = 1e3 * np.linalg.norm(run.q - motion(run.t)[0], axis=1)
    print(f"{label}: {off.max():.3g} mrad beside the motion at most, {run.statistics}")
    print(run.audit, "\n")
    curves.append(Curve(label, run.t.tolist(), off.tolist()))

show(svg(loaded, home), Plot("How far the Panda is beside its motion", "s", "mrad", curves).svg())
