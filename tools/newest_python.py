"""Print the newest Python of a supported version that is installed here, if it is newer than this one.

python tools/newest_python.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUPPORTED = ((3, 13), (3, 12), (3, 11))
"""As the classifiers of pyproject.toml have them, the newest first."""


def found(version: tuple[int, int]) -> str | None:
    """An interpreter of this version that starts: on the path, or one of pyenv's."""
    name = "python" + ".".join(map(str, version))
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [shutil.which(name), *map(str, sorted(home.glob(f"{name.removeprefix('python')}.*/bin/{name}")))]
    for place in filter(None, places):
        if subprocess.run([place, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return place
    return None


if __name__ == "__main__":
    print(next((place for version in SUPPORTED if version > sys.version_info[:2] and (place := found(version))), ""))
