"""What armwright needs says from which version on it works; `.ci/run` tests with these very versions."""

from importlib.metadata import version

import pytest
from lowest_versions import PROJECT, constraints


def test_every_dependency_has_a_lowest_version_that_is_tested() -> None:
    lowest = dict(line.split("==") for line in constraints(PROJECT.read_text(encoding="utf-8")))
    assert {"llvmlite", "numpy", "pycollada", "rich", "scipy", "trimesh", "typer"} == set(lowest)
    for name, least in lowest.items():
        assert [int(x) for x in version(name).split(".")[:2]] >= [int(x) for x in least.split(".")[:2]]
    assert "lowest_versions.py" in (PROJECT.parent / ".ci" / "run").read_text(encoding="utf-8")


def test_a_dependency_without_a_lowest_version_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"'numpy' has no lower bound"):
        constraints('[project]\ndependencies = ["numpy"]')
