"""Breaks the code in small ways, one at a time, and tells which tests notice: a mutation that no test notices survives.

    python tools/mutate.py --record lines            # once: which test runs which line, and how long it takes
    python tools/mutate.py --tests lines --jobs 2    # tries the mutations of all rooms, two at a time
    python tools/mutate.py --tests lines --only graph --seed 3   # others of one room; the same seed gives the same ones
    python tools/mutate.py --list                    # what would be broken; runs nothing
    python tools/mutate.py --match mul_reciprocal    # all that can be made, chosen or not, whose line holds this text

The record is a run of all tests under coverage.py (`pip install pytest-cov`), several times as long as without. Nothing
in the working tree is touched: it is copied to a temporary folder, one module at a time is rewritten there, and the tests
that run the broken line are run with `pytest -x -n 0`, those that take least time first and at most three of one test
function, up to a minute or two. What is computed when a module is imported is tried with all tests that run any line of
the module. Compiled code is kept for all, as a name in the cache holds the program and the code that wrote it; a broken
backend or cache has a cache of its own. What runs thrice as long as recorded counts as killed.
Broken code may write anywhere: use an account that owns nothing but its files.

Places are chosen by what the code is (a comparison, a sum, a constant, a guard, ...), never by line or literal text, so
nothing here goes stale when code moves: every place has a rank from the seed, its function and its text, and each room
takes the first ones of each kind in turn. A survivor is a test to write; or, if nobody could notice it, an entry in
`EQUIVALENT` with the reason. The exit status is 1 if any survives.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/armwright")


@dataclass(frozen=True)
class Room:
    """How many mutations of which modules; a module belongs to the first pattern that fits, over all rooms.

    `corners`: whether < may become <=, which is noticed where 0 is a value like others, and not where numbers are measured.
    """

    many: int
    patterns: tuple[str, ...]
    corners: bool = False


ROOMS: dict[str, Room] = {
    "formulations": Room(18, ("formulations/*",)),
    "graph": Room(14, ("graph/*",), corners=True),
    "trace": Room(8, ("trace/*",)),
    "exports": Room(10, ("export/*", "backends/text/*", "backends/replay.py"), corners=True),
    "backends": Room(16, ("backends/*", "cache.py", "function.py", "evaluate.py"), corners=True),
    "integrate": Room(14, ("integrate/*",)),
    "readers": Room(16, ("model/*", "load.py", "rules/*")),
    "simulation": Room(14, ("simulation/*", "torque/*", "layout.py")),
    "robot": Room(8, ("robot/*", "mechanism.py", "algebra.py", "manifold.py")),
    "kinematics": Room(6, ("kinematics/*",)),
    "trajectory": Room(8, ("trajectory/*",)),
    "identify": Room(6, ("identify/*",)),
    "sizing": Room(8, ("actuators/*", "sizing/*")),
    "sweep": Room(8, ("sweep/*",)),
    "scenario": Room(6, ("scenario/*",)),
    "check": Room(8, ("check/*",)),
    "learn": Room(4, ("learn/*",)),
    "pages": Room(8, ("pages/*", "notebook.py")),
    "cli": Room(6, ("schema.py", "cli/*", "__main__.py")),
    "study": Room(6, ("study/*",)),
    "tools": Room(6, ("*",)),
}

BRACKETS = "brackets around a number that need none change nothing"
EQUIVALENT: dict[str, str] = {
    "backends/text/c.py _body: -len(angles) -> len(angles)": "zeros that fill a vector: only speed hangs on how many",
    "backends/llvm/trigonometry.py _polynomial: block.fma(p, z, block.lanes.splat(c)) -> "
    "block.fma(z, p, block.lanes.splat(c))": "a product is the same either way",
    "simulation/rollouts.py Rollouts.__init__: 0 in np.zeros(0, dtype) -> 1": "fixed steps read no options",
    "backends/llvm/body.py _sign: fcmp one -> fcmp une": "a nan is put back by the choice that follows",
    "scenario/standard_motion.py _speed_within: np.linspace(motion.start, motion.end, 201) -> "
    "np.linspace(motion.end, motion.start, 201)": "only the largest of the values is used",
    "formulations/quantities/differentiated.py _by_tangent: if not mechanism.balls: ... -> if False: ...": "without balls "
    "the directions are unit vectors, and the products with them are simplified away",
    "trace/reframe.py _with_com_on_x: h.x and h.y -> h.y": "a centre of mass on y costs as many operations as one on x",
    "backends/cuda/codegen/outlined_parts.py _pieces: len(nodes) <= max_operations -> len(nodes) < max_operations": "only "
    "a program of exactly that size is outlined or not",
    "backends/llvm/body.py tiled: program.equations is not None or len(program.outputs) > 256 -> program.equations is "
    "not None": "only speed hangs on it",
    "backends/cuda/codegen/output_partition.py _groupings: -max(row, column) -> max(row, column)": "only which of two "
    "partitions is measured first",
    "integrate/march.py TimeSpan._within: (time - self.start) * self.sign -> (time - self.start) / self.sign": "the sign "
    "is 1 or -1",
    "model/loop_closure.py _OpenLoop._check_regular: np.cross(u, v) -> np.cross(v, u)": "only its length is used",
    "robot/kinematics.py KinematicRobot.integrate: 0.0 in (fastest := float(np.abs(velocity).max(initial=0.0))) -> 1.0": ""
    "far below the limit either way",
    "pages/run_scene.py as_quaternions: -2 -> 2": "the stacked matrices are symmetric",
    "arrays.py has_overlap: size - 1 -> size + 1": "then all places are compared, with the same result",
    "trajectory/smoothing.py smoothed: -1 -> 1": "only how near two breaks are taken for one",
    "backends/llvm/threads.py workers: os.cpu_count() or 1 -> os.cpu_count()": "every machine knows how many it has",
    "backends/text/c.py notation.constant: x < 0 -> x >= 0": BRACKETS,
    "backends/text/c.py notation.constant: x < 0 -> x <= 0": BRACKETS,
    "backends/text/c.py notation.constant: f'({text})' if x < 0 else text -> text if x < 0 else f'({text})'": BRACKETS,
    "backends/text/c.py notation.constant: 0 in f'({text})' if x < 0 else text -> 1": BRACKETS,
    "backends/text/python.py _constant: x < 0 -> x >= 0": BRACKETS,
    "backends/text/python.py _constant: x < 0 -> x <= 0": BRACKETS,
    "backends/text/python.py _constant: f'({x!r})' if x < 0 else repr(x) -> repr(x) if x < 0 else f'({x!r})'": BRACKETS,
    "backends/text/python.py _constant: 0 in f'({x!r})' if x < 0 else repr(x) -> 1": BRACKETS,
}
"""What nobody could notice, as the list prints it from the module on, and why."""

# What is broken

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CORNERS: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
GENERATED = {
    **{"fadd": "fsub", "fsub": "fadd", "fmul": "fdiv", "fdiv": "fmul", "fneg": "fadd", "minimum": "maximum"},
    **{"fcmp ogt": "fcmp oge", "fcmp olt": "fcmp ole", "fcmp one": "fcmp une", "fcmp uno": "fcmp ord"},
    **{"icmp slt": "icmp sle", "add i64": "sub i64", " < ": " <= ", " > ": " >= ", " + ": " - ", " * ": " + "},
}
"""Text in generated code, in modules of backends."""

EITHER_WAY = {"max", "min", "isclose", "array_equal", "minimum", "maximum", "hypot", "isinstance", "fail"}
"""Functions whose first two arguments may be exchanged, or whose exchange says nothing."""

SPARED_KEYWORDS = {"strict", "encoding", "newline", "stacklevel", "title", "about", "help", "name"}
SPARED_FUNCTIONS = {"__repr__", "__str__", "__hash__", "_repr_html_", "_repr_svg_"}


def _compared(node: ast.Compare, table: Mapping[type[ast.cmpop], type[ast.cmpop]]) -> Iterator[ast.AST]:
    for k, op in enumerate(node.ops):
        if type(op) in table:
            yield ast.Compare(node.left, [*node.ops[:k], table[type(op)](), *node.ops[k + 1 :]], node.comparators)


def _computed(node: ast.AST) -> Iterator[ast.AST]:
    """Not of texts and lists, where a minus is an error nobody could miss, nor of the time it took."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in COMPUTED and not (_wordy(left) or _wordy(right)):
            yield ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in COMPUTED and not _wordy(value):
            yield ast.AugAssign(target, COMPUTED[type(op)](), value)


def _wordy(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)) or "perf_counter" in ast.unparse(node)


def _loosened(node: ast.AST) -> Iterator[ast.AST]:
    """One condition fewer, or its opposite."""
    match node:
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BoolOp(op, values):
            for k in range(len(values)):
                left = [*values[:k], *values[k + 1 :]]
                yield left[0] if len(left) == 1 else ast.BoolOp(op, left)


def _exchanged(node: ast.Call) -> Iterator[ast.AST]:
    """The first two arguments, if they are of one kind, so that it is no error of types."""
    if len(node.args) >= 2 and getattr(node.func, "attr", getattr(node.func, "id", "")) not in EITHER_WAY:
        match node.args[:2]:
            case [ast.Attribute(x), ast.Attribute(y)] if ast.dump(x) == ast.dump(y):
                alike = True
            case [ast.Name(x), ast.Name(y)]:
                alike = max(len(x), len(y)) <= 3
            case [x, y]:
                alike = type(x) is type(y) and isinstance(x, (ast.BinOp, ast.Subscript, ast.Constant))
        if alike and ast.dump(node.args[0]) != ast.dump(node.args[1]):
            yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)


def _changed(node: ast.Constant) -> Iterator[ast.AST]:
    match node.value:
        case bool(value):
            yield ast.Constant(not value)
        case int(value):
            yield ast.Constant(value + 1)
        case float(value) if abs(value) > 1e-3 or value == 0:  # a smaller one is a tolerance
            yield ast.Constant(2 * value if value else 1.0)


def _written(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, str):
        yield from (ast.Constant(node.value.replace(a, b, 1)) for a, b in GENERATED.items() if a in node.value)


LEAVES_EARLY = (ast.Return, ast.Raise, ast.Continue)
KINDS: dict[str, tuple[tuple[type[ast.AST], ...], Callable[..., Iterator[ast.AST]]]] = {
    "comparison": ((ast.Compare,), lambda node: _compared(node, COMPARED)),
    "corner": ((ast.Compare,), lambda node: _compared(node, CORNERS)),
    "arithmetic": ((ast.BinOp, ast.AugAssign), _computed),
    "sign": ((ast.UnaryOp,), lambda node: (x for x in [node.operand] if isinstance(node.op, ast.USub))),
    "condition": ((ast.UnaryOp, ast.BoolOp), _loosened),
    "guard": (
        (ast.If,),
        lambda x: (ast.If(ast.Constant(False), y, x.orelse) for y in [x.body] if isinstance(y[-1], LEAVES_EARLY)),
    ),
    "branch": ((ast.IfExp,), lambda node: iter([ast.IfExp(node.test, node.orelse, node.body)])),
    "arguments": ((ast.Call,), _exchanged),
    "statement": ((ast.Expr,), lambda node: (ast.Pass() for x in [node.value] if isinstance(x, ast.Call))),
    "constant": ((ast.Constant,), _changed),
    "generated": ((ast.Constant,), _written),
}
"""What can stand in the place of which nodes. Corners are for some rooms, generated code for some modules."""


def children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """(field, index, child) wherever something is computed: no annotations, decorators, defaults, wordings or docstrings."""
    declares = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))
    for name, value in ast.iter_fields(node):
        if declares and name in ("annotation", "returns", "decorator_list", "args", "bases"):
            continue
        for k, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _spared(child):
                yield name, k, child


def _spared(node: ast.AST) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in SPARED_FUNCTIONS:
        return True
    if isinstance(node, (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.arguments)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.keyword) and node.arg in SPARED_KEYWORDS:
        return True
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").startswith("__"):
        return True
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


@dataclass(frozen=True)
class Mutation:
    """A place in a module and what stands there instead."""

    room: str
    module: str
    line: int
    function: str
    kind: str
    old: str
    new: str
    number: int
    """Among those of a function that read alike."""
    place: Place = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        again = f" ({self.number})" if self.number else ""
        return f"{self.module} {self.function}: {self.old} -> {self.new}{again}"

    def rank(self, seed: int) -> str:
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()


def mutations(room: str, module: str) -> Iterator[Mutation]:
    """Every one that can be made in a module."""
    tree = ast.parse((ROOT / PACKAGE / module).read_text(encoding="utf-8"))
    generated = module.startswith("backends/")
    kinds = [k for k in KINDS if (k != "corner" or ROOMS[room].corners) and (k != "generated" or generated)]
    alike: Counter[tuple[str, ...]] = Counter()

    def visit(node: ast.AST, function: str, line: int, outer: str) -> Iterator[Mutation]:
        for name, k, child in children(node):
            if isinstance(child, ast.JoinedStr) and not generated:
                continue
            here, at = _named(child, function), getattr(child, "lineno", line)
            for kind in kinds:
                types, make = KINDS[kind]
                for new in make(child) if isinstance(child, types) else ():
                    shown = _shown(child, new, outer)
                    place = Place(tree, node, name, k, new)
                    yield Mutation(room, module, at, here or "module", kind, *shown, alike[here, *shown], place)
                    alike[here, *shown] += 1
            inner = _short(child) if isinstance(child, ast.expr) and not outer else outer
            yield from visit(child, here, at, inner if len(inner) < 60 else "")

    yield from visit(tree, "", 1, "")


def _named(node: ast.AST, outside: str) -> str:
    """The function, class or table of the module that a node is or is in."""
    match node:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return f"{outside}.{name}" if outside else name
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)) if not outside:
            return name
    return outside


@dataclass(frozen=True)
class Place:
    """A field of a node, or an entry of it, and what is put there."""

    tree: ast.AST
    parent: ast.AST
    name: str
    k: int | None
    new: ast.AST

    def module(self) -> str:
        """The text of the whole module with it."""
        held = getattr(self.parent, self.name)
        setattr(
            self.parent, self.name, self.new if self.k is None else [*held[: self.k], self.new, *held[self.k + 1 :]]
        )
        try:
            return ast.unparse(ast.fix_missing_locations(self.tree))
        finally:
            setattr(self.parent, self.name, held)


def _short(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}: ..."
    return " ".join(ast.unparse(node).split())


def _shown(old: ast.AST, new: ast.AST, outer: str) -> tuple[str, str]:
    """Both as short texts: of generated code the words that differ, of a constant what it stands in."""
    if isinstance(old, ast.Constant) and isinstance(old.value, str):
        assert isinstance(new, ast.Constant)
        return next((a.strip(), b.strip()) for a, b in GENERATED.items() if old.value.replace(a, b, 1) == new.value)
    texts = _short(old), _short(new)
    if isinstance(old, ast.Constant) and outer:
        return f"{texts[0]} in {outer}", texts[1]
    differing = next((k for k, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, differing - 30)
    return tuple(x if len(x) < 80 else f"{'...' if start else ''}{x[start : start + 60]}..." for x in texts)  # type: ignore[return-value]


# Which are taken


def modules() -> dict[str, list[str]]:
    """The modules of each room."""
    names = sorted(p.relative_to(ROOT / PACKAGE).as_posix() for p in (ROOT / PACKAGE).rglob("*.py"))
    found: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in names:
        for room, record in ROOMS.items():
            if any(fnmatch(name, pattern) for pattern in record.patterns):
                found[room].append(name)
                break
    return found


def every() -> list[Mutation]:
    return [m for room, names in modules().items() for name in names for m in mutations(room, name)]


def chosen(found: list[Mutation], seed: int) -> list[Mutation]:
    """So many of each room: one of each kind in turn, the first by rank, spread over its modules."""
    taken: list[Mutation] = []
    for room, record in ROOMS.items():
        waiting: dict[str, list[Mutation]] = {}
        for m in sorted((m for m in found if m.room == room and m.name not in EQUIVALENT), key=lambda m: m.rank(seed)):
            waiting.setdefault(m.kind, []).append(m)
        crowd: Counter[str] = Counter()
        while sum(crowd.values()) < record.many and any(waiting.values()):
            for kind in sorted(kind for kind, left in waiting.items() if left):
                best = min(waiting[kind], key=lambda m: crowd[m.module])
                waiting[kind].remove(best)
                if sum(crowd.values()) < record.many and _writable(best):
                    crowd[best.module] += 1
                    taken.append(best)
    return taken


def _writable(m: Mutation) -> bool:
    """Whether it is Python, and another program than before."""
    try:
        return ast.dump(ast.parse(m.place.module())) != ast.dump(m.place.tree)
    except (SyntaxError, ValueError):
        return False


# Which tests run which lines


@dataclass
class Record:
    """Which tests run each line, and how long each takes, as a run of all tests under coverage.py found."""

    data: CoverageData
    of_file: dict[str, set[str]]
    times: dict[str, float]
    failed: set[str]

    @classmethod
    def read(cls, folder: Path) -> Record:
        """Return the record of a folder. Tests that failed in it, for want of time say, are left out and printed."""
        output = (folder / "output.txt").read_text(encoding="utf-8")
        failed = set(re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE))
        print("".join(f"left out, as it failed when recorded: {test}\n" for test in sorted(failed)), end="", flush=True)
        times: dict[str, float] = {}
        for seconds, test in re.findall(r"^([\d.]+)s (?:call|setup) +(\S.*?)\s*$", output, re.MULTILINE):
            times[test] = times.get(test, 0.0) + float(seconds)
        from coverage import CoverageData  # noqa: PLC0415

        data = CoverageData(str(folder / "lines"))
        data.read()
        of_file: dict[str, set[str]] = {}
        for context in filter(None, data.measured_contexts()):
            of_file.setdefault(context.partition("::")[0], set()).add(context.rpartition("|")[0])
        return cls(data, of_file, times, failed)

    def lines(self, module: str) -> dict[int, set[str]]:
        """Return the tests that run each line of a module; no tests for what runs only when it is imported.

        Where a line runs in the setup of a test, other tests of that file may use what was set up there.
        """
        files = [file for file in self.data.measured_files() if file.endswith(f"{PACKAGE.as_posix()}/{module}")]
        by_line = self.data.contexts_by_lineno(files[0]) if files else {}
        found = {}
        for line, contexts in by_line.items():
            found[line] = {context.rpartition("|")[0] for context in contexts if context}
            for file in {context.partition("::")[0] for context in contexts if context.endswith("|setup")}:
                found[line] |= self.of_file[file]
        return found

    def tests(self, mutation: Mutation) -> list[str]:
        """Return the tests that run the line of a mutation, or its module; the cheapest first, up to the limit."""
        lines = self.lines(mutation.module)
        before = [line for line in lines if line <= mutation.line]
        running = lines[max(before)] if before else set()
        if not running:
            running = set().union(*lines.values())
        chosen, of_function, spent = [], Counter[str](), 0.0
        for test in sorted(running - self.failed, key=lambda test: (self.seconds(test), test)):
            function = test.partition("[")[0]
            if of_function[function] < MAX_CASES and spent + self.seconds(test) < MAX_SECONDS:
                of_function[function] += 1
                spent += self.seconds(test)
                chosen.append(test)
        return chosen

    def seconds(self, test: str) -> float:
        return self.times.get(test, 0.005)


MAX_CASES = 3
"""Of one test function, for one mutation."""

MAX_SECONDS = 120.0
"""Of the tests of one mutation, as recorded."""


def record(folder: Path) -> int:
    """Run all tests and keep which lines each of them runs."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-o", "addopts=--strict-markers", "-n", "auto", "-q", "--durations=0",
               "--cov=armwright", "--cov-context=test", "--cov-report=", "-p", "no:cacheprovider"]  # fmt: skip
    settings = {"PYTHONPATH": str(ROOT / "src"), "COVERAGE_FILE": str((folder / "lines").resolve())}
    with tempfile.TemporaryDirectory() as cache, (folder / "output.txt").open("w", encoding="utf-8") as output:
        environ = {**os.environ, **settings, "ARMWRIGHT_CACHE": cache}  # what is compiled already would run no compiler
        return subprocess.run(command, cwd=ROOT, env=environ, stdout=output, check=False).returncode


# How they are tried


TOO_LONG = "the time limit"
NOT_RUN = "no test runs it"
RUNNING: set[int] = set()
"""Groups of processes that must not outlive this one."""


@dataclass(frozen=True)
class Verdict:
    killed: bool
    by: str


def copied(folder: Path) -> Path:
    """The working tree, with code compiled in a way that notices every change."""
    tree = folder / "tree"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, tree, ignore=ignored)
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(tree / PACKAGE)]
    subprocess.run(command, check=True)
    output = subprocess.run(
        [sys.executable, "-c", "import armwright; print(armwright.__file__)"], env=environment(tree, folder), cwd=tree,
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    if not Path(output.strip()).is_relative_to(tree):
        raise SystemExit(f"the copy in {tree} is not what is imported, but {output.strip()}; is PYTHONPATH ignored?")
    return tree


def environment(tree: Path, cache: Path) -> dict[str, str]:
    settings = {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "ARMWRIGHT_CACHE": str(cache)}
    return {**os.environ, **settings}


def tried(tree: Path, mutation: Mutation, text: str, record: Record) -> Verdict:
    """Run the tests of a mutation on a copy that has it, until one fails."""
    tests = record.tests(mutation)
    if not tests:
        return Verdict(False, NOT_RUN)
    file = tree / PACKAGE / mutation.module
    unbroken = file.read_text(encoding="utf-8")
    compiler = mutation.module.startswith(("backends/", "cache"))
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "tests.txt"
        names.write_text("\n".join(tests), encoding="utf-8")
        cache = Path(folder) if compiler else tree.parent / "cache"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", f"@{names}"]
        file.write_text(text, encoding="utf-8")
        process = subprocess.Popen(
            command, cwd=tree, env=environment(tree, cache), text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        RUNNING.add(process.pid)
        try:
            output, _ = process.communicate(timeout=3 * sum(map(record.seconds, tests)) + 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Verdict(True, TOO_LONG)
        finally:
            RUNNING.discard(process.pid)
            file.write_text(unbroken, encoding="utf-8")
    if process.returncode == 0:
        return Verdict(False, f"{len(tests)} tests")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    if failed is None and process.returncode > 0 and "conftest" not in output:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output[-2000:]}")
    return Verdict(True, failed[1].removeprefix("tests/") if failed else f"exit status {process.returncode}")


def run(chosen: list[Mutation], jobs: int, record: Record) -> dict[Mutation, Verdict]:
    """Try all of them, a few at a time, and print each as it is known."""
    with tempfile.TemporaryDirectory(prefix="mutate_") as name:
        trees: queue.Queue[Path] = queue.Queue()
        for k in range(jobs):
            (Path(name) / str(k)).mkdir()
            trees.put(copied(Path(name) / str(k)))
        texts = {m: m.place.module() for m in chosen}

        def one(mutation: Mutation) -> Verdict:
            tree = trees.get()
            try:
                verdict = tried(tree, mutation, texts[mutation], record)
            finally:
                trees.put(tree)
            print(f"{'killed  ' if verdict.killed else 'SURVIVED'}  {line(mutation)}  {verdict.by}", flush=True)
            return verdict

        with ThreadPoolExecutor(jobs) as pool:
            try:
                return dict(zip(chosen, pool.map(one, chosen), strict=True))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for group in list(RUNNING):
                    os.killpg(group, signal.SIGKILL)
                raise


def line(m: Mutation) -> str:
    return f"{m.room:<12}  {m.kind:<10}  {m.name}"


def summary(verdicts: Mapping[Mutation, Verdict]) -> str:
    """Killed and all, by room and together, every survivor, and what the time limit killed, which may be one."""
    lines = ["", f"{'room':<14}killed  of"]
    for room in [*dict.fromkeys(m.room for m in verdicts), "all"]:
        these = [v.killed for m, v in verdicts.items() if room in (m.room, "all")]
        lines.append(f"{room:<14}{sum(these):6}  {len(these):2}  {sum(these) / len(these):.0%}")
    for m, v in verdicts.items():
        if not v.killed or v.by == TOO_LONG:
            lines.append(f"{'too long' if v.killed else 'survived'}: {PACKAGE / m.module}:{m.line}  {line(m)}")
    return "\n".join(lines)


def listing(found: list[Mutation], chosen: list[Mutation]) -> str:
    names, modules_found = {m.name for m in found}, {m.module for m in found}
    lines = [line(m) for m in chosen]
    shares = ", ".join(f"{n} {room}" for room, n in Counter(m.room for m in chosen).items())
    lines += ["", f"{len(chosen)} of {len(found)} mutations: {shares}"]
    lines += [f"equivalent{'' if name in names else ', AND GONE'}: {name} ({why})" for name, why in EQUIVALENT.items()]
    patterns = [pattern for room in ROOMS.values() for pattern in room.patterns]
    lines += [f"no module is {x}: mend ROOMS" for x in patterns if not any(fnmatch(m, x) for m in modules_found)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="run all tests and keep which lines each runs")
    parser.add_argument("--tests", type=Path, metavar="FOLDER", help="the record that chooses the tests")
    parser.add_argument("--list", action="store_true", help="print what would be tried")
    parser.add_argument("--only", nargs="+", choices=ROOMS, default=list(ROOMS), metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--match", help="all that can be made, chosen or not, whose line in the list holds this text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    if options.record:
        return record(options.record)
    found = every()
    if options.match:
        taken = [m for m in found if options.match in line(m) and m.name not in EQUIVALENT and _writable(m)]
    else:
        taken = chosen(found, options.seed)
    taken = [m for m in taken if m.room in options.only]
    if options.list or not taken:
        print(listing(found, taken))
        return 0
    if options.tests is None:
        parser.error("expected --tests FOLDER; make that record with --record FOLDER first")
    verdicts = run(taken, options.jobs, Record.read(options.tests))
    print(summary(verdicts))
    return int(any(not v.killed for v in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
