"""Names of the package are imported when they are asked for, and the list of commands without the commands."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import armwright as aw
import armwright.pages
from armwright.cli.app import COMMANDS
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
    (order,) = (c for c in pyproject["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    assert "ignore_imports" not in order
    named = {part.strip() for layer in order["layers"] for part in layer.replace("|", ":").split(":")}
    rooms = {f"armwright.pages.{room.stem}" for room in Path(armwright.pages.__file__).parent.glob("[!_.]*")}
    assert rooms <= named


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_docstrings_say(name: str) -> None:
    place, sentence = COMMANDS[name]
    room, function = place.split(".")
    told = inspect.getdoc(getattr(import_module(f"armwright.cli.{room}"), function))
    assert told is not None
    assert " ".join(told.split("\n\n")[0].split()) == sentence
