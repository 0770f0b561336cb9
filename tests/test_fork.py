"""A process that forks while another of its threads compiles has children that can compute."""

import os
import subprocess
import sys

import pytest

FORKS = """
import os, sys, threading, time, warnings
import armwright as aw

warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of forks in a process with threads
arms = [aw.random_robot(5, seed) for seed in range(40)]
child, begun = aw.random_robot(2, 7), threading.Event()


def compile_all() -> None:
    for arm in arms:
        begun.set()
        arm.forward_dynamics([0.1] * 5, [0.1] * 5, [0.1] * 5)


threading.Thread(target=compile_all, daemon=True).start()
begun.wait()
for k in range(4):
    time.sleep(0.05 * k)
    pid = os.fork()
    if pid == 0:
        child.forward_dynamics([0.1] * 2, [0.1] * 2, [0.1] * 2)
        os._exit(7)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7
print("all came back", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_can_compile_whatever_its_parent_was_doing() -> None:
    environment = {**os.environ, "ARMWRIGHT_CACHE": ""}
    done = subprocess.run([sys.executable, "-c", FORKS], env=environment, capture_output=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == (b"all came back\n", b"")
