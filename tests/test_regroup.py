"""Regrouped inertial parameters: the same robot with fewer numbers."""

import numpy as np
import pytest
from conftest import close, random_case

import armwright as aw
from armwright.graph import Graph, count
from armwright.regroup import regrouped
from armwright.trace import flattened, inputs

TAKES_ANY_LINK = [f for f in aw.formulations() if f.any_link]


@pytest.mark.parametrize(("n", "seed"), [(1 + s % 8, s) for s in range(24)])
def test_base_parameters_give_the_same_dynamics(n: int, seed: int) -> None:
    case = random_case(n, seed, actuators=True)
    chain = case.arm.chain()
    base, euler = regrouped(chain), regrouped(chain, euler=True)
    state = [column.tolist() for column in case.state]
    for f in TAKES_ANY_LINK:
        arguments = state[: {"mass_matrix": 1, "bias": 2}.get(f.problem, 3)]
        condition = np.linalg.cond(case.arm.mass_matrix(case.q)) if f.problem == "forward_dynamics" else 10.0
        close(f(base, *arguments), f(chain, *arguments), 1e-13 * condition)
        close(f(euler, *arguments), f(chain, *arguments), 1e-13 * condition)


def test_a_general_revolute_arm_keeps_seven_parameters_a_link() -> None:
    """Six joints beyond the first keep XX-YY, ZZ, XY, XZ, YZ, MX, MY."""
    base = regrouped(aw.random_robot(6, 1, prismatic=0.0).chain())
    for link in base.links[1:]:
        assert (link.mass, link.moment.z, link.origin_inertia.yy) == (0, 0, 0)
        assert sum(x != 0 for x in (link.mass, *link.moment, *link.origin_inertia)) == 7


@pytest.mark.parametrize("seed", range(6))
def test_regrouping_saves_operations(seed: int) -> None:
    arm = aw.random_robot(5, seed)
    for f in TAKES_ANY_LINK:
        given, base = (
            count(flattened(f(chain, *inputs(Graph(), f.problem, arm.n))))
            for chain in (arm.chain(), regrouped(arm.chain()))
        )
        assert base.total <= given.total
