"""How long a new seven-joint robot takes to its first result, in fresh processes: without a cache, then with one.

python benchmarks/first_result.py
"""

import os
import subprocess
import sys
import tempfile

CODE = """
import time
start = time.perf_counter()
import armwright as aw
imported = time.perf_counter()
import numpy as np
arm, q = aw.random_robot(7, 1, prismatic=0), np.ones(7)
begin = time.perf_counter()
arm.inverse_dynamics(q, q, q)
middle = time.perf_counter()
arm.forward_dynamics(q, q, q)
end = time.perf_counter()
print(f"import {imported - start:.3f} s, inverse {middle - begin:.3f} s, forward {end - middle:.3f} s")
"""

with tempfile.TemporaryDirectory() as cache:
    for label in ("compiled", "cached", "cached"):
        print(f"{label:9}", end=" ", flush=True)
        subprocess.run([sys.executable, "-c", CODE], check=True, env={**os.environ, "ARMWRIGHT_CACHE": cache})
