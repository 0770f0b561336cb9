"""A law that gives other torques for the same state is found out, at no call that the run does not need."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, SimulationError
from armwright.simulation import Run, law_repeatability, simulate

pytestmark = pytest.mark.filterwarnings("ignore::armwright.errors.SlowWarning")

ARM = aw.load("rr")
ASKED = {"q0": [0.1, 0.2], "duration": 0.05, "every": 0.01}
WAYS = [{"step": 0.001, "integrator": name} for name in ("rk4", "semi_implicit_euler")]
WAYS += [{"integrator": name, "rtol": 1e-2, "atol": 1e-2} for name in ("dop853", "rkdp54", "radau")]


def noisy(seed: int, size: float = 1e-3) -> Callable[..., np.ndarray]:
    rng = np.random.default_rng(seed)
    return lambda t, q, qd: -q + size * rng.normal(size=2)


@pytest.mark.parametrize("way", WAYS[:-1])
def test_random_torques_are_doubted(way: dict) -> None:
    run = simulate(ARM, noisy(1), **ASKED, **way)
    (doubt,) = run.noticed
    assert doubt.t == 0 and "at the same time and state: it depends on more than t, q and qd" in doubt.why
    assert doubt in list(repeating_doubts(run)) and not run.repeatable.planned.law.traceable


def repeating_doubts(run: Run) -> list:
    """Those of its audit, without sending a neighbour, which such a law would lead astray."""
    object.__setattr__(run, "neighbour_distances", np.zeros(len(run.t)))
    return list(run.audit.doubts)


def test_a_law_that_changes_later_is_found_at_the_first_record_where_it_does() -> None:
    rng = np.random.default_rng(0)

    def later(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return -q + (1e-3 * rng.normal() if t > 0.025 else 0.0)

    assert [doubt.t for doubt in simulate(ARM, later, **ASKED, integrator="rk4", step=0.001).noticed] == [0.03]


@pytest.mark.parametrize("way", WAYS)
def test_no_further_call_is_made_of_a_law(way: dict) -> None:
    """Once for every evaluation, and once for every record, where torques are looked up."""
    calls: list[float] = []

    def counted(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        calls.append(t)
        return -q

    run = simulate(ARM, counted, **ASKED, **way)
    assert not run.noticed and calls[-len(run.t) :] == run.t.tolist()
    assert way["integrator"] == "radau" or len(calls) == run.statistics.evaluations + len(run.t)


def test_steps_that_become_ever_shorter_have_that_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(law_repeatability, "STALL_CALLS", 500)
    with pytest.raises(SimulationError, match=r"such as random numbers .* so that steps become ever shorter") as told:
        simulate(ARM, noisy(2), **ASKED)
    assert isinstance(told.value.run, Run)


@dataclass(frozen=True)
class Drawn(aw.torque.Law):
    def torques(self, at: aw.torque.Moment) -> list:
        return [q * np.random.default_rng().normal() for q in at.q]


def test_a_law_that_is_compiled_is_asked_twice_too() -> None:
    for law in (Drawn(), aw.torque.friction(0.1) + Drawn().limited(3.0)):
        for call in (simulate, aw.simulate_batch):
            with pytest.raises(InputError, match=r"different torques for the same moment.*aw\.torque\.noise"):
                call(ARM, law, duration=0.05)


def test_what_is_noticed_is_kept(tmp_path: Path) -> None:
    run = simulate(ARM, noisy(3), **ASKED, **WAYS[0])
    assert Run.from_parquet(run.to_parquet(tmp_path / "run.parquet")).noticed == run.noticed
    phases = aw.simulate_phases([aw.Phase(ARM, duration=0.1), aw.Phase(ARM, noisy(4), 0.1)], **WAYS[0])
    assert [doubt.t for doubt in phases.noticed] == [0.1]


def test_torques_along_a_motion_ask_twice_what_rubs() -> None:
    motion = aw.trajectory.quintic([0, 1], [[0, 0], [0.5, -0.3]])
    run = aw.torques_along(ARM, motion, friction_law=noisy(5))
    assert run.audit.verdict == "doubted" and "random numbers" in run.audit.first_doubt.why
    assert aw.torques_along(ARM, motion, friction_law=lambda t, q, qd: -qd).audit.trustworthy
