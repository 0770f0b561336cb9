"""What `load` takes, what it refuses at once, and what it says: arguments, files that are none, long chains, notes."""

import os
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_case

import armwright as aw
from armwright.check import check
from armwright.errors import LockedWarning, ModelWarning, TipWarning
from armwright.files import contents
from armwright.formulations import find_formulation
from armwright.model import toml_lines, xml_writer
from armwright.model.records import Frame
from armwright.model.tree import MAX_JOINTS
from armwright.rules.massless_joints import massless_at, massless_by_matrix, massless_by_recursion

BODY = '<inertial><origin xyz="0.05 0 0"/><mass value="1"/><inertia ixx="0.012" iyy="0.01" izz="0.01"/></inertial>'


def quiet(path: Path, **chosen) -> aw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aw.load(path, **chosen)


def links(*names: str) -> str:
    return "".join(f'<link name="{name}">{BODY}</link>\n' for name in names)


def joint(name: str, parent: str, child: str, kind: str = "continuous", more: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>'
        f'<origin xyz="0.1 0 0" rpy="{np.pi / 2} 0 0"/>{more}</joint>\n'
    )


def written(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    (folder / name).write_text(f'<robot name="r">\n{text}</robot>')
    return folder / name


def mechanism(n: int, kind: str = "continuous") -> str:
    rows = (joint(f"j{i}", f"l{i}", f"l{i + 1}", kind if i else "continuous") for i in range(n))
    return links(*(f"l{i}" for i in range(n + 1))) + "".join(rows)


# ---- arguments


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"locked": ["j0"]}, r"locked = \['j0'\]; expected a mapping of joints to positions"),
        ({"locked": "abc"}, r"locked = 'abc'; expected a mapping"),
        ({"locked": {"j0": "0.1"}}, r"locked\['j0'\] = '0.1': expected a position"),
        ({"locked": {"j0": 10**400}}, "expected a position"),
        ({"packages": 3}, r"packages = 3; expected a mapping of names to folders"),
        ({"packages": ["a"]}, r"packages = \['a'\]; expected a mapping"),
        ({"packages": {"a": 3}}, r"packages\['a'\] = 3; expected the name of a package, and its folder"),
        ({"packages": {"a": "\0"}}, r"packages\['a'\] = .* is not a folder"),
        ({"base": 3}, "base = 3; expected the name of a link"),
        ({"tip": ["l1", 3]}, "tip = 3; expected the name of a link"),
        ({"tip": []}, r"tip = \[\]; expected the name of a link, or of several"),
        ({"floating": 1}, "floating = 1; expected True or False"),
        ({"straighten": -1e-5}, "straighten = -1e-05; expected 0 to 0.001 radians"),
        ({"straighten": 0.1}, "straighten = 0.1; expected 0 to 0.001 radians"),
        ({"mappings": {"a": 1}}, r"mappings = \{'a': 1\} are for .xacro files"),
    ],
)
def test_arguments_of_the_wrong_kind(tmp_path: Path, chosen: dict, message: str) -> None:
    with pytest.raises(aw.ModelError, match=message):
        aw.load(written(tmp_path, mechanism(2)), **chosen)


def test_packages_are_checked_for_every_robot() -> None:
    with pytest.raises(aw.ModelError, match=r"packages\['a'\] = 3"):
        aw.load("puma560", packages={"a": 3})


def test_arguments_of_a_xacro_file(tmp_path: Path) -> None:
    text = '<xacro:arg name="name"/>' + mechanism(1).replace('"j0"', '"$(arg name)_0"')
    path = written(tmp_path, text, "robot.xacro")
    path.write_text(path.read_text().replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"'))
    assert quiet(path, mappings={"name": "left"}).joints[0].name == "left_0"
    with pytest.raises(aw.ModelError, match="argument 'name' has no default; give it to load: mappings="):
        aw.load(path)
    with pytest.raises(aw.ModelError, match="has no argument 'nam'; did you mean 'name'"):
        aw.load(path, mappings={"nam": 1, "name": "left"})


def test_a_joint_locked_where_it_cannot_be_is_told(tmp_path: Path) -> None:
    text = mechanism(2) + links("finger") + joint("f", "l2", "finger", "revolute", '<limit lower="-1" upper="2"/>')
    path = written(tmp_path, text)
    with pytest.warns(ModelWarning, match=r"locked\['f'\] = 90 is outside of its limits, -1 to 2 rad") as told:
        aw.load(path, locked={"f": 90})
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "robot 'r'")
        aw.load(path, locked={"f": 2.0})


# ---- files


def test_endings_in_capitals(tmp_path: Path) -> None:
    for name in ("arm.URDF", "arm.Xacro", "arm.XML"):
        assert quiet(written(tmp_path, mechanism(2), name)).n == 2
    aw.load("rr").to_toml(tmp_path / "arm.TOML")
    assert quiet(tmp_path / "arm.TOML").n == 2


def test_what_is_no_robot_file(tmp_path: Path) -> None:
    endings = r"\.toml, \.urdf, \.xacro, \.xml"
    for name in ("nothing", ""):
        with pytest.raises(aw.ArmwrightError, match=f"A file is given by a path that ends in {endings}"):
            aw.load(name)
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(aw.ModelError, match=f"is a folder; expected a robot file that ends in {endings}"):
        aw.load(tmp_path)
    with pytest.raises(aw.ModelError, match="is a folder"):
        aw.load(tmp_path / "folder.urdf")
    (tmp_path / "arm.sdf").write_text("<sdf/>")
    with pytest.raises(aw.ModelError, match=rf"cannot read \.sdf; expected {endings}"):
        aw.load(tmp_path / "arm.sdf")


@pytest.mark.parametrize("ending", ["urdf", "xacro", "xml", "toml", "dat"])
def test_pipes_and_devices_are_refused_at_once(tmp_path: Path, ending: str) -> None:
    os.mkfifo(tmp_path / f"pipe.{ending}")
    (tmp_path / f"zero.{ending}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        for read in (aw.load, check):
            with pytest.raises(
                aw.ModelError, match=r"it is a pipe or a device; expected a regular file|cannot read \.dat"
            ):
                read(tmp_path / f"{name}.{ending}")


def test_no_more_of_a_file_is_read_than_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3000)
    assert contents(tmp_path / "a", 3000) == b"x" * 3000
    with pytest.raises(OSError, match="it has 2 kB; expected at most 1"):
        contents(tmp_path / "a", 1024)
    with (tmp_path / "huge.toml").open("wb") as file:
        file.truncate(toml_lines.MAX_TOML_BYTES + 1024)
    with pytest.raises(aw.ModelError, match="it has 1025 kB; expected at most 1024"):
        aw.load(tmp_path / "huge.toml")


# ---- names that collide in what is written


def test_names_that_urdf_has_taken(tmp_path: Path) -> None:
    case = random_case(3, 1, actuators=True)
    for link_names, joint_names in (
        (("base_link", "tool", "tool_2"), ("tool_joint", "a", "b")),
        (("x", "x", "x_2"), ("y", "y", "y")),
    ):
        arm = replace(
            case.arm,
            links=tuple(replace(link, name=name) for link, name in zip(case.arm.links, link_names, strict=True)),
            joints=tuple(replace(row, name=name) for row, name in zip(case.arm.joints, joint_names, strict=True)),
        )
        arm.to_urdf(tmp_path / "arm.urdf")
        back = quiet(tmp_path / "arm.urdf").with_gravity(arm.gravity)
        close(back.inverse_dynamics(*case.state), arm.inverse_dynamics(*case.state), 1e-12)
        close(back.forward_kinematics(case.q), arm.forward_kinematics(case.q), 1e-12)
        if len(set(link_names)) == 3:
            assert tuple(link.name for link in back.links) == link_names


def test_numbered_names() -> None:
    assert xml_writer.unique_names(["a", "a", "a_2", "b", "a"]) == ["a", "a_3", "a_2", "b", "a_4"]
    assert xml_writer.unique_names(["w", "a"], reserved=("w",)) == ["w_2", "a"]
    assert xml_writer.unused_name("tool", ["tool", "tool_2"]) == "tool_3"


# ---- long chains


@pytest.mark.parametrize("kind", ["continuous", "fixed"])
def test_thousands_of_links_load_in_seconds(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, mechanism(3000, kind))
    begin = time.process_time()
    arm = quiet(path)
    assert time.process_time() - begin < 8  # it takes one or two; all that is quadratic takes a minute
    assert arm.n == (3000 if kind == "continuous" else 1)


def test_combs_and_bushes_load_in_seconds(tmp_path: Path) -> None:
    """A branch on every link, and many on one."""
    names = [f"s{i}" for i in range(1500)]
    for beside in ("l{}", "l1"):
        branches = "".join(joint(f"b{i}", beside.format(i), name, "fixed") for i, name in enumerate(names))
        path = written(tmp_path, mechanism(1500) + links(*names) + branches)
        begin = time.process_time()
        assert quiet(path).n == 1500
        assert time.process_time() - begin < 8


def test_more_joints_than_anybody_has_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "<link name='a'/>" + "<joint/>" * (MAX_JOINTS + 1))
    with pytest.raises(aw.ModelError, match=r"robot\.urdf has 10001 joints; expected at most 10000"):
        aw.load(path)


def test_a_hand_is_part_of_the_robot(tmp_path: Path) -> None:
    """Joints that follow others do so beside them as well as beyond them."""
    mimic = '<mimic joint="j2"/>'
    for parent, names in (("l2", ["follow", "j2"]), ("l3", ["j2", "follow"])):
        text = mechanism(3) + links("f") + joint("follow", parent, "f", more=mimic)
        arm = quiet(written(tmp_path, text))
        assert (arm.n, [row.name for row in arm.rows]) == (3, ["j0", "j1", *names])
        assert quiet(written(tmp_path, text), locked={"follow": 0.0}).followers == ()


def degenerate(seed: int) -> aw.Robot:
    """A random robot with links that have no mass or no extent, and axes that coincide or meet."""
    rng = np.random.default_rng(seed)
    arm = aw.random_robot(int(rng.integers(1, 8)), seed)
    bodies, joints = [], []
    for link, row in zip(arm.links, arm.joints, strict=True):
        empty = {"inertia": ((0.0,) * 3,) * 3}
        change = ({"mass": 0.0, **empty}, empty, {"com": (0.0,) * 3, **empty}, {}, {}, {})[rng.integers(6)]
        bodies.append(replace(link, **change))
        place = ({"alpha": 0.0, "a": 0.0}, {"a": 0.0, "d": 0.0}, {"alpha": 0.0}, {})[rng.integers(4)]
        kind = rng.choice(["revolute", "prismatic"])
        joints.append(replace(row, type=str(kind), rotor_inertia=0.1 * float(rng.random() < 0.2), **place))
    return replace(arm, links=tuple(bodies), joints=tuple(joints))


def test_idle_joints_are_the_same_in_the_matrix_and_in_the_recursion() -> None:
    singular = 0
    for seed in range(300):
        chain_ = degenerate(seed).mechanism()
        q = np.random.default_rng(seed).uniform(-1, 1, chain_.n).tolist()
        found = massless_by_matrix(np.array(find_formulation("mass_matrix")(chain_, q), dtype=float))
        assert massless_by_recursion(chain_, q) == found, seed
        singular += bool(found)
    assert 50 < singular < 250


def test_a_long_chain_is_told_of_its_idle_joints() -> None:
    arm = aw.random_robot(120, 0)
    assert not [p for p in aw.problems(arm) if p.kind == "singular mass matrix"]
    bare = [replace(link, mass=0.0, inertia=((0.0,) * 3,) * 3) for link in arm.links[118:]]
    arm = replace(arm, links=(*arm.links[:118], *bare)).map_joints(lambda j: replace(j, rotor_inertia=0.0))
    [found] = [p for p in aw.problems(arm) if p.kind == "singular mass matrix"]
    assert found.where == arm.links[118].name and "nothing outside its joint has mass" in found
    place = {"type": "revolute", "alpha": 0.0, "a": 0.1, "d": 0.0}
    straight = aw.Robot.from_dh(
        [{**place, "mass": 1.0, "com": [0.05, 0, 0], "inertia": np.eye(3) * 1e-3}] * 3000, "modified"
    )
    assert massless_at(straight.mechanism(), [0.0] * 3000) == set()  # stretched out, where the matrix is worst


# ---- what is said of a tree


def test_few_joints_beside_the_chain_are_told_one_by_one(tmp_path: Path) -> None:
    follow = joint("y", "l1", "b", more='<mimic joint="x" offset="0.5"/>')
    text = mechanism(3) + links("a", "b") + joint("x", "l1", "a") + follow
    with pytest.warns(LockedWarning, match="r: x is not on the chain and stands locked at 0; locked= sets"):
        arm = aw.load(written(tmp_path, text), tip="l3", locked={})
    lines = str(arm).splitlines()[-3:]
    assert lines == [
        "robot.urdf, l0 to l3",
        "x is not on the chain and stands locked at 0",
        "y follows x and stands locked at 0.5",
    ]


def test_other_links_the_chain_could_end_in_are_told(tmp_path: Path) -> None:
    """Frames that are the same are none to choose between."""
    fixed = '<joint name="{0}" type="fixed"><parent link="l3"/><child link="{0}"/><origin xyz="{1} 0 0" rpy="0 0 {2}"/></joint>'
    tips = {"left": (0.1, 0), "right": (-0.036, 0), "turned": (0.1, 0.5), "same": (0.1, 0)}
    text = mechanism(3) + links(*tips) + "".join(fixed.format(name, x, turn) for name, (x, turn) in tips.items())
    said = "the chain ends in 'left'; it could also end in 'right' (136 mm), 'turned' (28.6 deg)"
    with pytest.warns(TipWarning, match=re.escape(f"r: {said}; tip= chooses")):
        arm = aw.load(written(tmp_path, text))
    assert arm.source.splitlines()[1:] == [said]
    assert aw.load(written(tmp_path, text), tip="right").source == "robot.urdf, l0 to right"


def hand() -> str:
    text = mechanism(3) + links("tool", "finger", "nail", "thumb") + joint("mount", "l3", "tool", "fixed")
    text += joint("close", "l3", "finger") + joint("grow", "finger", "nail", "fixed")
    return text + joint("other", "l3", "thumb", more='<mimic joint="close"/>')


def test_a_tree_is_taken_whole(tmp_path: Path) -> None:
    path = written(tmp_path, hand())
    with warnings.catch_warnings():
        warnings.simplefilter("error", TipWarning)
        warnings.simplefilter("error", LockedWarning)
        arm = aw.load(path)
    assert [joint.name for joint in arm.joints] == ["j0", "j1", "j2", "close"]
    assert [link.name for link in arm.links] == ["l1", "l2", "l3", "finger", "thumb"]
    assert arm.parents == (-1, 0, 1, 2, 2)
    places = {frame.name: frame.link for frame in arm.frames}
    assert places == {"l0": -1, "l1": 0, "l2": 1, "l3": 2, "tool": 2, "finger": 3, "nail": 3, "thumb": 4}
    assert arm.source == "robot.urdf, l0 and what hangs on it"


def test_parts_of_a_tree(tmp_path: Path) -> None:
    """What hangs on a link; the chains to some links; the same where the fingers are locked."""
    path = written(tmp_path, hand())
    assert [link.name for link in quiet(path, base="l2").links] == ["l3", "finger", "thumb"]
    arm = quiet(path, tip=["nail", "thumb"])
    assert [link.name for link in arm.links] == ["l1", "l2", "l3", "finger", "thumb"]
    assert arm.tip is None and arm.source == "robot.urdf, l0 to nail, thumb"
    with pytest.warns(LockedWarning, match="close is not on the chain and stands locked at 0"):
        arm = aw.load(path, tip="tool")
    assert (arm.n, len(arm.links), arm.links[2].mass) == (3, 3, 5.0)
    still = quiet(path, locked={"close": 0.0})
    close(still.inverse_dynamics(*np.ones((3, 3))), arm.inverse_dynamics(*np.ones((3, 3))), 1e-14)
    with pytest.raises(aw.ModelError, match="no joint moves between 'l0' and 'l0'"):
        quiet(path, tip="l0")
    with pytest.raises(aw.ModelError, match="link 'l1' is not attached to 'l2'; choose a base= above it"):
        quiet(path, base="l2", tip=["tool", "l1"])


def test_a_floating_base(tmp_path: Path) -> None:
    path = written(tmp_path, hand())
    arm = quiet(path, floating=True)
    assert (arm.n, arm.nq, arm.joints[0].name, arm.links[0].name) == (10, 11, "root_joint.x", "l0")
    assert sum(link.mass for link in arm.links) == 8.0
    assert arm.frames[0] == Frame("l0", 0)
    alone = quiet(path, base="nail", floating=True)
    assert (alone.n, [link.name for link in alone.links]) == (6, ["nail"])
    with pytest.raises(aw.ModelError, match="no joint moves below 'nail'"):
        quiet(path, base="nail")
    free = links("a", "b") + joint("up", "a", "b", "floating")
    assert quiet(written(tmp_path, free)).joint_types == "F"
    with pytest.raises(aw.ModelError, match="line 4: floating=True, but joint 'up' lets 'b' float already"):
        quiet(written(tmp_path, free), floating=True)
    with pytest.raises(aw.ModelError, match=r"locked\['up'\] = 1: a floating joint can only be locked at 0"):
        quiet(written(tmp_path, free), locked={"up": 1})
    led = free + links("c") + joint("after", "b", "c", more='<mimic joint="up"/>')
    with pytest.raises(
        aw.ModelError, match="joint 'after' mimics 'up', which is floating; expected a revolute or prismatic joint"
    ):
        quiet(written(tmp_path, led))


def test_many_joints_beside_the_chain_are_told_together(tmp_path: Path) -> None:
    names = [f"side{i}" for i in range(25)]
    text = mechanism(3) + links(*names) + "".join(joint(f"x{i}", "l1", name) for i, name in enumerate(names))
    text += links(*(f"f{i}" for i in range(9)))
    text += "".join(joint(f"y{i}", "l2", f"f{i}", more='<mimic joint="x0" offset="0.5"/>') for i in range(9))
    with pytest.warns(LockedWarning, match="r: 25 joints are not on the chain and stand locked at 0: x0, x1,"):
        arm = aw.load(written(tmp_path, text), tip="l3")
    assert arm.source.splitlines()[1:] == [
        "25 joints are not on the chain and stand locked at 0: x0, x1, x2, x3, x4, x5, x6, x7, ...",
        "9 joints follow others and stand locked: " + ", ".join(f"y{i} at 0.5" for i in range(8)) + ", ...",
    ]
    assert "\n25 joints are not" in str(arm) and "\n9 joints follow" in str(arm)
