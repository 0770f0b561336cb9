"""Calls with arrays on a card, of any kind and mixed with others, on a machine that pretends to have one (`card_on_cpu`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from card_on_cpu import Far, card, far  # noqa: F401  (card is a fixture)
from on_cpu import needs_compiler

import armwright as aw
from armwright.robot import random_tree

pytestmark = [needs_compiler, pytest.mark.usefixtures("card")]
RR = aw.load("rr")
FREE = random_tree(3, 1, kinds=("revolute",), floating=True)


def state(robot: aw.Robot, count: int) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    q = robot.unit(robot.neutral + random.uniform(-0.8, 0.8, (count, robot.nq)))
    return [q, *random.uniform(-1, 1, (2, count, robot.n))]


def same(found: Any, meant: Any) -> None:
    for x, y in zip(found, meant, strict=True):
        assert isinstance(x, Far) and x.shape == np.shape(y)
        np.testing.assert_allclose(x.get(), y, rtol=1e-9, atol=1e-9)


def test_wrenches_at_frames_may_be_on_the_card() -> None:
    function, host = aw.compile(RR, "inverse_dynamics", target="cuda"), state(RR, 4)
    wrench = np.arange(24.0).reshape(4, 6)
    meant = aw.compile(RR, "inverse_dynamics")(*host, link_wrenches={"tool": wrench, "link1": wrench[0]})
    for given in (host, [far(x) for x in host]):
        same([function(*given, link_wrenches={"tool": far(wrench), "link1": wrench[0]})], [meant])
    with pytest.raises(aw.InputError, match=r"link_wrenches\['tool'\] has shape \(4, 5\)"):
        function(*host, link_wrenches={"tool": far(wrench[:, :5])})


def test_options_are_checked_for_arrays_on_the_card_as_well() -> None:
    function, there = aw.compile(RR, "inverse_dynamics", target="cuda"), [far(x) for x in state(RR, 4)]
    with pytest.raises(aw.InputError, match="threads = 0: expected a whole number"):
        function(*there, threads=0)
    with pytest.raises(aw.InputError, match="several of its entries share memory"):
        function(*there, out=np.broadcast_to(far(np.zeros(2)), (4, 2)))


def test_arrays_of_jax_are_not_written_to() -> None:
    there, device = [far(x) for x in state(RR, 4)], SimpleNamespace(platform="cuda")
    out = type("ArrayImpl", (), {"__module__": "jaxlib", "devices": lambda _: [device]})()
    with pytest.raises(aw.InputError, match="out is an array of JAX, which is immutable"):
        aw.compile(RR, "inverse_dynamics", target="cuda")(*there, out=out)
    with pytest.raises(aw.InputError, match="out is an array of JAX, which is immutable"):
        aw.stepper(RR, dt=0.01, target="cuda").step(*there, out=(out, out))


def test_what_is_on_a_card_where_it_cannot_be_is_told_with_what_to_do() -> None:
    with pytest.raises(aw.InputError, match=r"q0 is on a graphics card; expected an array of NumPy \(`.get\(\)`"):
        aw.simulate_batch(RR, q0=far(np.zeros((2, 2))), duration=0.1, target="cuda")


@pytest.mark.parametrize("robot", [RR, FREE], ids=["held", "free"])
def test_steps_and_gradients_of_arrays_that_are_here_and_there(robot: aw.Robot) -> None:
    """What is not on the card is copied there; a robot has numbers of its own beside its states."""
    cpu, cuda = (aw.stepper(robot, dt=0.01, target=target) for target in ("cpu", "cuda"))
    q, qd, tau = state(robot, 4)
    torques = np.stack([tau, 2 * tau, -tau], axis=1)
    same(cuda.linearised(far(q), qd, tau), cpu.linearised(q, qd, tau))
    states = cpu.rollout(q, qd, torques)
    meant = cpu.gradient(q, qd, torques, *states)
    for here in (0, 1, 2):
        given = [x if k == here else far(x) for k, x in enumerate((q, qd, torques))]
        same(cuda.rollout(*given), states)
        back = cuda.gradient(*given, far(states[0]), states[1])
        same(back, meant)
        assert isinstance(back.good, Far) and back.good.all()
    same(cuda.gradient(q, qd, torques, far(states[0]), states[1]), meant)
    same(cuda.gradient(far(q), far(qd), far(torques), lambda q, qd: (q, qd), checkpoints=1), meant)


@pytest.mark.parametrize("robot", [RR, FREE], ids=["held", "free"])
def test_one_bad_rollout_on_the_card_does_not_cost_the_others(robot: aw.Robot) -> None:
    cpu, cuda = (aw.stepper(robot, dt=0.01, target=target) for target in ("cpu", "cuda"))
    q, qd, tau = state(robot, 4)
    torques = np.stack([tau, tau, tau], axis=1)
    torques[2, 1, 0] = np.nan
    q[0, -1] = np.inf
    found = cuda.rollout(far(q), far(qd), far(torques), raises=False)
    same(found, cpu.rollout(q, qd, torques, raises=False))
    assert found[2].get().tolist() == [False, True, False, True]
    same(cuda.step(far(q), far(qd), far(tau), raises=False), cpu.step(q, qd, tau, raises=False))


def test_what_a_step_fills_is_where_its_states_are() -> None:
    stepper, (q, qd, tau) = aw.stepper(RR, dt=0.01, target="cuda"), state(RR, 4)
    there = far(q), far(qd)
    assert stepper.step(*there, far(tau), out=there)[0] is there[0]
    same(there, aw.stepper(RR, dt=0.01).step(q, qd, tau))
    with pytest.raises(aw.InputError, match="out is not where the states are; expected two arrays on the card"):
        stepper.step(*there, tau, out=(q, qd))
    with pytest.raises(aw.InputError, match="out is not where the states are; expected two arrays of NumPy"):
        stepper.step(q, qd, tau, out=there)
    with pytest.raises(aw.InputError, match=r"out for q is float64 \(4, 2\), read-only"):
        stepper.step(*there, tau, out=(np.broadcast_to(far(q[0]), q.shape), there[1]))
