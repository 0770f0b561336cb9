"""The lowest versions that `pyproject.toml` declares for what armwright needs to run, as constraints for pip.

python tools/lowest_versions.py > lowest.txt && pip install --constraint lowest.txt .
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def constraints(text: str) -> list[str]:
    """One `name==version` for every dependency, each of which must say from which version on it works."""
    found = []
    for dependency in tomllib.loads(text)["project"]["dependencies"]:
        bound = BOUND.fullmatch(dependency)
        if bound is None:
            raise SystemExit(f"{PROJECT.name}: {dependency!r} has no lower bound; expected 'name>=version'")
        found.append(f"{bound[1]}=={bound[2]}")
    return found


if __name__ == "__main__":
    print("\n".join(constraints(PROJECT.read_text(encoding="utf-8"))))
