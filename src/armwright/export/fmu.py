"""A robot as a functional mock-up unit of FMI 3.0: forward dynamics for a solver elsewhere, all else as outputs.

With forward dynamics among the functions q and qd are states; without they are inputs. All other arguments of the
functions are inputs, those that vary are parameters, and what a function computes is an output of its name.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from armwright.backends.text import c, fmu
from armwright.backends.text.fmu import Block, Model
from armwright.errors import ArmwrightError, InputError
from armwright.export.names import arguments, shown
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.model.robot_parameters import parameter_values

FORWARD, DESCRIPTION = "forward_dynamics", "modelDescription.xml"
HEADERS = ("fmi3Functions.h", "fmi3FunctionTypes.h", "fmi3PlatformTypes.h")
_UNITS = {"q": ("rad", "m"), "qd": ("rad/s", "m/s"), "qdd": ("rad/s2", "m/s2"), "tau": ("N.m", "N")}
_OF_PARAMETERS = {"mass": "kg", "com": "m", "inertia": "kg.m2", "gravity": "m/s2"}
_TORQUES = ("inverse_dynamics", "bias", "gravity_torque")


def unit(robot: Description, tool: str, programs: Mapping[str, Program], code: c.About, vary: tuple[str, ...]) -> bytes:
    """The file: description, sources, and a library for this machine."""
    if FORWARD in programs and robot.balls:
        raise InputError(
            f"{robot.name} has ball, free or planar joints, whose quaternions are no states of a unit; expected a "
            f"robot without, or functions without {FORWARD}: then q and qd are inputs"
        )
    prefix, blocks = code.prefix, _blocks(robot, programs, vary)
    model = Model(prefix, code.title, tool, _token(code, programs, blocks), blocks, _calls(programs))
    written = c.files(code, programs, {}, double=True)
    texts = {
        **{name: written[name] for name in (f"{prefix}.h", f"{prefix}.c")},
        **{name: (_headers() / name).read_text(encoding="utf-8") for name in HEADERS},
        "model.h": fmu.header(model),
        "fmu.c": fmu.glue(),
        "buildDescription.xml": fmu.build(model),
    }
    folder, ending = _platform()
    return _zipped(
        {
            DESCRIPTION: fmu.description(model).encode(),
            **{f"sources/{name}": text.encode() for name, text in texts.items()},
            f"binaries/{folder}/{prefix}{ending}": _library(prefix, texts),
        }
    )


def _token(code: c.About, programs: Mapping[str, Program], blocks: list[Block]) -> str:
    """A name for exactly this unit."""
    told = code.version, code.digest, [(name, p.digest()) for name, p in programs.items()], blocks
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _zipped(packed: Mapping[str, bytes]) -> bytes:
    """The same bytes for the same files, whenever."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in packed.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            kind = zipfile.ZIP_STORED if name == DESCRIPTION else zipfile.ZIP_DEFLATED  # so that its mark can be read
            archive.writestr(entry, content, kind)
    return file.getvalue()


def _calls(programs: Mapping[str, Program]) -> dict[str, tuple[Program, str]]:
    return {name: (program, "qd" if name == FORWARD else name) for name, program in programs.items()}


def _blocks(robot: Description, programs: Mapping[str, Program], vary: tuple[str, ...]) -> list[Block]:
    opened = {argument: name for name, argument in arguments(vary).items()}
    sizes = {name: len(inputs) for program in programs.values() for name, inputs in program.arguments}
    blocks = [_given(robot, name, size, opened.get(name), FORWARD in programs) for name, size in sizes.items()]
    if FORWARD in programs:
        blocks += [Block("q", "derivative", (robot.n,)), Block("qd", "derivative", (robot.n,))]
    for name, program in programs.items():
        if name != FORWARD:
            blocks.append(_told(robot, Block(name, "output", program.shape), "tau" if name in _TORQUES else ""))
    return blocks


def _given(robot: Description, name: str, size: int, parameter: str | None, moving: bool) -> Block:
    """The block of an argument."""
    if parameter is not None:
        numbers, kind = parameter_values(robot, parameter), parameter.rpartition(".")[2]
        units = [_OF_PARAMETERS[kind]] * size if kind in _OF_PARAMETERS else []
        return Block(name, "parameter", () if size == 1 else (size,), numbers, [shown(parameter)] * size, units)
    if name == "q" and robot.balls:
        return Block(name, "input", (size,), robot.neutral.tolist())
    kind = "state" if moving and name in ("q", "qd") else "input"
    return _told(robot, Block(name, kind, (size,), [0.0] * size), name)


def _told(robot: Description, block: Block, quantity: str) -> Block:
    """A block with one number for each joint says of which and in which unit."""
    if quantity not in _UNITS or robot.balls:
        return block
    return replace(block, about=_joints(robot), units=_units(robot, quantity))


def _joints(robot: Description) -> list[str]:
    return [shown(joint.name) for joint in robot.joints]


def _units(robot: Description, name: str) -> list[str]:
    return [_UNITS[name][joint.prismatic] for joint in robot.joints]


def _headers() -> Path:
    """Those of the standard, as FMPy has them."""
    found = find_spec("fmpy")
    if found is None or found.origin is None:
        raise ArmwrightError("exporting to fmu needs the headers of FMI, which FMPy has: pip install fmpy")
    return Path(found.origin).parent / "c-code"


def _platform() -> tuple[str, str]:
    """What FMI calls this machine, and how its libraries end."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    system = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}
    name, ending = system.get(sys.platform, (sys.platform, ".so"))
    return f"{machine}-{name}", ending


def _library(prefix: str, texts: Mapping[str, str]) -> bytes:
    names = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    compiler = next((found for name in names if name and (found := shutil.which(name))), None)
    if compiler is None:
        raise ArmwrightError("exporting to fmu needs a C compiler: install gcc or clang, or name one in CC")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        flags = ["-std=c99", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
        command = [compiler, *flags, f"{prefix}.c", "fmu.c", "-o", "library", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ArmwrightError(f"{compiler} could not compile the unit: {done.stderr.strip()[-2000:]}")
        return Path(folder, "library").read_bytes()
