"""Every kind of problem is found, named and told to the user; good robots raise none."""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw


def changed(arm: aw.Robot, i: int, **values) -> aw.Robot:
    links = list(arm.links)
    links[i] = replace(links[i], **values)
    return replace(arm, links=tuple(links))


def scaled(tensor, factor):
    return tuple(tuple(factor * x for x in row) for row in tensor)


def kinds(arm: aw.Robot) -> set[str]:
    return {p.kind for p in aw.problems(arm)}


def diag(*values):
    return tuple(map(tuple, np.diag(values).tolist()))


PUMA = aw.load("puma560")


@pytest.mark.parametrize(
    ("arm", "kind", "sentence"),
    [
        (changed(PUMA, 2, mass=0.0), "non-positive mass", "forearm: its mass is zero"),
        (changed(PUMA, 2, mass=-1.0), "non-positive mass", "forearm: its mass is negative"),
        (changed(PUMA, 2, inertia=diag(-0.1, 0.2, 0.2)), "not positive definite", "forearm: its inertia tensor is not positive"),
        (changed(PUMA, 2, inertia=diag(0.1, 0.1, 0.3)), "triangle inequality", "forearm: .* break the triangle inequality"),
        (changed(PUMA, 2, inertia=diag(0, 0, 0)), "missing inertia", "forearm: its inertia is missing"),
        (changed(PUMA, 1, inertia=scaled(PUMA.links[1].inertia, 1e3)), "suspicious units", "upper_arm: .* check the units"),
        (changed(PUMA, 1, inertia=scaled(PUMA.links[1].inertia, 1e-3)), "suspicious units", "upper_arm: .* far smaller"),
        (changed(PUMA, 1, inertia=scaled(PUMA.links[1].inertia, 1e6)), "suspicious units", "kg mm"),
        (
            changed(changed(PUMA, 5, mass=0.0, inertia=diag(0, 0, 0)), 4, mass=0.0, inertia=diag(0, 0, 0)),
            "singular mass matrix",
            r"wrist2: nothing outside its joint has mass or inertia \(wrist2, hand\), so the mass matrix is singular",
        ),
        (
            replace(PUMA, joints=(*PUMA.joints[:5], replace(PUMA.joints[5], limits=(1.0, -1.0)))),
            "reversed limits",
            "joint6: its limits are reversed: lower 1 above upper -1",
        ),
        (
            replace(PUMA, joints=(replace(PUMA.joints[0], limits=(1.0, 1.0)), *PUMA.joints[1:])),
            "no travel",
            "joint1: its limits are equal",
        ),
        (
            replace(PUMA, joints=(PUMA.joints[0], replace(PUMA.joints[1], alpha=-1.5708), *PUMA.joints[2:])),
            "rounded angle",
            "joint2: alpha = -1.5708 is .* away from -1 right angle",
        ),
        (
            replace(PUMA, joints=(PUMA.joints[0], replace(PUMA.joints[1], alpha=-90.0), *PUMA.joints[2:])),
            "degrees",
            "joint2: alpha = -90 .* looks like degrees",
        ),
        (PUMA.with_payload(1.0, inertia=np.diag([1, 1, 3])), "triangle inequality", "payload: its principal moments"),
    ],
)  # fmt: skip
def test_a_planted_mistake_is_found(arm: aw.Robot, kind: str, sentence: str) -> None:
    found = [p for p in aw.problems(arm) if p.kind == kind]
    assert len(found) == 1
    assert re.search(sentence, found[0])
    assert found[0].where in found[0]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_robot_could_exist(seed: int) -> None:
    assert aw.problems(aw.random_robot(1 + seed % 9, seed)) == []


def test_packaged_robots_are_sound_or_say_what_they_accept(robot_name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = aw.load(robot_name)
    assert kinds(arm) <= set(arm.accept)


def test_a_payload_mends_a_massless_tip() -> None:
    tip = changed(PUMA, 5, mass=0.0, inertia=diag(0, 0, 0))
    assert "singular mass matrix" in kinds(tip)
    assert "singular mass matrix" not in kinds(tip.with_payload(1.0, [0.1, 0, 0], np.eye(3) * 0.01))


def test_loading_warns_of_what_can_still_be_computed(tmp_path: Path) -> None:
    changed(PUMA, 2, inertia=diag(0.1, 0.1, 0.3)).to_toml(tmp_path / "odd.toml")
    with pytest.warns(aw.ModelWarning, match="robot 'puma560': forearm: .* triangle inequality"):
        arm = aw.load(tmp_path / "odd.toml")
    assert np.isfinite(arm.gravity_torque(np.zeros(6))).all()
    replace(arm, accept=("triangle inequality",)).to_toml(tmp_path / "known.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aw.load(tmp_path / "known.toml")
