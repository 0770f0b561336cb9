"""How far long work is: steps within steps, runs, and what a person sees of it."""

from collections.abc import Callable

import pytest

import armwright as aw
from armwright.cli import output
from armwright.identify import excitation
from armwright.progress import counted_off, heard, listening, part


def sized() -> object:
    motion = aw.trajectory.quintic([0, 1], [[0.0, 0.0], [0.5, 0.3]])
    return aw.size(aw.load("rr"), [motion], payloads=[None, 1.0], objective="mass", sets=20)


def excited() -> object:
    return excitation(aw.load("rr"), starts=2, iterations=5)


def test_steps_within_steps_are_parts_of_them() -> None:
    told: list[float] = []
    with listening(told.append):
        for _ in counted_off("ab"):
            assert list(counted_off(range(2))) == [0, 1]
    assert told == [0, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1]
    assert heard() is None and list(counted_off("ab")) == ["a", "b"]


def test_a_part_leads_from_one_share_to_another() -> None:
    told: list[float] = []
    with listening(told.append), part(0.5, 1.0):
        assert list(counted_off(range(2))) == [0, 1]
    assert told == [0.5, 0.5, 0.75, 1, 1]
    with part(0.2, 0.3):
        assert heard() is None


@pytest.mark.parametrize("work", [sized, excited])
def test_searches_tell_how_far_they_are(work: Callable[[], object]) -> None:
    told: list[float] = []
    with listening(told.append):
        work()
    assert told and told == sorted(told) and all(0 <= share <= 1 for share in told)


def test_what_ends_early_leaves_nobody_listening() -> None:
    told: list[float] = []
    with listening(told.append):
        for _ in counted_off("abc"):
            break
    assert heard() is None


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_a_run_tells_how_far_it_is(integrator: str) -> None:
    told: list[float] = []
    with listening(told.append):
        aw.simulate(aw.load("rr"), q0=[0.1, 0.2], duration=0.1, integrator=integrator)
    assert told[-1] == pytest.approx(1, abs=1e-9)
    assert all(0 <= share <= 1 for share in told)


def test_time_left_is_shown_after_a_while(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with output.working("looking [hard]"):
        for _ in counted_off(range(3)):
            pass
    assert "looking [hard]" in capsys.readouterr().err and heard() is None
