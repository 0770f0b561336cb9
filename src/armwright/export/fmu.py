"""A robot as a functional mock-up unit of FMI 3.0: forward dynamics for a solver, other functions as outputs.

With forward dynamics among the functions, q and qd are states; without, they are inputs. Parameters that vary are
parameters, all other arguments are inputs, and the result of a function is an output with its name.
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
from armwright.backends.text.fmu import FmuModel, VariableBlock
from armwright.errors import ArmwrightError, InputError
from armwright.export.names import argument_names, comment_text
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.model.robot_parameters import parameter_values

FORWARD_DYNAMICS, DESCRIPTION_FILE = "forward_dynamics", "modelDescription.xml"
FMI_HEADERS = ("fmi3Functions.h", "fmi3FunctionTypes.h", "fmi3PlatformTypes.h")
_STATE_UNITS = {"q": ("rad", "m"), "qd": ("rad/s", "m/s"), "qdd": ("rad/s2", "m/s2"), "tau": ("N.m", "N")}
_PARAMETER_UNITS = {"mass": "kg", "com": "m", "inertia": "kg.m2", "gravity": "m/s2"}
_TORQUE_FUNCTIONS = ("inverse_dynamics", "bias", "gravity_torque")


def unit(
    robot: Description, tool: str, programs: Mapping[str, Program], code: c.HeaderNotes, vary: tuple[str, ...]
) -> bytes:
    """Return the bytes of the unit: description, sources, and a library for this machine."""
    if FORWARD_DYNAMICS in programs and robot.balls:
        raise InputError(
            f"{robot.name} has ball, free or planar joints, whose quaternions are no states of a unit; expected a "
            f"robot without, or functions without {FORWARD_DYNAMICS}: then q and qd are inputs"
        )
    prefix, blocks = code.prefix, _blocks(robot, programs, vary)
    model = FmuModel(prefix, code.title, tool, _token(code, programs, blocks), blocks, _calls(programs))
    sources = c.files(code, programs, {}, double=True)
    texts = {
        **{name: sources[name] for name in (f"{prefix}.h", f"{prefix}.c")},
        **{name: (_header_folder() / name).read_text(encoding="utf-8") for name in FMI_HEADERS},
        "model.h": fmu.header(model),
        "fmu.c": fmu.source(),
        "buildDescription.xml": fmu.build_description(model),
    }
    folder, ending = _platform()
    return _archive(
        {
            DESCRIPTION_FILE: fmu.description(model).encode(),
            **{f"sources/{name}": text.encode() for name, text in texts.items()},
            f"binaries/{folder}/{prefix}{ending}": _library(prefix, texts),
        }
    )


def _token(code: c.HeaderNotes, programs: Mapping[str, Program], blocks: list[VariableBlock]) -> str:
    """Return the instantiation token, a digest of the unit."""
    content = code.version, code.digest, [(name, p.digest()) for name, p in programs.items()], blocks
    return hashlib.sha256(repr(content).encode()).hexdigest()


def _archive(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive; the same files always give the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            readable = name == DESCRIPTION_FILE  # its mark identifies an exported unit
            archive.writestr(entry, content, zipfile.ZIP_STORED if readable else zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _calls(programs: Mapping[str, Program]) -> dict[str, tuple[Program, str]]:
    """Return each program with the name of the variables it fills."""
    return {name: (program, "qd" if name == FORWARD_DYNAMICS else name) for name, program in programs.items()}


def _blocks(robot: Description, programs: Mapping[str, Program], vary: tuple[str, ...]) -> list[VariableBlock]:
    varied = {argument: name for name, argument in argument_names(vary).items()}
    sizes = {name: len(inputs) for program in programs.values() for name, inputs in program.arguments}
    has_states = FORWARD_DYNAMICS in programs
    blocks = [_argument_block(robot, name, size, varied.get(name), has_states) for name, size in sizes.items()]
    if has_states:
        blocks += [VariableBlock(name, "derivative", (robot.n,)) for name in ("q", "qd")]
    for name, program in programs.items():
        if name != FORWARD_DYNAMICS:
            quantity = "tau" if name in _TORQUE_FUNCTIONS else ""
            blocks.append(_with_joints(robot, VariableBlock(name, "output", program.shape), quantity))
    return blocks


def _argument_block(robot: Description, name: str, size: int, parameter: str | None, has_states: bool) -> VariableBlock:
    """Return the block of an argument; `parameter` is the name of a parameter of the robot."""
    if parameter is not None:
        numbers, quantity = parameter_values(robot, parameter), parameter.rpartition(".")[2]
        units = [_PARAMETER_UNITS[quantity]] * size if quantity in _PARAMETER_UNITS else []
        shape, about = () if size == 1 else (size,), [comment_text(parameter)] * size
        return VariableBlock(name, "parameter", shape, numbers, about, units)
    if name == "q" and robot.balls:
        return VariableBlock(name, "input", (size,), robot.neutral.tolist())
    kind = "state" if has_states and name in ("q", "qd") else "input"
    return _with_joints(robot, VariableBlock(name, kind, (size,), [0.0] * size), name)


def _with_joints(robot: Description, block: VariableBlock, quantity: str) -> VariableBlock:
    """Return a block of one number per joint with the names of the joints and their units."""
    if quantity not in _STATE_UNITS or robot.balls:
        return block
    names = [comment_text(joint.name) for joint in robot.joints]
    return replace(block, about=names, units=[_STATE_UNITS[quantity][joint.prismatic] for joint in robot.joints])


def _header_folder() -> Path:
    """Return the folder of the headers of FMI, which FMPy contains."""
    found = find_spec("fmpy")
    if found is None or found.origin is None:
        raise ArmwrightError("exporting to fmu needs the headers of FMI, which FMPy contains: pip install fmpy")
    return Path(found.origin).parent / "c-code"


def _platform() -> tuple[str, str]:
    """Return the name that FMI gives this machine, and the ending of its libraries."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    system = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}
    name, ending = system.get(sys.platform, (sys.platform, ".so"))
    return f"{machine}-{name}", ending


def _library(prefix: str, texts: Mapping[str, str]) -> bytes:
    """Return the compiled library of the sources."""
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
