"""The core of the tests: what every release of a package, every CPU and every architecture must pass.

python tools/core_tests.py            the files of the core, for pytest
python tools/core_tests.py --printed  those that hold computed numbers to printed ones as well
"""

from __future__ import annotations

import sys

CORE = (
    "tests/test_graph.py",
    "tests/test_target.py",
    "tests/test_compiled.py",
    "tests/test_cache.py",
    "tests/test_robot.py",
)

PRINTED = (
    "tests/test_events.py",
    "tests/test_examples.py",
    "tests/test_paper_angeles1989.py",
    "tests/test_paper_grigorov2013.py",
    "tests/test_paper_machado1994.py",
    "tests/test_paper_mata2002.py",
    "tests/test_paper_mohan2007.py",
)
"""Batches and events held to single runs, what examples print, and the tables of the papers."""

if __name__ == "__main__":
    print(" ".join(CORE + (PRINTED if "--printed" in sys.argv[1:] else ())))
