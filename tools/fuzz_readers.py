"""Feeds damaged robot files to the three readers: every one must load or give an armwright error, within seconds.

    python tools/fuzz_readers.py 200000          # inputs in all; each is made from its own number, so a failure can be repeated
    python tools/fuzz_readers.py urdf 1234       # one input again

URDF gets six tenths of the inputs, xacro three, MJCF one (MuJoCo compiles each that gets so far).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import armwright as aw
from armwright.errors import ArmwrightError
from armwright.model import mjcf, urdf, xacro, xml
from armwright.model.tree import pick
from armwright.model.visual import Box, Capsule, Cylinder, Mesh, Visual

SECONDS = 5
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


def originals() -> dict[str, str]:
    arm = aw.random_robot(4, 1)
    shapes = (Mesh("package://x/y.stl"), Box((1.0, 2.0, 3.0)), Cylinder(1.0, 2.0), Capsule(1.0, 2.0))
    seen = tuple(Visual(shape, rgba=(0.1, 0.2, 0.3, 1.0)) for shape in shapes)
    arm = replace(arm, base_visuals=seen, links=(replace(arm.links[0], visuals=seen), *arm.links[1:]))
    mesh = '<asset><mesh name="m" file="x/y.stl" refpos="1 2 3"/></asset><worldbody><geom type="mesh" mesh="m"/>'
    return {"urdf": urdf.text(arm), "xacro": XACRO, "mjcf": mjcf.text(arm).replace("<worldbody>", mesh)}


def damaged(text: str, rng: random.Random) -> bytes:
    """The text with a few mistakes in it."""
    data = text
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        kind = rng.choice((0, 1, 2, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7))
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
        else:
            data = data.replace(data[i:j], rng.choice(WORDS), 1) if i < j else data
        data = data[:200_000] or " "
    raw = bytearray(data.encode(errors="surrogatepass"))
    for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 1, 4))):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def feed(reader: str, data: bytes, path: Path) -> str:
    """What came of it: 'loaded', or the name of the armwright error; anything else is raised."""
    try:
        if reader == "urdf":
            tree = urdf.tree_of(xml.parse(data))
        else:
            path.write_bytes(data)
            tree = urdf.tree_of(xacro.expand(path)) if reader == "xacro" else mjcf.read(path)
        pick(tree)
    except ArmwrightError as error:
        return type(error).__name__
    return "loaded"


def late(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> int:
    texts = originals()
    signal.signal(signal.SIGALRM, late)
    jobs = [("urdf", 6), ("xacro", 3), ("mjcf", 1)]
    if sys.argv[1] in texts:
        jobs, numbers = [(sys.argv[1], 1)], [int(sys.argv[2])]
    else:
        numbers = []
    told: Counter[tuple[str, str]] = Counter()
    failures, begin = 0, time.time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        for reader, share in jobs:
            path = Path(folder) / f"robot.{'xml' if reader == 'mjcf' else reader}"
            for number in numbers or range(int(sys.argv[1]) * share // 10):
                data = damaged(texts[reader], random.Random(f"{reader} {number}"))
                signal.alarm(SECONDS)
                try:
                    told[reader, feed(reader, data, path)] += 1
                except Exception as error:
                    failures += 1
                    print(f"{reader} {number}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                finally:
                    signal.alarm(0)
    for (reader, what), count in sorted(told.items()):
        print(f"{reader:6} {what:20} {count}")
    print(f"{sum(told.values())} inputs, {failures} failures, {time.time() - begin:.0f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
