"""How far long work is: steps within steps, runs, and what a person sees of it."""

from collections.abc import Callable

import pytest

import armwright as aw
from armwright.cli import output
from armwright.identify import excitation
from armwright.progress import progress_callback, progress_part, progress_reported, tracked


def sized() -> object:
    motion = aw.trajectory.quintic([0, 1], [[0.0, 0.0], [0.5, 0.3]])
    return aw.size(aw.load("rr"), [motion], payloads=[None, 1.0], objective="mass", sets=20)


def excited() -> object:
    return excitation(aw.load("rr"), starts=2, iterations=5)


def test_steps_within_steps_are_parts_of_them() -> None:
    told: list[float] = []
    with progress_reported(told.append):
        for _ in tracked("ab"):
            assert list(tracked(range(2))) == [0, 1]
    assert told == [0, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1]
    assert progress_callback() is None and list(tracked("ab")) == ["a", "b"]


def test_a_part_leads_from_one_share_to_another() -> None:
    told: list[float] = []
    with progress_reported(told.append), progress_part(0.5, 1.0):
        assert list(tracked(range(2))) == [0, 1]
    assert told == [0.5, 0.5, 0.75, 1, 1]
    with progress_part(0.2, 0.3):
        assert progress_callback() is None


@pytest.mark.parametrize("work", [sized, excited])
def test_searches_tell_how_far_they_are(work: Callable[[], object]) -> None:
    told: list[float] = []
    with progress_reported(told.append):
        work()
    assert told and told == sorted(told) and all(0 <= share <= 1 for share in told)


def test_what_ends_early_leaves_nobody_listening() -> None:
    told: list[float] = []
    with progress_reported(told.append):
        for _ in tracked("abc"):
            break
    assert progress_callback() is None


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_a_run_tells_how_far_it_is(integrator: str) -> None:
    told: list[float] = []
    with progress_reported(told.append):
        aw.simulate(aw.load("rr"), q0=[0.1, 0.2], duration=0.1, integrator=integrator)
    assert told[-1] == pytest.approx(1, abs=1e-9)
    assert all(0 <= share <= 1 for share in told)


def test_time_left_is_shown_after_a_while(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "PROGRESS_DELAY", 0.0)
    with output.show_progress("looking [hard]"):
        for _ in tracked(range(3)):
            pass
    assert "looking [hard]" in capsys.readouterr().err and progress_callback() is None
