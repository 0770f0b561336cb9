"""What a robot looks like: its meshes where it has them, bodies of its frames where it has none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.model.visual import Box, Capsule, Cylinder, Ellipsoid, Sphere
from armwright.pages.scene import appearance_of, extent, floor_below, triangles
from armwright.pages.scene.triangles import Triangles

PACKAGED = aw.robots()


@pytest.mark.filterwarnings("ignore::armwright.errors.ModelWarning")
@pytest.mark.parametrize("name", PACKAGED)
def test_every_packaged_robot_is_seen_whole(name: str) -> None:
    robot = aw.load(name)
    seen = appearance_of(robot)
    assert seen.generated and not seen.notes and all(seen.links) and 0.05 < seen.size < 10
    poses = robot.link_poses(robot.neutral)
    for i, shapes in enumerate(seen.links):
        for visual in shapes:
            mesh = triangles(visual.shape)
            assert np.isfinite(mesh.vertices).all() and mesh.faces.max() < len(mesh.vertices)
            assert np.abs(np.asarray(visual.pose)[:3, 3]).max() < 2 * seen.size
        for child in (k for k, parent in enumerate(robot.parents) if parent == i):
            to = (np.linalg.inv(poses[i]) @ poses[child])[:3, 3]
            ends = [np.asarray(v.pose) @ [0, 0, v.shape.length / 2, 1] for v in shapes if isinstance(v.shape, Capsule)]
            gap = min((np.linalg.norm(end[:3] - to) for end in ends), default=np.linalg.norm(to))
            assert gap <= 0.061 * seen.size, (robot.links[i].name, robot.links[child].name)


def test_a_solid_has_the_volume_it_should() -> None:
    volumes = {
        Box((1, 2, 3)): 6,
        Cylinder(0.5, 2): np.pi / 2,
        Sphere(0.5): np.pi / 6,
        Capsule(0.5, 1): np.pi / 4 + np.pi / 6,
        Ellipsoid((0.5, 1, 2)): 4 / 3 * np.pi,
    }
    for shape, volume in volumes.items():
        mesh = triangles(shape)
        a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
        assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(volume, rel=0.03)
        assert mesh.vertices.max(axis=0) == pytest.approx(-mesh.vertices.min(axis=0), abs=1e-9)


def test_meshes_of_a_file_are_read_and_missing_ones_are_told(tmp_path: Path) -> None:
    stl = "solid a\n facet normal 0 0 1\n outer loop\n vertex 0 0 0\n vertex 1 0 0\n vertex 0 1 0\n endloop\n endfacet\nendsolid\n"
    (tmp_path / "a.stl").write_text(stl)
    (tmp_path / "broken.stl").write_bytes(b"nothing of the kind")
    text = aw.load("rr").to_toml()
    rows = {
        "link1": '[{mesh = "a.stl", scale = [2.0, 1.0, 1.0], rgba = [1.0, 0.0, 0.0, 1.0]}, {box = [0.1, 0.2, 0.3]}]',
        "link2": '[{mesh = "gone.stl"}, {mesh = "broken.stl"}]',
    }
    for name, visuals in rows.items():
        text = text.replace(f'name = "{name}"', f'name = "{name}"\nvisuals = {visuals}')
    (tmp_path / "robot.toml").write_text(text)
    seen = appearance_of(aw.load(tmp_path / "robot.toml"))
    assert not seen.generated and len(seen.links[0]) == 2
    assert any(isinstance(visual.shape, Cylinder) for visual in seen.links[1])  # no hole is left
    assert triangles(seen.links[0][0].shape).vertices.max() == 2.0
    assert len(seen.notes) == 2 and "broken.stl" in seen.notes[0]
    assert seen.notes[1].startswith("1 of 3 meshes not found, generated shapes replace them; give --package")
    assert "=FOLDER with the folder that has gone.stl in it" in seen.notes[1]


def test_a_fine_mesh_becomes_coarser_and_keeps_its_size() -> None:
    t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    levels = np.concatenate([ring + np.array([0, 0, z]) for z in np.linspace(0, 3, 100)])
    k = np.arange(99 * 200)
    there = np.where(k % 200 == 199, k - 199, k + 1)
    tube = Triangles(
        levels, np.concatenate([np.stack([k, there, k + 200], 1), np.stack([there, there + 200, k + 200], 1)])
    )
    coarse = tube.coarser(2000)
    assert 200 < len(coarse.faces) <= 2000
    assert np.ptp(coarse.vertices, axis=0) == pytest.approx([2, 2, 3], abs=0.1)


@pytest.mark.filterwarnings("ignore::armwright.errors.ModelWarning")
def test_the_meshes_of_a_published_robot() -> None:
    found = next(Path(sys.prefix).rglob("example-robot-data/robots/ur_description/urdf/ur5_robot.urdf"), None)
    if found is None:
        pytest.skip("example-robot-data is not installed")
    robot = aw.load(found, tip="tool0", packages={"example-robot-data": found.parents[3]})
    seen = appearance_of(robot)
    assert not seen.generated and not seen.notes
    assert sum(len(triangles(v.shape).faces) for link in seen.links for v in link) > 5000


def test_a_payload_is_seen_where_it_is() -> None:
    arm = aw.load("panda").with_payload(3.0, com=[0, 0, 0.1])
    ball = appearance_of(arm).links[-1][-1]
    tool = arm.forward_kinematics(arm.neutral)
    at = arm.link_poses(arm.neutral)[-1] @ np.asarray(ball.pose)
    assert ball.name == "payload" and at[:3, 3] == pytest.approx((tool @ [0, 0, 0.1, 1])[:3])


@pytest.mark.parametrize("name", ["rr", "puma560", "panda", "anymal_c"])
def test_a_robot_stands_on_the_floor_with_all_of_it(name: str) -> None:
    robot = aw.load(name)
    seen, q = appearance_of(robot), np.asarray(robot.neutral)
    frames = zip([np.asarray(robot.base), *robot.link_poses(q)], (seen.base, *seen.links), strict=True)
    points = [(T @ v.pose, triangles(v.shape).vertices) for T, shapes in frames for v in shapes]
    low = np.min([(p @ T[:3, :3].T + T[:3, 3]).min(axis=0) for T, p in points], axis=0)
    assert extent(robot, seen, q)[0] == pytest.approx(low, abs=0.01 * seen.size)
    assert floor_below(robot, seen, q) == pytest.approx(low[2], abs=0.01 * seen.size)
