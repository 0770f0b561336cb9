"""Check that every installed package has a licence that users of armwright can live with.

    pip install ".[dev]" && python tools/check_licences.py

What armwright requires must be permissive or of weak copyleft by file. Packages of tests and tools alone may be under
others that `EXCEPTIONS` lists with the reason. A package without a licence in its metadata must be listed, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions

from packaging.requirements import Requirement

PERMISSIVE = re.compile(
    r"\b(0BSD|Apache|BSD|BSL|CC0|CNRI|HPND|ISC|ISCL|MIT|MIT-0|MIT-CMU|PSF|Python Software Foundation|Public Domain|Unlicense|Zlib|ZPL)\b",
    re.IGNORECASE,
)
BY_FILE = re.compile(r"\b(MPL|Mozilla)\b", re.IGNORECASE)
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|GNU|EUPL|CeCILL|SSPL)\b", re.IGNORECASE)

EXCEPTIONS = {
    "casadi": "LGPL: an oracle of the tests, and what `export` writes for is text",
    "jrl-cmakemodules": "LGPL: the build scripts of example-robot-data, whose files the tests read",
    "docutils": "public domain and BSD, but for one file under the GPL: checks the README before a release",
    "fmpy": "BSD 2-Clause, by the file in its wheel: runs exported units in the tests",
    "cmeel-qhull": "Qhull's own permissive licence: comes with Pinocchio, a peer of the tests",
}
"""Packages of tests and tools under another licence, or without one in their metadata, and what they are for."""


def licences(package: Distribution) -> str:
    """Return what the metadata say: the expression, or the classifiers, or the first line of the text."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [
        line.split("::")[-1].strip() for line in metadata.get_all("Classifier") or () if "License ::" in line
    ]
    text = (metadata.get("License") or "").strip().partition("\n")[0]
    return "; ".join(filter(None, [*classifiers, text]))


def required(name: str) -> set[str]:
    """Return the names of all packages that `pip install NAME` brings."""
    found, waiting = set[str](), [name]
    while waiting:
        here = waiting.pop()
        if here in found:
            continue
        found.add(here)
        wanted = map(Requirement, distribution(here).requires or ())
        waiting += [w.name for w in wanted if w.marker is None or w.marker.evaluate({"extra": ""})]
    return {normal(x) for x in found}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def faults() -> Iterator[str]:
    needed = required("armwright")
    for package in distributions():
        name, said = normal(package.metadata["Name"]), licences(package)
        strict = name in needed
        good = bool(PERMISSIVE.search(said) or BY_FILE.search(said)) and not COPYLEFT.search(said)
        if good or (name in EXCEPTIONS and not strict):
            continue
        role = "armwright requires it" if strict else "tests or tools use it"
        yield f"{name}: {said or 'no licence in its metadata'} ({role}); choose another package, or list why it may stay"


if __name__ == "__main__":
    found = sorted(faults())
    print("\n".join(found) or f"licences of {sum(1 for _ in distributions())} packages are fine")
    sys.exit(1 if found else 0)
