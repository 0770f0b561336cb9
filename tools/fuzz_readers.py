"""Feeds damaged files and wrong arguments to everything that reads some: each must work or give an armwright error, soon.

    python tools/fuzz_readers.py 200000          # inputs in all; each is made from its own number, so a failure can be repeated
    python tools/fuzz_readers.py 200000 state    # the same, going on where the counts in the file `state` end
    python tools/fuzz_readers.py urdf 1234       # one input again

Robots are loaded and the book of rules asked about them; scenarios, measurements (CSV) and runs (Parquet) are read; studies
are asked for by wrong names and numbers; commands are called with wrong words. `SHARES` says how many of each.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet
from typer.testing import CliRunner

import armwright as aw
from armwright import scenario
from armwright.cli import app
from armwright.errors import ArmwrightError
from armwright.identify import measured_data as measured
from armwright.model import mjcf, toml, urdf, urdf_writer, xacro, xml
from armwright.model.tree_selection import select
from armwright.model.visual import Box, Capsule, Cylinder, Mesh, Visual
from armwright.robot import random_tree

SECONDS = 20
SHARES = {
    "urdf": 30, "xacro": 15, "mjcf": 4, "toml": 20, "scenario": 15, "csv": 5, "parquet": 5, "study": 4, "command": 2,
}  # fmt: skip
"""Of a hundred inputs."""

VALUES = (
    *(
        "[]",
        "{}",
        "[[]]",
        "[1, 2]",
        '["a"]',
        "[nan]",
        "{a = 1}",
        '""',
        '"x"',
        '"\\u0000"',
        '"\\u001b[31m"',
        "true",
        "nan",
        "inf",
    ),
    *(
        "-1",
        "0",
        "1",
        "1e308",
        "1e200",
        "1e-320",
        "9" * 400,
        "0x10",
        "2020-01-01",
        "[" * 300,
        "null",
        "-inf",
        '"pi"',
        '"90 deg"',
        '"250 mm"',
        '"450 deg/s"',
        '"1e300 kg mm^2"',
        '{length = "mm", angle = "deg"}',
    ),
    *('"base"', '"link1"', '"ball"', '"free"', '"planar"', '"helical"', '"screw"', "7", "[{}, {}]", "[{}, {}, {}]"),
    *("[1e200, 0, 0]", "[0, 0, 0]", "[1, 2, 3, 4, 5, 6]", "[[1, 2], [3]]", "[true, 1]", "1e30", '"quintic"', '"../x"'),
)
WORDS = [
    *("nan", "inf", "-inf", "1e400", "1e308", "-1", "0", "", " ", "1e-320", "9" * 400, "0x10", "1,5", "true", "None"),
    *(
        "../../../etc/passwd",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://x/y",
        "&amp;",
        "&lt;",
        "\ufffd",
        "\u202e",
    ),
    *(
        "revolute",
        "prismatic",
        "fixed",
        "floating",
        "planar",
        "continuous",
        "base_link",
        "world",
        "joint1",
        "link1",
        "tool",
    ),
    *(
        "${1/0}",
        "${a}",
        "${'a'*9**9}",
        "$(find x)",
        "$(arg y)",
        "${__import__('os')}",
        "${(1).__class__}",
        "$(eval 1+1)",
    ),
]
XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="len" value="0.3"/><xacro:arg name="side" default="left"/>
<xacro:macro name="arm" params="name parent *origin mass:=1.0">
<link name="${name}"><visual><origin xyz="0 0 ${len}"/><geometry><mesh filename="package://x/${name}.stl"/></geometry></visual><inertial><mass value="${mass}"/><inertia ixx="${mass*len**2}" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="${name}_joint" type="revolute"><parent link="${parent}"/><child link="${name}"/><xacro:insert_block name="origin"/>
<axis xyz="0 0 1"/><limit lower="${-pi}" upper="${pi}" effort="1" velocity="1"/></joint></xacro:macro>
<link name="base"/><xacro:arm name="a" parent="base"><origin xyz="0 0 ${len}" rpy="0 ${pi/2} 0"/></xacro:arm>
<xacro:if value="${len &gt; 0.2}"><xacro:arm name="b" parent="a" mass="2"><origin xyz="${len} 0 0"/></xacro:arm></xacro:if>
</robot>"""


OTHER = """<mujoco><worldbody><body name="inner"><joint name="inner" range="-1 1"/><inertial pos="0 0 0" mass="1"
diaginertia="1 1 1"/></body></worldbody></mujoco>"""
"""What a damaged MJCF file includes and attaches."""

SCENARIO = """robot = "arm.toml"
duration = 0.2
every = 0.1
q0 = [0, 0]
qd0 = [0.0, 0.0]
gravity = [0, 0, -9.81]
payload = {mass = 2.0, com = [0, 0, 0.1], inertia = [0, 0, 0, 0, 0, 0]}

[integrator]
method = "dop853"
rtol = 1e-6
step = 0.1

[trajectory]
type = "quintic"
times = [0, 1, 2]
points = [[0, 0], [1, 0.5], [0, 0]]

[torque]
law = "computed_torque"
kp = 100
kd = [20, 20]
limit = 200
friction = {viscous = 0.1, coulomb = 0.0, smooth = 0.0}
"""
COMMANDS = {
    "robots": ("--json",),
    "show": ("FILE", "puma560", "--tip", "--base", "--lock", "--package", "--arg", "--json"),
    "formulations": ("inverse_dynamics", "--json"),
    "count": ("FILE", "inverse_dynamics", "3", "rrr", "--robot", "--json"),
    "simulate": ("FILE", "FILE", "--motion", "FILE", "--data", "--noise", "--seed", "--tip"),
    "torques": ("FILE", "FILE", "--motion", "FILE", "--data", "--noise", "--seed", "--lock"),
    "excite": ("FILE", "--period", "--velocity", "--acceleration", "--every", "--seed", "-o"),
    "identify": ("FILE", "FILE", "--write", "--cutoff", "-o"),
    "check": ("FILE", "--json", "--fix", "--accept", "--tip"),
    "compare": ("FILE", "FILE", "--json", "--tip"),
    "precision": ("--states",),
    "crossing": ("--joints",),
    "reproduce": ("nobody",),
}
ENDINGS = (".urdf", ".toml", ".xacro", ".xml", ".csv", ".parquet", "")


@cache
def arm() -> aw.Robot:
    return aw.random_robot(2, 1, 0)


FURTHER = """
[base_link]
mass = 1.0
com = [0, 0, 0]
inertia = [1, 1, 1, 0, 0, 0]

[[link]]
name = "screw"
parent = "link2"
type = "helical"
pitch = 0.1
gamma = "90 deg"
alpha = 0.0
a = 0.1
y = 0.2
z = 0.3
mass = 1.0
com = [0, 0, 0]
inertia = [1, 1, 1, 0, 0, 0]

[[link]]
parent = 0
type = "universal"
alpha = 0.0
a = 0.1
d = 0.0
freedoms = [{viscous = 0.1, mimic = {joint = "joint5", factor = 2.0}}, {limits = [0.0, 1.0], joint = "other"}]
point_masses = [{mass = 1.0, at = [0, 0, 1]}]

[[frame]]
name = "seen"
link = "screw"
pose = [0, 0, 0, 0, 0, 0, 1]
"""
"""What the table of a tree has besides, after the rows of a robot of four links."""


@cache
def originals() -> dict[str, str]:
    """A good input of every kind that is a text."""
    four, tree = aw.random_robot(4, 1), random_tree(5, 2, floating=True)
    shapes = (Mesh("package://x/y.stl"), Box((1.0, 2.0, 3.0)), Cylinder(1.0, 2.0), Capsule(1.0, 2.0))
    seen = tuple(Visual(shape, rgba=(0.1, 0.2, 0.3, 1.0)) for shape in shapes)
    four = replace(four, base_visuals=seen, links=(replace(four.links[0], visuals=seen), *four.links[1:]))
    mesh = """<include file="other.xml"/><asset><mesh name="m" file="x/y.stl" refpos="1 2 3"/><model name="o" file="other.xml"/>
</asset><option density="0"><flag limit="disable"/></option><worldbody><attach model="o" body="inner" prefix="o_"/><geom
type="mesh" mesh="m"/>"""
    names = ",".join(["t", *(f"{name}{i}" for name in ("q", "qd", "qdd", "tau") for i in (1, 2))])
    rows = "".join(f"{k / 10}," + ",".join(f"{(k * i) % 7 / 7:.3f}" for i in range(1, 9)) + "\n" for k in range(30))
    return {
        "urdf": urdf_writer.urdf_text(four),
        "xacro": XACRO,
        "mjcf": mjcf.mjcf_text(tree).replace("<worldbody>", mesh),
        "toml": 'floating = false\ntip = "link4"\n'
        + four.to_toml()
        + FURTHER
        + "\n[payload]\nmass = 1.0\ncom = [0.1, 0, 0]\n",
        "scenario": SCENARIO,
        "csv": f"{names}\n{rows}",
        "parquet": recorded()[1],
    }


@cache
def recorded() -> tuple[pyarrow.Table, str]:
    """A run as a table, and what is written about it."""
    run = aw.simulate(arm(), duration=0.2, every=0.1)
    with tempfile.TemporaryDirectory() as folder:
        table = parquet.read_table(run.to_parquet(Path(folder) / "run.parquet"))
    return table, table.schema.metadata[b"armwright"].decode()


def revalued(data: str, rng: random.Random) -> str:
    """TOML or JSON with another value in one place, or without it, or with a key twice."""
    places = [k for k, c in enumerate(data) if c in "=:"]
    if not places:
        return data
    k = rng.choice(places) + 1
    ends = [e for c in "\n,}" if (e := data.find(c, k)) >= 0]
    lines = list(re.finditer(r"^\w+ =(?! \[\n)", data, re.MULTILINE))
    if rng.random() < 0.7 and lines:  # of all that a line says
        k = rng.choice(lines).end()
        ends = [data.find("\n", k)] if "\n" in data[k:] else []
    end = min(ends, default=len(data))
    return data[:k] + " " + rng.choice(VALUES) + data[end:]


def damaged(text: str, rng: random.Random) -> bytes:
    """The text with a few mistakes in it."""
    data = text
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        kind = rng.choice((0, 1, 2, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7) if "<" in text else (0, 1, 2, 3, 4, 6, 7, *[8] * 20))
        i, j = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        j = min(j, i + rng.choice((1, 5, 50, 500)))
        if kind == 0:
            data = data[:i] + data[j:]
        elif kind == 1:
            data = data[:j] + data[i:j] * rng.choice((1, 1, 2, 30)) + data[j:]
        elif kind == 2:
            data = data[:i] + rng.choice(WORDS) + data[i:]
        elif kind == 3:  # another value of an attribute
            quotes = [k for k, c in enumerate(data) if c == '"']
            if len(quotes) > 1:
                k = rng.randrange(0, len(quotes) - 1)
                data = data[: quotes[k] + 1] + rng.choice(WORDS) + data[quotes[k + 1] :]
        elif kind == 4:
            data = data[:i] + chr(rng.choice((0, 9, 38, 60, 62, 34, 127, 0xD7FF, 0x1F600))) + data[i + 1 :]
        elif kind == 5:
            parts = data.split("<")
            a, b = rng.randrange(len(parts)), rng.randrange(len(parts))
            parts[a], parts[b] = parts[b], parts[a]
            data = "<".join(parts)
        elif kind == 6:
            data = data[:i]
        elif kind == 8:  # another value of a key
            data = revalued(data, rng)
        else:
            data = data.replace(data[i:j], rng.choice(WORDS), 1) if i < j else data
        data = data[:200_000] or " "
    raw = bytearray(data.encode(errors="surrogatepass"))
    for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 1, 4))):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def made(kind: str, number: int) -> Any:
    """The input of that kind and number."""
    rng = random.Random(f"{kind} {number}")
    if kind == "study":
        return [
            rng.choice((*VALUES, *WORDS, *range(-2, 9), None, 3.5, [], {}, "newton_euler", "mass_matrix"))
            for _ in range(4)
        ]
    if kind == "command":
        return command(rng)
    if kind == "parquet" and rng.random() < 0.7:
        return json.dumps(changed(json.loads(originals()[kind]), rng)).encode()
    return damaged(originals()[kind], rng)


def changed(data: Any, rng: random.Random) -> Any:
    """JSON with another value in one place, or a list one entry shorter."""
    other = rng.choice((None, [], {}, -1, 1e400, "", "x", [1], [[]], {"a": 1}, True, 10**30))
    if not data or not isinstance(data, (dict, list)) or rng.random() < 0.1:
        return other
    key = rng.choice(list(data) if isinstance(data, dict) else range(len(data)))
    copy = data.copy()
    if rng.random() < 0.2:
        del copy[key]
    else:
        copy[key] = changed(data[key], rng)
    return copy


def command(rng: random.Random) -> list[str]:
    name = rng.choice(list(COMMANDS))
    words = [name]
    for word in COMMANDS[name]:
        if rng.random() < 0.7 or len(COMMANDS[name]) == 1:
            words.append(named_file(rng) if word == "FILE" else word)
            if word.startswith("-") and word != "--json":
                words.append(rng.choice((*WORDS, *VALUES, "1e-12", "joint1=x", named_file(rng))))
    return words if rng.random() < 0.8 else [*words, rng.choice(WORDS)]


def named_file(rng: random.Random) -> str:
    """A damaged file beside, a name that is none, or a good robot."""
    kind = rng.choice(("urdf", "toml", "xacro", "scenario", "csv", "robot"))
    if kind == "robot":
        return rng.choice(("puma560", "stanford", "gone.toml", "."))
    path = Path(f"given_{kind}{'.toml' if kind == 'scenario' else '.' + kind}")
    path.write_bytes(damaged(originals()[kind], rng) if rng.random() < 0.9 else originals()[kind].encode())
    return str(path)


def feed(kind: str, given: Any, path: Path) -> str:
    """What came of it: 'loaded', or the name of the armwright error; anything else is raised."""
    try:
        FEEDERS[kind](given, path)
    except ArmwrightError as error:
        str(error).encode()
        return type(error).__name__
    return "loaded"


def _tree(kind: str) -> Callable[[bytes, Path], object]:
    def read(data: bytes, path: Path) -> object:
        if kind == "urdf":
            tree = urdf.tree_of(xml.parse(data))
        else:
            path.write_bytes(data)
            path.with_name("other.xml").write_text(OTHER)
            tree = urdf.tree_of(xacro.expand(path)) if kind == "xacro" else mjcf.read(path)
        return aw.problems(aw.Robot.from_description(select(tree).description))

    return read


def _toml(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    return aw.problems(aw.Robot.from_fields(toml.read(path)))


def _scenario(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    return scenario.read(path, arm())


def _csv(data: bytes, path: Path) -> object:
    path.write_bytes(data)
    return measured.read(path, 2)


def _parquet(data: bytes, path: Path) -> object:
    """What is written about a run, damaged; or the file itself."""
    table, _ = recorded()
    parquet.write_table(table.replace_schema_metadata({b"armwright": data}), path)
    if data[:1] != b"{":
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 3] ^= 255
        path.write_bytes(bytes(raw[: len(raw) - len(data) % 3]))
    return aw.Run.from_parquet(path)


def _study(given: list[Any], _path: Path) -> object:
    problem, formulation, joints, other = given
    asked: list[Callable[[], object]] = [
        lambda: aw.count_operations(problem, formulation=formulation, joints=joints),
        lambda: aw.count_operations("inverse_dynamics", formulation=formulation, joints=joints),
        lambda: aw.compile(arm(), problem, formulation=formulation),
        lambda: aw.load(problem, tip=other),
        lambda: aw.formulations(problem),
        lambda: arm().with_payload(joints, com=other),
        lambda: arm().with_gravity(other),
        lambda: arm().forward_kinematics(other),
    ]
    return asked[len(repr(given)) % len(asked)]()


def _command(words: list[str], _path: Path) -> object:
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        raise ArmwrightError(result.output)
    return result


FEEDERS: dict[str, Callable[[Any, Path], object]] = {
    **{kind: _tree(kind) for kind in ("urdf", "xacro", "mjcf")},
    "toml": _toml,
    "scenario": _scenario,
    "csv": _csv,
    "parquet": _parquet,
    "study": _study,
    "command": _command,
}


def path_for(kind: str, folder: Path) -> Path:
    return folder / f"robot.{ {'mjcf': 'xml', 'scenario': 'toml'}.get(kind, kind) }"


def late(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def tried(kind: str, number: int, folder: Path) -> str:
    """What came of an input; a failure is told."""
    try:
        given = made(kind, number)
        signal.alarm(SECONDS)
        return feed(kind, given, path_for(kind, folder))
    except Exception as error:
        print(f"{kind} {number}: {type(error).__name__}: {str(error)[:200]!r}", flush=True)
        return "failure"
    finally:
        signal.alarm(0)


def main() -> int:
    signal.signal(signal.SIGALRM, late)
    told: Counter[str] = Counter()
    state = Path(sys.argv[2]).absolute() if len(sys.argv) > 2 and not sys.argv[2].isdigit() else None
    if state is not None and state.exists():
        told.update(json.loads(state.read_text()))
    begin = time.time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        if sys.argv[1] in SHARES:
            print(tried(sys.argv[1], int(sys.argv[2]), Path(folder)))
            return 0
        for kind, share in SHARES.items():
            done = sum(count for key, count in told.items() if key.split()[0] == kind)
            for number in range(done, int(sys.argv[1]) * share // 100):
                told[f"{kind} {tried(kind, number, Path(folder))}"] += 1
                if state is not None and number % 500 == 0:
                    state.write_text(json.dumps(told))
        if state is not None:
            state.write_text(json.dumps(told))
    for key, count in sorted(told.items()):
        print(f"{key:30} {count}")
    failures = sum(count for key, count in told.items() if key.endswith(" failure"))
    print(f"{sum(told.values())} inputs, {failures} failures, {time.time() - begin:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
