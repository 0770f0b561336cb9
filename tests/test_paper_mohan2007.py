"""Mohan and Saha 2007 run again: why the simulation departs, and that the recursion has no part in it."""

import hashlib
import os
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from conftest import kept_folder
from test_documents import blocks
from test_verdicts import assert_kept
from typer.testing import CliRunner

import armwright as aw
from armwright.cache import code_digest
from armwright.cli import app
from armwright.formulations import denoc, find_formulation
from armwright.formulations.parts.spatial import Pair
from armwright.study import crossing, papers
from armwright.study.operation_counts import count_without_bias
from armwright.study.papers import mohan2007, mohan2007_claim
from armwright.study.papers.mohan2007_claim import ROUNDING_SCATTER, exact_departure, growth, pendulum_rate
from armwright.study.papers.mohan2007_runs import (
    ABSOLUTE,
    FORMULATION,
    JOINTS,
    PERIOD,
    RELATIVE,
    advantage_text,
    arm,
    desired_motion,
    forced,
    rate,
)
from armwright.study.papers.mohan2007_steps import step_counts
from armwright.study.papers.mohan2007_tables import departures, tabulated
from armwright.study.published import evaluate

DOCUMENT = Path(__file__).parent.parent / "docs" / "papers" / "mohan2007.md"


@pytest.fixture
def keep_exact_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what fifty digits give, which no CPU changes, between processes and runs of the same code."""
    code = code_digest(sorted(Path(aw.__file__).parent.rglob("*.py")))

    def kept(formulation: str, number: Any, *tolerance_and_method: Any) -> float:
        if number is float:
            return exact_departure(formulation, number, *tolerance_and_method)
        name = hashlib.sha256(f"{code} {formulation} {mpmath.mp.dps} {tolerance_and_method}".encode()).hexdigest()
        file = kept_folder("exact") / name
        if not file.exists():
            new = file.with_suffix(f".{os.getpid()}")
            new.write_text(repr(exact_departure(formulation, number, *tolerance_and_method)))
            new.replace(file)
        return float(file.read_text())

    monkeypatch.setattr(mohan2007_claim, "exact_departure", kept)


@pytest.mark.usefixtures("keep_exact_results")
def test_nothing_that_held_is_lost_and_every_table_and_figure_has_a_finding() -> None:
    made = papers.study("mohan2007")
    assert_kept(made)
    where = {f.where for f in made.findings}
    assert {*(f"Table {i}" for i in (1, 2, 3)), *(f"Figure {i}" for i in range(4, 10))} <= where
    drawn = " ".join(plot.title for plot in made.plots)
    assert all(f"Figure {i}" in drawn for i in range(4, 10))
    assert made.page().count("<figure") == len(made.plots)


def test_joints_3_5_and_6_depart_within_a_second_of_link_3_turning_over() -> None:
    run = forced(rate("denoc"))
    assert all(5.5 < run.leaves(joint) < 5.9 for joint in (2, 4, 5))
    assert all(run.leaves(joint) > run.leaves(2) + 0.1 for joint in (0, 1, 3))


@pytest.mark.parametrize("forming", ["denoc_cholesky", "composite_body", "composite_body_gauss_jordan"])
def test_forming_and_factoring_the_matrix_departs_at_the_same_time(forming: str) -> None:
    for relative, absolute in ((RELATIVE, ABSOLUTE), (1e-8, 1e-8)):
        a, b = (forced(rate(name), relative, absolute, PERIOD) for name in ("denoc", forming))
        assert a.leaves() == pytest.approx(b.leaves(), abs=0.005)
        assert a.evaluations == pytest.approx(b.evaluations, rel=0.02)


def test_what_rounding_decides_is_printed_the_same_on_every_cpu() -> None:
    """Gains of the recursion measured with and without AVX-512; one that counts is printed as it is."""
    assert advantage_text([-0.006, 0.0]) == advantage_text([-0.001, 0.001]) == "within 0.05 s of each other"
    assert advantage_text([0.3, 0.61]) == "by 0.30 to 0.61 s" and advantage_text([-0.2, 0.01]) == "by -0.20 to 0.01 s"


def test_single_precision_departs_sooner_and_the_recursion_does_not_help() -> None:
    """Errors of rounding are chance: ten times as large, they leave sooner by as much as the growth rate says."""
    by_chance = np.log(10) / growth().at(5.5)
    assert by_chance == pytest.approx(ROUNDING_SCATTER, rel=0.1)
    recursive, other = (forced(rate(f, "float32"), 1e-6, 1e-6, PERIOD).leaves() for f in ("denoc", "denoc_cholesky"))
    assert recursive == pytest.approx(other, abs=by_chance)
    assert recursive < forced(rate("denoc"), 1e-6, 1e-6, PERIOD).leaves() - by_chance


@pytest.mark.usefixtures("keep_exact_results")
def test_fifty_digits_depart_when_doubles_do() -> None:
    with mpmath.workdps(50):
        exact = mohan2007_claim.exact_departure("denoc", mpmath.mpf, 1e-6)
    assert exact == pytest.approx(exact_departure("denoc", float, 1e-6), abs=1e-6)
    assert exact == pytest.approx(exact_departure("denoc_cholesky", float, 1e-6), abs=1e-6)


def test_errors_grow_from_5_s_on_as_an_inverted_pendulum_of_2_cm_would() -> None:
    found = growth()
    assert found.rate[found.t < 4.95].max() < 1.5
    assert found.at(5.5) == pytest.approx(21.82, rel=1e-3)
    assert found.at(6.5) == pytest.approx(32.69, rel=1e-3)
    assert found.factor(5.0, PERIOD) == pytest.approx(41.9, abs=0.1)
    assert found.at(5.25) == pytest.approx(pendulum_rate(np.array([5.25]))[0], rel=0.02)


def test_the_growth_rate_is_that_of_the_simulated_error() -> None:
    run = forced(rate("denoc"), 1e-8, 1e-8)
    times = [run.leaves(2, size) for size in (1e-5, 1e-2)]
    assert growth().factor(*times) == pytest.approx(3.0, rel=0.05)


def test_the_growth_rate_predicts_how_departure_moves_with_the_tolerance() -> None:
    known, *others = (forced(rate("denoc"), tol, tol, PERIOD).leaves() for tol in (1e-8, 1e-6, 1e-10))
    for other, factor in zip(others, (1e-2, 1e2), strict=True):
        assert growth().later(known, factor) == pytest.approx(other, abs=0.02)
    assert others[1] - others[0] == pytest.approx(0.32, abs=0.02)


def test_the_mass_matrix_is_never_near_singular() -> None:
    matrices = arm().mass_matrix(desired_motion(np.linspace(0, PERIOD, 101))[0])
    assert np.linalg.cond(matrices).max() < 1.2e4


def test_without_the_gamma_that_print_lost_the_accelerations_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equation (27) as printed."""
    mechanism, (q, qd, _) = arm().mechanism(), desired_motion(2.5)
    right = denoc.inverse_dynamics(mechanism, q, qd, [0] * JOINTS, mechanism.wrenches())

    def wrench(outer: Pair, joint, link, m, _load):
        total = outer.plus(Pair(link.mass * m.td.linear + m.td.angular.cross(link.moment),
                                link.moment.cross(m.td.linear) + link.origin_inertia @ m.td.angular))  # fmt: skip
        return m.A.wrench_to_parent(total), total.along(joint)

    monkeypatch.setattr(denoc, "_wrench", wrench)
    printed = denoc.inverse_dynamics(mechanism, q, qd, [0] * JOINTS, mechanism.wrenches())
    off = np.linalg.solve(arm().mass_matrix(q), np.subtract(right, printed))
    assert abs(off[2]) == pytest.approx(15.4, abs=0.1)


def test_three_of_the_ten_printed_crossings_do_not_follow_from_the_printed_formulas() -> None:
    found = {f.what: f.obtained.split()[0] for f in mohan2007.printed_crossings() if f.obtained != f.expected}
    names = ("Valasek: n+", "Brandl et al.: n*", "Brandl et al.: n+")
    assert [found[f"{name} by the printed formulas"] for name in names] == ["16", "15", "18"]


def test_walker_and_orins_count_and_our_form_of_it_stand_apart() -> None:
    found = {f.what: f.obtained for f in (*mohan2007.recounted_rows(), mohan2007.own_form())}
    assert found["Walker, Orin: n = 6, recounted"].startswith("604 M 487 A")
    assert found["Walker, Orin beside composite_body: n = 6, recounted"].startswith("407 M 351 A")


def test_slender_links_save_sums_but_no_products_per_link() -> None:
    slender = [mohan2007.count_slender(n) for n in (5, 6)]
    anyone = [count_without_bias("denoc", n) for n in (5, 6)]
    products, sums = (
        [getattr(b, what) - getattr(a, what) for a, b in (slender, anyone)] for what in ("multiplications", "additions")
    )
    assert products[0] == products[1]
    assert sums[0] < sums[1]


@pytest.mark.parametrize(("every", "earliest", "latest"), [(0.01, 5.31, 5.64), (0.1, 4.83, 5.4)])
def test_a_table_of_torques_departs_as_table_3_has_it_whatever_the_algorithm(
    every: float, earliest: float, latest: float
) -> None:
    recursive, other = (departures(forced(rate(name, torque=tabulated(every)))) for name in FORMULATION.values())
    assert recursive == pytest.approx(other, abs=0.02)
    assert min(recursive) == pytest.approx(earliest, abs=0.02) and max(recursive) == pytest.approx(latest, abs=0.02)
    assert min(recursive) in (recursive[2], recursive[5])  # those that are printed as the first, too


def test_each_step_of_section_4_1_is_counted() -> None:
    assert step_counts() == {
        "1": (2, 0), "2": (0, 0), "3": (7, 2), "4": (0, 1), "5": (93, 110), "8": (7, 0), "9": (21, 21),
        "10": (14, 11), "11": (14, 10), "12": (1, 0), "13": (6, 6), "14": (22, 14), "15": (0, 1),
    }  # fmt: skip


def test_the_fifteen_steps_written_out_have_nearly_the_printed_slope_of_products() -> None:
    counts = [mohan2007.count_slender(n, "denoc_stepwise") for n in (5, 6)]
    assert [c.multiplications + c.divisions for c in counts] == [178 * n - 326 for n in (5, 6)]
    assert [c.additions for c in counts] == [161 * n - 325 for n in (5, 6)]


def test_the_code_of_the_page_runs() -> None:
    names: dict = {}
    for block in blocks(DOCUMENT, "python"):
        exec(compile(block, str(DOCUMENT), "exec"), names)


# Where the O(n) methods win


@pytest.mark.parametrize("name", ["denoc", "articulated_body", "composite_body", "equilibrium"])
def test_counts_beyond_the_fitted_sizes_are_those_of_a_trace(name: str) -> None:
    cost = crossing.general(find_formulation("forward_dynamics", name), 11)
    for n in (1, 2, 9, 11):
        counted = aw.count_operations("forward_dynamics", name, joints=n)
        assert cost.products[n - 1] == counted.multiplications + counted.divisions
        assert cost.sums[n - 1] == counted.additions


def test_o_n_overtakes_between_eight_and_twelve_joints() -> None:
    denoc_, articulated, composite = (
        crossing.general(find_formulation("forward_dynamics", name), 40)
        for name in ("denoc", "articulated_body", "composite_body")
    )
    for winner in (denoc_, articulated):
        found = crossing.compute_crossings(winner, composite)
        assert all(8 <= n <= 12 for n in (found.products, found.sums, found.both))
    assert crossing.compute_crossings(articulated, composite).both < crossing.compute_crossings(denoc_, composite).both


def test_what_never_wins_is_told() -> None:
    assert crossing.cheaper_from([1, 2, 3], [1, 5, 1], [2, 2, 2]) == 3
    assert crossing.cheaper_from([1, 2, 3], [1, 1, 1], [2, 2, 2]) == 1
    assert crossing.cheaper_from([1, 2, 3], [1, 1, 2], [2, 2, 2]) is None
    assert evaluate("173n-128", 10) == 1602


def test_times_cross_between_measured_sizes() -> None:
    level = crossing.Timing("forward_dynamics", "denoc", "NumPy", (4, 16), (2.0, 2.0))
    rising = crossing.Timing("forward_dynamics", "composite_body", "NumPy", (4, 16), (1.0, 4.0))
    assert crossing.faster_from(level, rising) == pytest.approx(8)
    assert crossing.faster_from(rising, level) is None
    race = crossing.Race((), (level, rising))
    assert [(a.name, b.name) for a, b, _ in race.measured_crossings()] == [("denoc", "composite_body")]
    assert crossing.measured_rows(race)[1][-1] == "8.0"


def test_a_few_joints_are_timed_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("NUMPY_SIZES", (2, 3)),
        ("LONG_CHAINS", (25,)),
        ("CHAIN_LOOPS", {"inverse_dynamics": "cartesian_tensor"}),
    ):
        monkeypatch.setattr(crossing, name, value)
    monkeypatch.setattr(crossing, "TIMED_FORMULATIONS", {"forward_dynamics": (("denoc", "composite_body"), (2, 3))})
    timings = list(crossing.measured())
    assert {t.kind for t in timings} == {"straight code", "loop", "NumPy"}
    assert all(seconds > 0 for t in timings for seconds in t.seconds)
    cost = crossing.special(find_formulation("mass_matrix", "denoc"), "planar", 3)
    assert "Forward dynamics: measured" in crossing.Race((cost,), tuple(timings)).page()


def test_the_command_prints_tables_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "CROSSING_PROBLEMS", ("mass_matrix",))
    monkeypatch.setattr(crossing, "COMPETITORS", {"mass_matrix": crossing.COMPETITORS["mass_matrix"]})
    page = tmp_path / "crossing.html"
    result = CliRunner().invoke(app, ["crossing", "--joints", "5", "--no-measure", "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "natural_orthogonal_complement" in result.output
    assert page.read_text().count("<figure") == len(crossing.CROSSING_PROBLEMS) + len(crossing.ROBOTS)
    assert "expected 3 to 200" in CliRunner().invoke(app, ["crossing", "--joints", "2"]).output
