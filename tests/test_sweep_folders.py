"""Folders of results from strangers: nothing outside them is touched, nothing in them is run, and what is forged does not count."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import forge_folders
import forgeries
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from test_sweep import TEXT, contents
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import InputError, ModelError
from armwright.robot import random_tree
from armwright.sweep import prepare
from armwright.sweep.chunk import compute_chunk
from armwright.sweep.chunk_schema import columns_of
from armwright.sweep.folder import Folder
from armwright.sweep.manifest import Manifest
from armwright.sweep.prepare import setup_of
from armwright.sweep.study import digest_of
from armwright.sweep.study_engine import compute_study
from armwright.sweep.study_measures import STUDY_MEASURES


@pytest.fixture(scope="module")
def study() -> aw.Study:
    return replace(aw.Study.parse(TEXT), chunk=50)


@pytest.fixture
def folder(study: aw.Study, tmp_path: Path) -> Path:
    """Whole results beside a file of the user's."""
    compute_study(study, tmp_path / "folder", threads=1)
    (tmp_path / "precious").write_text("mine")
    return tmp_path / "folder"


def said(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["sweep", *words])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return forge_folders.bases(tmp_path_factory.mktemp("bases"))


@pytest.mark.parametrize("kind", range(len(forgeries.KINDS)), ids=list(forgeries.KINDS))
def test_forged_folders(kind: int, bases: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each kind of those that tools/forge_folders.py makes by the hundred."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forge_folders, "SECONDS", 60)  # how long it takes is measured by the tool alone
    assert forge_folders.forged(tmp_path / "place", bases[kind % len(bases)], kind) == (
        list(forgeries.KINDS)[kind],
        [],
    )


@pytest.mark.parametrize("name", ["lock", "lock-1-of-2", "manifest.json", "report.html", "rows", "histories"])
def test_a_link_in_a_folder_is_refused_and_nothing_goes_through_it(name: str, study: aw.Study, folder: Path) -> None:
    path = folder / name
    if path.is_dir():
        path.rename(folder.parent / "moved")
        path.symlink_to(folder.parent / "moved")
        (folder.parent / "moved" / ".old.part").write_text("mine too")
    else:
        path.unlink(missing_ok=True)
        path.symlink_to("../precious")
    before = {file: file.read_bytes() for file in folder.parent.rglob("*") if file.is_file()}
    for call in (lambda: aw.open_study(folder), lambda: study.run(folder), lambda: study.run(folder, part=(1, 2))):
        with pytest.raises(InputError, match=rf"{name}: it is a link; expected a file, so name what it points to, or"):
            call()
    assert "it is a link" in " ".join(said(str(folder), "--report", code=2).split())
    assert {file: file.read_bytes() for file in folder.parent.rglob("*") if file.is_file()} == before


def test_a_chunk_that_is_a_link_is_refused(study: aw.Study, folder: Path) -> None:
    """And not taken for missing, so that chunks kept elsewhere are not computed again in silence."""
    chunk = sorted((folder / "rows").iterdir())[0]
    chunk.rename(folder.parent / "chunk")
    chunk.symlink_to(folder.parent / "chunk")
    for call in (lambda: aw.open_study(folder), lambda: study.run(folder)):
        with pytest.raises(InputError, match=rf"{chunk.name}: it is a link"):
            call()


def test_a_lock_that_shares_its_content_with_another_file_is_refused(study: aw.Study, folder: Path) -> None:
    (folder / "lock").unlink()
    (folder / "lock").hardlink_to(folder.parent / "precious")
    with pytest.raises(InputError, match="is not a plain file; expected the lock of a study"):
        study.run(folder)
    assert (folder.parent / "precious").read_text() == "mine"


def test_a_folder_that_nobody_named_is_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    Path("elsewhere").mkdir()
    Path("study_results").symlink_to("elsewhere")
    assert "study_results is a link; expected a folder" in said("study.toml", code=2)
    assert not list(Path("elsewhere").iterdir())
    said("study.toml", "-o", "study_results", "--chunk", "1/100", "--threads", "1")
    assert Path("elsewhere/manifest.json").exists()  # its user has named it


def changed(place: Path, **entries: object) -> None:
    """The manifest with some entries replaced, or without those that are None."""
    path = place / "manifest.json"
    manifest = {**json.loads(path.read_text()), **entries}
    path.write_text(json.dumps({key: value for key, value in manifest.items() if value is not None or key == "bare"}))


DEEP: list = []
for _ in range(100):
    DEEP = [DEEP]

WRONG = {
    "too many chunks": ({"chunks": 1e12}, "chunks is a float; expected int"),
    "chunks that do not fit": ({"chunks": 10**12}, r"it has 100 rows in 1000000000000 chunks of 50; expected 1 to"),
    "too many rows": ({"rows": 10**12, "chunks": 2 * 10**10}, "expected 1 to 1000000000 rows"),
    "no rows": ({"rows": 0, "chunks": 0}, "it has 0 rows"),
    "a flag for a number": ({"rows": True}, "rows is a bool; expected int"),
    "no names": ({"names": []}, "names: expected the names of what varies, each once"),
    "names that are numbers": ({"names": [1]}, "names: expected a list of texts"),
    "a missing key": ({"identity": None}, "identity is missing"),
    "a list for the study": ({"study": []}, "study is a list; expected dict"),
    "an unknown key": ({"study": {"vary": {}, "command": "x"}}, "its study has an unknown key 'command'"),
    "a list for what is wanted": ({"study": {"vary": {}, "want": []}}, "study want is a list; expected dict"),
    "a text for measures": ({"study": {"vary": {}, "want": {"measures": "x"}}}, "study want measures: expected a list"),
    "histories of every 0": (
        {"study": {"vary": {}, "want": {"histories_every": 0}}},
        "histories_every is 0; expected a whole",
    ),
    "nested": ({"study": {"vary": {"a": DEEP}}}, "it is nested too deep"),
    "half a character": ({"study": {"vary": {}, "name": "\ud800"}}, "surrogates not allowed"),
    "a NUL": ({"folder": "/\0"}, "its folder has a NUL"),
    "another study": ({"study": {"vary": {}, "duration": 7}}, "its study and its identity differ"),
    "another robot": ({"robot": "name = 'other'"}, "its robot and that of its identity differ"),
    "a robot without an end": ({"bare": "#" * (1 << 19)}, "its robot has more than 256 kB"),
    "another digest": ({"digest": "0" * 64}, "its digest is not that of its identity"),
    "another version": ({"version": 1}, "it is of version 1, expected 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_manifest_is_checked_before_it_is_used(case: str, study: aw.Study, tmp_path: Path) -> None:
    Folder.at(tmp_path).initialise(setup_of(study))
    entries, message = WRONG[case]
    changed(tmp_path, **entries)
    with pytest.raises(
        InputError, match=rf"cannot read .*manifest.json: .*{message}.*; expected the manifest of a study"
    ):
        aw.open_study(tmp_path)


TEXTS = {
    b"": "Expecting value",
    b"[" * 100_000: "nested too deep",
    b"[]": "it is a list; expected a table",
    b" " * (33 << 20): "it has 33 MB; expected at most 32",
    b"[" + b"1," * 1_000_000 + b"1]": "entries; expected at most 1000000",
    b'{"version": ' + b"9" * 5000 + b"}": "limit",
    b"\xff": "invalid start byte",
}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_manifest_is_bounded(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    with pytest.raises(InputError, match=TEXTS[text]):
        aw.open_study(tmp_path)


def test_a_study_that_is_too_long_for_a_manifest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armwright.sweep.manifest.MAX_MANIFEST_ENTRIES", 1000)
    long = aw.Study("rr", {"payload.mass": np.linspace(0, 1, 600)}, {"method": "list"}, duration=0.01)
    with pytest.raises(InputError, match=r"too long for a manifest.json: it has \d+ entries"):
        compute_study(long, tmp_path, threads=1)


def test_rows_of_a_manifest_are_those_of_its_study(study: aw.Study, folder: Path) -> None:
    changed(folder, rows=1000, chunks=20)
    assert not aw.open_study(folder).finished
    with pytest.raises(InputError, match=r"has 1000 rows of payload.mass, .* and its study has 100"):
        study.run(folder)
    with pytest.raises(InputError, match=r"its study has 100 rows .* and its manifest has 1000"):
        _ = aw.open_study(folder).design


@pytest.mark.parametrize("part", ["rows", "file"])
def test_a_file_in_the_place_of_a_folder_is_told(part: str, study: aw.Study, folder: Path) -> None:
    (folder / "rows").rename(folder.parent / "moved")
    (folder / "rows").write_text("") if part == "file" else None
    if part == "rows":
        assert not aw.open_study(folder).files
        return
    for call in (lambda: aw.open_study(folder), lambda: study.run(folder)):
        with pytest.raises(InputError, match="rows: it is a file; expected a folder"):
            call()


def forged(folder: Path, table: str) -> None:
    """A chunk changed and signed again."""
    forger = object.__new__(forgeries.Forger)
    forger.folder = folder
    path = forger.files()[0]
    data = forgeries.stored(forgeries.TABLES[table](pyarrow.parquet.read_table(path)))
    path.unlink()
    forger.put("rows", 0, data)


HARMLESS = (
    "numbers missing",
    "not a number",
    "infinite",
    "as large as can be",
    "as small as can be",
    "all failed",
    "long reasons",
)
"""Numbers of a stranger, which nobody can tell from others."""


@pytest.mark.parametrize("table", [name for name in forgeries.TABLES if name not in HARMLESS])
def test_a_chunk_with_other_columns_or_rows_is_computed_again(
    table: str, study: aw.Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgeries, "MANY", 100_000)
    whole = contents(folder)
    forged(folder, table)
    found = aw.open_study(folder)
    assert (list(found.files), found.count, found.finished) == ([1], 50, False)
    assert compute_study(study, folder, threads=1).earlier == 50
    assert contents(folder) == whole


@pytest.mark.parametrize("table", HARMLESS)
def test_a_report_is_made_of_whatever_numbers_there_are(table: str, study: aw.Study, folder: Path) -> None:
    forged(folder, table)
    assert aw.open_study(folder).finished
    said(str(folder), "--report")
    assert "<b><b>" not in (folder / "report.html").read_text()


def test_a_chunk_with_the_rows_of_another_is_not_whole(study: aw.Study, folder: Path) -> None:
    whole = contents(folder)
    forger = object.__new__(forgeries.Forger)
    forger.folder = folder
    for part in ("rows", "histories"):
        first, second = forger.files(part)
        first.unlink()
        forger.put(part, 0, second.read_bytes())
    assert list(aw.open_study(folder).files) == [1]
    compute_study(study, folder, threads=1)
    assert contents(folder) == whole


@pytest.mark.parametrize("part", ["rows", "histories"])
def test_two_whole_files_of_a_chunk_count_once_and_one_goes(part: str, study: aw.Study, folder: Path) -> None:
    """As two versions of pyarrow make them, or a stranger."""
    forger = object.__new__(forgeries.Forger)
    forger.folder = folder
    table = pyarrow.parquet.read_table(forger.files(part)[0])
    forger.put(part, 0, forgeries.stored(table.replace_schema_metadata({"other": "bytes"})))
    found = aw.open_study(folder)
    assert found.finished and found.rows.to_table().num_rows == found.count == 100
    assert compute_study(study, folder, threads=1).earlier == 100
    assert len(forger.files(part)) == 2 and aw.open_study(folder).finished


def test_columns_of_a_study_are_known_before_it_runs() -> None:
    """Of all measures, and of a robot with more positions than freedoms."""
    rr = aw.Study(
        "rr",
        {"payload.mass": [0.0, 1.0], "start": [0.0, 0.1]},
        want={"measures": [*STUDY_MEASURES, "final_q"], "windings": 0.1},
        duration=0.1,
        every=0.05,
        torque={"law": "pd", "kp": 1, "kd": 1, "target": [1, 1]},
    )
    measures = ["peak_speed", "final_q", "final_qd"]
    dog = aw.Study(random_tree(2, 1, floating=True), {"q0.3": [0.0, 0.1]}, want={"measures": measures}, duration=0.01)
    for study in (rr, dog):
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(compute_chunk(study, 0).rows))
        assert tuple(file.schema_arrow.names) == columns_of(setup_of(study))


def test_a_folder_of_an_earlier_version_is_read(study: aw.Study) -> None:
    """A manifest written and read again is the same, whatever the order of its keys."""
    made = Manifest.of(setup_of(study))
    again = json.dumps(dict(reversed(json.loads(made.to_bytes()).items()))).encode()
    assert Manifest.parse(again) == made


MODULE = """
import pathlib
pathlib.Path(__file__).with_name("ran").write_text("")
def f(history):
    return 1.0
"""


def test_functions_that_a_folder_names_run_only_if_that_is_asked_for(
    study: aw.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "study.toml").write_text(TEXT.replace("[want]", '[want]\nfunctions = ["mine:f"]').replace("100", "8"))
    said("study.toml", "-o", "folder", "--threads", "1")
    ran = tmp_path / "ran"
    ran.unlink()
    found = aw.open_study("folder")
    assert found.finished and found.columns(["f"])["f"].tolist() == [1.0] * 8
    said("folder", "--report")
    for words in (["folder"], ["folder", "--row", "3"], ["folder", "--chunk", "1/2"]):
        told = " ".join(said(*words, code=2).split())
        assert f"names Python functions, which would be run: mine:f ({tmp_path}/mine.py)" in told
        assert "--allow-functions" in told
    with pytest.raises(ModelError, match="give the study file, or --allow-functions"):
        found.study.run("folder")
    assert not ran.exists()
    for words in (
        ["folder", "--row", "3", "--allow-functions"],
        ["study.toml", "-o", "folder"],
        ["study.toml", "--row", "3"],
    ):
        prepare._setups.clear()  # as another process would
        said(*words)
        assert ran.exists()
        ran.unlink()
    prepare._setups.clear()
    aw.open_study("folder", allow_functions=True).study.run("folder")
    assert ran.exists()


def test_an_installed_module_that_a_folder_names_is_not_imported(study: aw.Study, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for part in (manifest["study"], manifest["identity"]):
        part["want"]["functions"] = ["antigravity:fly"]
    manifest["digest"] = digest_of(manifest["identity"])
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"antigravity:fly \(an installed module\)"):
        aw.open_study(folder).study.run(folder)
    assert "antigravity" not in sys.modules
