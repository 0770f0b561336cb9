"""A tree written as URDF is the same tree, here and in Pinocchio."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close

import armwright as aw
from armwright.check import compare
from armwright.robot import random_tree
from armwright.study.peers.pinocchio import Reading

KINDS = ("revolute", "prismatic", "helical", "cylindrical", "universal")
pytestmark = [
    pytest.mark.usefixtures("uncompiled"),
    pytest.mark.filterwarnings("ignore:.*its mass is zero"),  # of links between the freedoms of one joint
]


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_is_read_back_as_it_was_written(seed: int, tmp_path: Path) -> None:
    arm = random_tree(2 + seed, seed, kinds=KINDS[:2] if seed % 2 else KINDS, floating=seed % 3 == 0)
    again = aw.load(written(arm, tmp_path), tip=None)
    q, qd, qdd = states(arm)
    there, more = [j.name for j in again.joints], again.nq - again.n
    order = [there.index(joint.name) for joint in arm.joints]  # branches may stand in another one
    places = [*range(more), *(k + more for k in order)]
    other = np.empty_like(q), np.empty_like(qd), np.empty_like(qdd)
    for array, own, to in zip(other, (q, qd, qdd), (places, order, order), strict=True):
        array[to] = own
    close(again.inverse_dynamics(*other)[order], arm.inverse_dynamics(q, qd, qdd), 1e-10)


def test_a_planar_joint_is_read_back_as_one(tmp_path: Path) -> None:
    arm = random_tree(2, 1, kinds=("planar",))
    again = aw.load(written(arm, tmp_path))
    assert again.joint_types == "LL"
    state = states(arm)
    close(again.inverse_dynamics(*state), arm.inverse_dynamics(*state), 1e-10)


def test_a_tree_of_revolute_joints_is_the_same_by_every_comparison(tmp_path: Path) -> None:
    arm = random_tree(6, 4, kinds=("revolute",))
    assert compare(arm, written(arm, tmp_path), tolerance=1e-8).same


def test_pinocchio_reads_what_is_written_of_a_floating_tree(tmp_path: Path) -> None:
    arm = random_tree(5, 3, kinds=("revolute", "prismatic"), floating=True)
    model = pin.buildModelFromUrdf(str(written(arm, tmp_path)))
    assert (model.nq, model.nv) == (arm.nq, arm.n)
    q, qd, qdd = states(arm)
    order = [model.joints[model.getJointId(name)] for name in [j.name for j in arm.joints[6:]]]
    places = [*range(7), *(joint.idx_q for joint in order)]
    speeds = [*range(6), *(joint.idx_v for joint in order)]
    there = np.empty_like(q), np.empty_like(qd), np.empty_like(qdd)
    for array, own, to in zip(there, (q, qd, qdd), (places, speeds, speeds), strict=True):
        array[to] = own
    close(pin.rnea(model, model.createData(), *there)[speeds], arm.inverse_dynamics(q, qd, qdd), 1e-10)


def test_a_ball_is_not_written() -> None:
    with pytest.raises(aw.ModelError, match="URDF has no place for the ball joint"):
        random_tree(1, 1, kinds=("ball",)).to_urdf()


def written(arm: aw.Robot, folder: Path) -> Path:
    """Limits make joints revolute, of which q is one angle for every reader."""
    limited = arm.map_joints(lambda j: j if j.kind else replace(j, limits=(-3.0, 3.0)))
    path = folder / "tree.urdf"
    limited.to_urdf(path)
    return path


def states(arm: aw.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    q = arm.unit(rng.uniform(-1, 1, arm.nq))
    return q, *rng.uniform(-1, 1, (2, arm.n))


@pytest.mark.parametrize("floating", [False, True])
def test_pinocchio_reads_the_file_of_a_tree_by_itself(floating: bool, tmp_path: Path) -> None:
    """As `armwright check` asks it to: whatever frames are chosen here, the torques are those of the file."""
    path = written(random_tree(5, 3, kinds=("revolute", "planar", "prismatic"), floating=not floating), tmp_path)
    arm = aw.load(path, floating=floating)
    q, qd, qdd = states(arm)
    close(Reading(path, arm).inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), 1e-10)
