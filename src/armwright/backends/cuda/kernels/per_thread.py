"""Statements of a thread that computes one state, or two; with two, names of variables end in "0" and "1"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

ONE_STATE, TWO_STATES = ("",), ("0", "1")
"""The suffixes of the variables of each state of a thread."""

MAX_REGISTER_RESULTS = 16
"""Results per state up to which a thread keeps them in registers until all are known, and may have two states."""

UnusedChecks = Callable[[str], str]
"""The statements that check unused entries of the state with a suffix."""


def compute_statements(states: Sequence[str], names: Sequence[str], results: int, unused: UnusedChecks) -> list[str]:
    """Return the statements that compute results in registers from arguments of these names."""
    return [
        line
        for s in states
        for line in (
            f"real kept{s}[{results}];",
            f"Checked out{s} = {{kept{s}, 0}};{unused(s)}",
            f"const bool done{s} = body<false>({', '.join(f'{name}{s}' for name in names)}, out{s});",
        )
    ]


def check_statements(states: Sequence[str], indices: Sequence[str]) -> list[str]:
    """Return the statements that check the states with these indices, or mark them to be computed again."""
    return [
        f"""if (!done{s})
        mark(call, {index});
    else if (!is_finite(out{s}.sum) || call.good)
        check_state(call, {index}, out{s}.sum);"""
        for s, index in zip(states, indices, strict=True)
    ]


def lines(statements: Sequence[str], indent: int = 4) -> str:
    """Return statements as indented lines."""
    return ("\n" + " " * indent).join(statements)
