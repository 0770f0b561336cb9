"""List the cycles of imports between modules of the package, those of imports inside functions included.

An import that waits in a function hides a cycle from Python and from `lint-imports`; it is still one to whoever reads. Imports
for types alone (`if TYPE_CHECKING`) do not count. The exit status is 1 if there is a cycle.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


def modules() -> dict[str, Path]:
    """Return the file of every module, by its name."""
    found = {}
    for path in sorted((SOURCE / "armwright").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports, anywhere but for types alone: modules, and names that may be modules."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def graph() -> dict[str, set[str]]:
    """Return for every module the modules that it imports; a name of a package stands for the package."""
    files = modules()
    edges = {}
    for name, path in files.items():
        targets = set()
        for entry in imported(ast.parse(path.read_text(encoding="utf-8"))):
            target = entry if entry in files else entry.rpartition(".")[0]
            if target in files and target not in (name, "armwright"):
                targets.add(target)
        edges[name] = targets
    return edges


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other by imports."""
    reached = {node: reachable(edges, node) for node in edges}
    groups = {tuple(sorted(other for other in reached[node] if node in reached[other])) for node in edges}
    return sorted(list(group) for group in groups if group)


def reachable(edges: dict[str, set[str]], start: str) -> set[str]:
    """Return the modules that a module imports, directly or through others."""
    seen: set[str] = set()
    queue = [start]
    while queue:
        fresh = edges[queue.pop()] - seen
        seen |= fresh
        queue += fresh
    return seen


def main() -> int:
    """Print the cycles and the imports within them; return 1 if there are any."""
    edges = graph()
    found = cycles(edges)
    for component in found:
        print(f"{len(component)} modules import each other:")
        for name in component:
            print(f"  {name} -> {', '.join(sorted(edges[name] & set(component)))}")
    print(f"{len(found)} cycles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
