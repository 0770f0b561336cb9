"""List where the language of the source does not follow the rules of the house.

    python tools/language.py                  # what is wrong, by kind, with file and line
    python tools/language.py --only sweep     # below one folder of the package
    python tools/language.py --summary        # counts alone

Four kinds are looked for in the package: docstrings that begin with a question word instead of saying what is returned or
done, public objects without a docstring, words of the black list in docstrings, comments and texts, and docstrings of one
sentence of more than forty words. In the documents only the black list is checked.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "armwright"
OPENINGS = ("What", "Whether", "How", "Where", "Of")
BLACK_LIST = re.compile(
    r"\b(?:is|are|was|were|be) (?:said|told|seen)\b|\bwhat there is of\b|\bwhatever\b|\bgoes on\b|\bleaves? out\b"
    r"|\bby itself\b|\bof (?:one's|its|his|their) own\b|\bin words\b|\bas it is\b|\bthat is to say\b|\basks for\b",
    re.IGNORECASE,
)
LONGEST_SENTENCE = 40  # words
DUNDER = re.compile(r"__\w+__$")


class Fault(NamedTuple):
    """A place that breaks a rule, and which."""

    place: str
    line: int
    rule: str
    text: str


def public(node: ast.AST) -> bool:
    """Return whether a class or function is one that other modules may use."""
    return isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")


def documented_nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Yield all that can have a docstring, and whether it must: modules, public classes, functions and long methods."""
    yield tree, bool(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            protocol = any("Protocol" in ast.unparse(base) or "NamedTuple" in ast.unparse(base) for base in node.bases)
            for child in node.body:
                if isinstance(child, ast.FunctionDef):
                    yield child, False
            yield node, public(node) and not protocol
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            overload = any("overload" in ast.unparse(d) for d in node.decorator_list)
            yield node, public(node) and not overload


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring, without its tables and code."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not re.search(r"^\s*(\||-|\*|\d+\.|>>>|    )|\S {2,}\S", paragraph, re.MULTILINE):
            yield from re.split(r"(?<=[.:;?!])\s+", " ".join(paragraph.split()))


def docstring_faults(tree: ast.Module, place: str) -> Iterator[Fault]:
    """Yield what is wrong with the docstrings of a module."""
    for node, needed in documented_nodes(tree):
        text = ast.get_docstring(node)
        line, name = getattr(node, "lineno", 1), getattr(node, "name", "module")
        if text is None:
            if needed:
                yield Fault(place, line, "undocumented", name)
            continue
        if text.split()[0] in OPENINGS:
            yield Fault(place, line, "opening", f"{name}: {text.splitlines()[0]}")
        for sentence in sentences(text):
            if len(sentence.split()) > LONGEST_SENTENCE:
                yield Fault(place, line, "long sentence", f"{name}: {sentence[:70]}...")


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments and texts of a module."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds:
            for k, line in enumerate(token.string.splitlines()):
                yield token.start[0] + k, line


def black_listed(lines: Iterator[tuple[int, str]], place: str) -> Iterator[Fault]:
    """Yield the words of the black list in numbered lines."""
    for number, line in lines:
        if found := BLACK_LIST.search(line):
            yield Fault(place, number, "black list", f"{found.group()}: {line.strip()[:90]}")


def faults(below: str = "") -> Iterator[Fault]:
    """Yield what is wrong in the package, or in one folder of it; in the documents too if all of it is looked at."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(below.removeprefix("src/armwright/")):
            source = path.read_text(encoding="utf-8")
            yield from docstring_faults(ast.parse(source), place)
            yield from black_listed(prose(source), place)
    if not below:
        for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]):
            if path.name != "CHANGELOG.md":
                lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
                yield from black_listed(iter(lines), path.relative_to(ROOT).as_posix())


def main() -> int:
    """Print the faults; return 1 if there are any."""
    parser = argparse.ArgumentParser(description="List where the language does not follow the rules.")
    parser.add_argument("--only", default="", help="a folder or file of the package")
    parser.add_argument("--summary", action="store_true", help="counts alone")
    options = parser.parse_args()
    found = list(faults(options.only))
    if not options.summary:
        for fault in found:
            print(f"{fault.place}:{fault.line}: {fault.rule}: {fault.text}")
    print(", ".join(f"{count} {rule}" for rule, count in sorted(Counter(f.rule for f in found).items())) or "no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
