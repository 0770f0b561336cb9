"""One version, told the same everywhere; what is released has all that the package reads; a rule for what goes."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import check_licences
import check_wheel
import newest_python
import notice
import pytest

import armwright as aw

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", aw.__version__)
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/armwright/__init__.py"
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(aw.__version__)}$", cited, re.M)
    told = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert told is not None
    assert told[1] == aw.__version__
    assert f"date-released: {told[2]}" in cited


def test_the_supported_pythons_are_those_that_are_told() -> None:
    told = {c.rsplit(" ", 1)[1] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert told == {".".join(map(str, version)) for version in newest_python.SUPPORTED}
    assert PROJECT["project"]["requires-python"] == ">=" + ".".join(map(str, min(newest_python.SUPPORTED)))


def test_a_python_that_does_not_start_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert newest_python.found((3, 12)) is None
    broken.write_text("#!/bin/sh\nexit 0\n")
    assert newest_python.found((3, 12)) == str(broken)


def test_an_archive_that_lacks_a_file_is_told(tmp_path: Path) -> None:
    wheel = tmp_path / "armwright.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in check_wheel.needed() - {"armwright/model/library/puma560.toml"}:
            archive.writestr(f"armwright.dist-info/licenses/{name}" if name in check_wheel.LICENCES else name, "")
    script = ROOT / "tools" / "check_wheel.py"
    said = subprocess.run([sys.executable, script, wheel], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "lacks armwright/model/library/puma560.toml" in said.stdout
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("armwright/model/library/puma560.toml", "")
    assert not check_wheel.missing(str(wheel))


def test_the_package_says_that_it_is_typed() -> None:
    assert "armwright/py.typed" in check_wheel.needed()


def test_every_robot_and_catalogue_names_its_licence() -> None:
    named = dict(notice.robots())
    assert len(named) == len(aw.robots()) + 3
    for path, licence in named.items():
        assert re.match(r"(BSD|MIT|Apache)\S*( |, )\S", licence), path
    assert aw.load("panda").licence.startswith("Apache-2.0, Copyright")
    assert aw.load("panda").with_payload(1.0).licence == aw.load("panda").licence


def test_the_notice_is_current() -> None:
    """Written again by tools/notice.py, it is what it is, and has the text of every licence that it names."""
    assert notice.NOTICE.read_text(encoding="utf-8") == notice.notice(notice.kept_texts())
    assert {"LICENSE", "NOTICE"} <= set(PROJECT["project"]["license-files"])
    for text in ("Apache License", "MIT (", "BSD 3-Clause (", "three.js authors", "END OF TERMS AND CONDITIONS"):
        assert text in notice.NOTICE.read_text(encoding="utf-8")


def test_a_licence_that_users_cannot_take_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"numpy", "scipy", "llvmlite", "armwright"} <= check_licences.required("armwright")
    assert not any(fault.partition(":")[0] in check_licences.required("armwright") for fault in check_licences.faults())
    monkeypatch.setattr(check_licences, "licences", lambda _package: "GPL-3.0-only")
    assert any(fault.startswith("numpy: GPL-3.0-only (armwright requires it)") for fault in check_licences.faults())
