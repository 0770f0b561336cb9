"""Regrouped inertial parameters: the same robot with fewer numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_case

import armwright as aw
from armwright.algebra import Vector
from armwright.formulations import PROBLEMS, find_formulation, problem_of
from armwright.graph import Graph, count
from armwright.graph.interpret import interpret
from armwright.mechanism import Mechanism, Wrench
from armwright.trace import cheapest as search
from armwright.trace.cheapest import cheapest
from armwright.trace.reframe import first_separate_frame, levelled, reframed, with_common_origin
from armwright.trace.regroup import regrouped
from armwright.trace.tracing import TraceChoice, TraceRequest, flattened, inputs, trace

TAKES_ANY_LINK = [  # potential energy changes by a constant, a regressor does not depend on links
    f
    for f in aw.formulations()
    if f.any_link
    and not f.traced
    and f.problem not in ("potential_energy", "regressor")
    and not PROBLEMS[f.problem].constrained
]
CASES = [
    (p.name, c.formulation, c.tensor)
    for p in PROBLEMS.values()
    for c in p.candidates
    if len(p.candidates) > 1 and not p.name.endswith("derivatives")
]


@pytest.mark.parametrize(("n", "seed"), [(1 + s % 8, s) for s in range(24)])
def test_base_parameters_give_the_same_dynamics(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    mechanism = case.arm.mechanism()
    base, euler = regrouped(mechanism), regrouped(mechanism, euler=True)
    state = [column.tolist() for column in case.state]
    for f in TAKES_ANY_LINK:
        arguments = state[: len(problem_of(f.problem).arguments)]
        condition = np.linalg.cond(case.arm.mass_matrix(case.q)) if f.problem == "forward_dynamics" else 10.0
        close(f(base, *arguments), f(mechanism, *arguments), 1e-13 * condition)
        close(f(euler, *arguments), f(mechanism, *arguments), 1e-13 * condition)


def test_a_general_revolute_arm_keeps_seven_parameters_a_link() -> None:
    """Six joints beyond the first keep XX-YY, ZZ, XY, XZ, YZ, MX, MY."""
    base = regrouped(aw.random_robot(6, 1, prismatic=0.0).mechanism())
    for link in base.links[1:]:
        assert (link.mass, link.moment.z, link.origin_inertia.yy) == (0, 0, 0)
        assert sum(x != 0 for x in (link.mass, *link.moment, *link.origin_inertia)) == 7


@pytest.mark.parametrize("seed", range(6))
def test_regrouping_saves_operations(seed: int) -> None:
    arm = aw.random_robot(5, seed)
    for f in TAKES_ANY_LINK:
        given, base = (
            count(flattened(f(mechanism, *inputs(Graph(), f.problem, arm.n))))
            for mechanism in (arm.mechanism(), regrouped(arm.mechanism()))
        )
        assert base.total <= given.total


def parallel_rows(n: int, seed: int) -> aw.Robot:
    """A random robot with everything on, most of its axes parallel to the next or at right angles."""
    case = random_case(n, seed, actuators=True)
    rng = np.random.default_rng(seed)
    angles = [0.0, 0.0, np.pi, np.pi / 2, -np.pi / 2, 0.7]
    return replace(case.arm, joints=tuple(replace(j, alpha=float(rng.choice(angles))) for j in case.arm.joints))


@pytest.mark.parametrize(("n", "seed"), [(1 + s % 8, s) for s in range(32)])
def test_better_frames_give_the_same_dynamics(n: int, seed: int) -> None:
    arm = parallel_rows(n, seed)
    mechanism = arm.mechanism()
    rng = np.random.default_rng(seed)
    state = rng.uniform(-2, 2, (3, n)).tolist()
    tip = Wrench(*(Vector(*x) for x in rng.normal(size=(2, 3)).tolist()))
    for problem, name, _ in CASES:
        f = find_formulation(problem, name)
        arguments = state[: len(problem_of(problem).arguments)]
        condition = np.linalg.cond(arm.mass_matrix(state[0])) if problem == "forward_dynamics" else 10.0
        expected = f(mechanism, *arguments, loads=mechanism.wrenches(tip))
        for new in (reframed(mechanism), reframed(mechanism, level=False), reframed(mechanism, turn_tool=False)):
            close(f(new, *arguments, loads=new.wrenches(tip)), expected, 1e-13 * condition)


@pytest.mark.parametrize(
    "loads", [(), ("tip_wrench",), ("link_wrenches",)], ids=lambda loads: loads[0] if loads else ""
)
@pytest.mark.parametrize(("problem", "name", "tensor"), CASES)
def test_what_is_compiled_is_the_robot_that_was_given(
    problem: str, name: str, tensor: str, loads: tuple[str, ...]
) -> None:
    for seed in range(4):
        arm = parallel_rows(6, seed)
        asked = TraceRequest(problem, arm, loads)
        program = trace(find_formulation(problem, name), asked, TraceChoice(name, tensor)).program
        rng = np.random.default_rng(seed)
        values = {str(x.key): float(rng.normal()) for _, inputs in program.arguments for x in inputs}
        plain = trace(find_formulation(problem, name), asked).program
        condition = 1e4 if problem == "forward_dynamics" else 10.0
        close(interpret(program.outputs, values), interpret(plain.outputs, values), 1e-13 * condition)


def test_distances_along_parallel_axes_are_gathered_in_one() -> None:
    mechanism = aw.load("puma560").mechanism()
    assert [joint.d for joint in mechanism.joints[1:3]] == [0.2435, -0.0934]
    assert [joint.d for joint in levelled(mechanism).joints[1:3]] == [0, 0.2435 - 0.0934]
    flat = levelled(
        Mechanism(tuple(replace(j, ca=1, sa=0) for j in mechanism.joints), mechanism.links, mechanism.gravity)
    )
    assert all(joint.d == 0 for joint in flat.joints)  # of one row from base to tip nothing is left
    assert levelled(flat) is flat


@pytest.mark.parametrize("seed", range(8))
def test_frames_of_axes_that_meet_stand_in_one_point(seed: int) -> None:
    """The first axes of a random arm made to meet; beyond, joints of both types."""
    rng = np.random.default_rng(seed)
    mechanism = aw.random_robot(6, seed).mechanism()
    together = 2 + seed % 3
    joints = [
        replace(joint, prismatic=joint.prismatic and i > together, a=0, d=0 if i < together else joint.d)
        if i <= together
        else joint
        for i, joint in enumerate(mechanism.joints)
    ]
    mechanism = replace(mechanism, joints=tuple(joints))
    assert first_separate_frame(mechanism) == together
    met = with_common_origin(mechanism)
    assert first_separate_frame(met) is None or met.joints[together].d == 0
    state = rng.uniform(-2, 2, (3, 6)).tolist()
    tip = Wrench(*(Vector(*x) for x in rng.normal(size=(2, 3)).tolist()))
    f = find_formulation("inverse_dynamics", "cartesian_tensor")
    close(f(met, *state, loads=met.wrenches(tip)), f(mechanism, *state, loads=mechanism.wrenches(tip)), 1e-12)


@pytest.mark.usefixtures("uncompiled")
def test_no_dust_is_left_where_zeros_should_be(robot_name: str) -> None:
    mechanism = reframed(aw.load(robot_name).mechanism())
    for euler in (False, True):
        links = regrouped(mechanism, euler).links
        balls = {i for ball in mechanism.balls for i in range(ball.joint, ball.joint + ball.freedoms)}
        for i, (joint, link, parent) in enumerate(zip(mechanism.joints, links, mechanism.parents, strict=True)):
            if parent < 0 or i in balls:
                continue
            tensor = link.origin_euler if euler else link.origin_inertia
            assert joint.prismatic or (tensor.zz if euler else tensor.yy) == 0
            for numbers in (link.moment, tensor):
                assert all(x == 0 or abs(x) > 1e-14 * max(map(abs, numbers)) for x in numbers)


@pytest.mark.parametrize(
    ("name", "most"), [("puma560", 346), ("stanford", 215), ("panda", 597), ("ur5", 285), ("iiwa14", 427)]
)
def test_what_is_compiled_takes_no_more_operations_than_this(name: str, most: int) -> None:
    assert count(cheapest(TraceRequest("inverse_dynamics", aw.load(name))).program.outputs).total <= most


def test_which_formulation_was_cheapest_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMWRIGHT_CACHE", str(tmp_path))
    calls: list[object] = []
    monkeypatch.setattr(search, "trace", lambda *args, **more: calls.append(args) or trace(*args, **more))
    arm = aw.load("panda")
    first = cheapest(TraceRequest("inverse_dynamics", arm))
    assert len(calls) > 1
    calls.clear()
    again = cheapest(TraceRequest("inverse_dynamics", arm))
    assert not calls
    assert again.program.digest() == first.program.digest()
    heavier = cheapest(TraceRequest("inverse_dynamics", arm.with_payload(1.0)))  # another robot, another question
    assert len(calls) > 2
    assert heavier.program.digest() != first.program.digest()
    for file in tmp_path.iterdir():
        file.write_bytes(b"damaged")
    calls.clear()
    assert cheapest(TraceRequest("inverse_dynamics", arm)).program.digest() == first.program.digest()
    assert len(calls) > 1
