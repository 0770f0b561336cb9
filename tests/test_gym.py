"""Environments keep Gymnasium's contract; many at once are the same as one by one, and a bad one costs no other."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, VectorEnv

import armwright as aw
from armwright.errors import InputError, LimitWarning, UnknownNameError
from armwright.learn.gym import Hold, Reach, Task, Track, nearness, single, vector
from armwright.learn.gym.random_streams import Streams, normal
from armwright.learn.gym.robot_plant import ACTIONS, Plant
from armwright.robot import random_tree

TASKS = {"Reach": Reach, "Track": Track, "Hold": Hold}


def strong(robot: aw.Robot) -> aw.Robot:
    """With limits, so that nothing has to be guessed."""
    return robot.with_limits(position=(-2.0, 2.0), velocity=2.0, torque=500.0)


@pytest.fixture(scope="module")
def rr() -> aw.Robot:
    return strong(aw.load("rr"))


def rollout(envs: VectorEnv, steps: int, seed: int, act: int = 7) -> list[np.ndarray]:
    """Everything that is returned."""
    envs.action_space.seed(act)
    seen, info = envs.reset(seed=seed)
    found = [seen, info["diverged"]]
    for _ in range(steps):
        *step, info = envs.step(envs.action_space.sample())
        found += [*step, *(info[key] for key in sorted(info))]
    return found


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("robot", ["panda", "rr"])
@pytest.mark.filterwarnings("ignore:.*infinity:UserWarning", "ignore::armwright.errors.LimitWarning")
def test_gymnasiums_own_checker_finds_nothing(task: str, robot: str) -> None:
    check_env(gymnasium.make(f"armwright/{task}-v0", robot=robot).unwrapped)


@pytest.mark.parametrize("task", TASKS)
def test_many_at_once_are_what_gymnasium_makes_of_single_ones(task: str, rr: aw.Robot) -> None:
    """Bit by bit, over ends of episodes: both resets of their own, and those by joint limits."""
    how = {"num_envs": 3, "robot": rr, "max_episode_steps": 12, "action": "torque"}
    together = gymnasium.make_vec(f"armwright/{task}-v0", **how)
    apart = gymnasium.make_vec(f"armwright/{task}-v0", vectorization_mode="sync", **how)
    assert together.observation_space == apart.observation_space
    assert together.action_space == apart.action_space
    assert together.metadata["autoreset_mode"] is apart.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    ended = np.zeros(2, int)
    for envs in (together, apart):
        envs.action_space.seed(1)
    pairs = [(together.reset(seed=5), apart.reset(seed=5))]
    for _ in range(60):
        action = together.action_space.sample()
        pairs.append((together.step(action), apart.step(action)))
        ended += [pairs[-1][0][2].sum(), pairs[-1][0][3].sum()]
    for one, other in pairs:
        assert data_equivalence(one, other, exact=True)
    assert ended.min() > 0


def test_seeds_decide_everything(rr: aw.Robot) -> None:
    def of(seed: int, num_envs: int = 4) -> list[np.ndarray]:
        return rollout(vector(rr, Hold(), num_envs, max_episode_steps=5), 12, seed)

    assert all(map(np.array_equal, of(3), of(3)))
    assert not np.array_equal(of(3)[0], of(4)[0])
    assert np.array_equal(of(3)[0][1:], of(4)[0][:-1])  # environment i of seed s is that of seed s + i
    assert np.array_equal(of(3)[0][:2], of(3, num_envs=2)[0])
    first, other = vector(rr, num_envs=2).reset()[0], vector(rr, num_envs=2).reset()[0]
    assert not np.array_equal(first, other)
    assert np.array_equal(vector(rr, seed=9).reset()[0], vector(rr).reset(seed=9)[0])


def test_streams_are_uniform_and_independent() -> None:
    unit = Streams(range(1000)).unit(np.arange(1000), 100)
    assert unit.min() >= 0
    assert unit.max() < 1
    counts, _ = np.histogram(unit, 100, (0, 1))
    assert np.square(counts - 1000).sum() / 1000 < 150  # chi-squared of 99 freedoms: 150 has a chance of 0.0007
    assert np.abs(np.corrcoef(unit[:50])[np.triu_indices(50, 1)]).max() < 0.5
    assert np.abs(np.corrcoef(unit.T)[np.triu_indices(100, 1)]).max() < 0.17
    bell = normal(unit)
    assert abs(bell.mean()) < 0.015
    assert abs(bell.std() - 1) < 0.01
    halves = Streams(range(5))
    a, b = halves.unit(np.arange(5), 40), halves.unit(np.arange(5), 60)
    assert np.array_equal(np.hstack([a, b]), unit[:5])


def test_targets_are_where_the_tip_can_be() -> None:
    arm = aw.load("panda")
    envs = vector(arm, Reach(), 200, seed=0)
    envs.reset()
    targets = envs._drawn["target"]
    _, solved = arm.inverse_kinematics(_poses(targets[:20]), orientation="free", raises=False)
    assert solved.all()
    assert np.ptp(targets, axis=0).min() > 1.0
    limits = np.array([joint.limits for joint in arm.joints]).T
    assert ((envs._q > limits[0]) & (envs._q < limits[1])).all()


def _poses(points: np.ndarray) -> np.ndarray:
    T = np.tile(np.eye(4), (len(points), 1, 1))
    T[:, :3, 3] = points
    return T


def test_velocities_and_positions_are_followed() -> None:
    arm = aw.load("panda")
    envs = vector(arm, Reach(start=0.2), 16, action="velocity", seed=0)
    envs.reset()
    action = np.random.default_rng(0).uniform(-0.3, 0.3, (16, 7))
    for _ in range(15):
        envs.step(action)
    assert np.abs(envs._qd - action * envs.plant.speed).max() < 0.03
    envs = vector(arm, Reach(start=0.2), 16, action="position", seed=0)
    envs.reset()
    wanted = np.random.default_rng(0).uniform(-0.5, 0.5, (16, 7))
    low, high = envs.plant.span
    for _ in range(99):
        assert not envs.step(wanted)[2].any()
    assert np.abs(envs._q - ((low + high) / 2 + wanted * (high - low) / 2)).max() < 0.01


def test_torques_are_shares_of_what_the_motors_give(rr: aw.Robot) -> None:
    envs = vector(rr, action="torque", dt=0.01, substeps=3, seed=0)
    envs.reset()
    q, qd = envs._q.copy(), envs._qd.copy()
    envs.step(np.array([[0.5, -2.0]]))
    expected = aw.stepper(rr, dt=0.01, substeps=3).step(q, qd, np.array([[250.0, -500.0]]))
    assert np.array_equal(envs._q, expected[0])
    assert np.array_equal(envs._qd, expected[1])


def test_every_part_of_a_task_can_be_replaced(rr: aw.Robot) -> None:
    def reset(draw: aw.learn.gym.Draw) -> dict[str, np.ndarray]:
        return {"q": draw.positions(0.1), "target": np.full((draw.count, 3), 0.5), "worth": draw.uniform(1, 2)}

    task = Reach(
        reset=reset,
        observe=lambda scene: scene["worth"][:, None] + scene.q,
        reward=lambda scene: scene["worth"] - scene.distance,
        terminate=lambda scene: scene.steps >= 3,
        report=lambda scene: {"torque": scene.tau, "time": scene.t},
        disturb=lambda scene: np.zeros_like(scene.qd),
    )
    envs = vector(rr, task, 5, seed=1)
    seen, _ = envs.reset()
    assert seen.shape == (5, 2)
    assert seen.dtype == np.float32
    ends = []
    for _ in range(4):
        seen, reward, terminated, _, info = envs.step(np.zeros((5, 2)))
        ends.append(terminated.all())
    assert ends == [False, False, True, False]
    assert (reward == 0).all()  # the step in which an episode begins
    assert info["torque"].shape == (5, 2)
    assert (info["time"] == 0).all()
    made = gymnasium.make_vec("armwright/Reach-v0", num_envs=5, robot=rr, reward=task.reward, reset=reset)
    made.reset(seed=1)
    reward = made.step(np.zeros((5, 2)))[1]
    assert np.array_equal(reward, made._drawn["worth"] - np.linalg.norm(0.5 - made.plant.tip(made._q), axis=1))


def test_a_task_of_ones_own_varies_the_robot(rr: aw.Robot) -> None:
    """Every environment has its own payload and gravity: each moves as that robot does."""
    task = Task(
        reset=lambda draw: {
            "q": np.zeros((draw.count, 2)), "payload.mass": draw.uniform(0, 3), "gravity": draw.normal((3,))
        },
        observe=lambda scene: scene["gravity"],
        reward=lambda scene: scene["payload.mass"],
        vary=("payload.mass", "gravity"),
    )  # fmt: skip
    envs = vector(rr, task, 3, action="torque", substeps=4, seed=2)
    envs.reset()
    _, masses, *_ = envs.step(np.full((3, 2), 0.1))
    for mass, gravity, q in zip(masses, envs._drawn["gravity"], envs._q, strict=True):
        held = aw.stepper(rr.with_payload(mass).with_gravity(gravity), dt=0.04, substeps=4)
        assert np.allclose(held.step(np.zeros(2), np.zeros(2), np.full(2, 50.0))[0], q, rtol=1e-12)


def test_a_bad_one_costs_no_other(rr: aw.Robot) -> None:
    """An action that is no number, and a speed beyond all bounds: these end, are told, and are seen where they were."""
    good, bad = (vector(rr, num_envs=4, action="torque", seed=3) for _ in range(2))
    good.reset()
    before, _ = bad.reset()
    bad._qd[2] = good._qd[2] = 1e5
    action = np.full((4, 2), 0.1)
    expected = good.step(action)[0]
    action[1] = np.nan, np.inf
    seen, reward, terminated, truncated, info = bad.step(action)
    assert np.array_equal(terminated, [False, True, True, False])
    assert np.array_equal(info["diverged"], [False, True, True, False])
    assert np.array_equal(seen[[0, 3]], expected[[0, 3]])
    assert np.array_equal(seen[1], before[1])
    assert np.isfinite(seen).all()
    assert np.isfinite(reward).all()
    assert not truncated.any()
    seen, _, terminated, _, info = bad.step(np.zeros((4, 2)))  # they begin anew
    assert not terminated.any()
    assert not info["diverged"].any()
    assert np.abs(seen).max() < 10


def test_an_episode_ends_beyond_the_limits_of_a_joint(rr: aw.Robot) -> None:
    envs = vector(rr, num_envs=2, action="torque", seed=0)
    envs.reset(options={"q": [[1.9, 0.0], [0.0, 0.0]], "qd": [5.0, 0.0]})
    ends = np.array([envs.step(np.zeros((2, 2)))[2] for _ in range(2)])
    assert np.array_equal(ends[-1], [True, False])


def test_resets_of_some_and_to_what_is_given(rr: aw.Robot) -> None:
    envs = vector(rr, num_envs=3, seed=0)
    envs.reset()
    envs.step(np.ones((3, 2)))
    envs.reset(options={"reset_mask": np.array([False, True, False]), "target": [0.1, 0.2, 0.0]})
    assert np.array_equal(envs._steps, [1, 0, 1])
    assert np.array_equal(envs._drawn["target"][1], [0.1, 0.2, 0.0])
    assert not np.array_equal(envs._drawn["target"][0], [0.1, 0.2, 0.0])
    envs.reset(seed=[4, None, 4])
    assert np.array_equal(envs._q[0], envs._q[2])
    assert not np.array_equal(envs._q[0], envs._q[1])


def test_a_given_motion_is_tracked_and_a_pose_is_held() -> None:
    """The policy that asks for what is wanted: it needs nothing but the observations."""
    arm = aw.load("panda")
    home, place = np.array([0, -0.4, 0, -2.0, 0, 1.6, 0.8]), np.array([0.5, 0.2, -0.3, -1.5, 0.4, 1.9, 0.2])
    motion = aw.trajectory.quintic([0, 2], [home, place])
    for task in (Track(trajectory=motion), Track(), Hold(pose=home, tolerance=0.1)):
        envs = vector(arm, task, 4, seed=0, max_episode_steps=None)
        seen, info = envs.reset()
        for _ in range(70):
            _, qd, way, *rest = np.split(seen, len(seen[0]) // 7, axis=1)
            speed = qd + rest[0] if rest else 0 * qd
            seen, reward, terminated, _, info = envs.step((speed + 4 * way) / envs.plant.speed)
            assert not terminated.any()
        assert info["success"].all(), (task, info)
        assert (reward > 0.4).all()


def test_pushes_and_payloads_disturb(rr: aw.Robot) -> None:
    still = {}
    for name, task in {"nothing": Hold(push=0.0), "push": Hold(), "load": Hold(push=0.0, payload=5.0)}.items():
        envs = vector(rr, task, 4, seed=0)
        envs.reset()
        for _ in range(20):
            info = envs.step(np.zeros((4, 2)))[-1]
        still[name] = info["error"].mean()
    assert still["nothing"] < 1e-3
    assert still["push"] > 10 * still["nothing"]
    assert still["load"] > 10 * still["nothing"]


def test_pushes_are_as_strong_wherever_it_begins() -> None:
    """The same accelerations, in another order, at a drawn pose and at one where the arm is stretched or folded."""
    arm = aw.load("panda")
    folded = [0, -1.7, 0, -3.0, 0, 0.1, 0]
    for options in (None, {"pose": folded}, {"q": folded}, {"q": folded, "pose": folded}):
        envs = vector(arm, Hold(push=2.0), 50, seed=0)
        envs.reset(options=options)
        assert np.array_equal(envs._q, envs._drawn["pose"])
        if options:
            assert (envs._q == folded).all()
        pushes = np.moveaxis(envs._drawn["push"], 1, 0)
        felt = arm.forward_dynamics(envs._q, 0 * envs._qd, pushes + arm.gravity_torque(envs._q))
        assert 1.9 < np.abs(felt).max() < 2 + 1e-9


def test_one_option_of_hold_gives_the_other(rr: aw.Robot) -> None:
    envs = vector(rr, Hold(pose=[0.3, 0.4]), 2, seed=0)
    envs.reset(options={"q": [0.1, 0.2]})  # away from the pose of the task
    assert (envs._q == [0.1, 0.2]).all()
    assert (envs._drawn["pose"] == [0.3, 0.4]).all()
    observed, _ = envs.reset(options={"q": [0.1, 0.2], "qd": [0.5, 0.6], "pose": [0.3, 0.5]})
    np.testing.assert_allclose(observed[:, :6], [[0.1, 0.2, 0.5, 0.6, 0.2, 0.3]] * 2, atol=1e-6)
    envs.reset(options={"pose": [0.1, 0.2]})
    assert (envs._q == [0.1, 0.2]).all()
    assert (envs._drawn["pose"] == [0.1, 0.2]).all()
    envs.reset(options={"pose": [0.1, 0.2], "q": [[0.0, 0.0], [0.5, 0.5]]})
    assert np.array_equal(envs._q, [[0.0, 0.0], [0.5, 0.5]])
    assert (envs._drawn["pose"] == [0.1, 0.2]).all()


def test_a_motion_given_by_its_parts_begins_where_it_is(rr: aw.Robot) -> None:
    envs = vector(rr, Track(), 3, seed=0)
    _, info = envs.reset(options={"centre": [0.2, -0.1], "phase": 0.0})
    assert np.allclose(envs._q, [0.2, -0.1])
    assert np.allclose(info["error"], 0)


def test_options_are_rows_of_all_environments(rr: aw.Robot) -> None:
    envs = vector(rr, num_envs=3, seed=0)
    envs.reset()
    rows = np.array([[0.1, 0.0], [0.2, 0.0], [0.3, 0.0]])
    envs.reset(options={"reset_mask": np.array([False, True, True]), "q": rows})
    assert np.array_equal(envs._q[1:], rows[1:])
    assert not np.array_equal(envs._q[0], rows[0])


def test_actions_move_a_robot_as_a_simulation_does(rr: aw.Robot) -> None:
    """Torques, payload and pushes of one step after the other, beside `simulate` with tight tolerances."""
    envs = vector(rr, Hold(payload=3.0), 2, action="torque", seed=4)
    envs.reset()
    q, qd = envs._q[1].copy(), envs._qd[1].copy()
    arm = rr.with_payload(float(envs._drawn["payload.mass"][1]))
    pushes = envs._drawn["push"][1]
    actions = np.random.default_rng(0).uniform(-0.1, 0.1, (16, 2, 2))
    for k, action in enumerate(actions):
        envs.step(action)
        tau = 500 * action[1] + pushes[int(k * 0.04 / 0.5 + 1e-9)]
        run = aw.simulate(arm, aw.torque.constant(tau), q0=q, qd0=qd, duration=0.04, rtol=1e-10)
        q, qd = run.q[-1], run.qd[-1]
    assert np.allclose(envs._q[1], q, atol=1e-5)
    assert np.allclose(envs._qd[1], qd, atol=1e-4)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_tree_by_the_name_of_a_frame(action: str) -> None:
    tree = strong(random_tree(5, 3, floating=False, kinds=("revolute", "prismatic")))
    tip = tree.frame_names[-1]
    envs = vector(tree, Reach(frame=tip), 3, action=action, seed=0)
    seen, _ = envs.reset()
    for _ in range(5):
        seen, *_ = envs.step(envs.action_space.sample())
    assert np.allclose(seen[:, 2 * tree.n :][:, :3], tree.forward_kinematics(envs._q, tip)[:, :3, 3], atol=1e-5)


def test_any_robot_with_one_that_has_loops_and_one_with_ball_joints() -> None:
    bar = strong(aw.load("five_bar"))
    assert (bar.mass_matrix(Plant(bar).samples) > -np.inf).all()
    ball = strong(random_tree(3, 1, kinds=("ball", "revolute")))
    assert ball.balls
    for robot, task in ((bar, Reach(frame=bar.frame_names[-1])), (ball, Hold()), (ball, Reach(frame="link3"))):
        envs = vector(robot, task, 8, seed=0)
        assert np.isfinite(envs.reset()[0]).all()
        for _ in range(10):
            seen, *_ = envs.step(envs.action_space.sample())
            assert np.isfinite(seen).all()


def test_a_floating_base_has_no_motor_and_must_not_fall() -> None:
    robot = random_tree(3, 2, floating=True, kinds=("revolute",)).with_limits(torque=5.0)
    envs = vector(robot.with_gravity([0, 0, 0]), Hold(push=0.1), 2, action="torque", seed=0)
    assert envs.single_action_space.shape == (2,)
    envs.reset()
    assert not envs.step(np.zeros((2, 2)))[2].any()
    with pytest.raises(InputError, match=r"floats and would fall; expected a robot.*with_gravity"):
        vector(robot, Hold(), action="torque")
    with pytest.raises(InputError, match=r"no motor moves .* floats .*action='torque', and .*with_gravity"):
        vector(robot, Hold())
    with pytest.raises(InputError, match=r"no motor moves .*action='torque'$"):
        vector(robot.with_gravity([0, 0, 0]), Hold())
    with pytest.raises(InputError, match=r"Reach draws targets by the joints.*reset="):
        vector(robot.with_gravity([0, 0, 0]), Reach(frame="link3"), action="torque")


def test_motors_of_unknown_strength_hold_the_robot_and_are_told() -> None:
    arm = aw.load("rr")
    with pytest.warns(LimitWarning, match=r"rr has no motor torques.* for .*with_limits"):
        envs = vector(arm, Hold(push=0.0), 20, seed=0)
    assert (np.abs(arm.gravity_torque(envs.plant.samples)) < envs.plant.strength).all()
    envs.reset()
    for _ in range(20):
        info = envs.step(np.zeros((20, 2)))[-1]
    assert info["success"].all()


def test_stiff_friction_takes_more_steps(rr: aw.Robot) -> None:
    """With a hundred times the damping that four steps of RK4 bear, a robot still comes to rest."""
    rubbing = rr.with_friction(viscous=2e4, coulomb=1.0)
    envs = vector(rubbing, num_envs=2, action="torque", seed=0)
    assert envs.stepper.substeps > 40
    envs.reset()
    assert not envs.step(np.ones((2, 2)))[-1]["diverged"].any()
    with pytest.raises(InputError, match=r"would take \d+ substeps; expected a shorter dt"):
        vector(rr.with_friction(viscous=1e9))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))], ids=["copy", "pickle"]
)
def test_copies_go_on_as_they_would_have(copied: Callable[[VectorEnv], VectorEnv], rr: aw.Robot) -> None:
    envs = vector(rr, Hold(payload=2.0), 3, max_episode_steps=8, seed=0)
    envs.reset()
    action = np.full((3, 2), 0.2)
    for _ in range(5):
        envs.step(action)
    other = copied(envs)
    for _ in range(10):
        assert data_equivalence(envs.step(action), other.step(action), exact=True)


def test_rewards_grow_with_nearness_and_are_never_negative() -> None:
    far = np.array([0.0, 0.02, 0.04, 0.08, 0.4, 0.8, 1.7, 5.0])
    reward = nearness(far, tolerance=0.02, far=1.7)
    assert reward[0] == 1
    assert reward[-2:] == pytest.approx([0, 0])
    assert (np.diff(reward) <= 0).all()
    assert reward[2] - reward[3] == pytest.approx(reward[4] - reward[5], rel=0.3)  # a halving is a halving


def test_threads_change_nothing(rr: aw.Robot) -> None:
    one, two = (rollout(vector(rr, num_envs=50, threads=threads), 5, 0) for threads in (1, 2))
    assert all(map(np.array_equal, one, two))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"action": "force"}, r"unknown action 'force'.*velocity"),
        ({"dt": 0}, r"dt = 0: expected seconds"),
        ({"response": 0.01}, r"response = 0.01 s: expected dt = 0.04 s or more"),
        ({"num_envs": 0}, r"num_envs = 0: expected a whole number, 1 or more"),
        ({"render_mode": "human"}, r"render_mode = 'human': environments have no pictures"),
        ({"task": "reach"}, r"task is 'reach'; expected a Task"),
        ({"task": Reach(frame="hand")}, r"unknown frame of rr: 'hand'"),
        ({"task": Hold(pose=[0, 0, 0])}, r"pose has shape \(3,\); expected \(2,\)"),
        ({"task": Track(trajectory=aw.trajectory.rest([0] * 3, 1.0))}, r"trajectory has 3 joints; expected 2 for rr"),
        ({"task": Reach(reset=lambda draw: {})}, r"reset gives qd; expected 'q'"),
        ({"task": Reach(reset=lambda draw: {"q": np.zeros(2)})}, r"'q' of reset has shape \(2,\); expected \(1, 2\)"),
        ({"task": Reach(observe=lambda scene: scene.distance)}, r"observe has shape \(1,\); expected \(1, numbers\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(how: dict, message: str, rr: aw.Robot) -> None:
    with pytest.raises((InputError, UnknownNameError), match=message):
        vector(rr, **how)


def test_wrong_calls_are_told(rr: aw.Robot) -> None:
    envs = vector(rr, Reach(reward=lambda scene: scene.q), 3)
    with pytest.raises(InputError, match="call reset"):
        envs.step(np.zeros((3, 2)))
    envs.reset()
    with pytest.raises(InputError, match=r"actions has shape \(3, 3\)"):
        envs.step(np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"actions have shape \(2,\); expected \(3, 2\)"):
        envs.step(np.zeros(2))
    with pytest.raises(InputError, match=r"reward has shape \(3, 2\); expected \(3,\)"):
        envs.step(np.zeros((3, 2)))
    with pytest.raises(UnknownNameError, match=r"unknown option of reset 'goal'.*target"):
        envs.reset(options={"goal": 0})
    with pytest.raises(InputError, match=r"got 2 seeds; expected one number, or one for each of 3"):
        envs.reset(seed=[1, 2])
    with pytest.raises(InputError, match=r"has no pictures"):
        envs.render()
    with pytest.raises(UnknownNameError, match=r"unknown option of the environment 'tolerence'.*tolerance"):
        gymnasium.make("armwright/Reach-v0", robot=rr, tolerence=0.1)
    with pytest.raises(InputError, match=r"has no pictures"):
        single(rr).render()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Reach(tolerance=-1), r"tolerance = -1: expected radians or metres, more than zero"),
        (lambda: nearness(np.ones(2), np.nan, 1.0), r"tolerance = nan: expected"),
        (lambda: Reach(start=5), r"start = 5: expected a share .* up to 1"),
        (lambda: Reach(spread=0), r"spread = 0: expected a share"),
        (lambda: Reach(vary="payload.mass"), r"vary = 'payload.mass': expected names in a tuple, such as \('payload.mass',\)"),
        (lambda: Reach(reward=1.0), r"reward = 1.0: expected a function of a Scene"),
        (lambda: Reach(reset=None), r"reset = None: expected a function of a Draw"),
        (lambda: Track(trajectory=[0, 1]), r"trajectory = \[0, 1\]: expected one of armwright.trajectory"),
        (lambda: Hold(every=0), r"every = 0: expected seconds, more than zero"),
        (lambda: Hold(payload=-1), r"payload = -1: expected kg, zero or more"),
        (lambda: Hold(push=np.inf), r"push = inf: expected rad"),
    ],
)  # fmt: skip
def test_a_task_that_makes_no_sense_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("part", "gives", "message"),
    [
        ("reward", lambda s: np.full(3, np.nan), r"reward is nan in row 0; expected finite numbers"),
        ("reward", lambda s: 1 / np.array([1.0, 1e-320, 1.0]), r"reward is inf in row 1; expected finite"),
        ("reward", lambda s: s.t + 1j, r"reward holds complex128 values; expected numbers"),
        ("reward", lambda s: ["a", "b", "c"], r"reward holds str\d* values; expected numbers"),
        ("reward", lambda s: None, r"reward holds object values; expected numbers"),
        ("reward", lambda s: np.ma.array(s.t, mask=True), r"reward holds masked entries"),
        ("terminate", lambda s: s.t, r"terminate holds float64 values; expected True or False"),
        ("terminate", lambda s: True, r"terminate has shape \(\); expected \(3,\)"),
        ("disturb", lambda s: np.nan * s.qd, r"disturb is nan in row 0; expected finite"),
        ("disturb", lambda s: s.qd[:, :1], r"disturb has shape \(3, 1\); expected \(3, 2\)"),
        ("observe", lambda s: np.zeros((3, 2 + s.steps[0])), r"observe has shape \(3, 3\); expected \(3, 2\), as at first"),
        ("observe", lambda s: s.q + 1e300 * s.steps[0], r"observe is inf in row 0; expected finite"),
        ("report", lambda s: {"a": np.zeros(2 + (s.steps[0] == 0))}, r"report gives 'a' of shape \(2,\); expected \(3, ...\)"),
        ("report", lambda s: {"diverged": s.t} if s.steps[0] else {}, r"report gives 'diverged'; expected another name"),
        ("report", lambda s: {"a": [[1], [], []]} if s.steps[0] else {}, r"'a' of report is no array"),
        ("report", lambda s: None if s.steps[0] else {}, r"report is None; expected arrays by name"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_parts_that_return_nonsense_are_told(part: str, gives: Callable, message: str, rr: aw.Robot) -> None:
    envs = vector(rr, Reach(**{part: gives}), 3, seed=0)
    envs.reset()
    with pytest.raises(InputError, match=message):
        envs.step(np.zeros((3, 2)))


def _resets(**others: object) -> Callable[[aw.learn.gym.Draw], dict]:
    """A reset at zero that draws something besides."""

    def reset(draw: aw.learn.gym.Draw) -> dict:
        drawn = {name: value(draw) if callable(value) else value for name, value in others.items()}
        return {"q": np.zeros((draw.count, 2)), "target": np.zeros((draw.count, 3)), **drawn}

    return reset


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"reset": lambda draw: None}, r"reset is None; expected arrays by name"),
        ({"reset": _resets(q=lambda draw: draw.positions(5))}, r"share = 5: expected a share"),
        ({"reset": _resets(q=lambda draw: np.full((draw.count, 2), 3.0))}, r"beyond limits of rr.*ends at once.*terminate="),
        ({"reset": _resets(q=lambda draw: [[0, 0], [0], [0]])}, r"'q' of reset is no array .*; expected numbers"),
        ({"reset": _resets(a=lambda draw: draw.normal(2.5))}, r"shape = 2.5: expected a whole number"),
        ({"reset": _resets(qd=lambda draw: [["a", "b"]] * 3)}, r"'qd' of reset holds str\d* values"),
        ({"reset": _resets(**{"payload.mass": np.full(3, -1.0)}), "vary": ("payload.mass",)}, r"'payload.mass' of -1; expected zero or more"),
        ({"reset": _resets(**{"payload.mass": np.ones((3, 1))}), "vary": ("payload.mass",)}, r"has shape \(3, 1\); expected \(3,\)"),
        ({"reset": _resets(**{"payload.mass": np.ones(3)})}, r"reset gives 'payload.mass', a parameter of rr; expected it in vary="),
        ({"reset": _resets(**{"payload.inertia": np.tile([1, 1, -1, 0, 0, 0], (3, 1))}), "vary": ["payload.inertia"]}, r"principal moment of -1"),
        ({"reset": _resets(a=lambda draw: draw.uniform([0, 0], [1, 1]))}, r"bounds of shapes \(2,\) and \(2,\) with shape=\(\)"),
    ],
)  # fmt: skip
def test_resets_that_make_no_sense_are_told(how: dict, message: str, rr: aw.Robot) -> None:
    with pytest.raises(InputError, match=message):
        vector(rr, Reach(**how), 3)


def test_a_reset_always_gives_the_same_names(rr: aw.Robot) -> None:
    turns = iter([{"worth": np.zeros(1)}, {}])

    def reset(draw: aw.learn.gym.Draw) -> dict:
        return {"q": np.zeros((1, 2)), "target": np.zeros((1, 3)), **next(turns)}

    envs = vector(rr, Reach(reset=reset))
    with pytest.raises(InputError, match=r"reset gives q, target, qd; expected 'worth' as well"):
        envs.reset()


def test_who_diverges_has_no_success(rr: aw.Robot) -> None:
    envs = vector(rr, Hold(disturb=lambda scene: scene.qd + np.array([[0.0], [1e12]])), 2, seed=0)
    envs.reset()
    *_, info = envs.step(np.zeros((2, 2)))
    assert np.array_equal(info["diverged"], [False, True])
    assert np.array_equal(info["success"], [True, False])


def test_long_actions_take_more_steps(rr: aw.Robot) -> None:
    assert [vector(rr, dt=dt, response=1.0).stepper.substeps for dt in (0.01, 0.04, 0.07, 0.5)] == [4, 4, 7, 50]


def test_a_scene_cannot_be_written_to(rr: aw.Robot) -> None:
    for name in ("q", "qd", "tau", "action", "steps", "diverged", "tip", "distance"):
        envs = vector(rr, Reach(reward=lambda scene, name=name: getattr(scene, name).fill(0)), 3, seed=0)
        envs.reset()
        with pytest.raises(ValueError, match="read-only"):
            envs.step(np.zeros((3, 2)))
    envs = vector(rr, Reach(reward=lambda scene: scene["target"].fill(0)), 3, seed=0)
    envs.reset()
    with pytest.raises(ValueError, match="read-only"):
        envs.step(np.zeros((3, 2)))


def test_numbers_of_a_call_are_told(rr: aw.Robot) -> None:
    envs, one = vector(rr, num_envs=3), single(rr, max_episode_steps=2)
    with pytest.raises(InputError, match=r"reset_mask before the first reset.*call reset"):
        envs.reset(options={"reset_mask": np.ones(3, bool)})
    for seed in (1.5, "1", {}, np.array(1)):
        for made in (envs, one):
            with pytest.raises(InputError, match=r"seed = .*: expected a whole number, 0 or more"):
                made.reset(seed=seed)
    for seed in (-1, True):
        with pytest.raises(InputError, match=r"seed = .*: expected a whole number, 0 or more"):
            one.reset(seed=seed)
        with pytest.raises(InputError, match=r"seed\[1\] = .*: expected a whole number, 0 or more"):
            envs.reset(seed=[1, seed, 1])
        with pytest.raises(InputError, match=r"seed = .*: expected a whole number, 0 or more"):
            vector(rr, seed=seed)
    envs.reset(seed=np.int64(1))
    with pytest.raises(InputError, match=r"reset_mask holds float64 values; expected True or False"):
        envs.reset(options={"reset_mask": np.ones(3)})
    with pytest.raises(InputError, match=r"reset_mask has shape \(2,\); expected \(3,\)"):
        envs.reset(options={"reset_mask": [True, False]})
    with pytest.raises(InputError, match=r"options is \['q'\]; expected arrays by name"):
        envs.reset(options=["q"])
    with pytest.raises(InputError, match=r"option 'q' of reset has shape \(3,\); expected \(2,\) for all, or \(3, 2\)"):
        envs.reset(options={"q": [0, 0, 0]})
    with pytest.raises(InputError, match=r"option 'q' of reset holds str\d* values"):
        envs.reset(options={"q": "home"})
    with pytest.raises(InputError, match=r"'q' of reset is nan"):
        envs.reset(options={"q": np.nan})
    with pytest.raises(InputError, match=r"task is Hold.*expected Reach\(...\)"):
        gymnasium.make("armwright/Reach-v0", robot=rr, task=Hold())
    with pytest.raises(InputError, match=r"every = 0.01 s: expected dt = 0.04 s or more"):
        vector(rr, Hold(every=0.01))
    one.reset(seed=0)
    assert [one.step(np.zeros(2))[3] for _ in range(2)] == [False, True]
    with pytest.raises(InputError, match=r"action is not an array of numbers"):
        one.step([0, [0]])


def test_gymnasium_finds_them_by_the_module_in_the_name() -> None:
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('armwright.learn.gym:armwright/Reach-v0', robot='panda')\n"
        "print(env.reset(seed=0)[0].shape)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "(23,)\n"


def test_gymnasium_is_needed_only_where_it_is_asked_for() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None; import armwright, armwright.learn\n"
        "try: import armwright.learn.gym\n"
        "except armwright.ArmwrightError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "environments need Gymnasium: pip install 'armwright[gym]'\n"
    quiet = "import armwright, sys; assert not {'gymnasium', 'torch', 'jax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", quiet], check=True)
