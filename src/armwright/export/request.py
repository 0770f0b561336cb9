"""The request of an export: the functions of a robot as programs, checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from armwright.errors import InputError, unknown
from armwright.export.names import argument_names, comment_text, function_name, identifier
from armwright.formulations import problem_of
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.graph.angles import expand_sines
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message

WRENCH_ARGUMENTS = ("tip_wrench", "link_wrenches")


@dataclass(frozen=True)
class ExportRequest:
    """A robot, programs by their exported names, and the functions of the robot that these programs compute.

    `vary` and `wrenches` are further arguments: parameters of the robot, and for each function the names of its
    wrenches, "tip_wrench" or "link_wrenches".
    """

    robot: Description
    programs: Mapping[str, Program]
    dtype: str = "float64"
    functions: Mapping[str, Function] = field(default_factory=dict)
    vary: tuple[str, ...] = ()
    wrenches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """The name of the robot as an identifier, with which exported files and functions begin."""
        return identifier(self.robot.name)

    @property
    def title(self) -> str:
        """The name of the robot as text of a comment."""
        return comment_text(self.robot.name)

    @property
    def double(self) -> bool:
        """True for double precision."""
        return self.dtype == "float64"

    @property
    def named(self) -> dict[str, Program]:
        """The programs with names of arguments that are identifiers in any language."""
        return {name: _with_identifiers(program) for name, program in self.programs.items()}

    @property
    def written(self) -> dict[str, Program]:
        """The programs of `named`, with sines of sums expanded where that is cheaper."""
        return {name: expand_sines(program) for name, program in self.named.items()}


def _with_identifiers(program: Program) -> Program:
    names = argument_names(name for name, _ in program.arguments)
    return replace(program, arguments=tuple((names[name], inputs) for name, inputs in program.arguments))


def export_request(
    robot: Description, functions: Sequence[str], dtype: str, vary: Sequence[str], wrenches: Sequence[str]
) -> ExportRequest:
    """Return the checked request; raise an InputError for a wrong one."""
    for argument, names, example in (("vary", vary, "payload.mass"), ("wrenches", wrenches, "tip_wrench")):
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InputError(f"{argument} = {names!r}: expected a list of names, such as [{example!r}]")
    compiled = _functions(robot, functions, vary)
    if len(set(wrenches)) < len(wrenches):
        raise InputError(f"wrenches = {wrenches!r}: expected each name once")
    for name in wrenches:
        if name not in WRENCH_ARGUMENTS:
            raise unknown("wrench", name, WRENCH_ARGUMENTS)
    loads = {name: tuple(wrenches) if problem_of(f.problem).wrenches else () for name, f in compiled.items()}
    if wrenches and not any(loads.values()):
        raise InputError(f"none of {', '.join(compiled)} depends on wrenches; drop {' and '.join(wrenches)}")
    programs = {name: f.program_under(loads[name]) for name, f in compiled.items()}
    return ExportRequest(robot, programs, dtype, compiled, tuple(vary), loads)


def _functions(robot: Description, functions: Sequence[str], vary: Sequence[str]) -> dict[str, Function]:
    if isinstance(functions, str) or not isinstance(functions, Collection) or not functions:
        raise InputError(f"functions = {functions!r}: expected a list of names such as ['inverse_dynamics']")
    compiled: dict[str, Function] = {}
    for name in functions:
        problem, _, frame = str(name).partition("@")
        record = problem_of(problem)
        if not has_straight_code(robot, record):
            raise InputError(too_long_message(robot, f"export writes straight code, {name}", record))
        if frame and not (record.of_frame or record.wrenches):
            raise InputError(f"{name}: {problem} is of no frame; drop @{frame}")
        if record.of_frame and not frame and robot.tip is None:
            raise InputError(
                f"{problem} is of the tool, and {robot.name} has several tips; expected the name of a frame after an "
                f"@, such as '{problem}@{robot.frame_names[0]}', or a robot with a tip chosen (with_tip)"
            )
        exported = function_name(name)
        if exported in compiled:
            raise InputError(f"functions = {functions!r}: two of them would be called {exported}; drop one")
        # the interpreter, so that an export loads no compiler
        compiled[exported] = compile_function(robot, problem, target="python", vary=vary, frame=frame or None)
    return compiled
