"""List the public names of the package, with their parameters: what a release must not lose without a former name.

    python tools/public_names.py             # print them
    python tools/public_names.py --update    # write tests/golden/public_names.txt

The list begins with `armwright.__all__`, the modules in it and the further public modules, each with its `__all__`. Public
classes are listed with their members, once, also the classes of results that no module lists. Modules that need further
packages are read without an import. Former names do not count.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import armwright
from armwright.former_names import FORMER_NAMES

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "public_names.txt"

MODULES = (
    *(
        "actuators",
        "actuators.catalogue",
        "check",
        "export",
        "extensions",
        "formulations",
        "function",
        "identify",
        "load",
        "rules",
    ),
    *("simulation", "sizing.scaling", "sizing.sizing_file", "sweep"),
)
"""Public modules besides those in `armwright.__all__`."""

OPTIONAL_MODULES = (
    *("learn/gym/__init__", "learn/gym/environments", "learn/gym/make", "learn/gym/robot_plant"),
    *("learn/gym/standard_tasks", "learn/gym/task", "learn/jax", "learn/torch"),
)
"""Modules that need further packages, as files; a folder's `__all__` says which names of its files are public."""

RESULT_CLASSES = (
    "kinematics.contacts.ContactMotion",
    "kinematics.contacts.SupportForces",
    "model.records.Frame",
    "model.records.JointModel",
    "model.records.LinkModel",
    "model.records.LoopModel",
    "model.records.Payload",
    "registry.Registry",
    "simulation.audit.MomentumBalance",
    "simulation.stepper.RolloutGradient",
    "trajectory.time_optimal.BindingLimit",
)
"""Classes of results and of fields of a robot that no module lists."""


def parameters_of(signed: Any) -> str:
    """Return the parameters of a function or class as text; "" for what has no signature of its own."""
    try:
        names = [
            str(p).partition(":")[0].partition("=")[0].strip() for p in inspect.signature(signed).parameters.values()
        ]
    except (TypeError, ValueError):
        return ""
    return f"({', '.join(name for name in names if name != 'self')})"


def member_names(cls: type) -> Iterator[str]:
    """Yield the public members of a class that armwright defines: methods with parameters, properties and fields."""
    former = {old for owner, old, _ in FORMER_NAMES if isinstance(owner, type) and issubclass(cls, owner)}
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("armwright"):
            members |= dict.fromkeys(vars(base).get("__annotations__", ())) | vars(base)
    for name, member in members.items():
        if not name.startswith("_") and name not in former:
            function = getattr(member, "__func__", member)
            yield name + (parameters_of(getattr(cls, name)) if isinstance(function, FunctionType) else "")


def object_names(name: str, value: Any, classes: set[type]) -> Iterator[str]:
    """Yield the lines of one public object; a class has its members unless it is among `classes`, those listed before."""
    if inspect.isclass(value):
        yield name
        if value not in classes and not issubclass(value, BaseException):
            classes.add(value)
            yield from (f"{name}.{member}" for member in member_names(value))
    else:
        yield name + (parameters_of(value) if isinstance(value, FunctionType) else "")


def module_names(module: ModuleType, classes: set[type]) -> Iterator[str]:
    """Yield the lines of a module's `__all__`; see `object_names` for `classes`."""
    for name in module.__all__:
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            yield from object_names(f"{module.__name__}.{name}", value, classes)


def names_in_file(path: Path, public: set[str]) -> Iterator[str]:
    """Yield the public functions and classes of a file that is not imported, with parameters and members."""
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name in public:
            yield f"{module}.{node.name}{_parameters_in(node)}"
        elif isinstance(node, ast.ClassDef) and node.name in public:
            yield f"{module}.{node.name}"
            for member in node.body:
                if isinstance(member, ast.AnnAssign):
                    name = ast.unparse(member.target)
                elif isinstance(member, ast.FunctionDef):
                    name = member.name + ("" if member.decorator_list else _parameters_in(member))
                else:
                    continue
                if not name.startswith("_"):
                    yield f"{module}.{node.name}.{name}"


def _parameters_in(node: ast.FunctionDef) -> str:
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    names = [name for name in ast.unparse(node.args).split(", ") if name not in ("self", "/", "*")]
    return f"({', '.join(names)})"


def listed_in(path: Path) -> set[str]:
    """Return the names in the `__all__` of a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def public_modules() -> list[ModuleType]:
    """Return all public modules that need no further package."""
    inner = [getattr(armwright, name) for name in armwright.__all__]
    further = [import_module(f"armwright.{name}") for name in MODULES]
    return [armwright, *(module for module in inner if isinstance(module, ModuleType)), *further]


def public_names() -> list[str]:
    """Return the lines of the golden file, sorted."""
    classes: set[type] = set()
    names = {name for module in public_modules() for name in module_names(module, classes)}
    for dotted in RESULT_CLASSES:
        module, _, name = dotted.rpartition(".")
        names |= set(object_names(f"armwright.{dotted}", getattr(import_module(f"armwright.{module}"), name), classes))
    for file in OPTIONAL_MODULES:
        path = ROOT / "src" / "armwright" / f"{file}.py"
        package = path.with_name("__init__.py")
        names |= set(names_in_file(path, listed_in(path) or listed_in(package)))
    return sorted(names)


def main() -> int:
    """Print the public names, or write the golden file."""
    text = "\n".join(public_names()) + "\n"
    if "--update" in sys.argv:
        GOLDEN.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
