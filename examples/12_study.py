"""A study: numbers that vary by a design, measures of every rollout, kept in a folder that a kill does not harm.

The same as a TOML file is `armwright sweep study.toml`; run again, only what is missing is computed, on one machine
or many, and a row has the same bits however it was computed.
"""

import sys
import tempfile

import numpy as np
from pictures import show

import armwright as aw
from armwright.pages.report.plot import Curve, Plot

COUNT = 64 if "--quick" in sys.argv else 1024
study = aw.Study(
    robot="puma560",
    duration=1.2,
    integrator={"method": "rk4", "step": 0.001},
    trajectory={"type": "quintic", "times": [0, 1], "points": [[0, 0, 0, 0, 0, 0], [0.5, 0.3, -0.2, 0.1, 0.4, 0.2]]},
    torque={"law": "computed_torque", "kp": 100, "kd": 20},
    vary={"payload.mass": {"uniform": [0, 3]}, "payload.com.z": {"normal": [0.1, 0.02]}, "torque.kp": [50, 100, 400]},
    design={"method": "sobol", "count": COUNT, "seed": 1},
    want={"measures": ["peak_torque", "tracking_error"]},
)
with tempfile.TemporaryDirectory() as folder:
    results = study.run(folder)
    print(results)
    found = results.columns(["payload.mass", "torque.kp", "peak_torque2", "tracking_error2"])

mass, kp, peak, error = found.values()
curves = []
for gain in np.unique(kp):
    some = kp == gain
    worst = 1e3 * error[some].max()
    print(f"kp {gain:3.0f}: joint 2 is {worst:5.2f} mrad beside its motion at most, with {peak[some].max():.1f} N m")
    curves.append(Curve(f"kp {gain:g}", mass[some].tolist(), (1e3 * error[some]).tolist(), line=False))
show(Plot("A payload that the controller does not know of", "payload kg", "mrad beside the motion", curves).svg())
