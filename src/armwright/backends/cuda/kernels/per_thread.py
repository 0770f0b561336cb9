"""What a thread does with a state of its own, where it may have two: what belongs to them is called so, "0" and "1"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

ONE, TWO = ("",), ("0", "1")
"""States of a thread."""

FEW = 16
"""Results of a state, up to which a thread keeps them in registers until all are known, and may have two states."""

Unused = Callable[[str], str]
"""What to do with entries of a state that nothing depends on."""


def computed(states: Sequence[str], names: Sequence[str], results: int, unused: Unused) -> list[str]:
    """Results in registers, from arguments of these names."""
    return [
        line
        for s in states
        for line in (
            f"real kept{s}[{results}];",
            f"Checked out{s} = {{kept{s}, 0}};{unused(s)}",
            f"const bool done{s} = body<false>({', '.join(f'{name}{s}' for name in names)}, out{s});",
        )
    ]


def judged(states: Sequence[str], places: Sequence[str]) -> list[str]:
    """Whether they are good, or have to be done again; they are the states at these places."""
    return [
        f"""if (!done{s})
        mark(call, {place});
    else if (!is_finite(out{s}.sum) || call.good)
        judge(call, {place}, out{s}.sum);"""
        for s, place in zip(states, places, strict=True)
    ]


def lines(statements: Sequence[str], inset: int = 4) -> str:
    return ("\n" + " " * inset).join(statements)
