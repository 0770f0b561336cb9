"""Searches for positions as they are written for a card, compiled as C++ and run here: they find what those of the CPU do.

The machine pretends to have a card (`card_on_cpu`), so that all of the way there and back is gone.
"""

from __future__ import annotations

import math
import re
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from card_on_cpu import Far, card, far  # noqa: F401  (card is a fixture)
from on_cpu import compiled, needs_compiler, nvcc_report
from test_kinematics import misses

import armwright as aw
from armwright.backends.cuda.host import inverse_kinematics_launcher
from armwright.backends.cuda.host.inverse_kinematics_launcher import InverseKinematicsLauncher
from armwright.backends.cuda.kernels import inverse_kinematics
from armwright.backends.interface import BACKENDS, BackendLoader
from armwright.kinematics.search import Options
from armwright.robot import random_tree

pytestmark = [needs_compiler, pytest.mark.usefixtures("card")]
PUMA = aw.load("puma560")
PANDA = aw.load("panda")
RR = aw.load("rr")


def positions(arm: aw.Robot, count: int) -> np.ndarray:
    low, high = np.array([joint.limits or (-3, 3) for joint in arm.joints]).T
    return np.random.default_rng(1).uniform(low, high, (count, arm.n))


def agrees(arm: aw.Robot, T: object, few: int = 0, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """What the card finds, which is what the CPU finds but for a few targets on whose way rounding decides."""
    meant, reached = arm.inverse_kinematics(T, raises=False, **options)
    q, solved = arm.inverse_kinematics(T, raises=False, target="cuda", **options)
    assert q.shape == meant.shape and solved.shape == reached.shape and solved.dtype == bool
    apart = np.abs(q - meant).max(axis=-1)[solved & reached] > 1e-6
    assert np.count_nonzero(apart) <= few and np.count_nonzero(solved != reached) <= few
    return q, solved


@pytest.mark.parametrize(("arm", "orientation"), [(PUMA, "full"), (RR, "axis"), (RR, "free")])
def test_what_is_found_is_what_the_cpu_finds(arm: aw.Robot, orientation: str) -> None:
    T = arm.forward_kinematics(positions(arm, 300))
    T[::30, :3, 3] *= 4
    q, solved = agrees(arm, T, few=2, orientation=orientation)
    assert 260 <= solved.sum() < 300
    assert misses(arm.forward_kinematics(q), T, orientation)[solved].max() <= 1.1e-10


def test_options_are_those_of_the_cpu() -> None:
    q = positions(PANDA, 100)
    T = PANDA.forward_kinematics(q).reshape(5, 20, 4, 4)
    q0 = q.reshape(5, 20, 7) + 0.2
    for options in ({}, {"q0": q0}, {"q0": q[0]}, {"attempts": 1}, {"seed": 3}, {"tolerance": 1e-3}, {"attempts": 300}):
        agrees(PANDA, T, few=2, **options)
    agrees(PANDA, T[0, 0])
    assert PANDA.inverse_kinematics(T[:0], target="cuda").shape == (0, 20, 7)


def test_several_frames_of_a_floating_robot() -> None:
    """Quaternions stay of unit length, and each frame has what counts of its orientation."""
    robot = random_tree(3, 1, kinds=("revolute",), floating=True)
    q = robot.unit(robot.neutral + np.random.default_rng(0).uniform(-0.5, 0.5, (20, robot.nq)))
    T = {name: robot.forward_kinematics(q, name) for name in ("link3", "link2")}
    for options in ({}, {"q0": robot.unit(q + 0.02)}):
        found, solved = agrees(robot, T, few=2, orientation={"link2": "axis"}, **options)
        assert solved.all() and np.abs(robot.unit(found) - found).max() < 1e-15
    there = {name: far(pose) for name, pose in T.items()}
    same = robot.inverse_kinematics(there, far(options["q0"]), orientation={"link2": "axis"}, target="cuda")
    assert isinstance(same, Far) and np.abs(same.get() - found).max() < 1e-9
    with pytest.raises(
        aw.InputError, match=r"q0: the quaternion of \S+, entries 3 to 6 of q, has the length 2; expected"
    ):
        robot.inverse_kinematics(there, far(2 * robot.neutral), orientation={"link2": "axis"}, target="cuda")


def test_turns_and_limits() -> None:
    """Whole turns are taken off towards the start, however far that is: large angles take careful sines."""
    T = RR.forward_kinematics([[0.3, 0.4], [1.0, -2.0]])
    assert not RR.joints[0].limits
    for turns in (3, 10**6):
        q0 = np.array([0.2, 0.3]) + math.tau * turns
        q, _ = agrees(RR, T, q0=q0)
        assert (np.abs(q - q0)[0] < 0.2).all() and np.abs(RR.forward_kinematics(q) - T).max() < 1e-9
    T[1, 0, 3] += 9
    with pytest.raises(aw.UnreachableError, match=r"1 of 2 targets, the first T\[1\]"):
        RR.inverse_kinematics(T, q0, target="cuda")
    q = positions(PANDA, 50)
    low, high = np.array([joint.limits for joint in PANDA.joints]).T
    found, _ = agrees(PANDA, PANDA.forward_kinematics(q), q0=3 * q)
    assert (found >= low).all() and (found <= high).all()


def test_arrays_on_the_card_stay_there() -> None:
    """Rows, and those that lie otherwise; where only the start is there, and where only the poses are."""
    q = positions(PANDA, 30)
    T = PANDA.forward_kinematics(q)
    meant = PANDA.inverse_kinematics(T, q + 0.1)
    beside = np.asfortranarray(T).view(Far)
    for poses, start in (
        (far(T), far(q + 0.1)),
        (beside, far(q + 0.1).T.copy().T),
        (T, far(q + 0.1)),
        (far(T), q + 0.1),
    ):
        found, solved = PANDA.inverse_kinematics(poses, start, raises=False, target="cuda")
        assert isinstance(found, Far) and isinstance(solved, Far) and solved.all()
        np.testing.assert_allclose(found.get(), meant, rtol=0, atol=1e-9)
    alone = PANDA.inverse_kinematics(far(T[0]), far(q[0]), target="cuda")
    assert alone.shape == (7,)
    with pytest.raises(aw.InputError, match="T is on a graphics card"):
        PANDA.inverse_kinematics(far(T))


def test_what_is_out_of_reach_is_told_as_on_the_cpu() -> None:
    T = PUMA.forward_kinematics(positions(PUMA, 12)).reshape(3, 4, 4, 4)
    T[1, 2, 0, 3] += 3
    T[2, 0, 1, 3] += 3
    told = []
    for poses, target in ((T, "cpu"), (T, "cuda"), (far(T), "cuda")):
        with pytest.raises(aw.UnreachableError, match=r"2 of 12 targets, the first T\[1, 2\]: .* after 100") as error:
            PUMA.inverse_kinematics(poses, target=target)
        told.append(error.value)
    here, copied, there = told
    assert len({str(error).partition(" m and ")[0] for error in told}) == 1
    assert isinstance(there.q, Far) and isinstance(there.error, Far)
    for value in (copied, there):
        np.testing.assert_allclose(np.array(value.error), here.error, rtol=1e-6, atol=1e-8)


def test_what_is_no_pose_is_told_as_on_the_cpu() -> None:
    good = RR.forward_kinematics(np.zeros((2, 3, 2)))
    cases = [np.array(good) for _ in range(5)]
    cases[0][1, 2, 0, 3] = np.nan
    cases[1][0, 1, 3, 3] = 2
    cases[2][1, 0, 0, 1] += 1e-8
    cases[3][1, 1, :3, 2] *= -1
    cases[4][0, 0, 3, 0] = np.inf
    for T in cases:
        with pytest.raises(aw.InputError) as here:
            RR.inverse_kinematics(T)
        for given in (T, far(T)):
            with pytest.raises(aw.InputError) as there:
                RR.inverse_kinematics(given, target="cuda")
            assert str(here.value) == str(there.value)
    for start in ([0.0, np.nan], far([0.0, np.nan])):
        with pytest.raises(aw.InputError, match=r"q0\[1\] is nan"):
            RR.inverse_kinematics(good, start, target="cuda")


def test_what_a_card_cannot_do_is_told() -> None:
    T = RR.forward_kinematics(np.zeros((2, 2)))
    with pytest.raises(aw.InputError, match=r"path=True solves pose after pose, .*omit target"):
        RR.inverse_kinematics(T, path=True, target="cuda")
    long = aw.random_robot(30, 1)
    with pytest.raises(
        aw.InputError, match=r"with target='cuda' inverse kinematics is for up to 24 joints; .* has 30; omit"
    ):
        long.inverse_kinematics(np.eye(4), target="cuda")
    with pytest.raises(aw.ArmwrightError, match="unknown target 'gpu'"):
        RR.inverse_kinematics(T, target="gpu")


def test_a_card_needs_no_compiler_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS.built_in, "cpu", BackendLoader("cpu", "a.module.that.is.not.there:BACKEND"))
    T = aw.compile(aw.load("rr"), "forward_kinematics", target="cuda")(np.array([[0.3, 0.4]]))
    assert aw.load("rr").inverse_kinematics(T, orientation="free", target="cuda").shape == (1, 2)
    T[0, 0, 3] += 5
    with pytest.raises(aw.UnreachableError):
        aw.load("rr").inverse_kinematics(T, orientation="free", target="cuda")


def test_what_is_too_much_for_its_memory_goes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    q0 = positions(RR, 50)
    T, there = RR.forward_kinematics(q0), InverseKinematicsLauncher._search
    starts = (None, q0 + 0.1)
    whole = [RR.inverse_kinematics(T, start, target="cuda") for start in starts]

    def full(self: InverseKinematicsLauncher, T: Far, *rest: object) -> object:
        if len(T) > 20:
            raise MemoryError
        return there(self, T, *rest)

    monkeypatch.setattr(InverseKinematicsLauncher, "_search", full)
    for start, meant in zip(starts, whole, strict=True):
        assert np.array_equal(RR.inverse_kinematics(T, start, target="cuda"), meant)
    with pytest.raises(MemoryError):
        RR.inverse_kinematics(far(T), target="cuda")
    for k in (3, 40):
        T[k, 0, 3] += 9
    with pytest.raises(aw.UnreachableError, match=r"2 of 50 targets, the first T\[3\]"):
        RR.inverse_kinematics(T, orientation="free", target="cuda")
    T[40, 0, 1] += 1e-6
    with pytest.raises(aw.InputError, match=r"T\[40\] is not a pose"):
        RR.inverse_kinematics(T, orientation="free", target="cuda")


def test_the_threads_of_a_warp_find_what_one_finds() -> None:
    """They look for starts together, which one thread does not show: here 32 of the CPU are a warp."""
    solver = RR._solver("free", False, (), "cuda")
    T = RR.forward_kinematics(positions(RR, 70)).reshape(-1, 16)
    T[7, 3] = 9
    whole, options = solver.device_search, Options(1e-10, 3, 0)
    alone = solver.search_on_device(T, None, options)
    text = f"{(Path(__file__).parent / 'warp.h').read_text()}\n{whole.source}"
    fields = {"target": T, "q": np.zeros((70, 2)), "error": np.zeros((70, 2)), "solved": np.zeros(70, bool)}
    fields |= {"marked": np.zeros(70, np.int64), "counts": np.zeros(inverse_kinematics.COUNTS, np.uint64)}
    call = inverse_kinematics.call(
        {**fields, **solver._tables(0, 256)}, whole._space, 70, options.tolerance, options.attempts
    )
    run = compiled(text)
    threads = [threading.Thread(target=run, args=(call,), daemon=True) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert fields["counts"][inverse_kinematics.UNSOLVED] == alone.unsolved > 0
    for name in ("q", "error", "solved"):
        assert np.array_equal(fields[name], getattr(alone, name))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")
def test_a_card_keeps_the_step_in_registers() -> None:
    """As many blocks as `inverse_kinematics_launcher` wants have room beside each other, and no number of a thread leaves its registers."""
    whole = PANDA._solver("full", False, (), "cuda").device_search
    blocks, _, _ = inverse_kinematics_launcher.SEARCH_OCCUPANCY
    report = nvcc_report(inverse_kinematics.text(*whole._search_arguments, True, blocks=blocks))
    (registers,) = map(int, re.findall(r"Used (\d+) registers", report))
    assert registers <= 65536 // (blocks * inverse_kinematics.SEARCH_THREADS)
    assert "0 bytes spill stores, 0 bytes spill loads" in report
