"""The units of a DH table as its author wrote it, row by row: once it is canonical, lengths stand with other joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from armwright.model.description import JointModel
from armwright.rules.bodies import LONGEST
from armwright.rules.facts import AngleFacts, JointFacts
from armwright.rules.joints import angle_in_degrees, limits_in_degrees
from armwright.rules.problem import Problem


def doubtful_units(written: Sequence[JointModel], centres: Sequence[Sequence[float]]) -> Iterator[Problem]:
    """Lengths that look like millimetres and angles that look like degrees; `centres` are the centres of mass."""
    for row, com in zip(written, centres, strict=True):
        lengths = {"a": (row.a,), "d": (row.d,), "com": tuple(com), "limits": row.limits if row.prismatic else None}
        for key, values in lengths.items():
            if values and LONGEST < max(map(abs, values)) < float("inf"):
                said = f"{values[0]:g}" if len(values) == 1 else [float(f"{x:g}") for x in values]
                yield Problem("millimetres", row.name, "warning", f"{key} = {said} would be metres; millimetres?")
        angles = [
            AngleFacts(row.name, key, (x,), (f"{x:.15g}",)) for key, x in (("alpha", row.alpha), ("theta", row.theta))
        ]
        found = [doubt for facts in angles for doubt in angle_in_degrees(facts)]
        found += limits_in_degrees(JointFacts(row.name, not row.prismatic, row.limits))
        for doubt in found:
            yield Problem("degrees", row.name, doubt.severity, doubt.text)
