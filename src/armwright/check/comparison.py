"""The result of a comparison of two robots: differences, quantities over random states, and text, JSON or a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright.check.findings import text_table
from armwright.names import shown, tidy
from armwright.pages.report.plot import Table, figures, write

DIFFERENCE_KINDS = {
    "joint type": "a joint is revolute here and prismatic there",
    "base": "the robots are mounted at other poses",
    "sign": "a joint has the opposite sign",
    "offset": "a joint has another zero",
    "geometry": "the next axis is elsewhere: another length or twist",
    "tool": "the tool frames differ",
    "mass": "the masses of a link differ",
    "centre of mass": "it lies elsewhere on the link",
    "inertia": "the tensors about the centres of mass differ",
    "gravity": "another gravity",
    "coupling": "a joint follows others in one robot only, or by another rule",
    "rotor": "another rotor inertia at the joint",
    "spring": "another spring parallel to the joint",
    "compensation": "another part of the weight is compensated",
    "friction": "another viscous or Coulomb friction, or smoothing speed",
    "torque": "torques differ, and no difference above explains it",
    "limits": "other limits of position, speed or effort; never count",
    "names": "other names; never count",
}
"""Kinds of differences, each with its meaning."""

UNCOUNTED_KINDS = ("limits", "names")
"""Kinds that are listed and never count."""

QUANTITY_HEADS = ("quantity", "largest difference", "signs, zeros and base mapped", "allowed")


@dataclass(frozen=True)
class Difference:
    """One difference at a joint, a link, the base or the tool; `matters` if it makes the robots different."""

    kind: str
    where: str
    text: str
    matters: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class QuantityDifference:
    """The largest difference over all states: `worst` as written, `mapped` with signs, zeros and base mapped."""

    name: str
    unit: str
    worst: float
    mapped: float
    allowed: float


@dataclass(frozen=True)
class JointDifference:
    """The difference of the torques of one joint, relative to its largest one, with signs and zeros mapped."""

    joint: str
    gravity: float
    mass_matrix: float
    torque: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """The differences of two robots. `outermost` is the joint nearest to the tip whose motion reveals one."""

    names: tuple[str, str]
    tolerance: float
    differences: tuple[Difference, ...]
    quantities: tuple[QuantityDifference, ...] = ()
    joints: tuple[JointDifference, ...] = ()
    outermost: str | None = None

    @property
    def same(self) -> bool:
        """No difference matters."""
        return not any(difference.matters for difference in self.differences)

    def __repr__(self) -> str:
        verdict = "the same" if self.same else "different"
        return f"<{' and '.join(self.names)}: {verdict}, {len(self.differences)} differences listed>"

    def __str__(self) -> str:
        here, there = self.names
        parts = [f"{here} (here) and {there} (there)"]
        rows = [(d.where, d.kind, d.text + ("" if d.matters else " (does not count)")) for d in self.differences]
        parts[0] += f"\n{text_table(('where', 'kind', 'what'), rows)}" if rows else ""
        if self.quantities:
            parts.append(text_table(QUANTITY_HEADS, self.quantity_rows()))
        if self.outermost is not None:
            effects = [(j.joint, *(f"{x:.1e}" for x in (j.gravity, j.mass_matrix, j.torque))) for j in self.joints]
            parts.append(
                "effect on each joint, relative to its own torque\n"
                f"{text_table(('joint', 'gravity', 'mass matrix', 'torque'), effects)}\n"
                f"The outermost joint with a difference is {self.outermost}."
            )
        parts.append(f"the same to {self.tolerance:g}" if self.same else "different")
        return "\n\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, for JSON."""
        return {
            "robots": list(self.names),
            "same": self.same,
            "tolerance": self.tolerance,
            "differences": [vars(difference) for difference in self.differences],
            "quantities": [vars(quantity) for quantity in self.quantities],
            "joints": [vars(joint) for joint in self.joints],
            "outermost": self.outermost,
        }

    def to_json(self) -> str:
        """Return the comparison as JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def to_html(self, path: str | Path) -> Path:
        """Write a page with the differences and their effect on each joint; return its path."""
        here, there = map(shown, self.names)
        verdict = f"the same to {self.tolerance:g}" if self.same else "different"
        rows = [(d.where, d.kind, "counts" if d.matters else "does not count", d.text) for d in self.differences]
        tables: list[Table] = [("Differences", [("where", "kind", "counts", "what"), *rows])] if rows else []
        if self.quantities:
            tables.append(("Kinematics and dynamics", [QUANTITY_HEADS, *self.quantity_rows()]))
        if self.outermost is not None:
            effects = [(j.joint, tidy(j.gravity), tidy(j.mass_matrix), tidy(j.torque)) for j in self.joints]
            head = f"Effect on each joint, relative to its own torque; the outermost is {self.outermost}"
            tables.append((head, [("joint", "gravity", "mass matrix", "torque"), *effects]))
        title = f"{here} and {there}: {verdict}"
        text = f"{here} is called 'here', {there} 'there'."
        return write(path, figures(title, text, [], tables, "compare", {"counts": "bad", "does not count": "none"}))

    def quantity_rows(self) -> list[tuple[str, ...]]:
        """Return the rows below `QUANTITY_HEADS`."""
        return [(q.name, f"{tidy(q.worst)} {q.unit}", tidy(q.mapped), f"{q.allowed:.0e}") for q in self.quantities]
