"""Eight roads to the same torques: every published formulation computes the same, at another cost.

Each is one file, as its paper states it. Traced for a robot, everything known of that robot is folded away: what is
left are the operations that are counted here and compiled by `aw.compile`, which takes the cheapest unless one is
named.
"""

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot

arm = aw.load("puma560")
q, qd, qdd = np.random.default_rng(0).normal(size=(3, 1000, arm.n))
reference = arm.inverse_dynamics(q, qd, qdd)

print(f"{'inverse dynamics by':20s}{'any 6 joints':>16s}{'PUMA 560':>16s}   differs by")
for f in aw.formulations("inverse_dynamics"):
    general = aw.count_operations("inverse_dynamics", f.name, joints=6)
    own = aw.count_operations("inverse_dynamics", f.name, robot=arm)
    off = np.abs(arm.inverse_dynamics(q, qd, qdd, formulation=f.name) - reference).max()
    counts = (f"{c.multiplications} mul {c.additions} add" for c in (general, own))
    print(f"{f.name:20s}" + "".join(f"{text:>16s}" for text in counts) + f"   {off:.0e} N m")
print("chosen:", aw.compile(arm, "inverse_dynamics").formulation.name)

joints = list(range(2, 17))
curves = []
for name in ("articulated_body", "denoc", "composite_body", "gibbs_appell"):
    counts = [aw.count_operations("forward_dynamics", name, joints=n) for n in joints]
    curves.append(Curve(name, joints, [c.multiplications + c.additions for c in counts], marks=True))
show(Plot("Forward dynamics: O(n) wins from ten joints on", "joints", "products and sums", curves).svg())
