"""Every example runs, small, and finds what it says it finds."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tuned_gains_are_the_best_that_were_tried_and_do_what_the_batch_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tune = example("tune_pd")
    found = tune.main(count=200, threads=1)
    error, effort, front = found["error"], found["effort"], found["front"]
    assert error.shape == effort.shape == (200,)
    assert found["checked"] == pytest.approx([error[found["best"]], effort[found["best"]]], rel=0.02)
    assert error[found["best"]] < 0.5 * np.median(error)
    assert found["best"] in front
    for k in front:
        assert not ((error < error[k]) & (effort < effort[k])).any()
    assert "rollouts a second" in capsys.readouterr().out


def test_the_acrobot_arrives_upright_and_at_rest(capsys: pytest.CaptureFixture[str]) -> None:
    swing = example("swing_up")
    x, u, end = swing.main(steps=150, many=64, most=60)
    assert x.shape == (151, 4)
    assert np.abs(x[0] - swing.HANGING).max() == 0
    assert np.abs(x[-1] - swing.UPRIGHT).max() < 0.05
    assert np.abs(end - swing.UPRIGHT).max() < 0.05
    assert np.abs(end - x[-1]).max() < 1e-3
    still = swing.STEPPER.rollout(x[0, :2], x[0, 2:], u[:, None] * swing.MOTOR)
    assert np.abs(np.concatenate(still, axis=-1) - x).max() < 1e-6  # the torques alone, without feedback
    assert "from upright" in capsys.readouterr().out


def test_the_tip_follows_its_target_with_a_payload_that_the_planner_finds(capsys: pytest.CaptureFixture[str]) -> None:
    control = example("predictive_control")
    found = control.main(seconds=1.2, samples=256, steps=40, threads=1)
    assert found["error"][60:].max() < 0.03
    assert np.abs(found["unknown"] - found["weight"])[:4].max() < 0.35 * np.abs(found["weight"]).max()
    assert np.abs(found["weight"]).max() > 5
    assert "plans a second" in capsys.readouterr().out
