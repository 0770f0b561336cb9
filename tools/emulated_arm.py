"""Run the core tests on AArch64, emulated by QEMU; on a machine with Debian's apt-get, without being root.

    python tools/emulated_arm.py FOLDER               sets everything up in FOLDER once, 0.7 GB, and runs the core
    python tools/emulated_arm.py FOLDER tests/test_trees.py -k floating       or what pytest is given

FOLDER gets QEMU, Debian's Python for arm64 with the libraries that it needs, and wheels of what armwright needs. Python
and NumPy run emulated, and so does the code that LLVM compiles for AArch64: 10 to 20 times slower than on this CPU.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from core_tests import CORE

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "3.11"
PACKAGES = (
    f"python{PYTHON}-minimal", f"libpython{PYTHON}-minimal", f"libpython{PYTHON}-stdlib",
    *("libc6", "libgcc-s1", "libstdc++6", "libgomp1", "zlib1g", "libexpat1", "libffi8", "libssl3", "libbz2-1.0"),
    *("liblzma5", "libsqlite3-0", "libuuid1", "libcrypt1", "libncursesw6", "libtinfo6", "libreadline8"),
)  # fmt: skip
TAGS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
SETTINGS = """Dir::State "{apt}/state";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Sandbox::User "root";
"""
"""An apt of its own, which knows arm64 and nothing that is installed."""


class Machine:
    """An emulated machine in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.root, self.wheels, self.ready = self.folder / "root", self.folder / "wheels", self.folder / "ready"
        self.python = self.folder / "python"

    def set_up(self) -> None:
        """Fetch and unpack everything; what is there already stays."""
        if self.ready.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._fetch_debian()
        self._fetch_wheels()
        self._write_interpreter()
        self.ready.touch()

    def _fetch_debian(self) -> None:
        apt, packages = self.folder / "apt", self.folder / "packages"
        for part in (apt / "state/lists/partial", apt / "cache/archives/partial", packages):
            part.mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        settings = apt / "apt.conf"
        settings.write_text(SETTINGS.format(apt=apt), encoding="utf-8")
        own = {**os.environ, "APT_CONFIG": str(settings)}
        subprocess.run(["apt-get", "--quiet", "update"], env=own, check=True)
        subprocess.run(["apt-get", "--quiet", "download", *PACKAGES], cwd=packages, env=own, check=True)
        subprocess.run(["apt-get", "--quiet", "download", "qemu-user-static"], cwd=packages, check=True)
        for package in sorted(packages.glob("*.deb")):
            place = self.folder / "qemu" if package.name.startswith("qemu") else self.root
            subprocess.run(["dpkg", "-x", str(package), str(place)], check=True)

    def _fetch_wheels(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        wanted = [*project["dependencies"], "pytest", "pytest-xdist", "mpmath"]
        target = ["--python-version", PYTHON, "--implementation", "cp", "--only-binary", ":all:"]
        tags = [part for tag in TAGS for part in ("--platform", tag)]
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-warn-conflicts", "--target", str(self.wheels)]
        subprocess.run([*pip, *target, *tags, *wanted], check=True)

    def _write_interpreter(self) -> None:
        """Write a script that starts Python emulated, and let Python start it where it starts itself again."""
        emulator, python = self.folder / "qemu/usr/bin/qemu-aarch64-static", self.root / f"usr/bin/python{PYTHON}"
        self.python.write_text(f'#!/bin/sh\nexec "{emulator}" -L "{self.root}" "{python}" "$@"\n', encoding="utf-8")
        self.python.chmod(0o755)
        again = f"import sys\n\nsys.executable = {str(self.python)!r}\n"
        (self.wheels / "sitecustomize.py").write_text(again, encoding="utf-8")

    def run(self, arguments: list[str]) -> int:
        """Run Python in the repository; return its exit code."""
        place = os.pathsep.join((str(ROOT / "src"), str(self.wheels)))
        environment = {**os.environ, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([str(self.python), *arguments], cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    machine = Machine(Path(sys.argv[1]))
    machine.set_up()
    machine.run(["-c", "import platform; print('Python', platform.python_version(), 'on', platform.machine())"])
    begin = time.perf_counter()
    answer = machine.run(["-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *(sys.argv[2:] or CORE)])
    print(f"{time.perf_counter() - begin:.0f} s, emulated on {platform.machine()}")
    return answer


if __name__ == "__main__":
    sys.exit(main())
