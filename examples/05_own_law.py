"""A custom law: the tip of an arm hangs on a spring in space, and a push at it is answered softly.

A frozen dataclass with `torques(at)` compiles with dynamics and integrator into one loop. `at.compute` is anything
that can be asked of a robot; the fields are runtime parameters, so that another stiffness compiles nothing.
"""

from dataclasses import dataclass

import numpy as np
from pictures import show

import armwright as aw
from armwright.algebra import dot
from armwright.pages.report.plot import Curve, Plot
from armwright.pages.scene import svg


@dataclass(frozen=True)
class Impedance(aw.torque.Law):
    """tau = J^T (k (x_d - x) - d v) + g(q): force where the tip is not, damping where it moves."""

    where: tuple[float, ...]
    stiffness: float
    damping: float

    def torques(self, at):
        pose, J = at.compute("forward_kinematics"), at.compute("jacobian")[:3]
        speed = [dot(row, at.qd) for row in J]
        force = [self.stiffness * (self.where[i] - pose[i][3]) - self.damping * speed[i] for i in range(3)]
        gravity = at.compute("gravity_torque")
        return [dot([row[k] for row in J], force) + gravity[k] for k in range(at.n)]


arm = aw.load("ur5e").with_friction(viscous=[9, 9, 9, 3, 3, 3])
home = np.array([0.0, -1.2, 1.6, -0.4, 1.2, 0.0])
tip = arm.forward_kinematics(home)[:3, 3]
aside = home + np.array([0.15, 0.1, -0.1, 0, 0, 0])  # where somebody has pulled it

curves = []
for stiffness in (500.0, 2000.0, 8000.0):
    law = Impedance(tuple(tip), stiffness, damping=4 * np.sqrt(stiffness))
    run = aw.simulate(arm, law, q0=aside, duration=2.0, every=0.02, rtol=1e-7)
    away = 1e3 * np.linalg.norm(arm.forward_kinematics(run.q)[:, :3, 3] - tip, axis=1)
    most = np.abs(run.tau).max()
    print(f"{stiffness:6.0f} N/m: {away[0]:.0f} mm away, {away[-1]:.2f} mm after 2 s; {most:.0f} N m at most")
    curves.append(Curve(f"{stiffness:g} N/m", run.t.tolist(), away.tolist()))
show(svg(arm, aside), Plot("Let go, the tip of a UR5e goes back to its place", "s", "mm away", curves).svg())
