"""Say what a wheel or a source archive lacks of what the package reads: robots, catalogues, tables, pages, scripts, C.

python -m build && python tools/check_wheel.py dist/*
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "armwright"
LICENCES = ("LICENSE", "NOTICE")
"""What an archive has besides the package: at the top of a source archive, in a wheel among its metadata."""


def needed() -> set[str]:
    """Every file of the package, from its folder on."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {*LICENCES, *(path.relative_to(PACKAGE.parent).as_posix() for path in files)}


def held(archive: str) -> set[str]:
    """What an archive has of the package; of a source archive the folder it unpacks into, and src, are left out."""
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as wheel:
            names = wheel.namelist()
        licences = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
        return {name for name in names if name.startswith("armwright/")} | licences
    with tarfile.open(archive) as source:
        names = source.getnames()
    licences = {name.rpartition("/")[2] for name in names if name.count("/") == 1}
    return {name.partition("/src/")[2] for name in names if "/src/armwright/" in name} | licences


def missing(archive: str) -> set[str]:
    return needed() - held(archive)


if __name__ == "__main__":
    lacking = {archive: names for archive in sys.argv[1:] if (names := sorted(missing(archive)))}
    for archive, names in lacking.items():
        print(f"{archive} lacks {', '.join(names)}")
    sys.exit(1 if lacking else 0)
