"""Every command and every block of code in the README and the docs runs; every count the docs state is the counted one."""

import json
import re
import tomllib
from pathlib import Path

import figures
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright import sizing
from armwright.backends.cuda.host.device import cupy
from armwright.cli import app
from armwright.cli.app import COMMANDS
from armwright.extensions import registry_of
from armwright.scenario import parse
from armwright.study.operation_counts import formula
from armwright.sweep.prepare import prepare

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), flags=re.S | re.M)


KINDS = ("law", "integrator", "backend", "export", "rule", "measure")


def unregister_local_entries() -> None:
    """Remove what a document has registered, which other tests do not expect."""
    for registry in map(registry_of, KINDS):
        for name in [name for name in registry if registry.is_local(name)]:
            registry.unregister(name)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_python_blocks_run_in_order(
    document: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if document.name == "gpu.md":
        try:
            cupy()
        except aw.ArmwrightError as missing:
            pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    try:
        for block in blocks(document, "python"):
            exec(compile(block, str(document), "exec"), names)
    finally:
        unregister_local_entries()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_toml_blocks_load(document: Path, tmp_path: Path) -> None:
    for block in blocks(document, "toml"):
        if "entry-points" in block:  # of a package that extends armwright
            groups = tomllib.loads(block)["project"]["entry-points"]
            assert set(groups) <= {f"armwright.{kind}s" for kind in KINDS}
            continue
        if "[vary]" in block:
            assert prepare(aw.Study.parse(block)).design.rows > 0
            continue
        if "[trajectory]" in block or "[[phase]]" in block:  # a scenario
            assert parse(block, "puma560").robot.name == "puma560"
            continue
        if "[[motion]]" in block:  # a question of sizing
            assert sizing.sizing_file.parse(block)["motions"]
            continue
        if "[[motor]]" in block:
            assert sizing.catalogue.parse(block).motors
            continue
        (tmp_path / "robot.toml").write_text(block)
        assert aw.problems(aw.load(tmp_path / "robot.toml")) == []


LONG = (
    "integrators rr",
    "bench puma560",
    "count 6",
    "reproduce all",
    "precision rr",
    "crossing",
    "check FILE",
    "view panda",
)  # each is tested by itself


def test_commands_of_the_documents_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(blocks(ROOT / "README.md", "sh") + blocks(ROOT / "docs" / "commands.md", "sh"))
    commands = re.findall(r"armwright ([a-z]+(?: \w+)?)(?:\s+#.*)?$", text, flags=re.M)
    commands += re.findall(r"`armwright ([a-z]+(?: \w+)?)` \|", (ROOT / "docs" / "commands.md").read_text())
    assert commands[0] == "simulate puma560"
    assert {*LONG, "torques puma560", "show puma560", "robots", "formulations"} <= set(commands)
    for command in sorted(set(commands) - set(LONG)):
        assert CliRunner().invoke(app, command.split()).exit_code == 0


def test_every_command_is_told() -> None:
    told = re.findall(r"`armwright ([a-z]+)", (ROOT / "docs" / "commands.md").read_text())
    assert set(COMMANDS) <= set(told)


def test_the_printed_counts_of_the_readme_are_true() -> None:
    text = (ROOT / "README.md").read_text()
    general = aw.count_operations("inverse_dynamics", "gibbs_appell", joints=6)
    own = aw.count_operations("inverse_dynamics", "gibbs_appell", robot=aw.load("puma560"))
    assert str(general) in text
    assert f"{own.multiplications} mul, {own.additions} add" in text


def test_the_architecture_names_every_room_in_its_order_and_tests_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    drawing = text.split("```")[1].split("\n")
    at = -1
    for layer in layers:
        rooms = {room.strip().removeprefix("armwright.") for room in layer.split("|") if ":" not in layer} or {"pages"}
        at = next(k for k in range(at + 1, len(drawing)) if rooms <= set(drawing[k].split()))
    table = text.split("guarded by")[1].split("##")[0]
    for room in {room for layer in layers for room in re.findall(r"armwright\.(\w+)", layer)}:
        assert re.search(rf"^\|[^|]*`{room}/?`", table, re.M), room
    for name in set(re.findall(r"`(test_\w+)`", text)):
        assert (ROOT / "tests" / f"{name}.py").exists(), name


def test_the_glossary_has_few_terms_in_order_and_all_of_them_are_in_the_source() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and line != "| term | meaning |"]
    terms = [term for term, _ in rows]
    assert len(terms) <= 45 and terms == sorted(terms, key=str.lower)
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    words = re.sub(r"[\s_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", source)).lower()  # names are written as words
    assert [term for term in terms if not re.search(rf"\b{re.escape(term.lower())}s?\b", words)] == []


RECURSIVE = ("articulated_body", "denoc", "denoc_stepwise")
DERIVED = ("gibbs_function", "gibbs_gradient", "partial_velocities", "convective_accelerations")


def test_the_formulas_of_the_docs_are_true() -> None:
    text = (ROOT / "docs" / "formulations.md").read_text()
    for f in aw.formulations():
        listed = f.problem in ("inverse_dynamics", "mass_matrix", *DERIVED) or f.name in RECURSIVE
        if not listed or f.problem == "bias":
            continue
        name = f.problem if f.problem in DERIVED else f.name
        multiplications, additions = formula(f)
        assert re.search(rf"^\| `{name}` \|.*\| {re.escape(multiplications)} \| {re.escape(additions)} \|$", text, re.M)


def test_measured_figures_come_from_one_file() -> None:
    """No document has a figure of its own where a run has measured it, and no kept figure is of another run."""
    known, used = figures.figures(), set[str]()
    for document in figures.documents():
        text = document.read_text(encoding="utf-8")
        assert figures.filled(text, known) == text, f"{document.name}: python tools/figures.py"
        used |= {name for _, name, *_ in figures.MARK.findall(text)}
        plain = figures.MARK.sub("", text) if document.name not in ("CHANGELOG.md",) else ""
        assert not re.search(r"\d+(\.\d+)?(x| times)[^|\n]{0,40}(`mujoco\.rollout`|`pin\.rneaInParallel`)", plain)
    assert {name.partition(".")[0] for name in used} == {*figures.RUNS, "gpu"}


def test_figures_are_read_from_what_runs_print() -> None:
    row = {"problem": "mass_matrix", "who": "pin.crba", "alone": True, "seconds": 8.64e-7, "ratio": 40.4}
    assert figures.of_bench(json.dumps({"times": [row]})) == {
        "mass_matrix.one.pin": "864 ns",
        "mass_matrix.one.pin.ratio": "40",
    }
    printed = "card | NVIDIA H200\ncopy bandwidth | 4.29 TB/s\n"
    with pytest.raises(SystemExit, match="no inverse_dynamics"):
        figures.of_card(printed)
    with pytest.raises(SystemExit, match=r"no figure 'a\.b'"):
        figures.filled("<!--fig a.b-->1<!--/fig-->", {})
