"""Names of the package are imported when they are asked for, and the list of commands without the commands."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import armwright as aw
import armwright.pages
from armwright.cli.app import COMMANDS, LazyCommand, docstring_of, examples_of, summary_of
from armwright.presentation import PRESENTERS


def _imported(*statements: str) -> str:
    """What a fresh process prints."""
    return subprocess.run(
        [sys.executable, "-c", "\n".join(statements)], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_every_name_is_what_the_checker_of_types_takes_it_for() -> None:
    tree = ast.parse(Path(aw.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    told = {alias.asname or alias.name: (line.module, alias.name) for line in block.body for alias in line.names}  # type: ignore[attr-defined]
    assert set(told) == set(aw.__all__)
    for name, (room, inside) in told.items():
        assert getattr(aw, name) is getattr(import_module(room), inside)
    assert set(aw.__all__) <= set(dir(aw))


def test_what_does_not_exist_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'armwright' has no attribute 'simulat'"):
        aw.simulat  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(aw, "_nothing")


def test_a_function_is_not_hidden_by_the_room_of_its_name() -> None:
    rooms = "import armwright.load, armwright.export, armwright.formulations"
    assert _imported(rooms, "print(*map(callable, (armwright.load, armwright.export, armwright.formulations)))") == (
        "True True True"
    )
    assert _imported("from armwright import *", "print(callable(load), sizing.size is size)") == "True True"
    assert _imported("import armwright as aw", "print(aw.errors.InputError is aw.InputError)") == "True"


def test_help_imports_neither_numpy_nor_a_command() -> None:
    loaded = "print([name for name in ('numpy', 'scipy', 'llvmlite', 'armwright.cli.motion_commands') if name in sys.modules])"
    assert _imported("import sys, armwright", loaded) == "[]"
    run = ["import sys", "from armwright.cli import app", "try: app(['--help'])", "except SystemExit: pass", loaded]
    assert _imported(*run).splitlines()[-1] == "[]"


def test_loading_and_simulating_imports_no_scipy() -> None:
    run = ["import sys, armwright as aw", "aw.simulate(aw.load('rr'), duration=0.01)"]
    assert _imported(*run, "print('scipy' in sys.modules, 'armwright.sweep' in sys.modules)") == "False False"


def test_simulating_imports_nothing_that_shows_a_run() -> None:
    run = ["import sys, armwright as aw", "run = aw.simulate(aw.load('rr'), duration=0.01)", "repr(run)"]
    pages = "print([name for name in sys.modules if name.startswith('armwright.pages')])"
    assert _imported(*run, pages) == "[]"
    assert "armwright.pages.notebook_cells" in _imported(*run, "run._repr_html_()", pages)


@pytest.mark.parametrize("name", PRESENTERS)
def test_every_presenter_is_defined_where_the_table_says(name: str) -> None:
    presenter = getattr(import_module(PRESENTERS[name]), name)
    assert presenter.__module__.startswith("armwright.pages.")


def test_the_import_order_ignores_no_import_and_names_all_of_pages() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (order, _) = (c for c in pyproject["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    assert "ignore_imports" not in order
    named = {part.strip() for layer in order["layers"] for part in layer.replace("|", ":").split(":")}
    rooms = {f"armwright.pages.{room.stem}" for room in Path(armwright.pages.__file__).parent.glob("[!_.]*")}
    assert rooms <= named


VALUE_TESTS = {
    "robots": "test_cli::test_robots_lists_every_packaged_robot",
    "show": "test_cli::test_show_lists_links_and_frames",
    "formulations": "test_cli::test_formulations_lists_every_formulation",
    "count": "test_screen::test_count_sets_ours_beside_the_published_ones",
    "export": "test_cli::test_export_writes_what_python_would",
    "bench": "test_cli::test_bench_times_every_peer_that_is_there",
    "simulate": "test_newcomer::test_simulate_fastest_leaves_a_hundredth_to_the_controller",
    "view": "test_viewer::test_the_command_reads_what_it_is_given_and_nothing_else",
    "torques": "test_newcomer::test_fastest_is_the_time_optimal_motion_from_and_to_anywhere",
    "size": "test_sizing::test_the_command_shows_the_best_set_and_writes_a_page",
    "integrators": "test_cli::test_integrators_names_a_method_for_each_accuracy_that_takes_no_less_time_the_finer_it_is",
    "sweep": "test_sweep::test_the_command_runs_goes_on_and_reports",
    "reproduce": "test_verdicts::test_reproduce_shows_what_each_row_is_held_to_and_fails_when_something_is_lost",
    "excite": "test_identify::test_an_excitation_is_no_faster_than_the_joints",
    "identify": "test_identify::test_the_commands_excite_and_identify",
    "precision": "test_paper_mata2002::test_precision_prints_a_table_and_writes_a_page",
    "crossing": "test_paper_mohan2007::test_the_command_prints_tables_and_writes_a_page",
    "schema": "test_schema::test_a_schema_is_one_and_says_what_keys_mean",
    "check": "test_check::test_the_command_prints_findings_proofs_and_what_is_fine",
    "compare": "test_check::test_the_compare_command",
}
"""For every command a test that checks what it computes or writes."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_sentence_a_value_test_and_examples_that_parse(name: str) -> None:
    module, function = COMMANDS[name].split(".")
    imported = inspect.getdoc(getattr(import_module(f"armwright.cli.{module}"), function))
    assert imported == docstring_of(name)
    assert summary_of(name).endswith(".")
    assert name in VALUE_TESTS, f"name in VALUE_TESTS the test that checks what {name} computes"
    file, test = VALUE_TESTS[name].split("::")
    source = (Path(__file__).parent / f"{file}.py").read_text(encoding="utf-8")
    definition = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == test
    )
    assert f'"{name}"' in (ast.get_source_segment(source, definition) or "") and "assert" in ast.unparse(definition)
    documented = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert examples_of(name), f"write a line 'Example: armwright {name} ...' into the docstring of the command"
    for example in examples_of(name):
        assert re.search(rf"(^|`){re.escape(example)}(?=`| |$)", documented, re.MULTILINE), example
        words = shlex.split(example)
        assert words[:2] == ["armwright", name]
        LazyCommand(name).make_context(name, words[2:])


def test_every_command_and_no_other_has_a_value_test() -> None:
    assert set(VALUE_TESTS) == set(COMMANDS)
