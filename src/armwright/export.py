"""A robot's dynamics for use elsewhere: as C, as Python, or as a function of another package.

`EXPORTS` is the one list of forms that tests, documents and the command line run over.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright.backends import replay
from armwright.backends.text import c, python
from armwright.errors import InputError, ModelError, unknown
from armwright.files import write
from armwright.formulations import problem_of
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.graph.angles import written_out
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.trace.form import straight, too_long

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio
stdlib string tgmath time wchar wctype
m all test help clean install package edit_cache rebuild_cache
"""
RESERVED = frozenset(_WORDS.split())
"""Names with a meaning in C, among its headers, or in CMake."""

_CHECKS = 3  # states stored in a self-test


@dataclass(frozen=True)
class Wanted:
    """What is to be exported: functions of a robot by their names outside."""

    robot: Description
    functions: Mapping[str, Function]
    dtype: str

    @property
    def prefix(self) -> str:
        return identifier(self.robot.name)

    @property
    def title(self) -> str:
        return _plain(self.robot.name)

    @property
    def programs(self) -> dict[str, Program]:
        return {name: f.program for name, f in self.functions.items()}

    @property
    def written(self) -> dict[str, Program]:
        """The programs with sines of sums written out, where that is cheaper."""
        return {name: written_out(program) for name, program in self.programs.items()}


@dataclass(frozen=True)
class Form:
    """A form in which functions leave the house: texts by file name, or native functions by name.

    `package` is what must be installed, `dtypes` the kinds of numbers it can be asked for.
    """

    make: Callable[[Wanted], Mapping[str, Any]]
    files: bool = False
    package: str = ""
    dtypes: tuple[str, ...] = ("float64",)
    about: str = ""


def _c(wanted: Wanted) -> dict[str, str]:
    double = wanted.dtype == "float64"
    loosest, factor = (1e-10, 1e-6) if double else (1e-4, 50.0)
    checks = {
        name: [(state, exact, max(loosest, factor * error)) for state, exact, error in _checks(wanted.robot, f)]
        for name, f in wanted.functions.items()
    }
    joints = [joint.name for joint in wanted.robot.joints]
    about = c.About(wanted.prefix, wanted.title, _version(), joints, wanted.robot.nq, _notes(wanted.robot))
    return c.files(about, wanted.written, checks, double)


def _version() -> str:
    """Of the package that this is a part of, and which is loaded where this runs."""
    return str(sys.modules["armwright"].__version__)


def _notes(robot: Description) -> list[str]:
    """What somebody who has nothing but the code must know: the joints in their order, frames, what is included."""
    notes = [f"q, qd, qdd and tau have {robot.n} entries, one for each joint, in this order:"]
    if robot.balls:
        notes = [f"qd, qdd and tau have {robot.n} entries, one for each freedom, in this order; q has {robot.nq}:"]
    for i, joint in enumerate(robot.joints):
        units = "m, N" if joint.prismatic else "rad, N m"
        limits = "" if joint.limits is None else f", {joint.limits[0]:.6g} to {joint.limits[1]:.6g}"
        notes.append(f"  [{i}] {_plain(joint.name)}: {joint.type}, {units}{limits}")
    notes += _quaternions(robot)
    for joint in robot.followers:
        m = joint.mimic
        if m is not None and m.loop:
            notes.append(f"  {_plain(joint.name)} is moved by the loop {_plain(m.loop)}")
        elif m is not None:
            terms = " ".join(f"{factor:+g} {_plain(name)}" for name, factor in m.leaders).removeprefix("+")
            notes.append(f"  {_plain(joint.name)} follows: {terms} {m.offset:+g}")
    notes.append(f"Gravity is ({', '.join(f'{x:g}' for x in robot.gravity)}) m/s^2 in the world.")
    notes.append(
        "Poses are seen from the world, where the base transform places frame 0; jacobians are those of the tool's "
        "origin; link frames are the canonical ones that print(robot) shows."
    )
    notes += _included(robot)
    return notes


def _quaternions(robot: Description) -> list[str]:
    """Which entries of q are those of a ball, free or planar joint, and in which axes it moves; others are as in qd."""
    meaning = {
        "ball": "a unit quaternion (x, y, z, w)",
        "free": "the position (x, y, z), then a unit quaternion (x, y, z, w)",
        "planar": "x and y, then cosine and sine of the angle",
    }
    moving = {
        "ball": "angular, in the axes of its body",
        "free": "of the origin of its body, linear before angular, both in the axes of the body",
        "planar": "linear, in the axes of its body, then angular",
    }
    notes = []
    for ball in robot.balls:
        name, first = _plain(robot.rows[ball.joint].name.rpartition(".")[0]), ball.place
        notes.append(f"  q[{first}] to q[{first + ball.freedoms}] of {name}, {ball.kind}: {meaning[ball.kind]}")
        one, last = ball.coordinate, ball.coordinate + ball.freedoms - 1
        notes.append(f"  [{one}] to [{last}] of qd, qdd (the rates of qd) and tau of {name}: {moving[ball.kind]}")
    if notes:
        others = "Other joints have their entries of q in the same order."
        notes.append(f"{others} A quaternion that is not of unit length gives no finite result.")
    return notes


def _included(robot: Description) -> list[str]:
    """Which of friction, rotors and payload are in the numbers."""
    rows = robot.rows
    dry = any(row.viscous or row.coulomb for row in rows)
    rubbing = [f"{_plain(row.name)} {row.viscous:g}, {row.coulomb:g}" for row in rows] if dry else []
    held = robot.payload
    return [
        "Friction, viscous * qd + coulomb * sign(qd), is included: " + "; ".join(rubbing) if dry else "No friction.",
        "Rotor inertias are included." if any(row.armature for row in rows) else "No rotor inertias.",
        "No payload." if held is None else f"A payload of {held.mass:g} kg is included.",
    ]


def _plain(name: str) -> str:
    """A name into comments: nothing that could end one."""
    return re.sub(r"[^\w .,()-]", " ", name, flags=re.ASCII)


def _python(wanted: Wanted) -> dict[str, str]:
    return {f"{wanted.prefix}.py": python.module(wanted.title, wanted.written)}


def _natively(convert: Callable[[str, Program], Any]) -> Callable[[Wanted], dict[str, Any]]:
    return lambda wanted: {name: convert(name, program) for name, program in wanted.programs.items()}


EXPORTS = {
    "c": Form(_c, True, dtypes=("float64", "float32"), about="header, source, self-test and a CMakeLists"),
    "python": Form(_python, True, about="a module that needs nothing but math"),
    "casadi": Form(_natively(replay.casadi), package="casadi", about="casadi.Function"),
    "jax": Form(_natively(replay.jax), package="jax", about="functions of jax.numpy arrays"),
    "sympy": Form(_natively(replay.sympy), package="sympy", about="symbols and a matrix"),
}
"""Every form by its name."""


def export(
    robot: Description,
    to: str,
    directory: str | Path | None = None,
    functions: Sequence[str] = ("inverse_dynamics", "forward_dynamics", "mass_matrix"),
    dtype: str = "float64",
) -> Any:
    """Write or return the given functions of a robot: any problem that `armwright.compile` knows.

    What is of a frame other than the tool has its name behind an @, as in "jacobian@camera"; a robot with
    several tips has no tool until `with_tip` chooses one.

    to="c"        <name>.h, <name>.c, a self-test and a CMakeLists in `directory`; returns the paths
    to="python"   <name>.py in `directory`; returns the path in a list
    to="casadi", "jax", "sympy"   a dictionary of native functions (SymPy: symbols and matrix) by name
    """
    if not isinstance(robot, Description):
        raise InputError(f"export got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if to not in EXPORTS:
        raise unknown("export target", to, EXPORTS)
    form = EXPORTS[to]
    if dtype not in form.dtypes:
        raise unknown(f"dtype of {to} code:", dtype, form.dtypes)
    if form.files == (directory is None):
        what = "writes files: give a directory" if form.files else "returns functions: leave directory= out"
        raise InputError(f"export to {to} {what}")
    wanted = Wanted(robot, _functions(robot, functions), dtype)
    made = form.make(wanted)
    return _kept(Path(directory), made) if directory is not None else made


def _functions(robot: Description, functions: Sequence[str]) -> dict[str, Function]:
    if isinstance(functions, str) or not functions:
        raise InputError(f"functions = {functions!r}: expected a list of names such as ['inverse_dynamics']")
    made: dict[str, Function] = {}
    for name in functions:
        problem, _, frame = str(name).partition("@")
        if not straight(robot, problem_of(problem)):
            raise InputError(too_long(robot, f"export writes straight code, {name}", problem_of(problem)))
        if problem_of(problem).of_frame and not frame and robot.tip is None:
            raise InputError(
                f"{problem} is of the tool, and {robot.name} has several tips; expected the name of a frame behind an "
                f"@, such as '{problem}@{robot.frame_names[0]}', or a robot with a tip chosen (with_tip)"
            )
        outside = re.sub(r"\W+", "_", str(name)).strip("_")
        if outside in made:
            raise InputError(f"functions = {functions!r}: two of them would be called {outside}; leave one out")
        made[outside] = compile_function(robot, problem, frame=frame or None)
    return made


def identifier(name: str) -> str:
    """The robot's name as a name in C and Python: ASCII letters, digits and underscores, not starting with a digit."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    taken = keyword.iskeyword(plain) or plain in sys.stdlib_module_names or plain in RESERVED
    return plain if plain and not plain[0].isdigit() and not taken else f"robot_{plain}".rstrip("_")


def _kept(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write(folder / name, text)
    except OSError as error:
        raise ModelError(f"cannot write to {folder}: {error}") from None
    return [folder / name for name in texts]


def _checks(robot: Description, f: Function) -> list[c.Vectors]:
    """A few states with their results, and what rounding makes of them: seen from single precision."""
    rng = np.random.default_rng(0)
    single = compile_function(f.robot, f.problem, dtype="float32")
    checks: list[c.Vectors] = []
    for _ in range(_CHECKS):
        state = [rng.uniform(-1, 1, robot.nq if name == "q" else robot.n) for name in f.arguments]
        state[0] = robot.unit(state[0])
        exact = f(*state)
        error = float(np.max(np.abs(single(*state) - exact)) / max(float(np.max(np.abs(exact))), 1e-30))
        checks.append((state, exact, error))
    return checks
