"""Meshes are read within limits, and tell a tensor about the origin from one about the centre of mass."""

import importlib.util
import os
import struct
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import random_rotation

import armwright as aw
from armwright.check import check, compare, fix
from armwright.check.file_check import file_findings, read_file_model
from armwright.check.file_model import Body
from armwright.check.link_shapes import Hull, LinkShape, ShapeGroup
from armwright.check.mesh_files import MAX_MESH_TRIANGLES, UnreadableMesh, mesh_triangles
from armwright.rules.tensors import is_physical, parallel_axis_term, second_moment, tensors_agree, with_negated_products

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")
needs_examples = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")

KIND = "inertia about the origin"
LOW, HIGH = np.array([-0.01, -0.03, -0.02]), np.array([0.39, 0.03, 0.04])
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * (HIGH - LOW) + LOW
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
BOX = np.array([CORNERS[[q[0], q[i], q[i + 1]]] for q in QUADS for i in (1, 2)])


def binary_stl(mesh: np.ndarray) -> bytes:
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in mesh)
    return b"solid in name only".ljust(80) + struct.pack("<I", len(mesh)) + rows


def ascii_stl(mesh: np.ndarray) -> bytes:
    facets = "".join(
        "facet normal 0 0 0\n outer loop\n"
        + "".join("  vertex {} {} {}\n".format(*v) for v in triangle)
        + " endloop\nendfacet\n"
        for triangle in mesh
    )
    return f"solid box\n{facets}endsolid box\n".encode()


def obj(backwards: bool) -> bytes:
    def name(i: int) -> str:
        return f"{i - 8}//1" if backwards else f"{i + 1}/2/3"

    corners = "".join("v {} {} {}\n".format(*v) for v in CORNERS)
    return (
        f"# a box\nmtllib box.mtl\nvn 0 0 1\n{corners}" + "".join(f"f {' '.join(map(name, q))}\n" for q in QUADS)
    ).encode()


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.001" name="mm"/><up_axis>{up}</up_axis></asset>
<library_images><image id="i"><init_from>file:///etc/passwd</init_from></image></library_images>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="24">{corners}</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{faces}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>100 0 0</translate><rotate>0 0 1 90</rotate>
<node><matrix>0 1 0 0  -1 0 0 0  0 0 1 0  0 0 0 1</matrix>{nodes}</node></node></visual_scene></library_visual_scenes></COLLADA>"""
POLYLIST = "<polylist count='6'><input semantic='VERTEX' source='#v' offset='0'/><input semantic='NORMAL' source='#n' offset='1'/><vcount>4 4 4 4 4 4</vcount><p>{}</p></polylist>"
ONE = "<instance_geometry url='#g'/>"


def dae(up: str = "Z_UP", nodes: str = ONE, moved: float = -100.0, last: int = 7) -> bytes:
    corners = " ".join(repr(float(x)) for x in (1e3 * CORNERS + [moved, 0, 0]).ravel())
    faces = POLYLIST.format(" ".join(f"{min(i, last)} 0" for q in QUADS for i in q))
    return DAE.format(up=up, corners=corners, faces=faces, nodes=nodes).encode()


FILES = {
    "binary.stl": binary_stl(BOX),
    "ascii.STL": ascii_stl(BOX),
    "forwards.obj": obj(False),
    "backwards.obj": obj(True),
    "scene.dae": dae(),
}
FILLED = np.diag((HIGH - LOW) ** 2) / 12


def written(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_box_is_read_from_every_format(name: str, tmp_path: Path) -> None:
    hull = Hull(mesh_triangles(written(tmp_path, name, FILES[name])))
    tolerance = 1e-7 if name == "binary.stl" else 1e-12  # single precision
    np.testing.assert_allclose([hull.span(u) for u in np.eye(3)], np.stack([LOW, HIGH], axis=1), atol=tolerance)
    middle, moment = hull.filled
    np.testing.assert_allclose(middle, (LOW + HIGH) / 2, atol=tolerance)
    np.testing.assert_allclose(moment, FILLED, atol=tolerance)


@pytest.mark.parametrize("kind", ["box", "cylinder", "sphere"])
def test_shapes_without_a_mesh_have_the_tensor_of_a_filled_one(kind: str) -> None:
    rng = np.random.default_rng(0)
    sides = {"box": [0.1, 0.2, 0.3], "cylinder": [0.2, 0.2, 0.5], "sphere": [0.3, 0.3, 0.3]}[kind]
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = random_rotation(rng), [1, 2, 3]
    part = (kind, np.array(sides), pose)
    middle, moment = ShapeGroup((LinkShape(*part),)).hull.filled
    np.testing.assert_allclose(middle, [1, 2, 3], atol=1e-12)
    expected = second_moment(LinkShape(*part).tensor(1.0))
    np.testing.assert_allclose(moment, expected, atol=(1e-12 if kind == "box" else 0.03) * np.max(expected))


def test_mirrored_parts_add_up(tmp_path: Path) -> None:
    """Two boxes, one turned inside out by its scale, are one twice as long."""
    file = written(tmp_path, "half.stl", binary_stl(BOX - [LOW[0], 0, 0]))
    parts = tuple(LinkShape("mesh", np.array([sign, 1.0, 1.0]), np.eye(4), file) for sign in (1.0, -1.0))
    middle, moment = ShapeGroup(parts).hull.filled
    np.testing.assert_allclose(middle[0], 0, atol=1e-7)
    np.testing.assert_allclose(moment[0, 0], (2 * 0.4) ** 2 / 12, rtol=1e-6)


def test_an_open_sheet_is_not_filled() -> None:
    assert Hull(BOX[:1]).filled is None
    flat = BOX.copy()
    flat[..., 2] = 0
    assert Hull(flat).filled is None


BAD = {
    "empty.stl": b"",
    "cut.stl": binary_stl(BOX)[:-1],
    "text.stl": b"solid\nvertex 1 2\n",
    "nowhere.stl": binary_stl(BOX * np.inf),
    "far.stl": binary_stl(BOX * 1e6),
    "no.obj": b"v 0 0 0\nf 1 2 3\n",
    "word.obj": b"v a b c\n",
    "before.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -9 -2 -1\n",
    "huge.obj": b"v 0 0 0\nf 1 1 99999999999999999999999\n",
    "up.dae": dae("Y_UP"),
    "other.dae": dae(nodes="<instance_geometry url='#h'/>"),
    "another.dae": dae(nodes="<instance_geometry url='other.dae#g'/>"),
    "joint.dae": dae(nodes="<instance_controller url='#g'/>"),
    "index.dae": dae(last=8).replace(b"<p>", b"<p>8 0 "),
    "many.dae": dae(nodes=ONE * (MAX_MESH_TRIANGLES // 12 + 1)),
    "entity.dae": b"<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>" + dae().partition(b"?>")[2],
    "cut.dae": dae()[:-30],
    "mesh.fbx": b"",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_understood_says_nothing(name: str, tmp_path: Path) -> None:
    file = written(tmp_path, name, BAD[name])
    with pytest.raises(UnreadableMesh):
        mesh_triangles(file)
    assert ShapeGroup((LinkShape("mesh", np.ones(3), np.eye(4), file),)).hull is None


def test_a_damaged_file_is_read_or_not_understood(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, data in FILES.items():
        for _ in range(60):
            damaged = bytearray(data)
            for _ in range(rng.integers(1, 6)):
                damaged[rng.integers(len(damaged))] = rng.integers(256)
            file = written(tmp_path, name, bytes(damaged[: rng.integers(len(damaged) // 2, len(damaged) + 1)]))
            hull = ShapeGroup((LinkShape("mesh", np.ones(3), np.eye(4), file),)).hull
            assert hull is None or np.isfinite(hull.corners).all()


def test_a_file_that_is_too_large_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "large.stl"
    with file.open("wb") as opened:
        opened.truncate(1 << 30)
    with pytest.raises(UnreadableMesh, match="too large"):
        mesh_triangles(file)


# --- a tensor about the origin ----------------------------------------------------------------------------------------

ROBOT = """<robot name="one"><link name="base"/>
<link name="arm"><inertial><origin xyz="{com}"/><mass value="2"/>
<inertia ixx="{ixx!r}" ixy="{ixy!r}" ixz="{ixz!r}" iyy="{iyy!r}" iyz="{iyz!r}" izz="{izz!r}"/></inertial>
<visual><geometry><mesh filename="{mesh}"/></geometry></visual></link>{more}
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
R = random_rotation(np.random.default_rng(5))
LEAN = R @ np.diag([1e-4, 5e-5, -5e-5]) @ R.T
"""So that no product of inertia is that of the parallel-axis term."""


def own_tensor() -> np.ndarray:
    moment = 2 * (FILLED + LEAN)
    return np.trace(moment) * np.eye(3) - moment


def robot(tmp_path: Path, inertia: np.ndarray, com: np.ndarray, mesh: str = "meshes/box.stl", more: str = "") -> Path:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    text = ROBOT.format(
        ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz, com=" ".join(map(str, com)), mesh=mesh, more=more
    )
    return written(tmp_path, "model/robot.urdf", text.encode())


def told(path: Path) -> list[tuple[str, str]]:
    return [(f.severity, f.where) for f in check(path, prove_it=False).findings if f.kind == KIND]


MIDDLE, NEAR = np.array([0.19, 0.004, 0.006]), np.array([0.14, 0.004, 0.006])


def test_no_body_within_a_mesh_has_its_mass_so_far_apart(tmp_path: Path) -> None:
    """With the centre of mass amid the mesh, the spread about the origin is more than all mass at the ends would have."""
    written(tmp_path, "model/meshes/box.stl", FILES["binary.stl"])
    own, added = own_tensor(), parallel_axis_term(2.0, MIDDLE)
    assert told(robot(tmp_path, own, MIDDLE)) == []
    path = robot(tmp_path, own + added, MIDDLE)
    assert told(path) == [("error", "arm")]
    done = fix(path, tmp_path / "model" / "fixed.urdf")
    assert [f.kind for f in done.changed] == [KIND]
    (arm,) = (body for body in read_file_model(tmp_path / "model" / "fixed.urdf").bodies if body.name == "arm")
    np.testing.assert_allclose(arm.inertia, own, atol=1e-15)


def test_a_tensor_nearer_to_the_filled_mesh_is_likelier(tmp_path: Path) -> None:
    written(tmp_path, "model/meshes/box.stl", FILES["binary.stl"])
    own, added = own_tensor(), parallel_axis_term(2.0, NEAR)
    assert told(robot(tmp_path, own, NEAR)) == []
    assert told(robot(tmp_path, own + added, NEAR)) == [("warning", "arm")]


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path) -> None:
    box = written(tmp_path, "box.stl", FILES["binary.stl"])
    wrong = own_tensor() + parallel_axis_term(2.0, MIDDLE)
    for mesh in (
        "../box.stl",
        str(box),
        f"file://{box}",
        "package://model/../box.stl",
        "http://box/box.stl",
        "",
        "nul\u0001",
    ):
        assert told(robot(tmp_path, wrong, MIDDLE, mesh.replace("\u0001", ""))) == []
    os.symlink(box, tmp_path / "model" / "link.stl")
    assert told(robot(tmp_path, wrong, MIDDLE, "link.stl")) == []
    written(tmp_path, "model/box.stl", FILES["binary.stl"])
    assert told(robot(tmp_path, wrong, MIDDLE, "box.stl")) == [("error", "arm")]


def test_shapes_welded_on_may_be_part_of_what_a_link_weighs(tmp_path: Path) -> None:
    written(tmp_path, "model/meshes/box.stl", FILES["binary.stl"])
    cover = """<link name="cover">{}<visual><geometry><box size="0.4 0.1 0.1"/></geometry></visual></link><joint name="w" type="fixed">
<origin xyz="0 0 0.3"/><parent link="arm"/><child link="cover"/></joint>"""
    body = '<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>'
    wrong = own_tensor() + parallel_axis_term(2.0, MIDDLE)
    assert told(robot(tmp_path, wrong, MIDDLE, more=cover.format(body))) == [("error", "arm")]
    assert told(robot(tmp_path, wrong, MIDDLE, more=cover.format(""))) == []


def slipped(body: Body) -> Body:
    return replace(
        body, tensor=body.rotation.T @ (body.inertia + parallel_axis_term(body.mass, body.com)) @ body.rotation
    )


def found_of(file: Path) -> tuple[set[str], set[str]]:
    """The links for which it matters, and those of them where it is found, each slipped alone."""
    whole = read_file_model(file)
    assert not [f for f in file_findings(whole) if f.kind == KIND and f.severity != "note"]
    matters, found = set(), set()
    for i, body in enumerate(whole.bodies):
        if not body.has_inertial or whole.minor(body) or not is_physical(body.inertia):
            continue
        added = np.trace(parallel_axis_term(body.mass, body.com))
        if added > 0.3 * np.trace(body.inertia + parallel_axis_term(body.mass, body.com)):
            matters.add(body.name)
            bodies = (*whole.bodies[:i], slipped(body), *whole.bodies[i + 1 :])
            found |= {
                f.where for f in file_findings(replace(whole, bodies=bodies)) if f.kind == KIND and f.where == body.name
            }
    return matters, found


@needs_examples
@pytest.mark.parametrize(
    ("file", "missed"),
    [
        ("panda_description/urdf/panda.urdf", {"panda_link6"}),
        ("xarm_description/urdf/xarm7.urdf", {"link3"}),
        ("so_arm_description/urdf/so100.urdf", set()),
        ("ur_description/urdf/ur10_robot.urdf", set()),
        ("kinova_description/robots/kinova.urdf", {"j2s6s200_link_6"}),
        ("go2_description/urdf/go2.urdf", set()),
        ("hyq_description/robots/hyq_no_sensors.urdf", set()),
    ],
)
def test_one_tensor_about_the_origin_in_a_real_file_is_found(file: str, missed: set[str]) -> None:
    matters, found = found_of(EXAMPLES / file)
    assert len(matters) > 1
    assert matters - found == missed


@needs_examples
def test_the_twin_on_the_other_side_tells() -> None:
    """The meshes of A1 have other axes than Z_UP, which readers understand in two ways; its legs are alike."""
    whole = read_file_model(EXAMPLES / "a1_description/urdf/a1.urdf")
    legs = [i for i, body in enumerate(whole.bodies) if body.name.endswith("_thigh")]
    assert len(legs) == 4
    bodies = list(whole.bodies)
    bodies[legs[0]] = slipped(bodies[legs[0]])
    (finding,) = [f for f in file_findings(replace(whole, bodies=tuple(bodies))) if f.kind == KIND]
    assert (finding.severity, finding.where) == ("error", bodies[legs[0]].name)
    assert "of the similar link" in finding.text and finding.fixable


def test_a_check_does_not_refuse_meshes_elsewhere(tmp_path: Path) -> None:
    """Loading does, as a viewer would open them."""
    path = robot(tmp_path, own_tensor(), MIDDLE, "/elsewhere/box.stl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = check(path)
        assert report.proofs
        assert [f.severity for f in report.findings if f.kind == "visuals"] == ["warning"]
        assert compare(path, path).same
        assert aw.load(path, visuals=False).n == 1


def test_polygons_that_overlap_are_not_followed(tmp_path: Path) -> None:
    """Counts below zero would name the same corners again and again, gigabytes of them."""
    polygons = FILES["scene.dae"].decode()
    assert "<vcount>" in polygons
    start, end = polygons.index("<vcount>") + 8, polygons.index("</vcount>")
    counts = list(map(int, polygons[start:end].split()))
    for wrong in ([*counts[:-2], counts[-2] + 9, counts[-1] - 9], [*counts, 4], counts[:-1]):
        text = polygons[:start] + " ".join(map(str, wrong)) + polygons[end:]
        with pytest.raises(UnreadableMesh, match="polygons"):
            mesh_triangles(written(tmp_path, "wrong.dae", text.encode()))


def test_too_many_faces_end_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armwright.check.mesh_files.MAX_MESH_TRIANGLES", 100)
    with pytest.raises(UnreadableMesh, match="too many faces"):
        mesh_triangles(written(tmp_path, "many.obj", b"v 0 0 0\n" + b"f 1 1 1\n" * 200 + b"f nonsense\n"))


def test_one_number_scales_a_mesh_in_all_directions(tmp_path: Path) -> None:
    written(tmp_path, "model/meshes/box.stl", binary_stl(1000 * BOX))
    path = robot(tmp_path, own_tensor() + parallel_axis_term(2.0, MIDDLE), MIDDLE)
    path.write_text(path.read_text().replace("meshes/box.stl", 'meshes/box.stl" scale="0.001'))
    assert told(path) == [("error", "arm")]


def test_meshes_that_are_not_found_are_told_and_packages_find_them(tmp_path: Path) -> None:
    elsewhere = written(tmp_path, "elsewhere/meshes/box.stl", FILES["binary.stl"]).parent.parent
    path = robot(
        tmp_path, own_tensor() + parallel_axis_term(2.0, MIDDLE), MIDDLE, "package://box_description/meshes/box.stl"
    )
    (lost,) = [f for f in check(path, prove_it=False).findings if f.kind == "meshes not found"]
    assert lost.severity == "note"
    assert "the meshes of 1 link were not found (first: 'package://box_description/meshes/box.stl' of arm)" in lost.text
    assert "packages={'box_description': folder}" in lost.text
    packages = {"box_description": elsewhere}
    report = check(path, prove_it=False, packages=packages)
    assert [(f.severity, f.kind, f.where) for f in report.findings] == [("error", KIND, "arm")]
    out = tmp_path / "model" / "fixed.urdf"
    assert [f.kind for f in fix(path, out).changed] == []
    assert [f.kind for f in fix(path, out, packages=packages).changed] == [KIND]
    assert compare(path, out, packages=packages).outermost == "j"


# --- signs and places of the numbers of a tensor ----------------------------------------------------------------------

BENT = np.array([[0.012, -0.004, 0.001], [-0.004, 0.02, 0.002], [0.001, 0.002, 0.024]])
PAIR = """<robot name="two"><link name="base"/>{}{}</robot>"""
SIDE = """<link name="{name}"><inertial><origin xyz="0.1 {y} 0.02"/><mass value="2"/>
<inertia ixx="{i[0]}" iyy="{i[1]}" izz="{i[2]}" ixy="{i[3]}" ixz="{i[4]}" iyz="{i[5]}"/></inertial></link>
<joint name="j_{name}" type="revolute"><parent link="base"/><child link="{name}"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


def side(name: str, y: float, tensor: np.ndarray) -> str:
    six = [*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    return SIDE.format(name=name, y=y, i=[repr(float(x)) for x in six])


def exchanged(tensor: np.ndarray, i: int, j: int) -> np.ndarray:
    order = np.arange(3)
    order[[i, j]] = j, i
    return tensor - np.diag(np.diag(tensor)) + np.diag(np.diag(tensor)[order])


@pytest.mark.parametrize(
    ("slip", "kind"),
    [
        (lambda T: T, None),
        (with_negated_products, "flipped products"),
        (lambda T: exchanged(T, 0, 2), "exchanged moments"),
        (lambda T: exchanged(T, 0, 1), "exchanged moments"),
        (lambda T: 1.3 * T, None),
    ],
)
def test_a_twin_tells_turned_signs_and_exchanged_moments(slip, kind: str | None, tmp_path: Path) -> None:
    mirror = np.diag([1.0, -1.0, 1.0])
    left, right = side("left", 0.03, slip(BENT)), side("right", -0.03, mirror @ BENT @ mirror)
    path = written(tmp_path, "two.urdf", PAIR.format(left, right).encode())
    found = [f for f in check(path, prove_it=False).findings if "similar link" in f.text]
    assert [(f.severity, f.kind, f.where) for f in found] == (
        [("warning", kind, n) for n in ("left", "right")] if kind else []
    )
    assert not any(f.fixable for f in found)  # which of the two is wrong


def test_meshes_tell_exchanged_moments(tmp_path: Path) -> None:
    written(tmp_path, "model/meshes/box.stl", FILES["binary.stl"])
    own = own_tensor()
    for tensor, kinds in ((own, []), (exchanged(own, 0, 2), ["exchanged moments"])):
        found = check(robot(tmp_path, tensor, MIDDLE), prove_it=False).findings
        assert [f.kind for f in found if "with one density" in f.text] == kinds
        assert all(f.severity == "note" and "please decide" in f.text for f in found)


@needs_examples
@pytest.mark.parametrize("file", ["go2_description/urdf/go2.urdf", "hyq_description/robots/hyq_no_sensors.urdf"])
def test_a_slip_in_one_leg_of_a_real_file_is_found(file: str) -> None:
    whole = read_file_model(EXAMPLES / file)
    tried = found = 0
    for i, body in enumerate(whole.bodies):
        for kind, slip in (
            ("flipped products", with_negated_products),
            ("exchanged moments", lambda T: exchanged(T, 0, 2)),
        ):
            other = replace(body, tensor=slip(body.tensor))
            if (
                not body.has_inertial
                or whole.minor(body)
                or tensors_agree(other.inertia, body.inertia, 0.1)
                or not is_physical(other.inertia)
            ):
                continue
            bodies = (*whole.bodies[:i], other, *whole.bodies[i + 1 :])
            told = {(f.kind, f.where) for f in file_findings(replace(whole, bodies=bodies))}
            tried, found = tried + 1, found + ((kind, body.name) in told)
    assert tried >= 8
    assert found >= 0.7 * tried, (found, tried)


def test_the_length_of_a_body_is_the_largest_distance_of_its_points() -> None:
    points = np.array([[0.0, 0, 0], [0.3, 0, 0], [0, 0.4, 0], [0, 0.4, 1.2]])
    assert Body("b", 1.0, np.zeros(3), np.eye(3), points).length == pytest.approx(1.3)
