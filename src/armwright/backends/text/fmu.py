"""Programs as a functional mock-up unit (FMI 3.0, model exchange): its XML, and the C header that `fmu.c` includes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import NamedTuple
from xml.etree import ElementTree

from armwright.graph.program import Program

VARIABLE_KINDS = ("parameter", "input", "state", "derivative", "output")
"""The kinds of variables in the order of their value references; that of time is 0."""

BASE_UNITS = {
    "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "kg": {"kg": 1}, "kg.m2": {"kg": 1, "m": 2},
    "N.m": {"kg": 1, "m": 2, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
}  # fmt: skip
"""Units with their exponents of SI base units."""


@dataclass(frozen=True)
class VariableBlock:
    """The variables of one array: its name, kind and shape, and for each entry a start value, description and unit."""

    name: str
    kind: str
    shape: tuple[int, ...]
    start: Sequence[float] = ()
    about: Sequence[str] = ()
    units: Sequence[str] = ()

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def names(self) -> list[str]:
        """The names of the entries, counted from 1 as in Modelica; a derivative is der() of its state."""
        counted = ("[" + ",".join(str(k + 1) for k in place) + "]" for place in product(*map(range, self.shape)))
        plain = [self.name + (index if self.shape else "") for index in counted]
        return [f"der({name})" for name in plain] if self.kind == "derivative" else plain


class FmuModel(NamedTuple):
    """The content of a unit. Each of `calls` has a program of named variables, and the name of those it fills."""

    prefix: str
    title: str
    tool: str
    token: str
    blocks: Sequence[VariableBlock]
    calls: Mapping[str, tuple[Program, str]]

    def references(self) -> Iterator[tuple[VariableBlock, int]]:
        """Yield every block with the value reference of its first entry."""
        first = 1
        for kind in VARIABLE_KINDS:
            for block in self.blocks:
                if block.kind == kind:
                    yield block, first
                    first += block.size


def header(model: FmuModel) -> str:
    """Return model.h: sizes, start values, and the function that computes derivatives and outputs."""
    first = {(block.name, block.kind == "derivative"): reference for block, reference in model.references()}
    sizes = {kind: sum(block.size for block in model.blocks if block.kind == kind) for kind in VARIABLE_KINDS}
    settable = sum(sizes[kind] for kind in ("parameter", "input", "state"))
    start = [repr(float(x)) for block, _ in model.references() for x in block.start]
    lines = [
        f"    {model.prefix}_{function}("
        + ", ".join(f"v + {first[name, False]}" for name in [argument for argument, _ in program.arguments])
        + f", v + {first[into, into in ('q', 'qd')]});"
        for function, (program, into) in model.calls.items()
    ]
    if sizes["state"]:
        n = sizes["state"] // 2
        lines.append(f"    memcpy(v + {first['q', True]}, v + {first['qd', False]}, {n} * sizeof *v);")
    return (
        f'#include "{model.prefix}.h"\n\n#define TOKEN "{model.token}"\n#define VARIABLES {1 + sum(sizes.values())}\n'
        f"#define SETTABLE {1 + settable}\n#define FIRST_STATE {1 + settable - sizes['state']}\n"
        f"#define STATES {sizes['state']}\n\nstatic const double START[] = {{{', '.join(start)}}};\n\n"
        "static void compute(double *v)\n{\n" + "\n".join(lines) + "\n}\n"
    )


def description(model: FmuModel) -> str:
    """Return modelDescription.xml."""
    root = ElementTree.Element(
        "fmiModelDescription", fmiVersion="3.0", modelName=model.title, instantiationToken=model.token,
        generationTool=model.tool, variableNamingConvention="structured",
    )  # fmt: skip
    ElementTree.SubElement(root, "ModelExchange", modelIdentifier=model.prefix, canGetAndSetFMUState="true")
    units = ElementTree.SubElement(root, "UnitDefinitions")
    for name in sorted({unit for block in model.blocks for unit in block.units}):
        exponents = {base: str(exponent) for base, exponent in BASE_UNITS[name].items()}
        ElementTree.SubElement(ElementTree.SubElement(units, "Unit", name=name), "BaseUnit", exponents)
    if not len(units):
        root.remove(units)
    ElementTree.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1")
    variables = ElementTree.SubElement(root, "ModelVariables")
    ElementTree.SubElement(
        variables, "Float64", name="time", valueReference="0", causality="independent", variability="continuous"
    )
    states = {block.name: first for block, first in model.references() if block.kind == "state"}
    structure = ElementTree.SubElement(root, "ModelStructure")
    unknowns: dict[str, list[str]] = {"Output": [], "ContinuousStateDerivative": [], "InitialUnknown": []}
    for block, first in model.references():
        for k, name in enumerate(block.names):
            ElementTree.SubElement(variables, "Float64", _attributes(block, name, first, k, states))
            for element in _IN_STRUCTURE[block.kind]:
                unknowns[element].append(str(first + k))
    for element, references in unknowns.items():
        for reference in references:
            ElementTree.SubElement(structure, element, valueReference=reference)
    return _text(root)


_CAUSALITY = {"parameter": "parameter", "input": "input", "state": "output", "derivative": "local", "output": "output"}
_IN_STRUCTURE = {
    "parameter": (), "input": (), "state": ("Output",), "derivative": ("ContinuousStateDerivative", "InitialUnknown"),
    "output": ("Output", "InitialUnknown"),
}  # fmt: skip


def _attributes(block: VariableBlock, name: str, first: int, k: int, states: Mapping[str, int]) -> dict[str, str]:
    attributes = {"name": name, "valueReference": str(first + k), "causality": _CAUSALITY[block.kind]}
    attributes["variability"] = "tunable" if block.kind == "parameter" else "continuous"
    if block.start:
        attributes["start"] = repr(float(block.start[k]))
    if block.kind == "state":
        attributes["initial"] = "exact"
    if block.kind == "derivative":
        attributes["derivative"] = str(states[block.name] + k)
    if block.about:
        attributes["description"] = block.about[k]
    if block.units:
        attributes["unit"] = block.units[k]
    return attributes


def build_description(model: FmuModel) -> str:
    """Return buildDescription.xml, for tools that compile the sources."""
    root = ElementTree.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ElementTree.SubElement(root, "BuildConfiguration", modelIdentifier=model.prefix)
    files = ElementTree.SubElement(configuration, "SourceFileSet", language="C99")
    for name in (f"{model.prefix}.c", "fmu.c"):
        ElementTree.SubElement(files, "SourceFile", name=name)
    ElementTree.SubElement(configuration, "Library", name="m")
    return _text(root)


def source() -> str:
    """Return fmu.c, the functions of FMI around model.h."""
    return resources.files(__package__).joinpath("fmu.c").read_text(encoding="utf-8")


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
