"""JSON Schemas of the TOML files: every key with its meaning, every file that is shown or packaged fits."""

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import ArmwrightError, UnknownNameError
from armwright.scenario import parse, scenario_from_tables
from armwright.schema import SCHEMAS, description_of, schema
from armwright.sweep.study_measures import STUDY_MEASURES
from armwright.torque import LAWS

ARM = aw.load("rr")
ROOT = Path(__file__).parent.parent
BLOCKS = [
    tomllib.loads(block)
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for block in re.findall(r"^```toml\n(.*?)^```", document.read_text(), flags=re.S | re.M)
]


def kind_of(data: dict) -> str | None:
    """Return the kind of a file; None for a catalogue and for a pyproject.toml."""
    if {"motor", "gearbox", "cylinder", "project"} & set(data):
        return None
    return next(
        (kind for key, kind in (("vary", "study"), ("motion", "size"), ("link", "robot")) if key in data), "scenario"
    )


def mistakes(data: dict, kind: str) -> list[str]:
    validator = pytest.importorskip("jsonschema").Draft7Validator(schema(kind))
    return [error.message for error in validator.iter_errors(data)]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_and_says_what_keys_mean(kind: str) -> None:
    made = schema(kind)
    assert all(entry["description"] for entry in made["properties"].values())
    assert json.loads(CliRunner().invoke(app, ["schema", kind]).stdout) == json.loads(json.dumps(made))
    pytest.importorskip("jsonschema").Draft7Validator.check_schema(made)


def test_laws_and_measures_bring_their_words_into_a_schema() -> None:
    law = schema("scenario")["properties"]["torque"]["properties"]["law"]
    measures = schema("study")["properties"]["want"]["properties"]["measures"]["items"]
    for choices, entries in ((law, LAWS), (measures, STUDY_MEASURES)):
        assert choices["enum"] == list(entries)
        assert choices["x-taplo"]["docs"]["enumValues"] == [description_of(entry) for entry in entries.values()]
        assert all(description_of(entry) for entry in entries.values())


def test_an_entry_without_words_has_the_first_line_of_its_docstring() -> None:
    def measure() -> None:
        """Return nothing.

        And nothing else.
        """

    assert description_of(measure) == "Return nothing."
    assert description_of(object()) == ""


def test_every_file_of_the_docs_fits_its_schema() -> None:
    kinds = {kind_of(block) for block in BLOCKS}
    assert set(SCHEMAS) <= kinds
    for block in BLOCKS:
        if (kind := kind_of(block)) is not None:
            assert mistakes(block, kind) == []


def test_every_packaged_robot_fits_its_schema(robot_name: str) -> None:
    text = resources.files("armwright.model").joinpath("library", f"{robot_name}.toml").read_text(encoding="utf-8")
    assert mistakes(tomllib.loads(text), "robot") == []
    assert mistakes(tomllib.loads(aw.load(robot_name).to_toml()), "robot") == []


@pytest.mark.parametrize(
    "text",
    [
        "evry = 0.1",
        'every = "often"',
        'trajectory = {type = "qubic"}',
        'trajectory = {type = "cubic", times = [0, 1]}',
        'trajectory = {type = "cubic", times = [0, 1], points = [[0], [1]], duration = 3}',
        'torque = {law = "pd", kp = 1}',
        'event = [{type = "plane", normal = [0, 0, 1]}]',
        'phase = [{trajectory = {type = "cycloidal", duration = 1}}]',
        "payload = {com = [0, 0, 0]}",
        'integrator = {method = "euler"}',
        "integrator = {rtol = 0}",
        "duration = 0",
        "payload = {mass = -1}",
        'torque = {law = "free", friction = {visc = 1}}',
        'torque = {law = "free", noise = {sigma = 1}}',
        "duration = 1\nphase = [{duration = 1}]",
    ],
)
def test_what_no_scenario_may_say_is_marked(text: str) -> None:
    assert mistakes(tomllib.loads(text), "scenario")
    with pytest.raises(ArmwrightError):
        parse(text, ARM).simulate()


SAID: dict = {
    "duration": 0.05, "every": 0.01, "q0": [0.1, 0.2], "qd0": [0.0, 0.0], "smooth": 0.01, "gravity": [0, 0, -9.81],
    "payload": {"mass": 1.0, "com": [0, 0, 0.1]}, "integrator": {"method": "rk4", "step": 0.001},
    "torque": {"law": "pd", "kp": 10, "kd": 1, "target": [0, 0], "limit": 9, "friction": {"viscous": 0.1, "smooth": 1}, "noise": {"std": 0.1, "hold": 0.01, "seed": 1}},
    "event": [{"type": "plane", "normal": [0, 0, 1], "distance": -50.0, "direction": 1, "name": "floor"}],
}  # fmt: skip
IN_PHASES: dict = {
    "phase": [
        {"trajectory": {"type": "blended", "points": [[0, 0], [1, 0]], "velocity": 1, "acceleration": 9, "blend": 0.1}},
        {"name": "grip", "duration": 0.1, "payload": {"mass": 1}},
        {"torque": {"law": "free"}, "duration": 0.1, "until": {"type": "speed", "joint": "joint1", "most": 1.0}},
    ]
}


def mutations(data: object, wrong: object) -> Iterator[object]:
    """The same tables with one entry that is something else."""
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        for entry in (wrong, *mutations(data[key], wrong)):
            changed = copy.copy(data)
            changed[key] = entry
            yield changed


@pytest.mark.parametrize("wrong", [0, -1, "", "x", [], [[]], {}, [1, 2], {"a": 1}])
def test_what_a_schema_marks_is_refused_when_it_is_read(wrong: object) -> None:
    assert not mistakes(SAID, "scenario") and not mistakes(IN_PHASES, "scenario")
    for data in (*mutations(SAID, wrong), *mutations(IN_PHASES, wrong)):
        if mistakes(data, "scenario"):
            with pytest.raises(ArmwrightError):
                scenario_from_tables(data, ARM, "scenario").simulate()


def test_another_kind_is_reported() -> None:
    with pytest.raises(UnknownNameError, match="unknown kind of file 'robots'"):
        schema("robots")
