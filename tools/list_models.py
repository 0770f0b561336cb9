"""Writes docs/models.md: every robot file of three packages, the robot that loads, or why none does.

pip install . pin example-robot-data rtb-data frax && python tools/list_models.py
"""

from __future__ import annotations

import warnings
from importlib.metadata import distribution, version
from pathlib import Path

import numpy as np
import pinocchio as pin
from frame_savings import Savings, savings
from whole_robots import Peer

import armwright as aw
from armwright.check.evaluation import evaluate, random_states, relative_difference, rigid_bodies_only
from armwright.graph import OperationCount
from armwright.model import urdf, xacro, xml
from armwright.model.tree_selection import Selection, select

TIPS = {  # of the chains whose operations are counted in robots that have branches
    "alex_nub_hands.urdf": "leftNub",
    "baxter.urdf": "left_hand_link",
    "centauro.urdf": "arm1_8",
    "g1_29dof_rev_1_0.urdf": "left_rubber_hand",
    "g1_29dof_with_hand_rev_1_0.urdf": "left_hand_palm_link",
    "anymal-kinova.urdf": "j2s6s200_end_effector",
    "human.urdf": "left_hand",
    "icub.urdf": "l_hand_dh_frame",
    "icub_reduced.urdf": "l_hand_dh_frame",
    "kinova.urdf": "j2s6s200_end_effector",
    "panda.urdf": "panda_hand_tcp",
    "panda_collision.urdf": "panda_hand_tcp",
    "pr2.urdf": "l_gripper_palm_link",
    "romeo.urdf": "l_gripper",
    "romeo_small.urdf": "l_gripper",
    "simple_humanoid.urdf": "r_wrist",
    "talos_reduced.urdf": "gripper_left_base_link",
    "talos_left_arm.urdf": "gripper_left_base_link",
    "talos_full_v2.urdf": "gripper_left_base_link",
    "tiago.urdf": "arm_tool_link",
    "tiago_dual.urdf": "arm_left_tool_link",
    "tiago_no_hand.urdf": "wrist_ft_tool_link",
}
PACKAGES = {
    "example-robot-data": ("cmeel.prefix/share/example-robot-data/robots", ("*.urdf",)),
    "rtb-data": ("rtbdata", ("*.urdf", "*.xacro")),
    "frax": ("frax/assets", ("*.urdf",)),
}


def folder(package: str) -> Path:
    return Path(str(distribution(package).locate_file(PACKAGES[package][0])))


def files(package: str) -> list[Path]:
    return sorted(path for pattern in PACKAGES[package][1] for path in folder(package).rglob(pattern))


def rows(package: str) -> list[tuple[str, str, str, str]]:
    found = []
    for path in files(package):
        name = str(path.relative_to(folder(package)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arm = aw.load(path, visuals=False)
            what = arm.source.split("\n", maxsplit=1)[0].split(", ", 1)[1]
            follow = f", {len(arm.followers)} follow" if arm.followers else ""
            found.append((name, f"{arm.n} joints{follow}", what, deviation(path, arm)))
        except aw.ArmwrightError as error:
            reason = str(error).replace(f"{folder(package)}/", "").replace(str(folder(package).parent), "...")
            reason = reason.replace("|", "/").replace("\n", " ")
            found.append((name, "-", reason if len(reason) < 200 else reason[:200] + " ...", ""))
    return found


def deviation(path: Path, arm: aw.Robot) -> str:
    """From Pinocchio reading the same URDF, on 100 random states: the worst of torque, mass matrix and gravity."""
    if path.suffix != ".urdf":
        return "-"
    ours = rigid_bodies_only(arm.without_couplings())
    try:
        theirs = Peer(path, floating=False)
    except ValueError:
        return "it refuses the file"  # a link and a joint of the same name
    q, qd, qdd = random_states(ours, 100)
    there, rigid, worst = [theirs.position(x) for x in q], (theirs.model, theirs.data), 0.0
    for got, expected in (
        (
            evaluate(ours, "inverse_dynamics", q, qd, qdd),
            (pin.rnea(*rigid, *x) for x in zip(there, qd, qdd, strict=True)),
        ),
        (evaluate(ours, "gravity_torque", q), (pin.computeGeneralizedGravity(*rigid, x) for x in there)),
        (evaluate(ours, "mass_matrix", q), map(theirs.mass_matrix, there)),
    ):
        exact = np.array(list(expected))
        worst = max(worst, relative_difference(got, exact) if np.any(exact) else float(np.abs(got).max()))
    return f"{worst:.0e}"


def picked(path: Path) -> Selection:
    """A chain out of a file, and its joints as the file has them."""
    tree = urdf.tree_of(xacro.expand(path) if path.suffix == ".xacro" else xml.read(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return select(tree, tip=TIPS.get(path.name))


def counted() -> dict[str, Savings]:
    """What every chain that loads takes, by the name of its file."""
    found = {}
    for package in PACKAGES:
        for path in files(package):
            try:
                mechanism = picked(path)
            except aw.ArmwrightError:
                continue
            if mechanism.description.parents != tuple(range(-1, len(mechanism.file_joints) - 1)):
                continue
            name = path.name if path.name not in found else str(path.relative_to(folder(package)))
            found[name] = savings(mechanism.file_joints, mechanism.description)
    return found


INTRODUCTION = """
## What canonical frames save

Multiplications and additions of inverse dynamics, links alone, for chains out of these files that have mass. First Newton-Euler as
published, which follows the origins of frames and the centres of mass: in the frames of the file and in canonical ones.
Then the cheapest recursion on base parameters, again in both; the last column is what is compiled by default. All four
are counted by the same code (`tools/frame_savings.py`).
"""

NOTES = """
Some files have 1.5708 or 1.57079632679 for a right angle. Their normals meet a little off the origins of the file, and the code
contains each of these distances and angles: nothing is straightened without `straighten=`. With
right angles in the files, as in the packaged arms, canonical frames save there too.
"""


def told(what: str, pairs: list[tuple[str, OperationCount, OperationCount]]) -> str:
    """On how many chains canonical frames save, and on which they cost."""
    less = sum(new.total < old.total for _, old, new in pairs)
    more = [name for name, old, new in pairs if new.total > old.total]
    costs = f"cost on {len(more)} ({', '.join(more)})" if more else "cost on none"
    return f"{what}, canonical frames save on {less} of {len(pairs)} chains, equal on {len(pairs) - less - len(more)}, {costs}."


def saved() -> list[str]:
    """What canonical frames and base parameters save, as rows of a table."""
    counts = {name: saving for name, saving in counted().items() if saving.file.total}
    lines = [
        *INTRODUCTION.splitlines(),
        "",
        told("As published", [(name, s.file, s.canonical) for name, s in counts.items()]),
        told("On base parameters", [(name, s.file_base, s.compiled) for name, s in counts.items()]),
        *NOTES.splitlines(),
        "",
        "| file | as published, in its frames | canonical | on base parameters, in its frames | canonical: compiled |",
        "|---|---|---|---|---|",
    ]
    for name, s in counts.items():
        columns = (s.file, s.canonical, s.file_base, s.compiled)
        lines.append(f"| {name} | {' | '.join(f'{c.multiplications} / {c.additions}' for c in columns)} |")
        print(lines[-1])
    return lines


def main() -> None:
    text = [
        "# Tested robot files",
        "",
        "Written by `python tools/list_models.py`. The last column is the largest difference from Pinocchio reading the same",
        "URDF, relative to the largest entry, of inverse dynamics, mass matrix and gravity torque on 100 random states, of the",
        "whole robot. `tests/test_whole_robots.py` has some of them, standing and floating, `tests/test_urdf.py` thirty chains out",
        "of them, and `tools/whole_robots.py` compares everything else that Pinocchio has.",
    ]
    for package in PACKAGES:
        listed = rows(package)
        good = sum(row[1] != "-" for row in listed)
        text += ["", f"## {package} {version(package)}", "", f"{good} of {len(listed)} files load.", ""]
        text += ["| file | robot | from, to, or why not | from Pinocchio |", "|---|---|---|---|"]
        text += [f"| {' | '.join(row)} |" for row in listed]
    text += saved()
    (Path(__file__).parent.parent / "docs/models.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
