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
    """Return the strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for neighbour in sorted(edges[node]):
            if neighbour not in index:
                visit(neighbour)
                low[node] = min(low[node], low[neighbour])
            elif neighbour in stack:
                low[node] = min(low[node], index[neighbour])
        if low[node] == index[node]:
            at = stack.index(node)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


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
