"""Nanoseconds for one state of the Panda's inverse dynamics as exported C, compiled by gcc.

pip install ".[test]" example-robot-data && python benchmarks/exported_c.py
"""

import subprocess
import tempfile
from pathlib import Path

from peers import panda

import armwright as aw

MAIN = """
#include "panda.h"
#include <stdio.h>
#include <time.h>
int main(void)
{
    double q[7], qd[7], x[7], out[7], best = 1e9, sum = 0;
    for (int round = 0; round < 50; ++round) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < 20000; ++i) {
            for (int k = 0; k < 7; ++k) { q[k] = 0.1 * k + 1e-5 * i; qd[k] = 0.3 - q[k]; x[k] = q[k] * qd[k]; }
            panda_inverse_dynamics(q, qd, x, out);
            sum += out[3];
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double t = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 20000;
        if (t < best) best = t;
    }
    printf("%.1f ns a state (checksum %g)\\n", best, sum);
    return 0;
}
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    aw.export(panda(), to="c", directory=folder, functions=["inverse_dynamics"])
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-D_POSIX_C_SOURCE=199309L", "-O3", "-march=native"]
    program = str(folder / "main")
    subprocess.run(["gcc", *flags, str(folder / "panda.c"), str(folder / "main.c"), "-o", program, "-lm"], check=True)
    subprocess.run([program], check=True)
