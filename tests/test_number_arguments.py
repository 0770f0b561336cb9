"""Every public argument that takes numbers gives the same for lists, tuples, arrays of any layout and memory views."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armwright as aw
from armwright import identify, integrate, torque, trajectory
from armwright.errors import TooLargeError
from armwright.robot import random_tree

ARM = aw.random_robot(3, 5).with_limits((-2, 2), velocity=5, torque=100)
RNG = np.random.default_rng(0)
Q, QD, QDD, TAU, T1, T2, T3 = RNG.uniform(-1, 1, (7, 4, 3))
WRENCH, WRENCHES = RNG.uniform(-1, 1, (4, 6)), RNG.uniform(-1, 1, (4, 3, 6))
POSE = ARM.forward_kinematics(Q[0])
PUMA, Q6 = aw.load("puma560"), np.array([0, -0.8, 0.6, 0, 0.5, 0])
POSE6, NEAR6 = (PUMA.forward_kinematics(Q6 + shift) for shift in (0.0, 0.01))
TIMES = np.array([0.0, 0.4, 0.7, 1.0])
WEIGHTS = np.array([1.0, 2.0, 3.0])
MOTION = trajectory.quintic(TIMES, Q)
MANY = MOTION(np.linspace(0, 1, 12))
ROW = {"type": "revolute", "alpha": 0, "a": 0.5, "d": 0, "mass": 1, "com": [0.1, 0, 0], "inertia": [0.1] * 3 + [0] * 3}
TURN = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
HELD = ARM.with_payload(1.0, [0.1, 0, 0.1])
PARAMETERS = identify.parameters(ARM)


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def forms(value: np.ndarray) -> Iterator[tuple[str, Any]]:
    """The same numbers in every shape of memory that there is."""
    yield "list", value.tolist()
    yield "tuple", tuples(value.tolist())
    yield "array", value.copy()
    yield "Fortran order", np.asfortranarray(value)
    yield "every second row", np.repeat(value, 2, axis=0)[::2]
    yield "every second column", np.repeat(value, 2, axis=-1)[..., ::2]
    yield "backwards", value[::-1].copy()[::-1]
    yield "memory view", memoryview(np.ascontiguousarray(value))
    fixed = value.copy()
    fixed.flags.writeable = False
    yield "read only", fixed


def numbers(result: Any) -> list[np.ndarray]:
    """All that came out, as arrays."""
    if isinstance(result, aw.Robot):
        return [np.frombuffer(result.to_toml().encode(), np.uint8)]
    if isinstance(result, trajectory.Trajectory):
        return list(result(np.linspace(result.start, result.end, 7)))
    if isinstance(result, torque.Law):
        return numbers(aw.simulate(ARM, result, q0=Q[0], duration=0.02, every=0.01))
    for names in (("t", "q", "qd", "tau"), ("t", "q", "qd"), ("t", "y"), ("mass", "com", "inertia")):
        if all(hasattr(result, name) for name in names):
            return [np.asarray(getattr(result, name)) for name in names]
    if isinstance(result, trajectory.LimitReport):
        return [np.array([(x.joint, x.value) for x in result])]
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def state(*names: str) -> dict[str, np.ndarray]:
    known = {"q": Q, "qd": QD, "qdd": QDD, "tau": TAU, "tip_wrench": WRENCH, "link_wrenches": WRENCHES}
    return {name: known[name] for name in names}


def decay(_t: float, y: np.ndarray) -> np.ndarray:
    return -y


METHODS: dict[str, dict[str, Any]] = {
    **{name: state("q") for name in (
        "mass_matrix", "gravity_torque", "potential_energy", "forward_kinematics", "link_poses", "link_positions",
        "jacobian", "partial_velocities", "center_of_mass", "center_of_mass_jacobian", "centroidal_momentum_matrix",
    )},
    **{name: state("q", "qd") for name in (
        "coriolis_matrix", "kinetic_energy", "jacobian_derivative", "convective_accelerations", "centroidal_momentum",
    )},
    "gibbs_function": state("q", "qd", "qdd"),
    "difference": {"q0": Q, "q1": T1}, "integrate": {"q": Q, "v": QD},
    "inverse_dynamics": state("q", "qd", "qdd", "tip_wrench", "link_wrenches"),
    "forward_dynamics": state("q", "qd", "tau", "tip_wrench", "link_wrenches"),
    "bias": state("q", "qd", "tip_wrench", "link_wrenches"),
    "joint_torque": {"joint": 1, **state("q", "qd", "qdd", "tip_wrench", "link_wrenches")},
    "inverse_dynamics_derivatives": state("q", "qd", "qdd"),
    "forward_dynamics_derivatives": state("q", "qd", "tau"),
    "joint_velocities": {**state("q"), "twist": WRENCH, "damping": 0.1},
    "joint_accelerations": {**state("q", "qd"), "twist_rate": WRENCH, "damping": 0.1},
    "inverse_kinematics": {"T": POSE, "q0": Q[0] + 0.01, "orientation": "free"},
    "with_gravity": {"gravity": WEIGHTS}, "with_base": {"transform": TURN}, "mounted": {"transform": TURN},
    "with_tool": {"transform": TURN}, "with_payload": {"mass": 2.0, "com": WEIGHTS / 10, "inertia": np.diag(WEIGHTS) / 100},
    "with_friction": {"viscous": WEIGHTS, "coulomb": WEIGHTS, "smooth": WEIGHTS},
    "with_limits": {"position": np.array([[-1.0, 1], [-2, 2], [-3, 3]]), "velocity": WEIGHTS, "torque": WEIGHTS},
    "with_rotors": {"inertia": WEIGHTS, "gear": WEIGHTS}, "with_springs": {"stiffness": WEIGHTS, "rest": WEIGHTS},
    "from_dh": {"rows": [ROW], "convention": "modified", "gravity": WEIGHTS, "base": TURN, "tool": TURN},
}  # fmt: skip
"""Methods of a robot."""

FUNCTIONS: dict[Any, dict[str, Any]] = {
    torque.constant: {"values": WEIGHTS},
    torque.table: {"times": TIMES, "torques": TAU},
    torque.spring_damper: {"stiffness": WEIGHTS, "damping": WEIGHTS, "rest": WEIGHTS},
    torque.friction: {"viscous": WEIGHTS, "coulomb": WEIGHTS, "smooth": 0.1},
    torque.stops: {"robot": ARM.with_limits([-0.1, 0.1]), "stiffness": WEIGHTS, "damping": WEIGHTS},
    torque.interpolated: {"t": 0.6, "times": TIMES.tolist(), "values": Q},
    **{law: {"target": Q[1], "kp": WEIGHTS, "kd": WEIGHTS} for law in (torque.pd, torque.pd_gravity)},
    torque.pid: {"target": Q[1], "kp": WEIGHTS, "ki": WEIGHTS, "kd": WEIGHTS},
    torque.computed_torque: {"trajectory": Q[1], "kp": WEIGHTS, "kd": WEIGHTS},
    torque.feed_forward: {"trajectory": Q[1], "kp": WEIGHTS, "kd": WEIGHTS},
    trajectory.cubic: {"times": TIMES, "points": Q, "start_velocity": QD[0], "end_velocity": QD[1]},
    trajectory.quintic: {"times": TIMES, "points": Q, "velocities": QD, "accelerations": QDD},
    trajectory.spline: {"times": TIMES, "points": Q}, trajectory.linear: {"times": TIMES, "points": Q},
    trajectory.hermite: {"times": TIMES, "q": Q, "qd": QD, "qdd": QDD},
    trajectory.cycloid: {"q0": Q[0], "rate": QD[0], "frequency": 6.0}, trajectory.rest: {"q": Q[0], "duration": 1.0},
    trajectory.cycloidal: {"q0": Q[0], "q1": Q[1], "duration": 1.0},
    trajectory.normal_spline: {"q0": Q[0], "q1": Q[1], "duration": 1.0},
    trajectory.trapezoidal: {"q0": Q[0], "q1": Q[1], "velocity": WEIGHTS, "acceleration": WEIGHTS},
    trajectory.blended: {"points": Q, "velocity": WEIGHTS, "acceleration": WEIGHTS, "blend": 0.1},
    trajectory.cartesian_circle: {
        "robot": PUMA, "start_pose": POSE6, "center": POSE6[:3, 3] + np.array([0.05, 0.0, 0.0]), "axis": TURN[:3, 2],
        "law": trajectory.normal_spline([0], [1], 1.0), "q0": Q6, "angle": 0.3,
    },
    trajectory.cartesian_line: {
        "robot": PUMA, "start_pose": POSE6, "end_pose": NEAR6, "law": trajectory.normal_spline([0], [1], 1.0), "q0": Q6,
    },
    trajectory.time_optimal: {
        "robot": ARM, "path": Q, "velocity": WEIGHTS, "acceleration": 9 * WEIGHTS, "torque": 300 * WEIGHTS, "jerk": 900 * WEIGHTS,
        "efficiency": WEIGHTS / 3, "points": 50,
    },
    trajectory.check_limits: {"trajectory": MOTION, "robot": ARM, "velocity": WEIGHTS / 9, "acceleration": WEIGHTS},
    identify.regressor: {"robot": ARM, **state("q", "qd", "qdd")},
    identify.condition: {"robot": ARM, **dict(zip(("q", "qd", "qdd"), MANY, strict=True)), "noise": WEIGHTS},
    identify.estimate_payload: {
        "robot": ARM, **dict(zip(("q", "qd", "qdd"), MANY, strict=True)), "tau": HELD.inverse_dynamics(*MANY),
        "tau_without": ARM.inverse_dynamics(*MANY),
    },
    identify.excitation: {
        "robot": ARM, "velocity": WEIGHTS, "acceleration": WEIGHTS, "position": np.array([[-1.0] * 3, [1.0] * 3]),
        "noise": WEIGHTS, "period": 2.0, "harmonics": 2, "starts": 2, "iterations": 1,
    },
    identify.measurement: {"t": np.arange(12) / 11, "tau": MANY[0], **dict(zip(("q", "qd", "qdd"), MANY, strict=True))},
    identify.with_parameters: {"robot": ARM, "values": PARAMETERS},
    integrate.solve: {
        "derivative": decay, "t0": 0.0, "y0": WEIGHTS, "t1": 1.0, "rtol": WEIGHTS / 1e9, "atol": WEIGHTS / 1e9, "times": TIMES,
    },
    integrate.solve_stiff: {
        "derivative": decay, "t0": 0.0, "y0": WEIGHTS, "t1": 1.0, "atol": WEIGHTS / 1e9, "times": TIMES,
    },
    integrate.solve_increments: {
        "increment": lambda _t, _h, y: -y, "t0": 0.0, "y0": WEIGHTS, "t1": 1.0, "step": 0.1, "times": TIMES,
    },
    integrate.dense: {"derivative": decay, "t": 0.0, "y": WEIGHTS, "h": 0.1, "theta": 0.5},
    integrate.semi_implicit_euler: {
        "acceleration": lambda _t, q, _qd, *_z: (-q, np.zeros(3)) if _z else -q, "t0": 0.0, "q0": WEIGHTS,
        "qd0": WEIGHTS, "t1": 1.0, "step": 0.1, "times": TIMES,
    },
    aw.simulate: {"robot": ARM, "torque": WEIGHTS, "q0": Q[0], "qd0": QD[0], "duration": 0.02},
    aw.simulate_batch: {"robot": ARM, "torque": WEIGHTS, "q0": Q, "qd0": QD, "duration": 0.02, "start": TIMES},
    aw.torques_along: {"robot": ARM, "trajectory": MOTION, "tip_wrench": WRENCH[0], "every": 0.1},
}  # fmt: skip
"""Functions, and what they are given; what is an array is tried in every form."""


ENDS = np.array([[0.0, 0.0, 0.0], np.linalg.solve(np.array(ARM.base), ARM.link_poses(Q[0])[-1])[:3, 3]])
LOOPED = ARM.with_loop([ARM.links[-1].name, "base"], ENDS, dependent=[])
FLYING = random_tree(3, 1, kinds=("revolute",), floating=True)
FREE = {"q": FLYING.unit(np.linspace(-1, 1, FLYING.nq)), "qd": np.linspace(0, 1, FLYING.n)}
ON = {FLYING.links[-1].name: "frame"}


def _compiled(**given: Any) -> Any:
    return aw.compile(ARM, "inverse_dynamics", vary=["payload.mass", "payload.com"])(*given.values())


OTHERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "a compiled function": (_compiled, {**state("q", "qd", "qdd"), "mass": TIMES, "com": QD}),
    "a trajectory": (MOTION, {"t": TIMES}),
    "limited": (lambda limit: torque.constant([5.0] * 3).limited(limit), {"limit": WEIGHTS}),
    "vary": (
        lambda values: aw.simulate_batch(ARM, q0=Q, duration=0.02, vary={"payload.mass": values}),
        {"values": TIMES},
    ),
    "base parameters": (identify.base_parameters(ARM).values, {"parameters": PARAMETERS}),
    "Robot.loop_errors": (LOOPED.loop_errors, state("q")),
    "Robot.closed": (LOOPED.closed, {"q": Q[0] + 1e-3, "qd": QD[0]}),
    "Robot.constraint_forces": (LOOPED.constraint_forces, state("q", "qd", "tau", "tip_wrench", "link_wrenches")),
    "Robot.support_forces": (
        lambda **given: FLYING.support_forces(**given, contacts=ON).tau,
        {**FREE, "qdd": np.ones(FLYING.n)},
    ),
    "Robot.contact_dynamics": (
        lambda **given: FLYING.contact_dynamics(**given, contacts=ON).qdd,
        {**FREE, "tau": np.ones(FLYING.n)},
    ),
    "Robot.with_limits, one pair": (ARM.with_limits, {"position": np.array([-1.0, 1.0])}),
}

SLOW = (
    "identify.estimate_payload",
    "identify.excitation",
    "trajectory.cartesian_circle",
    "trajectory.cartesian_line",
    "trajectory.time_optimal",
)
"""What takes seconds is tried in fewer forms."""

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **{f"Robot.{name}": (getattr(ARM, name), given) for name, given in METHODS.items()},
    **{f"{f.__module__.split('.')[1]}.{f.__name__}": (f, given) for f, given in FUNCTIONS.items()},
    **OTHERS,
}
ARGUMENTS = [
    (call, name) for call, (_, given) in CALLS.items() for name in given if isinstance(given[name], np.ndarray)
]


@pytest.mark.parametrize(("call", "name"), ARGUMENTS, ids=lambda x: x)
def test_the_same_numbers_give_the_same_result(call: str, name: str) -> None:
    f, given = CALLS[call]
    expected = numbers(f(**given))
    for form, value in forms(given[name]):
        if call in SLOW and form not in ("Fortran order", "memory view"):
            continue
        found = numbers(f(**{**given, name: value}))
        assert len(found) == len(expected), form
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13, err_msg=f"{name} as {form}")


def _takes_numbers(f: Any) -> list[str]:
    found = inspect.signature(f).parameters.values()
    return [p.name for p in found if "ArrayLike" in str(p.annotation) or "PerJoint" in str(p.annotation)]


LEFT_OUT = {
    ("integrate.semi_implicit_euler", "z0"),
    ("Robot.with_loop", "at"),  # two of them, each a point, a transform or a name
    ("simulation.simulate_batch", "vary"),  # a mapping: above
    ("Robot.plot", "q"),  # pictures: test_plots
    ("Robot.picture", "q"),
    *(("integrate.solve_jets", name) for name in ("y0", "times")),  # of a program: test_jets
    ("integrate.solve_increments", "increment"),  # a function
    *((f"{room}.most_payload", name) for room in ("Robot", "trajectory")  # a record: test_most_payload
      for name in ("com", "gyration", "inertia", "power", "torque", "velocity")),
}  # fmt: skip


def test_every_public_argument_that_takes_numbers_is_tried() -> None:
    """An argument that is added is tried too, or this says which is not."""
    public = {f"Robot.{name}": getattr(aw.Robot, name) for name in dir(aw.Robot) if not name.startswith("_")}
    for room in (torque, trajectory, identify, integrate):
        public |= {f"{room.__name__.split('.')[1]}.{name}": getattr(room, name) for name in room.__all__}
    public |= {f"simulation.{f.__name__}": f for f in (aw.simulate, aw.simulate_batch, aw.torques_along)}
    wanted = {
        (name, argument)
        for name, f in public.items()
        if callable(f) and inspect.isroutine(f)
        for argument in _takes_numbers(f)
    }
    assert wanted - set(ARGUMENTS) - LEFT_OUT == set()
    assert len(wanted) > 90


EVERYWHERE = np.broadcast_to(np.zeros(2), (10**12, 2))
"""States that take no memory, and whose results would take terabytes."""


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="the free memory is read where Linux tells it")
@pytest.mark.parametrize(
    "call",
    [
        lambda arm: arm.inverse_dynamics(EVERYWHERE, np.zeros(2), np.zeros(2)),
        lambda arm: arm.mass_matrix(EVERYWHERE),
        lambda arm: arm.inverse_kinematics(np.broadcast_to(np.eye(4), (10**12, 4, 4))),
        lambda arm: aw.stepper(arm).step(EVERYWHERE, np.zeros(2), np.zeros(2)),
        lambda arm: aw.stepper(arm).rollout(np.zeros(2), np.zeros(2), EVERYWHERE),
        lambda arm: aw.stepper(arm).linearised(EVERYWHERE, np.zeros(2), np.zeros(2)),
        lambda arm: aw.simulate_batch(arm, q0=EVERYWHERE, duration=1.0, step=0.1),
        lambda arm: aw.simulate_batch(arm, q0=np.zeros((10**6, 2)), duration=1000.0, step=1e-3, every=1e-3),
        lambda arm: aw.trajectory.quintic([0, 1], [[0, 0], [1, 1]])(np.broadcast_to(0.5, 10**13)),
    ],
)
def test_what_no_memory_holds_is_refused(call):
    """Linux grants more memory than there is, and ends the process that fills it."""
    with pytest.raises(TooLargeError, match=r"of shape \(.*\) takes .* GB, and .* GB are free; take fewer at a time"):
        call(aw.load("rr"))


def test_an_integrator_that_is_no_text():
    with pytest.raises(aw.UnknownNameError, match=r"unknown integrator \['rk4'\]"):
        aw.simulate(aw.load("rr"), duration=1.0, integrator=["rk4"])
