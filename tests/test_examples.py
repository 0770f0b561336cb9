"""Every example runs, small, finds what it says it finds, and draws its picture, which the gallery has."""

import importlib.util
import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "examples"


NUMBERED = sorted(FOLDER.glob("[0-9]*.py"))
SAYS = {
    "01_torques": "standing at the pick takes",
    "02_payload": "shoulder_lift_joint gives out first",
    "03_simulate": "energy balance    below 1e-12",
    "04_batch": "steps a second",
    "05_own_law": "0.00 mm after 2 s",
    "06_formulations": "472 mul 405 add",
    "07_quadruped": "left for the base 0.0",
    "08_palletiser": "4 motors move 10 links",
    "09_time_optimal": "velocity of joint 1",
    "10_sizing": "Proven with",
    "11_identification": "parameters show in the torques of rr",
    "12_study": "64 of 64 rollouts",
    "13_export_c": "void ur5e_inverse_dynamics(",
}
"""What each script prints that is a plain list of statements; the others have tests of their own."""


@pytest.mark.parametrize("name", SAYS)
def test_a_script_says_what_it_finds_and_draws_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "picture.svg"
    monkeypatch.setattr(sys, "argv", [name, "--quick", "--picture", str(picture)])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out
    assert ET.fromstring(picture.read_text()).tag.endswith("svg")


def test_every_example_is_tested_and_has_its_picture_in_the_gallery() -> None:
    tested = {*SAYS, "14_tune_pd", "15_swing_up", "16_predictive_control", "17_learn_to_reach"}
    assert {path.stem for path in NUMBERED} == tested
    for name in tested:
        picture = FOLDER.parent / "docs" / "pictures" / f"{name}.svg"
        assert ET.fromstring(picture.read_text()).tag.endswith("svg")
        assert picture.stat().st_size < 350_000


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
    tune = example("14_tune_pd")
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
    swing = example("15_swing_up")
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
    control = example("16_predictive_control")
    found = control.main(seconds=1.2, samples=256, steps=40, threads=1)
    assert found["error"][60:].max() < 0.03
    assert np.abs(found["unknown"] - found["weight"])[:4].max() < 0.35 * np.abs(found["weight"]).max()
    assert np.abs(found["weight"]).max() > 5
    assert "plans a second" in capsys.readouterr().out
