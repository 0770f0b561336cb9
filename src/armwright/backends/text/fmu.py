"""Programs as a functional mock-up unit (FMI 3.0, model exchange): variables in XML, and in C that `fmu.c` includes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import NamedTuple
from xml.etree import ElementTree

from armwright.graph.program import Program

ORDER = ("parameter", "input", "state", "derivative", "output")
"""Of the kinds of variables, which is the order of their value references; time is 0."""

UNITS = {
    "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "kg": {"kg": 1}, "kg.m2": {"kg": 1, "m": 2},
    "N.m": {"kg": 1, "m": 2, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
}  # fmt: skip
"""By their exponents of SI units."""


@dataclass(frozen=True)
class Block:
    """Variables that are one array: what they are, where they start, and for each what it is of and in which unit."""

    name: str
    kind: str
    shape: tuple[int, ...]
    start: Sequence[float] = ()
    about: Sequence[str] = ()
    units: Sequence[str] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def names(self) -> list[str]:
        """Of every entry, counted from 1 as in Modelica; a derivative is der() of its state, whose name it has."""
        counted = ("[" + ",".join(str(k + 1) for k in place) + "]" for place in product(*map(range, self.shape)))
        plain = [self.name + (index if self.shape else "") for index in counted]
        return [f"der({name})" for name in plain] if self.kind == "derivative" else plain


class Model(NamedTuple):
    """What a unit is made of. `calls` fill an output, or derivatives, by a program of the variables it names."""

    prefix: str
    title: str
    tool: str
    token: str
    blocks: Sequence[Block]
    calls: Mapping[str, tuple[Program, str]]

    def placed(self) -> Iterator[tuple[Block, int]]:
        """Every block with its first value reference."""
        first = 1
        for kind in ORDER:
            for block in self.blocks:
                if block.kind == kind:
                    yield block, first
                    first += block.size


def header(model: Model) -> str:
    """model.h: sizes, starting values, and everything computed from what is set."""
    places = {(block.name, block.kind == "derivative"): first for block, first in model.placed()}
    sizes = {kind: sum(block.size for block in model.blocks if block.kind == kind) for kind in ORDER}
    set_from_outside = sum(sizes[kind] for kind in ("parameter", "input", "state"))
    start = [repr(float(x)) for block, _ in model.placed() for x in block.start]
    lines = [
        f"    {model.prefix}_{function}("
        + ", ".join(f"v + {places[name, False]}" for name in [argument for argument, _ in program.arguments])
        + f", v + {places[into, into in ('q', 'qd')]});"
        for function, (program, into) in model.calls.items()
    ]
    if sizes["state"]:
        n = sizes["state"] // 2
        lines.append(f"    memcpy(v + {places['q', True]}, v + {places['qd', False]}, {n} * sizeof *v);")
    return (
        f'#include "{model.prefix}.h"\n\n#define TOKEN "{model.token}"\n#define VARIABLES {1 + sum(sizes.values())}\n'
        f"#define SETTABLE {1 + set_from_outside}\n#define FIRST_STATE {1 + set_from_outside - sizes['state']}\n"
        f"#define STATES {sizes['state']}\n\nstatic const double START[] = {{{', '.join(start)}}};\n\n"
        "static void compute(double *v)\n{\n" + "\n".join(lines) + "\n}\n"
    )


def description(model: Model) -> str:
    """modelDescription.xml."""
    root = ElementTree.Element(
        "fmiModelDescription", fmiVersion="3.0", modelName=model.title, instantiationToken=model.token,
        generationTool=model.tool, variableNamingConvention="structured",
    )  # fmt: skip
    ElementTree.SubElement(root, "ModelExchange", modelIdentifier=model.prefix, canGetAndSetFMUState="true")
    units = ElementTree.SubElement(root, "UnitDefinitions")
    for name in sorted({unit for block in model.blocks for unit in block.units}):
        exponents = {base: str(exponent) for base, exponent in UNITS[name].items()}
        ElementTree.SubElement(ElementTree.SubElement(units, "Unit", name=name), "BaseUnit", exponents)
    if not len(units):
        root.remove(units)
    ElementTree.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1")
    variables = ElementTree.SubElement(root, "ModelVariables")
    ElementTree.SubElement(
        variables, "Float64", name="time", valueReference="0", causality="independent", variability="continuous"
    )
    states = {block.name: first for block, first in model.placed() if block.kind == "state"}
    structure = ElementTree.SubElement(root, "ModelStructure")
    told: dict[str, list[str]] = {"Output": [], "ContinuousStateDerivative": [], "InitialUnknown": []}
    for block, first in model.placed():
        for k, name in enumerate(block.names):
            ElementTree.SubElement(variables, "Float64", _attributes(block, name, first, k, states))
            for element in _IN_STRUCTURE[block.kind]:
                told[element].append(str(first + k))
    for element, references in told.items():
        for reference in references:
            ElementTree.SubElement(structure, element, valueReference=reference)
    return _text(root)


_CAUSALITY = {"parameter": "parameter", "input": "input", "state": "output", "derivative": "local", "output": "output"}
_IN_STRUCTURE = {
    "parameter": (), "input": (), "state": ("Output",), "derivative": ("ContinuousStateDerivative", "InitialUnknown"),
    "output": ("Output", "InitialUnknown"),
}  # fmt: skip


def _attributes(block: Block, name: str, first: int, k: int, states: Mapping[str, int]) -> dict[str, str]:
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


def build(model: Model) -> str:
    """buildDescription.xml, for who compiles the sources."""
    root = ElementTree.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ElementTree.SubElement(root, "BuildConfiguration", modelIdentifier=model.prefix)
    files = ElementTree.SubElement(configuration, "SourceFileSet", language="C99")
    for name in (f"{model.prefix}.c", "fmu.c"):
        ElementTree.SubElement(files, "SourceFile", name=name)
    ElementTree.SubElement(configuration, "Library", name="m")
    return _text(root)


def glue() -> str:
    """fmu.c: the functions of FMI around model.h."""
    return resources.files(__package__).joinpath("fmu.c").read_text(encoding="utf-8")


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
