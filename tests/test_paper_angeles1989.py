"""Angeles, Ma and Rojas 1989 run again: counts, stages with and without misprints, both examples in both readings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import close, random_case
from test_verdicts import assert_kept

import armwright as aw
from armwright.check.evaluation import relative_difference
from armwright.study import papers
from armwright.study.operation_counts import products_and_sums
from armwright.study.papers import PaperStudy, Verdict, angeles1989
from armwright.study.papers.angeles1989_counts import (
    TENSORS,
    formulas,
    general_count,
    kane_by_euler,
    khalil_by_inertia,
    stages_of,
)
from armwright.study.papers.finding import Finding

DOCUMENT = Path(__file__).parent.parent / "docs" / "papers" / "angeles1989.md"


@pytest.fixture(scope="module")
def study() -> PaperStudy:
    return papers.study("angeles1989")


def found(study: PaperStudy, key: str) -> Finding:
    (finding,) = [f for f in study.findings if f.key == key]
    return finding


def test_nothing_that_held_is_lost_and_every_verdict_could_be_another(study: PaperStudy) -> None:
    assert_kept(study)


def test_every_table_and_figure_has_a_finding_and_those_with_curves_are_redrawn(study: PaperStudy) -> None:
    for place in (*(f"table {i}" for i in (1, 2, 3)), *(f"figure {i}" for i in range(1, 9))):
        assert any(f.where.startswith(place) for f in study.findings), place
    for number in range(4, 9):
        assert any(plot.title.startswith(f"Figure {number}") for plot in study.plots)
    for plot in study.plots:
        assert all(len(c.x) == len(c.y) > 1 and np.isfinite(c.y).all() for c in plot.curves)
    assert study.page().count("<figure") == len(study.plots) == 10


def test_what_differs_says_why(study: PaperStudy) -> None:
    differing = {f.where for f in study.findings if f.verdict is Verdict.DIFFERS}
    signs = {"section 6, stage 1", "section 6, stage 2", "eqs. (35), (45)"}
    counts = {"table 1", "eq. (56)", "eq. (57)", "eq. (59)", "section 6"}
    assert differing == signs | counts | {"table 3", "section 7.2"}


def test_counts_of_this_paper() -> None:
    count = aw.count_operations("inverse_dynamics", "kane", joints=6)
    assert (count.multiplications, count.additions) == (517, 420)
    coincident = angeles1989.count_coincident(6)
    assert (coincident.multiplications, coincident.additions) == (513, 418)


def test_with_eulers_tensor_or_without_khalil_needs_seven_operations_less() -> None:
    found = {how: [products_and_sums(general_count(method, 6)) for method in pair] for how, pair in TENSORS.items()}
    assert found == {"without Euler's tensor": [937, 930], "with Euler's tensor in both": [877, 870]}
    assert formulas(TENSORS["without Euler's tensor"][1]) == ("105n-116", "87n-106")


@pytest.mark.parametrize("rigid", [khalil_by_inertia, kane_by_euler])
def test_what_is_counted_the_other_way_gives_the_same_torques(rigid) -> None:
    case = random_case(5, 4)
    mechanism, state = case.arm.mechanism(), [x.tolist() for x in case.state]
    close(
        rigid(mechanism, *state, mechanism.wrenches()), aw.formulations("inverse_dynamics")[0](mechanism, *state), 1e-13
    )


def test_a_prismatic_joint_takes_the_products_of_52_and_56(study: PaperStudy) -> None:
    assert stages_of("R") == [(0, 0), (50, 43)] and stages_of("P") == [(2, 0), (54, 44)]
    for key in (
        "eq. (52): stage 1, products per prismatic joint",
        "eq. (56): stage 2, products per prismatic joint more",
    ):
        assert found(study, key).verdict is Verdict.EQUAL


def test_slopes_are_the_published_ones(study: PaperStudy) -> None:
    for key in ("eq. (58): products per joint", "eq. (57): stage 3, products, six joints"):
        assert found(study, key).verdict is Verdict.EQUAL
    assert found(study, "eq. (59): sums per joint").obtained.startswith("87 ")  # 90, less the three of a - rho


@pytest.mark.parametrize(
    ("table", "convention", "name"),
    [(angeles1989.STANFORD, "angeles", "stanford"), (angeles1989.SIX_AXIS, "angeles", "literal")],
)
def test_stages_written_out_in_the_coordinates_of_the_paper(table: list[dict], convention: str, name: str) -> None:
    arm = aw.Robot.from_dh(table, convention, name=name)
    signs = np.array([-1.0 if row["type"] == "prismatic" else 1.0 for row in table])
    for state in np.random.default_rng(5).uniform(-1, 1, (5, 3, 6)):
        exact = arm.inverse_dynamics(*state, formulation="kane")
        close(angeles1989.stages(table, *state) * signs, exact, 1e-12)
        assert relative_difference(angeles1989.stages(table, *state, stage2=-1.0) * signs, exact) > 1e-4
        wrong = relative_difference(angeles1989.stages(table, *state, stage1=-1.0) * signs, exact)
        assert wrong > 1e-2 if signs.min() < 0 else wrong < 1e-12  # stage 1 is about prismatic joints only
        close(angeles1989.frames(table, state[0]), arm.forward_kinematics(state[0]), 1e-14)


def test_the_packaged_stanford_arm_is_the_table() -> None:
    arm, own = aw.load("stanford"), aw.Robot.from_dh(angeles1989.STANFORD, "angeles")
    state = angeles1989.EXAMPLE_1(3.7)
    close(own.inverse_dynamics(*state), arm.inverse_dynamics(*state), 1e-13)


def test_joint_3_by_b_and_by_d_are_two_motions_of_one_arm() -> None:
    arm, other = aw.load("stanford"), angeles1989.along_z3()
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 6))
    flip = np.array([1, 1, -1, 1, 1, 1])
    close(other.inverse_dynamics(q * flip, qd * flip, qdd * flip) * flip, arm.inverse_dynamics(q, qd, qdd), 1e-13)


def test_both_readings_of_example_2() -> None:
    """The same motion of the hand, other torques; largest values on 51 samples as the digest has them."""
    distal = aw.load("thomas_tesar")
    literal = aw.Robot.from_dh(angeles1989.SIX_AXIS, "angeles", name="literal")
    motion = angeles1989.line(distal, aw.trajectory.normal_spline(0, 1, 1.0))
    state = motion(np.linspace(0, 1, 51))
    close(distal.forward_kinematics(state[0]), literal.forward_kinematics(state[0]), 1e-14)
    peaks = [np.abs(arm.inverse_dynamics(*state)).max(axis=0) for arm in (distal, literal)]
    np.testing.assert_allclose(peaks[0][:5], [2121.51239, 4523.722145, 2408.614955, 492.462, 187.768627], rtol=1e-8)
    np.testing.assert_allclose(peaks[1][:5], [2307.123089, 3330.036054, 806.772169, 430.4628, 222.918914], rtol=1e-8)
    assert aw.problems(distal) == [] and "triangle inequality" in aw.problems(literal)[0]


def test_the_initial_angles_do_not_lie_on_the_path(study: PaperStudy) -> None:
    assert found(study, "table 3: hand at the initial angles").obtained == "x = 1.3246, z = 1.2376 m"
    assert found(study, "table 3: initial angles, deg").obtained == "0.00, 90.14, -135.04, 44.90, 90.00, 90.00"


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), flags=re.S | re.M)
    exec(compile(block, str(DOCUMENT), "exec"), {})
    assert capsys.readouterr().out.strip() in DOCUMENT.read_text()
