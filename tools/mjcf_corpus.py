"""Load every MJCF file below a folder and compare each robot with MuJoCo reading the same file.

    python tools/mjcf_corpus.py FOLDER [part of a path ...] [--states 3] [--seconds 60] [--workers 1] [--strict] [-v]

Mass matrix, torques (gravity, Coriolis, springs, damping, armature) and positions of bodies are compared at random states,
relative to the largest entry; limits, dry friction and the number of equations exactly. What the warning of the file names as
not taken over is taken out of MuJoCo's model first, so a difference that no warning names is a disagreement. Files that lead
out of their folder are tried again with `packages=` naming FOLDER, unless --strict. Each file has a process of its own, which
ends after SECONDS. The summary has the number of files by outcome, and refusals by reason; the exit status is 1 after a bare
error or a disagreement.
"""

from __future__ import annotations

import argparse
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from mujoco_oracle import mass_matrix, state_there

import armwright as aw
from armwright.check.evaluation import random_states, relative_difference
from armwright.model.mjcf import unsupported
from armwright.model.mjcf.link_builder import LinkBuilder
from armwright.model.mjcf.mujoco_engine import quiet, refusals
from armwright.trace import evaluation_strategy

AGREE = 1e-11
OUTSIDE = re.compile("leads out of|not in the model's folder|below the model's folder")
ROOT = re.compile(rb"(?>\s+|\xef\xbb\xbf|<\?(?:(?!\?>).)*+\?>|<!--(?:(?!-->).)*+-->)*+<mujoco[\s/>]", re.DOTALL)
"""A model starts so; a file that starts otherwise is for others to include."""
FLAGS = mujoco.mjtDisableBit


def found_in(folder: Path, parts: list[str]) -> list[Path]:
    """The MJCF files below a folder; of those with the same content and name in folders of the same name the first."""
    files: dict[tuple[str, str, bytes], Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".xml", ".mjcf") and path.is_file() and ROOT.match(data := path.read_bytes()):
            files.setdefault((path.parent.name, path.name, data), path)
    return [path for path in files.values() if any(part in str(path) for part in parts or [""])]


def outcome(path: Path, folder: Path, count: int, strict: bool) -> tuple[str, str]:
    """What came of a file, and the reason or the largest difference."""
    packages = None
    for packages in (None,) if strict else (None, {"corpus": folder}):
        try:
            robot, told = loaded(path, packages)
            break
        except aw.ArmwrightError as error:
            reason = str(error).split("\n")[0]
            if strict or packages or not OUTSIDE.search(reason):
                return "refused", reason
    try:
        with quiet(mujoco):
            model = mujoco.MjModel.from_xml_path(str(path))
    except refusals(mujoco) as error:
        return "loaded, refused by MuJoCo", str(error).split("\n")[0]
    worst, what = max(differences(robot, exact(model, path), told, count), default=(0.0, "nothing"))
    text = f"{what} {worst:.1e}" + (f" (not taken over: {'; '.join(told[:4])})" if told else "")
    if not worst <= AGREE:
        return "disagrees", text
    return "agrees but for what its warning names" if told else "agrees", text


def loaded(path: Path, packages: Any) -> tuple[aw.Robot, list[str]]:
    """The robot, and what its warning names as not taken over."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = aw.load(path, packages=packages)
    texts = [str(warning.message).split(": not taken over: ", 1) for warning in caught]
    return robot, [part for text in texts if len(text) == 2 for part in text[1].split("; ")]


def exact(model: Any, path: Path) -> Any:
    """The model with the names for joints without one that the reader gives them, and without simplified bodies."""
    names = LinkBuilder(mujoco, model, {}).joint_names
    with quiet(mujoco):
        spec = mujoco.MjSpec.from_file(str(path))
        spec.compile()
        for joint in list(spec.joints):
            joint.name = names[joint.id]
        for body in list(spec.bodies)[1:]:
            if hasattr(body, "simple"):
                body.simple = 0
        return spec.compile()


def differences(robot: aw.Robot, model: Any, told: list[str], count: int) -> Iterator[tuple[float, str]]:
    """How far the robot is from MuJoCo's model, and in what."""
    disabled = int(model.opt.disableflags)
    without(model, told)
    yield from fixed_values(robot, model, disabled)
    yield from equations(robot, model, disabled, told)
    tree = replace(robot.map_joints(lambda joint: replace(joint, coulomb=0.0)), loops=())
    mujoco.mj_setConst(model, mujoco.MjData(model))
    model.body_sameframe[:] = 0  # or a body that is off by less than a micrometre would be centred in its frame
    model.opt.disableflags = disabled | FLAGS.mjDSBL_CONSTRAINT
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE)
    data = mujoco.MjData(model)
    for q, qd, qdd in zip(*random_states(tree, count), strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:], B = state_there(tree, model, q, qd, qdd)
        mujoco.mj_inverse(model, data)
        M, inertial = B.T @ mass_matrix(model, data) @ B, mass_matrix(model, data) @ data.qacc
        least = float(np.abs(B.T @ inertial).max(initial=0.0))
        yield relative_difference(tree.mass_matrix(q), M), "mass matrix"
        yield relative_difference(tree.inverse_dynamics(q, qd, qdd), B.T @ data.qfrc_inverse, least), "torques"
        yield places(tree, model, data, q), "positions of bodies"


def without(model: Any, told: list[str]) -> None:
    """Take out of MuJoCo's model what the reader says that it leaves out."""
    for text in told:
        if " of joint " in text:
            name = text.split(" of joint ")[1].removesuffix(" beyond the linear").removesuffix(" yields")
            joint = model.joint(name)
            dofs = slice(joint.dofadr[0], joint.dofadr[0] + (6, 3, 1, 1)[joint.type[0]])
            if text.endswith(" yields"):
                model.jnt_springyield[joint.id] = 0
            elif "spring" in text:
                model.jnt_stiffnesspoly[joint.id] = 0
            elif "beyond" in text:
                model.dof_dampingpoly[dofs] = 0
        elif "gravity compensation" in text:
            known = {model.body(i).name or f"body{i}": i for i in range(model.nbody)}
            model.body_gravcomp[known[text.split(" of body ")[1].partition(",")[0]]] = 0
        elif text.endswith("of the air"):
            model.opt.density = model.opt.viscosity = 0
        elif "tendon" in text:
            model.tendon_stiffness[:] = model.tendon_damping[:] = model.tendon_armature[:] = 0


def fixed_values(robot: aw.Robot, model: Any, disabled: int) -> Iterator[tuple[float, str]]:
    """Limits and dry friction of the joints, which the flags of the file may have switched off."""
    free, smooth = disabled & FLAGS.mjDSBL_LIMIT, disabled & FLAGS.mjDSBL_FRICTIONLOSS
    if disabled & FLAGS.mjDSBL_CONSTRAINT:
        free = smooth = True
    for row in robot.rows:
        if row.kind or row.name not in {model.joint(j).name for j in range(model.njnt)}:
            continue
        joint = model.joint(row.name)
        limits = tuple(joint.range.tolist()) if model.jnt_limited[joint.id] and not free else None
        if any(row.name in dict(follower.mimic.leaders) for follower in robot.followers if follower.mimic):
            continue  # the limits of its followers are among its own
        same = (row.limits is None) == (limits is None) and np.allclose(row.limits or 0, limits or 0, rtol=1e-12)
        yield 0.0 if same else np.inf, f"limits of {row.name}: {row.limits} for {limits}"
        rubbing = 0.0 if smooth else float(model.dof_frictionloss[joint.dofadr[0]])
        yield abs(row.coulomb - rubbing), f"dry friction of {row.name}"


def equations(robot: aw.Robot, model: Any, disabled: int, told: list[str]) -> Iterator[tuple[float, str]]:
    """Loops by their number, and couplings by what is left of them."""
    held = disabled & (FLAGS.mjDSBL_CONSTRAINT | FLAGS.mjDSBL_EQUALITY)
    active = [i for i in range(model.neq) if model.eq_active0[i] and not held]
    loops = [i for i in active if model.eq_type[i] <= int(mujoco.mjtEq.mjEQ_WELD) and _apart(model, i)]
    yield 0.0 if len(loops) == len(robot.loops) else np.inf, f"{len(robot.loops)} loops for {len(loops)}"
    q, qd, qdd = (x[0] for x in random_states(robot, 1))
    qpos = state_there(replace(robot, loops=()), model, q, qd, qdd)[0]
    curved = any("curved coupling" in text for text in told)
    for i in active:
        if model.eq_type[i] == mujoco.mjtEq.mjEQ_JOINT and not curved:
            one, two = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            x = qpos[model.jnt_qposadr[two]] - model.qpos0[model.jnt_qposadr[two]] if two >= 0 else 0.0
            other = np.polynomial.polynomial.polyval(x, model.eq_data[i][:5])
            off = qpos[model.jnt_qposadr[one]] - model.qpos0[model.jnt_qposadr[one]] - other
            yield abs(float(off)), f"coupling of {model.joint(one).name}"


def _apart(model: Any, i: int) -> bool:
    """Whether an equation holds two bodies that move against each other."""
    ids = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    if model.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
        ids = int(model.site_bodyid[ids[0]]), int(model.site_bodyid[ids[1]])
    return bool(model.body_weldid[ids[0]] != model.body_weldid[ids[1]])


def places(robot: aw.Robot, model: Any, data: Any, q: np.ndarray) -> float:
    """The largest distance of a body from where MuJoCo has it, relative to the size of the robot."""
    poses = [np.array(robot.base), *robot.link_poses(q)]
    seen = {frame.name: poses[frame.link + 1] @ np.array(frame.pose) for frame in robot.frames}
    names = [model.body(i).name for i in range(1, model.nbody)]
    missing = [name for name in names if name and name not in seen]
    if missing:
        return np.inf
    got = np.array([np.append(seen[name][:3, 3], seen[name][:3, :3]) for name in names if name])
    expected = np.array([np.append(data.body(name).xpos, data.body(name).xmat) for name in names if name])
    return relative_difference(got, expected, 1.0)


def tried(path: Path, folder: Path, count: int, strict: bool, seconds: float) -> tuple[str, str]:
    """The outcome of a file in a process of its own."""

    def child(pipe: Any) -> None:
        try:
            with quiet(mujoco):  # it would write a log where it works
                pipe.send(outcome(path, folder, count, strict))
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            pipe.send(("bare error", f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"))

    here, there = get_context("fork").Pipe()
    process = get_context("fork").Process(target=child, args=(there,))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(seconds) else ("late", f"more than {seconds:g} s")
    except EOFError:
        process.join()
        return "bare error", f"the process ended with {process.exitcode}"
    finally:
        process.kill()
        process.join()


def general(reason: str) -> str:
    """A reason without what is of one file only."""
    text = re.sub(r"\S*/\S*(\.xml|\.mjcf)(, line \d+)?:?|line \d+", "", reason, flags=re.IGNORECASE)
    text = re.sub(r"^.*?: no joint moves", "no joint moves", text)
    return re.sub(r"\(not taken over.*|'[^']*'|\"[^\"]*\"|\d+(\.\d+)?", "...", text).strip()[:110]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--states", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("-v", action="store_true", dest="verbose")
    chosen = parser.parse_args()
    evaluation_strategy.MAX_UNROLLED_JOINTS = 0  # as written: nothing is compiled
    unsupported.MAX_LISTED_EFFECTS = 10**6
    folder = chosen.folder.resolve()
    files = found_in(folder, chosen.parts)
    aw.load(Path(aw.__file__).parent / "model/library/rr.toml").mass_matrix([0.0, 0.0])  # imports what each would
    outcomes: Counter[str] = Counter()
    reasons: dict[str, Counter[str]] = {}
    with ThreadPoolExecutor(chosen.workers) as pool:
        jobs = pool.map(lambda p: tried(p, folder, chosen.states, chosen.strict, chosen.seconds), files)
        for path, (kind, text) in zip(files, jobs, strict=True):
            outcomes[kind] += 1
            reasons.setdefault(kind, Counter())[general(text)] += 1
            if chosen.verbose or kind in ("bare error", "disagrees", "late"):
                print(f"{path.relative_to(folder)}: {kind}: {text}", flush=True)
    for kind, number in outcomes.most_common():
        print(f"\n{number} {kind}")
        if not kind.startswith("agrees"):
            for reason, many in reasons[kind].most_common():
                print(f"  {many:5} {reason}")
    print(f"\n{len(files)} files")
    return int(outcomes["bare error"] + outcomes["disagrees"] > 0)


if __name__ == "__main__":
    sys.exit(main())
