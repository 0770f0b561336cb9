"""Writes NOTICE: what armwright contains of others, under which licences, and the texts of these.

    python tools/notice.py

Robots and catalogues say it in their `licence` keys, vendored scripts in files beside them. The texts of licences are
kept: they stand in NOTICE behind the first line of equal signs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "armwright"
NOTICE = ROOT / "NOTICE"
RULE = "=" * 80

HEAD = """armwright
Copyright the armwright developers; licensed under the BSD 3-Clause licence (LICENSE).

It contains numbers and code of others. The texts of their licences follow below.
"""


def robots() -> Iterator[tuple[str, str]]:
    """Packaged robots and catalogues by file, with their licences."""
    for folder in ("model", "actuators"):
        for path in sorted((PACKAGE / folder / "library").glob("*.toml")):
            yield path.relative_to(PACKAGE).as_posix(), tomllib.loads(path.read_text("utf-8"))["licence"]


def scripts() -> Iterator[tuple[str, str]]:
    """Vendored scripts by name, with the texts of their licences."""
    for path in sorted((PACKAGE / "pages" / "report" / "web").glob("*.LICENSE")):
        yield f"pages/report/web/{path.stem}", path.read_text("utf-8").strip()


def notice(texts: str) -> str:
    """Return the whole file, with the texts of licences that are kept."""
    listed = [f"{name}: {licence}" for name, licence in robots()]
    listed += [f"{name}: {text.splitlines()[0]}, below" for name, text in scripts()]
    vendored = [f"{name}\n\n{text}\n" for name, text in scripts()]
    return "\n".join([HEAD, "Robots, catalogues and scripts, by their files in the package:\n", *listed, ""]) + "".join(
        f"\n{RULE}\n{text}" for text in [*vendored, texts]
    )


def kept_texts() -> str:
    """Return the licences of robots in NOTICE: the last part of it."""
    return NOTICE.read_text("utf-8").rpartition(f"{RULE}\n")[2]


if __name__ == "__main__":
    NOTICE.write_text(notice(kept_texts()), encoding="utf-8")
