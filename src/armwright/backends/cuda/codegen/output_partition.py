"""The partition of the outputs of a program into parts that a thread can compute in its registers.

Common values are computed again in each part: a quarter of the operations for the derivatives of seven joints in two
parts. Each part is a separate function, as a compiler would otherwise compute common values once and keep them live.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from armwright.backends.cuda.codegen.min_cut import min_cut, outputs_before, replace_by_argument
from armwright.backends.cuda.codegen.schedule import Schedule, is_variable, matrix_entry, schedule_program
from armwright.graph.expression import Expr, Operand
from armwright.graph.program import Program

MAX_LIVE = {False: 145, True: 116}
"""The most live values that fit in registers, by double precision or not; some registers hold addresses."""

CUT_ARGUMENT = "cut"
"""The name of the argument that holds the values of a cut."""

MAX_COST_RATIO = 2
"""The largest cost of several parts, relative to one function, at which they are used."""

ONE_TRIAL_OPERATIONS, MAX_SPLIT_OPERATIONS = 8000, 14000
"""Operations above which only one partition is tried, and above which none: the search would take a minute, and so long
a program spills in any case."""


class OutputPart(NamedTuple):
    """Outputs with their indices, the products that are fused into sums, and the schedule."""

    outputs: list[tuple[int, Operand]]
    fused: set[int]
    schedule: Schedule

    @property
    def operations(self) -> int:
        """The number of operations."""
        return len(self.schedule.nodes)


class Partition(NamedTuple):
    """A program and its parts."""

    program: Program
    parts: list[OutputPart]

    def cost(self, double: bool) -> int:
        """Return the number of operations, plus 20 for each live value that does not fit in registers."""
        return sum(x.operations + 20 * max(0, x.schedule.max_live - MAX_LIVE[double]) for x in self.parts)


def partitions(program: Program, double: bool) -> list[Partition]:
    """Return one partition, or two if that is cheaper: the first also outputs the values of a cut, for the second."""
    indices = range(len(program.outputs))
    single = Partition(program, [part(program, indices)])
    if single.parts[0].schedule.max_live <= MAX_LIVE[double] or single.parts[0].operations > MAX_SPLIT_OPERATIONS:
        return [single]
    if cut := min_cut(program):
        early = sorted({*outputs_before(program, cut), *indices[program.results :]})
        first = replace(program, outputs=(*program.outputs, *cut))
        second = replace_by_argument(program, cut, CUT_ARGUMENT)
        both = [
            Partition(first, split(first, double, [*early, *range(len(indices), len(first.outputs))])),
            Partition(second, split(second, double, [k for k in indices if k not in set(early)])),
        ]
        if sum(partition.cost(double) for partition in both) < single.cost(double):
            return both
    return [Partition(program, split(program, double, indices))]


def split(program: Program, double: bool, indices: Sequence[int]) -> list[OutputPart]:
    """Return the parts for some outputs: one if it fits in registers or if several would cost more."""
    single = part(program, indices)
    if single.schedule.max_live <= MAX_LIVE[double]:
        return [single]
    groupings = _groupings(program, indices, single.operations > ONE_TRIAL_OPERATIONS)
    tried = [parts for groups in groupings if (parts := _parts(program, groups, double))]
    best = min(tried, key=lambda parts: Partition(program, parts).cost(double), default=[single])
    limit = MAX_COST_RATIO * Partition(program, [single]).cost(double)
    return best if Partition(program, best).cost(double) < limit else [single]


def part(program: Program, indices: Sequence[int]) -> OutputPart:
    """Return one part with some outputs."""
    subset = replace(program, outputs=tuple(program.outputs[k] for k in indices))
    fused = fused_products(subset)
    return OutputPart(list(zip(indices, subset.outputs, strict=True)), fused, schedule_program(subset, fused, indices))


def _groupings(program: Program, indices: Sequence[int], only_first: bool) -> list[list[list[int]]]:
    """Return groupings of outputs: by outer joint, column, row or matrix."""
    keys: list[Callable[[int, int, int], int]] = [
        lambda row, column, _: -max(row, column),
        lambda _, column, __: -column,
        lambda row, _, __: -row,
        lambda row, _, matrix: matrix if row >= 0 else -1,
    ]
    groupings, constants = list[list[list[int]]](), [k for k in indices if not is_variable(program.outputs[k])]
    for key in keys[: 1 if only_first else None]:
        groups = dict[int, list[int]]()
        for k in indices:
            if is_variable(program.outputs[k]):
                groups.setdefault(key(*matrix_entry(program.shape, k)), []).append(k)
        first, *rest = (groups[name] for name in sorted(groups))
        grouping = [[*first, *constants], *rest]
        if rest and grouping not in groupings:
            groupings.append(grouping)
    return groupings


def _parts(program: Program, groups: list[list[int]], double: bool) -> list[OutputPart]:
    """Return parts of as many consecutive groups as fit in registers; none if the first group alone does not fit."""
    parts, begin = list[OutputPart](), 0

    def part_to(end: int) -> OutputPart:
        return part(program, [k for group in groups[begin:end] for k in group])

    while begin < len(groups):
        best, low, high = part_to(begin + 1), begin + 2, len(groups)
        if not begin and best.schedule.max_live > MAX_LIVE[double]:
            return []
        while low <= high:
            middle = (low + high) // 2
            tried = part_to(middle)
            if tried.schedule.max_live <= MAX_LIVE[double]:
                best, low = tried, middle + 1
            else:
                high = middle - 1
        parts.append(best)
        begin = high
    return parts


def fused_products(program: Program) -> set[int]:
    """Return the products to fuse: all their uses are sums, and a sum fuses one product, preferably one with few uses.

    A product in k sums becomes k fused multiply-adds instead of a multiplication and k additions.
    """
    used = dict[int, list[Expr | None]]()
    for node in program.nodes:
        for x in node.args:
            used.setdefault(x.index, []).append(node if node.op in ("add", "sub") else None)
    for output in program.outputs:
        if isinstance(output, Expr):
            used.setdefault(output.index, []).append(None)
    fused, fused_sums = set[int](), set[int]()
    products = [node for node in program.nodes if node.op == "mul" and None not in used.get(node.index, [None])]
    for product in sorted(products, key=lambda node: len(used[node.index])):
        sums = [node.index for node in used[product.index] if node is not None]
        if len(set(sums)) == len(sums) and fused_sums.isdisjoint(sums):
            fused.add(product.index)
            fused_sums.update(sums)
    return fused
