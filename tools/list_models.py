"""Writes docs/models.md: every robot file of three packages, the chain that loads, or why none does.

pip install . example-robot-data rtb-data frax && python tools/list_models.py
"""

from __future__ import annotations

import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import armwright as aw
from armwright.model import urdf
from armwright.model.tree import pick
from armwright.study.frames import savings

TIPS = {  # where several chains are equally long
    "alex_nub_hands.urdf": "leftNub",
    "baxter.urdf": "left_hand_link",
    "centauro.urdf": "arm1_8",
    "g1_29dof_rev_1_0.urdf": "left_rubber_hand",
    "g1_29dof_with_hand_rev_1_0.urdf": "left_hand_palm_link",
    "human.urdf": "left_hand",
    "icub.urdf": "l_hand_dh_frame",
    "icub_reduced.urdf": "l_hand_dh_frame",
    "pr2.urdf": "l_gripper_palm_link",
    "romeo.urdf": "l_gripper",
    "romeo_small.urdf": "l_gripper",
    "simple_humanoid.urdf": "r_wrist",
    "talos_reduced.urdf": "gripper_left_base_link",
    "talos_left_arm.urdf": "gripper_left_base_link",
    "talos_full_v2.urdf": "gripper_left_base_link",
    "tiago.urdf": "arm_tool_link",
    "tiago_dual.urdf": "arm_left_tool_link",
}
PACKAGES = {
    "example-robot-data": ("cmeel.prefix/share/example-robot-data/robots", ("*.urdf",)),
    "rtb-data": ("rtbdata", ("*.urdf", "*.xacro")),
    "frax": ("frax/assets", ("*.urdf",)),
}


def rows(package: str) -> list[tuple[str, str, str]]:
    spec = find_spec("numpy")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent.parent / PACKAGES[package][0]
    files = sorted(path for pattern in PACKAGES[package][1] for path in folder.rglob(pattern))
    found = []
    for path in files:
        tip = TIPS.get(path.name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arm = aw.load(path, tip=tip)
            chain = arm.source.split("\n", maxsplit=1)[0].split(", ", 1)[1]
            asked = f" (`tip={tip!r}`)" if tip else ""
            found.append((str(path.relative_to(folder)), f"{arm.n} joints, {arm.joint_types}", chain + asked))
        except aw.ArmwrightError as error:
            reason = str(error).replace(str(folder) + "/", "").replace("|", "/").replace("\n", " ")
            found.append((str(path.relative_to(folder)), "-", reason if len(reason) < 200 else reason[:200] + " ..."))
    return found


SAVED = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_robot.urdf",
    "kinova_description/robots/kinova.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "tiago_description/robots/tiago_no_hand.urdf",
)


def saved() -> list[str]:
    """What canonical frames and base parameters save, as rows of a table."""
    folder = Path(str(find_spec("numpy").origin)).parent.parent / PACKAGES["example-robot-data"][0]  # type: ignore[union-attr]
    lines = [
        "",
        "## What canonical frames save",
        "",
        "Multiplications and additions of inverse dynamics, links alone: Newton-Euler in the frames of the file, Newton-Euler",
        "in canonical frames, and what is compiled by default (canonical frames, base parameters, the cheapest formulation).",
        "",
        "| file | in its own frames | canonical | compiled |",
        "|---|---|---|---|",
    ]
    for name in SAVED:
        picked = pick(urdf.read(folder / name))
        counts = savings(picked.placed, picked.description)
        numbers = [f"{c.multiplications} / {c.additions}" for c in (counts.file, counts.canonical, counts.compiled)]
        lines.append(f"| {Path(name).name} | {' | '.join(numbers)} |")
        print(lines[-1])
    return lines


def main() -> None:
    text = [
        "# Robot files tried",
        "",
        "Written by `python tools/list_models.py`. Thirty of these chains are compared with Pinocchio reading the same file, on",
        "100 random states each, to 1e-10: inverse and forward dynamics, mass matrix, gravity torque and tip pose",
        "(`tests/test_urdf.py`). Where several chains are equally long, a tip has to be chosen.",
    ]
    for package in PACKAGES:
        listed = rows(package)
        good = sum(row[1] != "-" for row in listed)
        text += ["", f"## {package} {version(package)}", "", f"{good} of {len(listed)} files load.", ""]
        text += ["| file | chain | from, to, or why not |", "|---|---|---|"]
        text += [f"| {file} | {chain} | {where} |" for file, chain, where in listed]
    text += saved()
    (Path(__file__).parent.parent / "docs/models.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
