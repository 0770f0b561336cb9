"""What robots look like: shapes where Pinocchio and MuJoCo have them, names of meshes that stay in the model's folder."""

import importlib.util
import os
import pickle
import struct
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close, random_case, random_rotation

import armwright as aw
from armwright.errors import ModelError, ModelWarning
from armwright.model import packages, xml
from armwright.model.meshes import MeshFolders
from armwright.model.visual import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, Visual
from armwright.pages.scene.link_shapes import MIN_HOUSING_RADIUS, _radii

CMEEL = importlib.util.find_spec("cmeel")
SHARE = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share" if CMEEL else Path("none")
EXAMPLES = SHARE / "example-robot-data/robots"


def load(path: Path, **chosen) -> aw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aw.load(path, **chosen)


def shown(arm: aw.Robot, q: np.ndarray) -> list[tuple[Visual, np.ndarray]]:
    """Everything that is seen, and where it is in the world."""
    base, links = np.asarray(arm.base), arm.link_poses(q)
    return [
        *((visual, base @ np.asarray(visual.pose)) for visual in arm.base_visuals),
        *((v, T @ np.asarray(v.pose)) for link, T in zip(arm.links, links, strict=True) for v in link.visuals),
    ]


def every(arm: aw.Robot) -> list[Visual]:
    return [*arm.base_visuals, *(visual for link in arm.links for visual in link.visuals)]


# ---- URDF

REAL = [
    ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
    ("ur_description/urdf/ur5_robot.urdf", None),
    ("kinova_description/robots/kinova.urdf", None),
    ("so_arm_description/urdf/so101.urdf", None),
    ("tiago_description/robots/tiago_no_hand.urdf", None),
    ("talos_data/robots/talos_reduced.urdf", "gripper_left_base_link"),
    ("baxter_description/urdf/baxter.urdf", "left_hand_link"),
    ("anymal_b_simple_description/robots/anymal-kinova.urdf", None),
    ("double_pendulum_description/urdf/double_pendulum_simple.urdf", None),
    ("finger_edu_description/robots/finger_edu.urdf", None),
]


@pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(("file", "tip"), REAL, ids=lambda x: Path(x).stem if x else "")
@pytest.mark.usefixtures("uncompiled")
def test_visuals_are_where_pinocchio_has_them(file: str, tip: str | None) -> None:
    """All links of the file are on the chain, or locked to it: none is missing, and each moves with its link."""
    path = EXAMPLES / file
    if not path.exists():
        pytest.skip("not in this version of example-robot-data")
    arm = load(path, tip=tip)
    model = pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(SHARE)])
    data, placed = model.createData(), geometry.createData()
    assert len(every(arm)) == geometry.ngeoms > 0
    for q in np.random.default_rng(0).uniform(-1, 1, (5, arm.n)):
        full = pin.neutral(model)
        for joint, x in zip(arm.joints, q, strict=True):
            there = model.joints[model.getJointId(joint.name)]
            full[there.idx_q : there.idx_q + there.nq] = [np.cos(x), np.sin(x)] if there.nq == 2 else x
        pin.updateGeometryPlacements(model, data, geometry, placed, full)
        left = [(_kind(visual), T) for visual, T in shown(arm, q)]
        for one, T in zip(geometry.geometryObjects, placed.oMg, strict=True):
            name = Path(one.meshPath).name
            found = [
                i
                for i, (kind, mine) in enumerate(left)
                if kind in (name, one.meshPath) and np.abs(mine - T.homogeneous).max() < 1e-9
            ]
            assert found, f"{one.name}: {one.meshPath}"
            del left[found[0]]
        assert not left


def _kind(visual: Visual) -> str:
    """As Pinocchio's meshPath tells them apart: a file, or the kind of a shape."""
    return Path(visual.shape.file).name if isinstance(visual.shape, Mesh) else type(visual.shape).__name__.upper()


INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
TREE = f"""<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="base"><visual name="foot"><origin xyz="0 0 0.1"/><geometry><box size="1 2 3"/></geometry><material name="blue"/></visual></link>
<joint name="weld" type="fixed"><origin xyz="1 0 0" rpy="0 0 1"/><parent link="base"/><child link="plate"/></joint>
<link name="plate"><visual><geometry><cylinder radius="0.1" length="0.2"/></geometry></visual></link>
<joint name="a" type="revolute"><origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/><parent link="plate"/><child link="arm"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint>
<link name="arm">{INERTIAL}
<visual><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><geometry><mesh filename="package://p/arm.stl" scale="1 2 -3"/></geometry>
<material name="red"><color rgba="1 0 0 0.5"/></material></visual>
<visual><geometry><capsule radius="0.1" length="0.4"/></geometry><material name="red"/></visual></link>
<joint name="finger" type="prismatic"><origin xyz="0 0.1 0"/><parent link="arm"/><child link="tip"/><axis xyz="0 0 1"/><limit lower="0" upper="1"/></joint>
<link name="tip">{INERTIAL}<visual><geometry><sphere radius="0.3"/></geometry></visual></link>
<joint name="b" type="revolute"><origin xyz="0 0 0.5"/><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/><limit lower="-1" upper="1"/></joint>
<link name="hand">{INERTIAL}<collision><geometry><box size="9 9 9"/></geometry></collision></link></robot>"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "robot.urdf"
    path.write_text(TREE)
    return path


def test_all_shapes_of_a_urdf(tree: Path) -> None:
    arm = load(tree, tip="hand", locked={"finger": 0.25})
    foot, plate = arm.base_visuals
    assert (foot.shape, foot.rgba, foot.name) == (Box((1, 2, 3)), (0, 0, 1, 1), "foot")
    assert (plate.shape, plate.rgba, plate.name) == (Cylinder(0.1, 0.2), None, "")
    mesh, capsule, sphere = arm.links[0].visuals
    assert mesh.shape == Mesh("package://p/arm.stl", (1, 2, -3))
    assert mesh.rgba == capsule.rgba == (1, 0, 0, 0.5)
    assert (capsule.shape, sphere.shape) == (Capsule(0.1, 0.4), Sphere(0.3))
    assert arm.links[1].visuals == ()
    q = np.array([0.3, -0.2])
    placed = {type(visual.shape): T for visual, T in shown(arm, q)}
    close(placed[Box][:3, 3], [0, 0, 0.1], 4e-15)  # the way there and back is 1 m
    close(placed[Cylinder][:3, 3], [1, 0, 0], 1e-15)
    close(placed[Sphere], placed[Capsule] @ _at(0, 0.1, 0.25), 1e-15)
    turned = _at(0.1, 0.2, 0.3)
    turned[:3, :3] = xml.rotation_xyz(0.4, 0.5, 0.6)
    close(placed[Mesh], placed[Capsule] @ turned, 1e-15)


def _at(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def test_the_base_takes_along_what_is_seen_of_it(tree: Path) -> None:
    arm = load(tree, tip="hand")
    elsewhere = random_rotation(np.random.default_rng(0))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = elsewhere, (1, 2, 3)
    moved = arm.with_base(T @ np.asarray(arm.base))
    q = np.array([0.1, 0.2])
    for (_, before), (_, after) in zip(shown(arm, q), shown(moved, q), strict=True):
        close(after, T @ before, 1e-14)


def test_visuals_change_nothing_that_is_computed(tree: Path) -> None:
    arm, bare = load(tree, tip="hand"), load(tree, tip="hand", visuals=False)
    assert not every(bare)
    assert arm != bare
    assert hash(arm) == hash(bare)
    without = replace(arm, base_visuals=(), links=tuple(replace(link, visuals=()) for link in arm.links))
    assert without == bare
    assert pickle.loads(pickle.dumps(arm)) == arm
    state = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    assert np.array_equal(arm.inverse_dynamics(*state), bare.inverse_dynamics(*state))


def test_mistakes_in_a_visual_are_told_with_their_line(tree: Path) -> None:
    for old, new, message in (
        ('radius="0.3"', 'radius="nan"', r"line 11: radius = \"nan\" is not finite"),
        ('radius="0.3"', "", r"line 11: <sphere> has no attribute 'radius'"),
        ('scale="1 2 -3"', 'scale="1 2"', r"line 7: scale = \"1 2\": expected 3 numbers, got 2"),
        ('radius="0.3"', 'radius="-1"', r"line 11: radius = -1.0 is negative"),
        ('size="1 2 3"', 'size="1 -2 3"', r"line 2: size = '1 -2 3' has a negative length"),
        ('rgba="1 0 0 0.5"', 'rgba="1 0"', r"line 8: rgba = .*: expected 4 numbers, got 2"),
        ('xyz="0.1 0.2 0.3"', 'xyz="1e999 0 0"', r"line 7: xyz = .*"),
    ):
        assert old in TREE
        tree.write_text(TREE.replace(old, new))
        with pytest.raises(ModelError, match=f"robot.urdf, {message}"):
            aw.load(tree, tip="hand")


def test_liberties_that_files_take(tree: Path) -> None:
    """One number to scale by, a colour without opacity, a name that has another colour elsewhere."""
    text = TREE.replace('scale="1 2 -3"', 'scale="0.001"').replace('rgba="1 0 0 0.5"', 'rgba="1 0 0"')
    tree.write_text(text.replace('name="red"', 'name="blue"', 1))
    mesh, capsule, _ = load(tree, tip="hand").links[0].visuals
    assert mesh.shape.scale == (0.001, 0.001, 0.001)
    assert mesh.rgba == (1, 0, 0, 1)
    assert capsule.rgba is None  # nothing is called red any more


def test_show_counts_them(tree: Path) -> None:
    text = str(load(tree, tip="hand"))
    assert "visuals: 1 mesh, 1 box, 1 cylinder, 1 sphere, 1 capsule; 2 on the base, 3 on arm\n" in text
    assert "visuals" not in str(load(tree, tip="hand", visuals=False))


# ---- MJCF

CORNERS = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]], dtype="<f4")


def stl() -> bytes:
    """A tetrahedron that is as long as it is wide nowhere, away from its origin."""
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    corners = CORNERS + np.array([0.5, 0.4, 0.3], "<f4")
    body = b"".join(np.zeros(3, "<f4").tobytes() + corners[list(face)].tobytes() + b"\0\0" for face in faces)
    return b" " * 80 + struct.pack("<I", len(faces)) + body


MASS = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.2 0.4"/>'
SHAPES = f"""<mujoco model="m"><compiler angle="degree" eulerseq="ZYX" meshdir="assets"/>
<default><geom rgba="0.1 0.2 0.3 1"/><mesh scale="2 2 2"/><default class="big"><geom type="box" size="0.1 0.2 0.3"/></default></default>
<asset><material name="red" rgba="1 0 0 1"/><mesh name="plain" file="sub/x.stl" scale="1 2 -3"/>
<mesh file="turned.stl" refpos="0.1 0.2 0.3" refquat="1 2 3 4"/><mesh name="shifted" file="x.stl" scale="1 2 3" refpos="0.1 0.2 0.3"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><geom name="post" type="cylinder" size="0.1 0.5" pos="1 0 0"/>
<body name="a" pos="0 0 1" euler="10 20 30" childclass="big"><joint name="q1" pos="0.1 0.2 0.3" axis="0 1 1"/>{MASS}
<geom pos="1 2 3" axisangle="1 1 0 50"/><frame pos="0.1 0 0" euler="0 0 40"><geom class="main" type="capsule" size="0.05" fromto="0 0 0 1 1 1"/></frame>
<geom class="main" type="ellipsoid" size="0.1 0.2 0.3" zaxis="1 1 1" material="red" rgba="0.5 0.5 0.5 1"/>
<body name="b" pos="1 0 0"><joint name="q2" type="slide" axis="1 0 0"/><joint name="q3" pos="0 1 0" axis="1 0 1"/>{MASS}
<geom class="main" type="sphere" size="0.3"/>
<replicate count="3" offset="0 0 0.5"><geom class="main" type="box" size="0.3 0.1 0.2"/></replicate></body>
<body name="c">{MASS}<geom class="main" type="mesh" mesh="plain" pos="0.1 0.2 0.3" euler="10 20 30"/><geom class="main" type="mesh" mesh="turned"/>
<geom class="main" type="mesh" mesh="shifted" quat="1 0 1 0"/></body></body></worldbody></mujoco>"""


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    (tmp_path / "assets/sub").mkdir(parents=True)
    for name in ("sub/x.stl", "turned.stl", "x.stl"):
        (tmp_path / "assets" / name).write_bytes(stl())
    path = tmp_path / "robot.xml"
    path.write_text(SHAPES)
    return path


def test_shapes_are_where_mujoco_has_them(shapes: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    arm = load(shapes)
    model = mujoco.MjModel.from_xml_path(str(shapes))
    data = mujoco.MjData(model)
    kinds = {2: Sphere, 3: Capsule, 4: Ellipsoid, 5: Cylinder, 6: Box, 7: Mesh}
    for q in np.random.default_rng(0).uniform(-1, 1, (5, arm.n)):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        left = shown(arm, q)
        for i in range(1, model.ngeom):  # after the plane
            theirs = _points(model, data, i)
            fits = [
                k
                for k, (visual, T) in enumerate(left)
                if isinstance(visual.shape, kinds[int(model.geom_type[i])])
                and np.abs(_marks(visual, T) - theirs).max() < 1e-6 * (1 if visual.shape.__class__ is Mesh else 1e-6)
            ]
            assert fits, i
            del left[fits[0]]
        assert not left


def _points(model, data, i: int) -> np.ndarray:
    """In the world: the corners of a mesh, in single precision as MuJoCo has them; the ends of the axes of a shape."""
    R, p = data.geom_xmat[i].reshape(3, 3), data.geom_xpos[i]
    if model.geom_type[i] != 7:
        return p + (R * _full(model.geom_size[i], int(model.geom_type[i]))).T
    mesh = int(model.geom_dataid[i])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return _sorted(p + model.mesh_vert[first : first + count] @ R.T)


def _full(size: np.ndarray, kind: int) -> np.ndarray:
    return np.array({2: [size[0]] * 3, 3: [size[0], size[0], size[1]], 5: [size[0], size[0], size[1]]}.get(kind, size))


def _marks(visual: Visual, T: np.ndarray) -> np.ndarray:
    shape, (R, p) = visual.shape, (T[:3, :3], T[:3, 3])
    if isinstance(shape, Mesh):
        corners = np.array(shape.scale) * (CORNERS + np.array([0.5, 0.4, 0.3], "<f4"))
        return _sorted(p + corners @ R.T)
    if isinstance(shape, Box):
        size = np.array(shape.size) / 2
    elif isinstance(shape, Ellipsoid):
        size = np.array(shape.radii)
    elif isinstance(shape, Sphere):
        size = np.array([shape.radius] * 3)
    else:
        size = np.array([shape.radius, shape.radius, shape.length / 2])
    return p + (R * size).T


def _sorted(points: np.ndarray) -> np.ndarray:
    return points[np.lexsort(np.round(points, 4).T)]


def test_colours_names_and_files_of_mjcf(shapes: Path) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    arm = load(shapes)
    [post] = arm.base_visuals
    assert (post.name, post.rgba, post.shape) == ("post", (0.1, 0.2, 0.3, 1.0), Cylinder(0.1, 1.0))
    assert next(v for v in every(arm) if isinstance(v.shape, Ellipsoid)).rgba == (1, 0, 0, 1)
    folder = shapes.parent
    found = {visual.shape.find() for visual in every(arm) if isinstance(visual.shape, Mesh)}
    assert found == {folder / "assets/sub/x.stl", folder / "assets/turned.stl", folder / "assets/x.stl"}


def test_what_is_only_seen_is_preferred(tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    for only, kept in (
        ('contype="0" conaffinity="0"', [Sphere(1)]),
        ('group="2"', [Sphere(1)]),
        ('contype="0"', [Sphere(1), Sphere(2)]),
        ('rgba="0 0 0 0"', [Sphere(2)]),
    ):
        body = f'<body><joint name="a"/>{MASS}<geom size="1" {only}/><geom size="2"/></body>'
        path = tmp_path / "robot.xml"
        path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        assert [visual.shape for visual in every(load(path))] == kept


def test_shapes_that_mujoco_refuses_are_told_of(tmp_path: Path) -> None:
    """They are not needed for the dynamics, and were never looked at."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    path = tmp_path / "robot.xml"
    path.write_text(f'<mujoco><worldbody><body><joint name="a"/>{MASS}<geom size="-1"/></body></worldbody></mujoco>')
    with pytest.warns(ModelWarning, match=r"not taken over: the shapes, which MuJoCo refuses \(.*size"):
        arm = aw.load(path)
    assert not every(arm)
    assert arm.links[0].mass == 2


# ---- writing


@pytest.fixture
def dressed() -> aw.Robot:
    """A robot with every shape on its base and on its links."""
    rng = np.random.default_rng(3)
    all_shapes = (
        Mesh("package://p/x y.stl", (1, 2, -3)),
        Mesh('package://p/odd "name" <&> -- ---.dae'),
        Box((0.1, 0.2, 0.3)),
        Cylinder(0.1, 0.2),
        Sphere(0.3),
        Capsule(0.4, 0.5),
        Ellipsoid((0.1, 0.2, 0.3)),
    )

    def visuals() -> tuple[Visual, ...]:
        made = []
        for i, shape in enumerate(all_shapes):
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = random_rotation(rng), rng.normal(size=3)
            made.append(
                Visual(shape, tuple(map(tuple, T.tolist())), (0.1, 0.2, 0.3, 1.0) if i % 2 else None, f"v{i}" * (i % 3))
            )
        return (*made, Visual(Sphere(1.0)))

    arm = random_case(3, 1).arm.with_gravity([0, 0, -9.81])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(rng), (1, 2, 3)
    arm = replace(arm, links=tuple(replace(link, visuals=visuals()) for link in arm.links), base_visuals=visuals())
    return arm.with_base(T)


def test_toml_keeps_them_exactly(dressed: aw.Robot, tmp_path: Path) -> None:
    dressed.to_toml(tmp_path / "r.toml")
    back = aw.load(tmp_path / "r.toml")
    assert back == dressed
    assert every(back) == every(dressed)
    assert not every(aw.load(tmp_path / "r.toml", visuals=False))


def test_urdf_keeps_them(dressed: aw.Robot, tmp_path: Path) -> None:
    dressed.to_urdf(tmp_path / "r.urdf")
    same_looks(load(tmp_path / "r.urdf"), dressed, (Ellipsoid,))
    assert (tmp_path / "r.urdf").read_text().count("an ellipsoid of 0.1 0.2 0.3 is left out") == 4


def test_mjcf_keeps_all_but_meshes_and_names(dressed: aw.Robot, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    dressed = replace(dressed, payload=None)
    text = dressed.to_mjcf(tmp_path / "r.xml")
    model = mujoco.MjModel.from_xml_string(text)
    assert (model.ngeom, model.nmesh) == (4 * 6, 0)
    assert not np.any(model.geom_contype | model.geom_conaffinity)
    close(model.body_mass[1:], [link.mass for link in dressed.links], 1e-15)
    same_looks(load(tmp_path / "r.xml"), dressed, (Mesh,), names=False)
    assert text.count("package://p/x y.stl") == 4


def same_looks(one: aw.Robot, other: aw.Robot, without: tuple[type, ...], names: bool = True) -> None:
    q = np.random.default_rng(0).uniform(-1, 1, other.n)
    expected = [pair for pair in shown(other, q) if not isinstance(pair[0].shape, without)]
    for (mine, T), (theirs, S) in zip(shown(one, q), expected, strict=True):
        assert (mine.shape, mine.rgba) == (theirs.shape, theirs.rgba)
        assert not names or mine.name == theirs.name
        close(T, S, 1e-12)


@pytest.mark.parametrize("convention", ["standard", "angeles", "saha"])
def test_rows_of_other_conventions(convention: str) -> None:
    """A ball at the centre of mass stays there."""
    shift = "d" if convention == "standard" else "b"
    pose = np.eye(4)
    pose[:3, 3] = com = (0.1, 0.2, 0.3)
    rows = [
        {"type": kind, "alpha": 0.3, "a": 0.4, shift: 0.5, "theta": 0.6, "mass": 1.0, "com": com,
         "inertia": [1.0, 1.0, 1.0, 0, 0, 0], "visuals": [{"sphere": 0.1, "pose": pose}]}
        for kind in ("revolute", "prismatic", "prismatic")
    ]  # fmt: skip
    for link in aw.Robot.from_dh(rows, convention).links:
        [ball] = link.visuals
        close(np.asarray(ball.pose)[:3, 3], link.com, 1e-15)


@pytest.mark.parametrize(
    ("visual", "message"),
    [
        ("{}", "a visual has no shape; expected one of mesh, box"),
        ("{box = [1, 2, 3], sphere = 1}", "a visual has box and sphere; expected one of"),
        ("{box = [1, 2]}", "expected 3 numbers"),
        ("{sphere = -1}", "sphere = -1.0 is negative"),
        ("{capsule = [1, -1]}", "has a negative length"),
        ("{sphere = 1, scale = [1, 1, 1]}", "scale is for a mesh; a sphere has its size"),
        ("{sphere = 1, colour = 1}", "unknown key 'colour'"),
        ("{sphere = 1, rgba = [1, 1, 1]}", "expected 4 numbers"),
        ("{sphere = 1, pose = [1]}", "expected a 4x4"),
        ("{mesh = 1}", "mesh = 1 is not a text"),
        ('{mesh = "/etc/passwd"}', "mesh '/etc/passwd' is an absolute path"),
        ('{mesh = "a\\u0000b"}', "is not the name of a file"),
        ("3", "is not a list of tables"),
    ],
)
def test_mistakes_in_toml(visual: str, message: str, tmp_path: Path) -> None:
    text = random_case(1, 1).arm.to_toml().replace("[[link]]\n", f"[[link]]\nvisuals = [{visual}]\n")
    path = tmp_path / "r.toml"
    path.write_text(text)
    line = 1 + text[: text.index("visuals")].count("\n")
    with pytest.raises(ModelError, match=f"r.toml, line {line}: link 1.*{message}"):
        aw.load(path)


# ---- names of meshes


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """tmp_path/ws/robot is a package, its robot file is in robot/urdf/, a secret is beside it."""
    folder = tmp_path / "ws/robot"
    for name in ("urdf/here.stl", "meshes/a.stl", "package.xml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (tmp_path / "ws/other").mkdir()
    (tmp_path / "ws/other/b.stl").write_text("x")
    (tmp_path / "secret.stl").write_text("x")
    return folder


def with_mesh(name: str, where: str = "visual") -> str:
    geometry = f'<{where}><geometry><mesh filename="{name}"/></geometry></{where}>'
    return TREE.replace('<link name="plate">', f'<link name="plate">\n{geometry}')


def mesh_of(path: Path, name: str, **given) -> Mesh:
    path.write_text(with_mesh(name))
    [mesh] = [v.shape for v in load(path, tip="hand", **given).base_visuals if isinstance(v.shape, Mesh)]
    return mesh


@pytest.mark.parametrize(
    ("name", "kept", "file"),
    [
        ("here.stl", "package://robot/urdf/here.stl", "urdf/here.stl"),
        ("./x/../here.stl", "package://robot/urdf/here.stl", "urdf/here.stl"),
        ("../meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("..\\meshes\\a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("../../robot/meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("file://../meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("file://{folder}/meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("{folder}/meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("package://robot/meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("package:///robot/meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
        ("model://robot/meshes/../meshes/a.stl", "package://robot/meshes/a.stl", "meshes/a.stl"),
    ],
)
def test_names_within_the_model(package: Path, name: str, kept: str, file: str) -> None:
    mesh = mesh_of(package / "urdf/robot.urdf", name.format(folder=package))
    assert mesh.file == kept
    assert mesh.find() == package / file


OUTSIDE = [
    "/etc/passwd",
    "//server/share/x.stl",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "FILE:///etc/passwd",
    "C:\\x.stl",
    "C:/x.stl",
    "../../../secret.stl",
    "..\\..\\..\\secret.stl",
    "../../../../../../../../../etc/passwd",
    "x/../../../../secret.stl",
    "package://robot/../../secret.stl",
    "package://robot/..",
    "package://../secret.stl",
    "package://",
    "model://x/../../y.stl",
    "",
    "a\tb\u202e.stl",
    "a" * 2000,
]


@pytest.mark.parametrize("where", ["visual", "collision"])
@pytest.mark.parametrize("name", OUTSIDE, ids=lambda name: name[:40])
def test_names_that_lead_out_are_refused_at_once(package: Path, name: str, where: str) -> None:
    path = package / "urdf/robot.urdf"
    path.write_text(with_mesh(name, where))
    begin = time.perf_counter()
    with pytest.raises(ModelError, match=r"robot.urdf, line 5: mesh .* expected ") as refused:
        aw.load(path, tip="hand")
    assert time.perf_counter() - begin < 1
    assert "visuals=False" in str(refused.value) or "is not the name of a file" in str(refused.value)
    assert load(path, tip="hand", visuals=False).n == 2


@pytest.mark.parametrize("name", [name for name in OUTSIDE if "package" not in name], ids=lambda name: name[:40])
def test_names_in_mjcf_that_lead_out_are_refused(package: Path, name: str) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    path = package / "urdf/robot.xml"
    body = f'<body><joint name="a"/>{MASS}<geom type="mesh" mesh="m"/></body>'
    name = name.replace("\t", "&#9;")
    path.write_text(f'<mujoco><worldbody>{body}</worldbody>\n<asset><mesh name="m" file="{name}"/></asset></mujoco>')
    with pytest.raises(ModelError, match=r"robot.xml, line 2: mesh .* expected "):
        aw.load(path)
    assert load(path, visuals=False).n == 1


def test_the_folder_of_meshes_in_mjcf(package: Path) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    path = package / "urdf/robot.xml"

    def mesh(folder: str, file: str, rest: str = "") -> Mesh:
        body = f'<body><joint name="a"/>{MASS}<geom type="mesh" mesh="m"/></body>'
        path.write_text(
            f'<mujoco><compiler {folder} {rest}/><worldbody>{body}</worldbody><asset><mesh name="m" file="{file}"/></asset></mujoco>'
        )
        [visual] = every(load(path))
        return visual.shape

    for given in (
        ('meshdir="../meshes"', "a.stl"),
        ('assetdir="../meshes/"', "a.stl"),
        ('meshdir="../meshes/deep"', "../a.stl"),
        ('meshdir="../meshes"', "/away/a.stl", 'strippath="true"'),
    ):
        assert mesh(*given).find() == package / "meshes/a.stl"
    for folder in ("../../..", "/etc"):
        with pytest.raises(ModelError, match=r"mesh .* expected a name within"):
            mesh(f'meshdir="{folder}"', "a.stl")


def test_without_a_package_the_model_has_the_folder_of_its_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "urdf").mkdir(parents=True)
    with pytest.raises(ModelError, match=r"mesh '../meshes/a.stl' leads out of the model's folder"):
        mesh_of(mine / "robot.urdf", "../meshes/a.stl")
    assert mesh_of(mine / "robot.urdf", "meshes/a.stl").file == "package://mine/meshes/a.stl"
    beside = mesh_of(mine / "urdf/robot.urdf", "../meshes/a.stl")  # as many keep them
    assert beside.file == "package://mine/meshes/a.stl"
    with pytest.raises(ModelError, match=r"robot.urdf: mesh 'package://mine/meshes/a.stl' does not exist"):
        beside.find()


def test_packages_that_the_user_names(package: Path) -> None:
    path, other = package / "urdf/robot.urdf", package.parent / "other"
    mesh = mesh_of(path, "package://other/b.stl")
    with pytest.raises(
        ModelError, match=rf"unknown package 'other'; say where it is: packages=\{{'other': '{other}'\}}"
    ):
        mesh.find()
    assert mesh.find(packages={"other": other}) == other / "b.stl"
    assert mesh_of(path, "package://other/b.stl", packages={"other": other}).find() == other / "b.stl"
    for name in ("../../other/b.stl", f"{other}/b.stl", f"file://{other}/b.stl"):
        mesh = mesh_of(path, name, packages={"other": str(other)})
        assert mesh.file == "package://other/b.stl"
        assert mesh.find() == other / "b.stl"
    with pytest.raises(ModelError, match=r"packages\['other'\] = .* is not a folder"):
        mesh_of(path, "a.stl", packages={"other": other / "gone"})
    again = mesh_of(path, "../meshes/a.stl", packages={"robot": other})  # another folder of the model's name
    assert again.find() == package / "meshes/a.stl"


def test_a_name_that_leads_out_and_back_is_found(tmp_path: Path) -> None:
    """As in the files of frax, some of which count the folders wrong."""
    folder = tmp_path / "frax/assets/panda"
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes/a.obj").write_text("x")
    mesh = mesh_of(folder / "robot.urdf", "../../../assets/panda/meshes/a.obj")
    assert mesh.file == "package://assets/panda/meshes/a.obj"
    assert mesh.find() == folder / "meshes/a.obj"
    assert mesh.find(packages={"assets": tmp_path / "frax/assets"}) == folder / "meshes/a.obj"


def test_a_folder_that_was_renamed_still_has_its_meshes(tmp_path: Path) -> None:
    folder = tmp_path / "xarm"
    for name in ("urdf", "meshes/visual", "meshes/collision"):
        (folder / name).mkdir(parents=True)
    for name in ("meshes/visual/a.stl", "meshes/collision/a.stl", "meshes/b.stl"):
        (folder / name).write_text("x")
    (tmp_path / "secret.stl").write_text("x")
    (folder / "meshes/away.stl").symlink_to(tmp_path / "secret.stl")
    path = folder / "urdf/robot.urdf"
    assert mesh_of(path, "package://data/robots/arm/meshes/visual/a.stl").find() == folder / "meshes/visual/a.stl"
    deeper = mesh_of(path, "package://arm/meshes/b.stl", packages={"arm": folder / "meshes"})  # named a level too deep
    assert deeper.find() == folder / "meshes/b.stl"
    for name in ("arm/secret.stl", "arm/meshes/away.stl", "arm/meshes/a.stl"):
        with pytest.raises(ModelError, match=r"unknown package 'arm'"):
            mesh_of(path, f"package://{name}").find()


def test_a_folder_that_holds_the_file_is_the_package_of_its_name(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "data/robots/arm/urdf"
    folder.mkdir(parents=True)
    (tmp_path / "data/a.stl").write_text("x")
    (folder.parent / "a.stl").write_text("x")
    (tmp_path / "data/beside").mkdir()
    (tmp_path / "data/beside/b.stl").write_text("x")
    (folder.parent / "away.stl").symlink_to(tmp_path / "secret.stl")
    (tmp_path / "secret.stl").write_text("x")
    mesh = mesh_of(folder / "robot.urdf", "package://data/robots/arm/a.stl")
    assert mesh.find() == folder.parent / "a.stl"
    for name, message in (
        ("package://beside/b.stl", "unknown package 'beside'; say where it is"),  # not around the file
        ("package://data/a.stl", "leads out of the robot's folder"),
        ("package://robots/../a.stl", "leads out of its package"),
        (f"package://{tmp_path.name}/secret.stl", "leads out of the robot's folder"),
        ("package://arm/away.stl", "leads out of the robot's folder"),
        ("package://arm/gone.stl", "does not exist"),
    ):
        with pytest.raises(ModelError, match=message):
            mesh_of(folder / "robot.urdf", name).find()
    for name in ("package://data/../secret.stl", "../../../a.stl", f"{tmp_path}/data/a.stl"):
        with pytest.raises(ModelError, match=r"leads out of|is an absolute path"):
            mesh_of(folder / "robot.urdf", name)
    monkeypatch.setenv("HOME", str(folder.parent))  # nobody's home is the folder of a model
    with pytest.raises(ModelError, match="leads out of the robot's folder"):
        mesh_of(folder / "robot.urdf", "package://arm/a.stl").find()


@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/home", "/home/me", "/Users/me", "/srv"])
def test_what_belongs_to_everybody_is_no_model(folder: str) -> None:
    assert packages.model_folder(Path(folder) / "urdf") == Path(folder) / "urdf"
    assert packages.model_folder(Path(folder) / "of/arm/urdf") == Path(folder) / "of/arm"


def test_a_pipe_is_no_mesh(package: Path) -> None:
    os.mkfifo(package / "meshes/pipe.stl")
    with pytest.raises(ModelError, match="does not exist"):
        mesh_of(package / "urdf/robot.urdf", "../meshes/pipe.stl").find()


def test_links_to_files_outside_are_not_followed(package: Path) -> None:
    (package / "meshes/link.stl").symlink_to(package.parent.parent / "secret.stl")
    (package / "away").symlink_to(package.parent.parent)
    (package / "meshes/loop.stl").symlink_to(package / "meshes/loop.stl")
    (package / "meshes/inside.stl").symlink_to(package / "meshes/a.stl")
    path = package / "urdf/robot.urdf"
    for name in ("../meshes/link.stl", "../away/secret.stl", "package://robot/away/secret.stl"):
        with pytest.raises(ModelError, match="leads out of the robot's folder"):
            mesh_of(path, name).find()
    with pytest.raises(ModelError, match=r"is not the name of a file|does not exist"):
        mesh_of(path, "../meshes/loop.stl").find()
    assert mesh_of(path, "../meshes/inside.stl").find() == package / "meshes/a.stl"


def test_other_schemes_are_kept_and_never_found(package: Path) -> None:
    mesh = mesh_of(package / "urdf/robot.urdf", "http://example.org/a.stl")
    assert mesh.file == "http://example.org/a.stl"
    with pytest.raises(ModelError, match="is not in a file"):
        mesh.find()


def test_what_is_written_elsewhere_still_means_the_same(package: Path, tmp_path: Path) -> None:
    path = package / "urdf/robot.urdf"
    path.write_text(with_mesh("../meshes/a.stl"))
    arm = load(path, tip="hand")
    for name in ("r.toml", "r.urdf"):
        (arm.to_toml if name == "r.toml" else arm.to_urdf)(tmp_path / name)
        back = load(tmp_path / name, packages={"robot": package})
        [mesh] = [v.shape for v in back.base_visuals if isinstance(v.shape, Mesh)]
        assert mesh.file == "package://robot/meshes/a.stl"
        assert mesh.find() == package / "meshes/a.stl"
    assert load(tmp_path / "r.toml") == arm


def test_xacro_files_have_visuals(package: Path) -> None:
    path = package / "urdf/robot.xacro"
    path.write_text(
        with_mesh("package://${name}/meshes/a.stl").replace(
            '<robot name="r">',
            '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="name" value="robot"/>',
        )
    )
    meshes_found = [v.shape.find() for v in load(path, tip="hand").base_visuals if isinstance(v.shape, Mesh)]
    assert meshes_found == [package / "meshes/a.stl"]


def test_nothing_is_opened_on_loading(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = package / "urdf/robot.urdf"
    path.write_text(with_mesh("../meshes/a.stl"))
    opened: list[str] = []
    plain = os.open
    monkeypatch.setattr(os, "open", lambda file, *a, **k: opened.append(str(file)) or plain(file, *a, **k))
    load(path, tip="hand")
    assert opened == [str(path)]


def test_places_without_a_name() -> None:
    assert MeshFolders("/robot.urdf").package_name("a.stl") == "package://model/a.stl"


def test_the_housings_of_light_links_have_a_smallest_size() -> None:
    assert _radii(aw.load("g1"), 2.0).min() == pytest.approx(2 * MIN_HOUSING_RADIUS)
