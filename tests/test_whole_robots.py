"""Whole robots as files have them, on the ground and with a floating base, against Pinocchio reading the same file."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import close

import armwright as aw
from armwright.check.evaluation import evaluate, random_states, rigid_bodies_only
from armwright.model.description import Description

CMEEL = importlib.util.find_spec("cmeel")
EXAMPLES = Path(CMEEL.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots" if CMEEL else Path("none")
pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")

ROBOTS = (
    "a1_description/urdf/a1.urdf",
    "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
    "baxter_description/urdf/baxter.urdf",
    "bolt_description/robots/bolt.urdf",
    "centauro_description/urdf/centauro.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "go2_description/urdf/go2.urdf",
    "hector_description/robots/quadrotor_base.urdf",
    "icub_description/robots/icub_reduced.urdf",
    "panda_description/urdf/panda.urdf",
    "pr2_description/urdf/pr2.urdf",
    "romeo_description/urdf/romeo.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "solo_description/robots/solo12.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "tiago_pro_description/robots/tiago_pro.urdf",
)
STANDS = [(name, False) for name in ROBOTS if not name.startswith("hector")]  # which cannot move on the ground
FLOATS = [(name, True) for name in ROBOTS]


def load(path: Path, **chosen) -> aw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aw.load(path, visuals=False, **chosen)


def there(model: pin.Model, q: np.ndarray) -> np.ndarray:
    """Our position as Pinocchio has it: the same, but for joints without limits, which it has as cosine and sine."""
    parts, place = [], 0
    for joint in model.joints[1:]:
        wide = joint.nq == 2 and joint.nv == 1
        own = q[place : place + (1 if wide else joint.nq)]
        parts.append([np.cos(own[0]), np.sin(own[0])] if wide else own)
        place += len(own)
    assert place == len(q)
    return np.concatenate(parts)


def names_of(robot: Description) -> list[str]:
    """The joints, one name for each."""
    return [row.name.rpartition(".")[0] if row.kind else row.name for row in robot.rows if row.freedom == 0]


@pytest.mark.parametrize(
    ("file", "floating"), [*STANDS, *FLOATS], ids=lambda x: x if isinstance(x, bool) else Path(x).stem
)
def test_whole_robots_agree_with_pinocchio(file: str, floating: bool) -> None:
    """In the order of its joints, by its q and v; joints that follow others move by themselves there."""
    path = EXAMPLES / file
    if not path.exists():
        pytest.skip("not in this version of example-robot-data")
    robot = rigid_bodies_only(load(path, floating=floating).without_couplings())
    model = (
        pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    )
    data = model.createData()
    assert names_of(robot) == list(model.names[1:])
    q, qd, qdd = random_states(robot, 3)
    tau, weight = evaluate(robot, "inverse_dynamics", q, qd, qdd), evaluate(robot, "gravity_torque", q)
    M = evaluate(robot, "mass_matrix", q)
    condition = np.linalg.cond(M).max()
    solvable = condition < 1e14  # some files have links without mass
    back = evaluate(robot, "forward_dynamics", q, qd, tau) if solvable else qdd
    for i in range(len(q)):
        c = there(model, q[i])
        full = np.triu(pin.crba(model, data, c))
        full = full + np.triu(full, 1).T
        close(tau[i], pin.rnea(model, data, c, qd[i], qdd[i]), 1e-11)
        assert np.abs(weight[i] - pin.computeGeneralizedGravity(model, data, c)).max() <= 1e-11 * np.abs(tau[i]).max()
        close(M[i], full, 1e-11)
        close(back[i], qdd[i], max(1e-11, 1e-15 * condition))


@pytest.mark.parametrize("file", ["talos_data/robots/talos_reduced.urdf", "panda_description/urdf/panda.urdf"])
def test_every_link_of_a_file_is_a_frame(file: str) -> None:
    path = EXAMPLES / file
    robot, model = load(path).without_couplings(), pin.buildModelFromUrdf(str(path))
    data, q = model.createData(), np.random.default_rng(0).uniform(-1, 1, robot.n)
    pin.framesForwardKinematics(model, data, there(model, q))
    poses = evaluate(robot, "link_poses", q[None])[0]
    bodies = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
    assert sorted(bodies) == sorted(frame.name for frame in robot.frames)
    for frame in robot.frames:
        link = np.array(robot.base) if frame.link < 0 else poses[frame.link]
        close(link @ np.array(frame.pose), data.oMf[model.getBodyId(frame.name)].homogeneous, 1e-14)
