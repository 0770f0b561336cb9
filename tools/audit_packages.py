"""Look the packages of an environment up in the list of known vulnerabilities, where that list can be reached.

    pip install pip-audit && python tools/audit_packages.py ENVIRONMENT

A package with a known vulnerability is looked up first: where nothing is found in it, no list was reached, and the tool
says so and passes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

VULNERABLE = "requests==2.19.0"


def audit(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--timeout", "10", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main(environment: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.txt")
        probe.write_text(VULNERABLE, encoding="utf-8")
        reached = re.search("PYSEC-|GHSA-|CVE-", audit("--no-deps", "--disable-pip", "-r", str(probe)).stdout)
    if not reached:
        print("no list of known vulnerabilities can be reached here: packages were not audited")
        return 0
    (packages,) = Path(environment).glob("lib/python*/site-packages")
    found = audit("--path", str(packages))
    print(found.stdout + found.stderr)
    return found.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
