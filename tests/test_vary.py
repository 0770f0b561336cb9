"""One compilation for a thousand designs: parameters that stay open."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import close, random_case

import armwright as aw
from armwright.trace import evaluation_strategy

PUMA = aw.load("puma560")
RNG = np.random.default_rng(0)
Q, QD, X = RNG.uniform(-1, 1, (3, 20, 6))


@pytest.mark.parametrize("problem", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias"])
def test_a_varied_payload_is_that_payload(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled once, beside as many robots, each as it is written."""
    names = ["payload.mass", "payload.com", "payload.inertia"]
    f = aw.compile(PUMA, problem, vary=names)
    state = (Q, QD, X)[: {"mass_matrix": 1, "bias": 2}.get(problem, 3)]
    masses, coms = RNG.uniform(0, 3, 20), RNG.uniform(-0.1, 0.1, (20, 3))
    tensor = [0.01, 0.02, 0.02, 0.0, 0.001, 0.0]
    got = f(*state, masses, coms, tensor)
    empty = f(*(x[0] for x in state), 0.0, [0.0] * 3, [0.0] * 6)
    monkeypatch.setattr(evaluation_strategy, "MAX_UNROLLED_JOINTS", 0)
    for i in range(20):
        arm = PUMA.with_payload(masses[i], coms[i], tensor)
        close(got[i], getattr(arm, problem)(*(x[i] for x in state)), 1e-11)
    close(empty, getattr(PUMA, problem)(*(x[0] for x in state)), 1e-12)


def test_any_parameter_can_vary() -> None:
    case = random_case(4, 6, actuators=True)
    arm, link, joint = case.arm, case.arm.links[1], case.arm.joints[2]
    given = {
        "gravity": [1.0, -2.0, 3.0], f"{link.name}.mass": 2.5, f"{link.name}.com": [0.1, 0.2, -0.1],
        f"{joint.name}.viscous": 0.7, f"{joint.name}.coulomb": 0.2, f"{joint.name}.armature": 0.4,
        f"{joint.name}.a": 0.15, f"{joint.name}.d": -0.25,
    }  # fmt: skip
    f = aw.compile(arm, "inverse_dynamics", vary=list(given))
    changed_link = replace(link, mass=2.5, com=(0.1, 0.2, -0.1))
    changed_joint = replace(joint, viscous=0.7, coulomb=0.2, rotor_inertia=0.4, gear=1.0, a=0.15, d=-0.25)
    other = replace(
        arm.with_gravity([1.0, -2.0, 3.0]),
        links=(arm.links[0], changed_link, *arm.links[2:]),
        joints=(*arm.joints[:2], changed_joint, arm.joints[3]),
    )
    close(f(*case.state, *given.values()), other.inverse_dynamics(*case.state), 1e-12)
    wrench = {"tip_wrench": case.tip_wrench}
    close(f(*case.state, *given.values(), **wrench), other.inverse_dynamics(*case.state, **wrench), 1e-12)


def test_a_name_to_vary_means_one_thing() -> None:
    with pytest.raises(aw.InputError, match="vary names 'gravity' twice"):
        aw.compile(PUMA, "bias", vary=["gravity", "gravity"])
    arm = replace(PUMA, links=(*PUMA.links[:5], replace(PUMA.links[5], name="payload")))
    with pytest.raises(aw.InputError, match=r"'payload.mass': the payload and a link have this name"):
        aw.compile(arm, "bias", vary=["payload.mass"])
    arm = replace(PUMA, links=(*PUMA.links[:5], replace(PUMA.links[5], name=PUMA.links[0].name)))
    with pytest.raises(aw.InputError, match="several links or joints have this name"):
        aw.compile(arm, "bias", vary=[f"{PUMA.links[0].name}.com"])


def test_varied_parameters_are_checked() -> None:
    with pytest.raises(
        aw.UnknownNameError, match=r"unknown parameter to vary 'payload.mas'.*Did you mean 'payload.mass'"
    ):
        aw.compile(PUMA, "bias", vary=["payload.mas"])
    with pytest.raises(aw.InputError, match="expected a list of names"):
        aw.compile(PUMA, "bias", vary="gravity")
    f = aw.compile(PUMA, "bias", vary=["payload.mass", "gravity"])
    with pytest.raises(aw.InputError, match=r"payload.mass has shape|do not fit together"):
        f(Q, QD, np.ones((2, 3)), [0, 0, -9.81])
    with pytest.raises(aw.InputError, match=r"gravity has shape \(2,\)"):
        f(Q, QD, 1.0, [0, 0])
    with pytest.raises(aw.InputError, match="got 2 arguments; expected 4"):
        f(Q, QD)
    with pytest.raises(aw.InputError, match=r"^payload\.mass is nan; every"):
        f(Q[0], QD[0], np.nan, [0, 0, -9.81])
