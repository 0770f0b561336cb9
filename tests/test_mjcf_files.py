"""MJCF files that include others or attach models: as MuJoCo reads them, and nothing outside of the model's folder."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from mujoco_oracle import mujoco, torques
from test_mjcf import INERTIAL, own_folder, same_as_mujoco  # noqa: F401  (a fixture)

import armwright as aw
from armwright.errors import ModelError
from armwright.model import mjcf
from armwright.model.mjcf import model_files, strip
from armwright.model.mjcf.mujoco_engine import quiet
from armwright.model.visual import Mesh


def place(**files: str | bytes) -> Path:
    """Write files, named folder__name, whose main one is called main."""
    for name, text in files.items():
        path = Path(*name.split("__")).with_suffix(".stl" if isinstance(text, bytes) else ".xml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Path("main.xml").absolute()


def stl(size: float = 1.0) -> bytes:
    """A tetrahedron."""
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(np.zeros(3, "<f4").tobytes() + corners[list(face)].tobytes() + b"\0\0" for face in faces)
    return b" " * 80 + struct.pack("<I", len(faces)) + body


def model(inside: str) -> str:
    return f"<mujoco><compiler angle='radian'/>{inside}</mujoco>"


def arm(name: str = "a", inside: str = "", more: str = "") -> str:
    return f'<body name="{name}_body" pos="0.1 0.2 0.3"><joint name="{name}" axis="1 2 3" {more}/>{INERTIAL}{inside}</body>'


def world(bodies: str) -> str:
    return model(f"<worldbody>{bodies}</worldbody>")


CLASS = 'class="c"'
SOLID = '<body name="m"><joint name="m" axis="0 1 0"/><geom type="mesh" mesh="mesh"/></body>'
ASSET = '<asset><mesh name="mesh" file="mesh.stl" scale="2 1 1"/></asset>'

INCLUDED = {
    "a scene": {"main": model('<include file="robot.xml"/><worldbody><geom size="1"/></worldbody>'), "robot": model(f"<worldbody>{arm()}</worldbody>")},
    "a part of a body": {"main": world(arm(inside='<include file="hand.xml"/>')), "hand": f"<mujocoinclude>{arm('b')}{arm('d')}</mujocoinclude>"},
    "classes and settings": {
        "main": f'<mujoco><include file="classes.xml"/><worldbody>{arm(more=CLASS)}</worldbody></mujoco>',
        "classes": '<x><compiler angle="radian"/><option gravity="1 2 3"/><default><default class="c"><joint damping="3" armature="0.2"/></default></default></x>',
    },
    "of an include, from its folder": {"main": model('<include file="sub/one.xml"/>'), "sub__one": '<x><include file="two.xml"/></x>', "sub__two": f"<x><worldbody>{arm()}</worldbody></x>"},
    "of an include, from the main folder first": {
        "main": model('<include file="sub/one.xml"/>'), "sub__one": '<x><include file="two.xml"/></x>',
        "sub__two": f"<x><worldbody>{arm('wrong', arm('b'))}</worldbody></x>", "two": f"<x><worldbody>{arm()}</worldbody></x>",
    },
    "a mesh in the folder of the include": {"main": model('<include file="sub/one.xml"/>'), "sub__one": f"<x>{ASSET}<worldbody>{SOLID}</worldbody></x>", "sub__mesh": stl()},
    "a mesh in the main folder first": {"main": model('<include file="sub/one.xml"/>'), "sub__one": f"<x>{ASSET}<worldbody>{SOLID}</worldbody></x>", "sub__mesh": stl(2), "mesh": stl()},
    "a mesh below meshdir": {"main": model('<include file="sub/one.xml"/>'), "sub__one": f"<x><compiler meshdir='assets'/>{ASSET}<worldbody>{SOLID}</worldbody></x>", "assets__mesh": stl(2)},
    "a mesh beside meshdir": {"main": model('<compiler meshdir="assets"/><include file="one.xml"/>'), "one": f"<x>{ASSET}<worldbody>{SOLID}</worldbody></x>", "mesh": stl()},
    "a mesh of that name only": {"main": model(f"<compiler strippath='true' meshdir='assets'/>{ASSET.replace('mesh.stl', 'gone/mesh.stl')}<worldbody>{SOLID}</worldbody>"), "assets__mesh": stl(2)},
    "in a frame and again and again": {"main": model('<worldbody><replicate count="2" sep="_" offset="1 0 0"><frame euler="1 2 3"><include file="one.xml"/></frame></replicate></worldbody>'), "one": f"<x>{arm()}</x>"},
}  # fmt: skip

GRIPPER = f"""<mujoco model="g"><compiler angle="degree"/><option gravity="5 5 5"/><default><joint damping="2"/><default class="f"><joint armature="0.3"/></default></default>
<asset><mesh name="mesh" file="mesh.stl"/></asset>
<worldbody><frame name="frame" pos="0 1 0"><body name="palm" euler="10 20 30"><joint name="j" axis="1 0 1" class="f" range="-90 90"/>{INERTIAL}
<body name="tip"><joint name="k" axis="0 1 0"/><geom type="mesh" mesh="mesh"/></body></body></frame></worldbody></mujoco>"""


def attaching(how: str, where: str = "gripper.xml", around: str = "{}") -> str:
    attach = around.format(f'<attach model="g" {how}/>')
    return model(f'<asset><model name="g" file="{where}"/></asset><worldbody>{arm(inside=attach)}</worldbody>')


ATTACHED = {
    "a body": {"main": attaching('body="palm" prefix="x_"'), "gripper": GRIPPER, "mesh": stl()},
    "a frame": {"main": attaching('frame="frame" prefix="x_"'), "gripper": GRIPPER, "mesh": stl()},
    "in a frame": {"main": attaching('body="palm" prefix="x_"', around='<frame pos="1 2 3" euler="1 2 3">{}</frame>'), "gripper": GRIPPER, "mesh": stl()},
    "from a folder": {"main": attaching('body="palm" prefix="x_"', "hands/gripper.xml"), "hands__gripper": GRIPPER, "hands__mesh": stl(), "mesh": stl(3)},
    "with what it includes": {"main": attaching('body="palm" prefix="x_"', "hands/gripper.xml"), "hands__gripper": '<mujoco><include file="all.xml"/></mujoco>', "hands__all": GRIPPER, "hands__mesh": stl()},
    "two of them": {"main": attaching('body="palm" prefix="x_"', around='{}<frame pos="1 0 0"><attach model="g" body="palm" prefix="y_"/></frame>'), "gripper": GRIPPER, "mesh": stl()},
    "of what is attached": {"main": attaching('body="a_body" prefix="x_"', "middle.xml"), "middle": attaching('body="palm" prefix="y_"', "hands/gripper.xml"), "hands__gripper": GRIPPER, "hands__mesh": stl()},
}  # fmt: skip


def same_tree(path: Path) -> None:
    """As `same_as_mujoco`, for branches too: mass matrix and torques."""
    robot = aw.load(path)
    with quiet(mujoco):
        there = mujoco.MjModel.from_xml_path(str(path))
    assert {joint.name for joint in robot.joints} == {there.joint(j).name for j in range(there.njnt)}
    at = [int(there.joint(joint.name).dofadr[0]) for joint in robot.joints]
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, robot.n))
    expected = torques(there, *(x[np.argsort(at)] for x in (q, qd, qdd)))[at]
    close(robot.inverse_dynamics(q, qd, qdd, formulation="newton_euler"), expected, 1e-12)
    for joint in robot.joints:
        assert (joint.limits is not None) == bool(there.jnt_limited[there.joint(joint.name).id])


@pytest.mark.parametrize("files", [*INCLUDED.values(), *ATTACHED.values()], ids=[*INCLUDED, *ATTACHED])
@pytest.mark.filterwarnings("ignore")
def test_files_of_several_are_what_mujoco_reads(files: dict[str, str | bytes]) -> None:
    same_tree(place(**files))


def test_what_is_attached_is_seen() -> None:
    """Meshes have the names of their files, though they are called by their prefix."""
    path = place(**ATTACHED["two of them"])
    tree = mjcf.read(path)
    seen = {name: [visual.shape for visual in link.visuals] for name, link in tree.links.items() if link.visuals}
    assert sorted(seen) == ["x_tip", "y_tip"]
    for [shape] in seen.values():
        assert isinstance(shape, Mesh) and shape.find() == Path("mesh.stl").absolute()


def refused(message: str, **files: str | bytes) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        mjcf.read(place(**files))
    assert "bare" not in str(caught.value) and not isinstance(caught.value.__cause__, RecursionError)


INCLUDE = model('\n<include file="{}"/>')
OUTSIDE = {
    "above": ("../other.xml", r"main.xml, line 2: <include> '../other.xml' leads out of the model's folder, .*packages="),
    "absolute": ("/etc/hostname", r"line 2: <include> '/etc/hostname' is an absolute path, and not in the model's folder"),
    "above, with the other slash": ("..\\other.xml", "line 2: <include> .* leads out"),
    "through a folder": ("sub/../../other.xml", "line 2: <include> .* leads out"),
    "through a link": ("link/other.xml", "line 2: <include> .* leads out of the robot's folder"),
    "a link": ("away.xml", "line 2: <include> .* leads out of the robot's folder"),
    "of a network": ("http://example.org/robot.xml", "line 2: <include> .* does not exist"),
    "missing": ("gone.xml", "line 2: <include> .* does not exist: there is no file"),
    "a folder": ("sub", "line 2: <include> .* does not exist"),
    "a pipe": ("pipe.xml", "line 2: <include> .* does not exist"),
    "itself": ("main.xml", "line 2: <include>: 'main.xml' is included already"),
    "one another": ("one.xml", "one.xml, line 1: <include>: 'main.xml' is included already"),
    "twice": ("twice.xml", "twice.xml, line 1: <include>: 'once.xml' is included already"),
    "empty": ("empty.xml", "empty.xml, line 1: <x> is empty"),
    "no name": ("", "line 2: <include> '' is not the name of a file"),
    "no XML": ("text.xml", "text.xml, line 1: not well-formed"),
    "a mistake": ("mistake.xml", r"MuJoCo refuses it: .*unrecognized attribute: 'dampin'.*mistake.xml, line 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_may_not_be_included(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("../other.xml").write_text(f"<x><worldbody>{arm()}</worldbody></x>")
    Path("sub").mkdir()
    Path("link").symlink_to(tmp_path)
    Path("away.xml").symlink_to("../other.xml")
    os.mkfifo("pipe.xml")
    file, message = OUTSIDE[name]
    refused(
        message, main=INCLUDE.format(file), one='<x><include file="main.xml"/></x>', empty="<x/>", text="robot",
        twice='<x><include file="once.xml"/><include file="./once.xml"/></x>', once="<x><visual/></x>",
        mistake="<x>\n<worldbody>\n<body><joint dampin='1'/></body></worldbody></x>",
    )  # fmt: skip


def test_a_folder_that_is_named_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of meshes: packages= says that files outside of the model's folder may be read."""
    (tmp_path / "scenes").mkdir()
    monkeypatch.chdir(tmp_path / "scenes")
    Path("../robot.xml").write_text(model(f"{ASSET}<worldbody>{SOLID}</worldbody>"))
    Path("../mesh.stl").write_bytes(stl())
    path = place(main='<mujoco><include file="../robot.xml"/></mujoco>')
    robot = aw.load(path, packages={"all": tmp_path})
    assert robot.links[0].mass == pytest.approx(1000 / 3)
    attach = '<asset><model name="r" file="../robot.xml"/></asset><worldbody><attach model="r" body="m" prefix="x_"/></worldbody>'
    robot = aw.load(place(main=f"<mujoco>{attach}</mujoco>"), packages={"all": tmp_path})
    assert robot.links[0].mass == pytest.approx(1000 / 3)


def test_beside_folders_of_robots_only() -> None:
    """A folder called mjcf holds robot files, which share what is beside it."""
    files = {"mjcf__main": model(f'<compiler meshdir="../meshes"/><include file="../common/arm.xml"/>{ASSET}')}
    place(**files, common__arm=f"<x><worldbody>{SOLID}</worldbody></x>", meshes__mesh=stl())
    assert mjcf.read("mjcf/main.xml").links["m"].mass == pytest.approx(1000 / 3)


MODEL = '<mujoco model="{0}"><asset><model name="next" file="{1}.xml"/></asset><worldbody><body name="b"><joint name="j"/>' + INERTIAL + "{2}</body></worldbody></mujoco>"  # fmt: skip
ATTACH = '<attach model="next" body="b" prefix="{}_"/>'


def test_what_may_not_be_attached() -> None:
    refused("main.xml, line 1: <model>: 'main.xml' attaches itself", main=MODEL.format("m", "main", ""))
    refused(
        "a.xml, line 1: <model>: 'main.xml' attaches itself",
        main=MODEL.format("m", "a", ""),
        a=MODEL.format("a", "main", ""),
    )
    refused("<model> '../x.xml' leads out of the model's folder", main=MODEL.format("m", "../x", ""))
    refused("a.xml, line 1: <robot> is not an MJCF model", main=MODEL.format("m", "a", ""), a="<robot name='r'/>")
    refused(
        "there is no <model> called 'other' among the assets",
        main=world(arm(inside='<attach model="other" body="b" prefix=""/>')),
    )
    twice = '<asset><model name="g" file="a.xml"/><model name="g" file="a.xml"/></asset>'
    refused("a second model is called 'g'", main=model(twice), a=model("<worldbody/>"))
    refused(
        "MuJoCo refuses it: .*could not find body 'gone' .*line 1",
        main=attaching('body="gone" prefix=""', "a.xml"),
        a=model("<worldbody/>"),
    )
    refused("MuJoCo refuses it: .*'dampin'.*a.xml, line 2", main=attaching('body="b" prefix=""', "a.xml"), a="<mujoco><worldbody>\n<body name='b'><joint dampin='1'/></body></worldbody></mujoco>")  # fmt: skip


def test_models_that_multiply_are_refused() -> None:
    """Each of twelve attaches the next four times: 16 million bodies."""
    four = "".join(ATTACH.format(i) for i in range(4))
    chain = {f"m{k}": MODEL.format(k, f"m{k + 1}", four) for k in range(12)}
    refused(
        f"<attach>: with it more than {strip.MAX_COPIED_ELEMENTS} elements", main=MODEL.format("m", "m0", four), **chain,
        m12=model(f'<worldbody><body name="b">{INERTIAL}</body></worldbody>'),
    )  # fmt: skip
    deep = {f"m{k}": MODEL.format(k, f"m{k + 1}", ATTACH.format(k)) for k in range(40)}
    refused("models attach each other more than 20 deep", main=MODEL.format("m", "m0", ""), **deep)


def test_includes_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = {
        f"i{k}": "<x>" + "<frame>" * 15 + f'<include file="i{k + 1}.xml"/>' + "</frame>" * 15 + "</x>"
        for k in range(99)
    }
    refused(
        "nested more than 200 deep, with included files",
        main=model('<worldbody><include file="i0.xml"/></worldbody>'),
        **deep,
    )
    monkeypatch.setattr(model_files, "MAX_MODEL_FILES", 3)
    chain = {f"c{k}": f'<x><include file="c{k + 1}.xml"/></x>' for k in range(5)}
    refused("more than 3 files", main=model('<include file="c0.xml"/>'), **chain)
    monkeypatch.setattr(model_files, "MAX_XML_ELEMENTS", 10)
    refused(
        "big.xml, line 1: more than 10 elements, with included files",
        main=model('<include file="big.xml"/>'),
        big=f"<x>{'<light/>' * 20}</x>",
    )
    monkeypatch.setattr(model_files, "MAX_XML_BYTES", 1 << 10)
    refused(
        "cannot read .*one.xml: it has 1 kB; expected at most 1 kB|at most",
        main=model('<include file="one.xml"/>'),
        one=f"<x>{' ' * 3000}</x>",
    )


def test_elements_are_written_as_mujoco_has_them() -> None:
    """Other spellings of <include> are not for MuJoCo to find."""
    for tag in ("Include", "INCLUDE"):
        refused(
            f"line 1: <{tag}> is not an element of MJCF; expected <include>",
            main=model(f'<{tag} file="/etc/hostname"/>'),
        )
