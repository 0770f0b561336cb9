"""Mata et al. 2002 run again, and the precision study that grew out of its section 5.1."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_verdicts import assert_kept
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.formulations import PROBLEMS, find_formulation
from armwright.study import papers
from armwright.study.operation_counts import formula
from armwright.study.papers import PaperStudy, Verdict, mata2002
from armwright.study.papers.judgement import Against
from armwright.study.papers.mata2002_bars import (
    METHODS_5,
    OURS_5,
    articulated_about_centre,
    articulated_in_base_frame,
    articulated_in_distal_frames,
    within_usual_range,
)
from armwright.study.precision import COMPILED, accelerations, precision, sweep

DOCUMENT = Path(__file__).parent.parent / "docs" / "papers" / "mata2002.md"
FORMULATION = Path(aw.__file__).parent / "formulations" / "gibbs_appell.py"


@pytest.fixture(scope="module")
def made() -> PaperStudy:
    return papers.study("mata2002")


def verdicts(study: PaperStudy, start: str) -> dict[str, Verdict]:
    found = {f.key: f.verdict for f in study.findings if f.key.startswith(start)}
    assert found
    return found


def test_nothing_that_held_is_lost_and_every_verdict_could_be_another(made: PaperStudy) -> None:
    assert_kept(made)


def test_every_table_and_figure_has_a_finding_and_every_figure_is_drawn(made: PaperStudy) -> None:
    for where in [*(f"Table {i}" for i in range(1, 8)), *(f"Fig. {i}" for i in range(1, 5))]:
        assert any(f.where == where for f in made.findings), where
    for i in range(1, 5):
        assert any(plot.title.startswith(f"Fig. {i}") for plot in made.plots)
    assert all(
        np.isfinite(curve.y).all() and len(curve.x) == len(curve.y) > 1 for p in made.plots for curve in p.curves
    )
    assert made.page().count("<figure") == len(made.plots)


def test_the_printed_steps_add_up_to_the_printed_counts(made: PaperStudy) -> None:
    assert verdicts(made, "Table 1: steps")["Table 1: steps of section 4.1 added up, per link"] is Verdict.EQUAL
    assert mata2002.steps_4_2(6) == (482, 426)
    assert set(verdicts(made, "Table 3: substitution").values()) == {Verdict.EQUAL}


def test_no_count_of_gibbs_appell_is_above_the_published_one_but_for_one_sum(made: PaperStudy) -> None:
    rows = [f for f in made.findings if "n = 6" in f.what and ("Mata et al.:" in f.what or f.where == "Table 3")]
    numbers = [f for f in rows if f.expected.isdecimal()]
    higher = [f.key for f in numbers if int(f.obtained.split()[0]) > int(f.expected)]
    assert len(numbers) == 16
    assert higher == ["Table 1: Mata et al.: sums, n = 6"]


def test_single_precision_loses_the_digits_of_the_matrix_and_articulated_bodies_keep_them() -> None:
    """Table 5: condition numbers of 1.3e4 to 5.4e4 cost every formulation that forms M four digits of seven."""
    arm = aw.load("ascher")
    states = sweep(arm, 1)
    assert len(states.q) == 180
    condition = np.linalg.cond(arm.mass_matrix(states.q))
    np.testing.assert_allclose([condition.min(), condition.max()], [1.33e4, 5.41e4], rtol=4e-3)
    exact = accelerations(arm, "articulated_body", states, "float64")[:, 0]
    sizes = {name: np.abs(method(arm, states) - exact) for name, method in METHODS_5.items()}
    for forming in ("CRBA", OURS_5, "GA"):
        assert sizes[forming].max() > 1000 * sizes["ABA, proximal frames"].max()
        assert sizes[forming].mean() > 1000 * sizes["ABA, proximal frames"].mean()
    assert sizes["CRBA"].max() == pytest.approx(1.2922, rel=0.2)  # printed, as is the next
    assert sizes["CRBA"].mean() == pytest.approx(0.275063, rel=0.2)
    assert sizes[OURS_5].mean() < 0.8 * sizes["CRBA"].mean()


@pytest.mark.parametrize("method", [articulated_in_base_frame, articulated_about_centre, articulated_in_distal_frames])
def test_articulated_bodies_about_other_points_are_right_in_doubles(
    method: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only rounding tells them from those in link frames: with doubles for singles all agree."""
    arm = aw.load("ascher")
    states = sweep(arm, 1)
    exact = accelerations(arm, "articulated_body", states, "float64")[:, 0]
    monkeypatch.setattr(np, "float32", np.float64)
    np.testing.assert_allclose(method(arm, states), exact, rtol=1e-9)


def test_no_size_of_rounding_errors_holds_by_a_factor_and_no_small_print_passes(made: PaperStudy) -> None:
    graded = verdicts(made, "Table 5")
    for key, verdict in graded.items():
        if not key.endswith("average with signs"):
            assert verdict in (Verdict.WITHIN_FACTOR_2, Verdict.WITHIN_FACTOR_10, Verdict.DIFFERS), key
    assert graded["Table 5: ABA, distal frames: largest"] is Verdict.WITHIN_FACTOR_2
    assert graded["Table 5: ABA, proximal frames: largest"] is Verdict.DIFFERS
    errors = np.random.default_rng(0).normal(size=201)
    for printed, verdict in (("0.5", Verdict.HOLDS), ("1e-9", Verdict.DIFFERS), ("9.0", Verdict.DIFFERS)):
        assert within_usual_range("a mean of both signs", printed, errors, "not usual").verdict is verdict


def test_a_tolerance_that_is_relative_alone_takes_as_many_evaluations_as_printed(made: PaperStudy) -> None:
    found = {f.key: f for f in made.findings}
    evaluations = found["Table 7: evaluations, if the tolerance is relative alone"]
    assert evaluations.verdict is Verdict.HOLDS and evaluations.judgement.measured == (1114, 1114)
    errors = found["Table 6: errors within a factor of ten, if the tolerance is relative alone"]
    assert errors.verdict is Verdict.MOSTLY and "(16 of 18)" in errors.obtained


def test_equation_21_is_a_formulation_of_order_n_cubed() -> None:
    assert formula(find_formulation("mass_matrix", "gibbs_hessian")) == ("n^3+21n^2-47n+29", "n^3+14n^2-27n+12")
    arm = aw.load("stanford")
    q = np.random.default_rng(2).normal(size=(10, arm.n))
    np.testing.assert_allclose(
        arm.mass_matrix(q, formulation="gibbs_hessian"), arm.mass_matrix(q), rtol=0, atol=1e-13 * 10
    )


def test_figures_have_the_titles_of_the_paper(made: PaperStudy) -> None:
    titles = [plot.title for plot in made.plots]
    for begin in (
        "Fig. 2: comparison of the accelerations obtained in joint 1",
        "Fig. 2: variation of the condition number",
        "Fig. 4, the block diagram run",
    ):
        assert any(title.startswith(begin) for title in titles), begin


def test_walker_and_orins_method_is_there_to_compare_with_and_never_chosen() -> None:
    assert all(c.formulation != "walker_orin_3" for p in PROBLEMS.values() for c in p.candidates)
    assert aw.compile(aw.load("puma560"), "mass_matrix").formulation != "walker_orin_3"


def test_of_what_the_paper_cites_gibbs_appell_is_the_cheapest_and_beside_ours_it_is_not(made: PaperStudy) -> None:
    for table, what in (("Table 2", "mass matrix"), ("Table 4", "forward dynamics")):
        found = verdicts(made, f"{table}: fewest operations for {what}")
        assert list(found.values()) == [Verdict.HOLDS, Verdict.DIFFERS]
        assert "composite_body in place" in list(found)[1]


def test_in_single_precision_gibbs_appell_errs_less_than_walker_and_orin(made: PaperStudy) -> None:
    assert verdicts(made, "Section 5.1: GA errs less than CRBA, average") == {
        "Section 5.1: GA errs less than CRBA, average": Verdict.HOLDS
    }


def test_fifty_digits_confirm_the_double_precision_of_table_5() -> None:
    study = precision(aw.load("ascher"), joint=1)
    assert study.cases[0].line("articulated_body", "float64").largest < 1e-12


def test_the_three_methods_follow_the_line_alike(made: PaperStudy) -> None:
    assert (
        verdicts(made, "Section 5.2: the three")["Section 5.2: the three methods give practically the same motion"]
        is Verdict.HOLDS
    )
    evaluations = {f.obtained.split()[0] for f in made.findings if f.what.endswith(": evaluations")}
    assert len(evaluations) == 1


def test_the_stored_numbers_are_met(made: PaperStudy) -> None:
    """Those of an independent prototype: torques to 1e-6, the averages of table 6 to their three digits."""
    stored = [f for f in made.findings if f.against is Against.PROTOTYPE]
    assert len(stored) == 12
    assert {f.verdict for f in stored} == {Verdict.HOLDS}


def test_one_of_eight_postures_keeps_within_the_limits() -> None:
    """What the paper leaves open: which of the eight ways to reach the start it took."""
    arm = aw.load("puma560")
    free = replace(arm, joints=tuple(replace(joint, limits=None) for joint in arm.joints))
    starts = np.random.default_rng(0).uniform(-np.pi, np.pi, (200, 6))
    found = free.inverse_kinematics(np.broadcast_to(mata2002.pose(mata2002.MOTION_START), (200, 4, 4)), starts)
    postures = np.unique(np.round(np.remainder(found + 1e-7, 2 * np.pi), 5), axis=0)
    assert len(postures) == 8
    ends = np.array([mata2002.pose(p) for p in np.linspace(mata2002.MOTION_START, mata2002.MOTION_END, 51)])
    kept = []
    for posture in postures:
        q = free.inverse_kinematics(ends, posture, path=True)
        if all(_within(q[:, j], *joint.limits) for j, joint in enumerate(arm.joints)):
            kept.append(posture)
    assert len(kept) == 1
    apart = np.remainder(kept[0] - np.radians(mata2002.POSTURE) + np.pi, 2 * np.pi) - np.pi
    assert np.abs(apart).max() < np.radians(1)


def _within(q: np.ndarray, low: float, high: float) -> bool:
    turns = 2 * np.pi * np.arange(-2, 3)
    return any(q.min() + turn >= low and q.max() + turn <= high for turn in turns)


def test_equation_22_is_misprinted() -> None:
    """Its last factor is r_ji, from origin j to the centre of mass of i; as printed, s_ji, 7 % of the matrix is off."""
    arm = aw.load("puma560")
    q = np.random.default_rng(1).normal(size=6)
    M = arm.mass_matrix(q)
    scale = np.abs(M).max()
    assert np.abs(equation_22(arm, q, printed=False) - M).max() < 1e-14 * scale
    assert 0.06 < np.abs(equation_22(arm, q, printed=True) - M).max() / scale < 0.08


def equation_22(arm: aw.Robot, q: np.ndarray, printed: bool) -> np.ndarray:
    poses, D = arm.link_poses(q), np.zeros((arm.n, arm.n))
    z, o = poses[:, :3, 2], poses[:, :3, 3]
    for i, link in enumerate(arm.mechanism().bodies):
        R = poses[i, :3, :3]
        r, J = R @ np.array(list(link.com)), link.inertia
        inertia = R @ np.array([[J.xx, J.xy, J.xz], [J.xy, J.yy, J.yz], [J.xz, J.yz, J.zz]]) @ R.T
        for j in range(i + 1):
            for k in range(j + 1):
                last = o[i] - o[j] + (0 if printed else r)
                A = inertia - link.mass * (skew(r) @ skew(o[i] + r - o[j]) + skew(o[i] - o[k]) @ skew(last))
                D[j, k] += z[k] @ A @ z[j]
    return np.tril(D) + np.tril(D, -1).T


def skew(v: np.ndarray) -> np.ndarray:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def test_the_lines_named_in_the_document_are_the_lines_of_the_code() -> None:
    code = FORMULATION.read_text().splitlines()
    rows = re.findall(r"^\| .* \| (\d+) \| `(.*)` \|$", DOCUMENT.read_text(), re.M)
    assert len(rows) == 14
    for line, text in rows:
        assert code[int(line) - 1].split("  #")[0].strip() == text


def test_the_code_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), flags=re.S | re.M)
    exec(compile(block, str(DOCUMENT), "exec"), {})
    assert "gibbs_appell_gauss_jordan" in capsys.readouterr().out


def test_precision_ranks_articulated_bodies_first_on_the_arm_of_two_bars() -> None:
    arm = aw.load("ascher")
    for study in (precision(arm), precision(arm, joint=1)):
        assert study.ranking()[0] == "articulated_body"
        assert "In single precision trust articulated_body" in study.verdict()
        assert any("compiled by default, composite_body" in sentence for sentence in study.verdict())
    falling, driven = precision(arm).cases
    assert falling.ratio("composite_body", "articulated_body") > 30
    assert len(driven.trusted()) == len(driven.published)


def test_on_a_well_made_robot_any_formulation_will_do() -> None:
    study = precision(aw.load("puma560"), 50)
    assert "In single precision take any" in study.verdict()
    for case in study.cases:
        assert {line.formulation for line in case.lines} == {f.name for f in aw.formulations("forward_dynamics")} | {
            COMPILED
        }
        for line in case.lines:
            eps = np.finfo(line.dtype).eps
            assert (line.errors <= eps * case.condition).all()
            assert line.errors.max() > eps / 100


def test_the_same_seed_draws_the_same_states_and_single_precision_knows_them() -> None:
    arm = aw.load("stanford")
    one, two = (precision(arm, 5, seed=3) for _ in range(2))
    for a, b in zip(one.cases, two.cases, strict=True):
        for x, y in zip((a.states.q, a.states.qd, a.states.tau), (b.states.q, b.states.qd, b.states.tau), strict=True):
            assert (x == y).all()
            assert (x.astype(np.float32) == x).all()


def test_where_nothing_accelerates_the_error_itself_counts() -> None:
    study = precision(aw.load("rr").with_gravity([0, 0, 0]), joint=0)
    assert study.cases[0].line("articulated_body", "float32").largest == 0


def test_precision_prints_a_table_and_writes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "ascher_precision.html"
    result = CliRunner().invoke(app, ["precision", "ascher", "--states", "20", "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert all(f.name in result.output for f in aw.formulations("forward_dynamics"))
    assert "trust articulated_body" in result.output
    assert page.read_text().count("<figure") == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sweep", "3"], "--sweep 3: ascher has joints 1 to 2"),
        (["--states", "0"], "count = 0: expected the number of states"),
        (["--states", "2", "-o", "/nowhere/x.html"], "cannot write /nowhere/x.html"),
    ],
)
def test_what_precision_cannot_do_is_told(options: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["precision", "ascher", *options])
    assert result.exit_code == 2
    assert message in result.output


def test_without_mpmath_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(aw.InputError, match=re.escape("pip install 'armwright[precision]'")):
        precision(aw.load("rr"), 2)
