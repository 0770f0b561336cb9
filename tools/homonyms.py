"""List the names that several modules define: constants, classes and the modules themselves.

A constant or class that more than two modules define is an error unless `ALLOWED` gives the reason; so is a module name that
more than two folders use. `python tools/homonyms.py` prints what is wrong, `--all` also what two modules share.
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "armwright"
MAX_HOMES = 2
ALLOWED = {
    "BACKEND": "the contract of `backends.interface`: each backend is the BACKEND of its module",
    "events.py": "the events of three rooms: of an integration, of a scenario file, of a simulated robot",
}
"""The reason for each name that has more homes."""


def is_type_variable(value: ast.expr | None) -> bool:
    """Return whether an assigned value is a type variable."""
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in ("TypeVar", "ParamSpec")


def defined_names(module: ast.Module) -> set[str]:
    """Return the public constants and classes that a module defines at its top level."""
    names = set()
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not is_type_variable(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {
                n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name) and n.id.isupper()
            }
    return {name for name in names if not name.startswith("_")}


def homes() -> dict[str, list[str]]:
    """Return for every name the modules that define it, as paths below the package; modules count as names ending in .py."""
    modules = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        if not path.name.startswith("__"):
            modules[path.name].append(module)
        for name in defined_names(ast.parse(path.read_text(encoding="utf-8"))):
            modules[name].append(module)
    return modules


def homonyms_without_reason() -> dict[str, list[str]]:
    """Return the names that more than `MAX_HOMES` modules define and no reason allows."""
    return {name: modules for name, modules in homes().items() if len(modules) > MAX_HOMES and name not in ALLOWED}


def unused_permissions() -> list[str]:
    """Return the names in `ALLOWED` that have no more homes than any name may have."""
    modules = homes()
    return [name for name in ALLOWED if len(modules.get(name, ())) <= MAX_HOMES]


def main() -> int:
    """Print the names with several homes; return 1 if one has more than `MAX_HOMES` without a reason."""
    max_unlisted = 1 if "--all" in sys.argv else MAX_HOMES
    for name, modules in sorted(homes().items(), key=lambda entry: (-len(entry[1]), entry[0])):
        if len(modules) > max_unlisted:
            print(f"{name}: {', '.join(modules)}" + (f" (allowed: {ALLOWED[name]})" if name in ALLOWED else ""))
    unused, unexplained = unused_permissions(), homonyms_without_reason()
    for name in unused:
        print(f"{name} is allowed and needs no permission any more")
    print(f"{len(unexplained)} names have more than {MAX_HOMES} homes without a reason; {len(ALLOWED)} are allowed")
    return 1 if unexplained or unused else 0


if __name__ == "__main__":
    sys.exit(main())
