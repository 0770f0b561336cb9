"""List the names that several modules define: constants, classes and the modules themselves.

A constant or class that more than two modules define is an error unless `ALLOWED` gives the reason; so is a module name that
more than two folders use. `python tools/homonyms.py` prints what is wrong, `--all` also what two modules share.
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "armwright"
MOST_HOMES = 2
ALLOWED: dict[str, str] = {}


def defined_names(module: ast.Module) -> set[str]:
    """Return the public constants and classes that a module defines at its top level."""
    names = set()
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {
                n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name) and n.id.isupper()
            }
    return {name for name in names if not name.startswith("_")}


def homes() -> dict[str, list[str]]:
    """Return for every name the modules that define it, as paths below the package; modules count as names ending in .py."""
    found = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not path.name.startswith("__"):
            found[path.name].append(place)
        for name in defined_names(ast.parse(path.read_text())):
            found[name].append(place)
    return found


def crowded() -> dict[str, list[str]]:
    """Return the names that more than two modules define and no reason allows."""
    return {name: places for name, places in homes().items() if len(places) > MOST_HOMES and name not in ALLOWED}


def main() -> int:
    """Print the names with several homes; return 1 if one has more than two without a reason."""
    found = homes()
    least = 1 if "--all" in sys.argv else MOST_HOMES
    for name, places in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        if len(places) > least:
            print(f"{name}: {', '.join(places)}" + (f" (allowed: {ALLOWED[name]})" if name in ALLOWED else ""))
    unused = [name for name in ALLOWED if len(found.get(name, [])) <= MOST_HOMES]
    for name in unused:
        print(f"{name} is allowed and needs no permission any more")
    wrong = crowded()
    print(f"{len(wrong)} names have more than {MOST_HOMES} homes without a reason; {len(ALLOWED)} are allowed")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
