"""Grigorov 2013 run again: closed form, misprints, oscillation, cost, independent simulators."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from test_verdicts import assert_kept

import armwright as aw
from armwright.check.evaluation import relative_difference
from armwright.study import papers
from armwright.study.papers import PaperStudy, Verdict, grigorov2013
from armwright.study.papers.finding import Finding

DOCUMENT = Path(__file__).parent.parent / "docs" / "papers" / "grigorov2013.md"


@pytest.fixture(scope="module")
def study() -> PaperStudy:
    return papers.study("grigorov2013")


def found(study: PaperStudy, key: str) -> Finding:
    (finding,) = [f for f in study.findings if f.key == key]
    return finding


def test_nothing_that_held_is_lost_and_every_verdict_could_be_another(study: PaperStudy) -> None:
    assert_kept(study)


def test_every_figure_has_a_finding_and_those_with_curves_are_redrawn(study: PaperStudy) -> None:
    for number in range(1, 6):
        assert any(f.where.startswith(f"figure {number}") for f in study.findings)
    for number in (3, 4, 5):
        assert any(plot.title.startswith(f"Figure {number}") for plot in study.plots)
    for plot in study.plots:
        assert all(len(c.x) == len(c.y) > 1 and np.isfinite(c.y).all() for c in plot.curves)
    assert study.page().count("<figure") == len(study.plots) == 9


def test_only_misprints_and_the_growth_of_the_matrix_differ(study: PaperStudy) -> None:
    *differing, growth = [f for f in study.findings if f.verdict is Verdict.DIFFERS]
    assert growth.what.startswith("mass matrix: exponent of growth")
    assert {f.where for f in differing} == {"eq. (5)", "eq. (12)", "eq. (14)"}
    assert all(f.what.startswith("as printed") and f.why.startswith("a misprint") for f in differing)


@pytest.mark.parametrize(
    ("printed", "least"), [("", 0.0), *((printed, 3e-3) for _, printed, _ in grigorov2013.MISPRINTS)]
)
def test_equation_5_written_out(printed: str, least: float) -> None:
    arm = aw.random_robot(5, seed=4, prismatic=0.0)
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 5))
    exact = arm.with_gravity([0, 0, 0]).inverse_dynamics(q, qd, qdd)
    error = relative_difference(grigorov2013.closed_form(arm.with_gravity([0, 0, 0]), q, qd, qdd, printed), exact)
    assert error > least if printed else error < 1e-13
    if not printed:
        close(grigorov2013.closed_form(arm, q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), 1e-12)


def test_the_printed_sign_of_the_spring_diverges(study: PaperStudy) -> None:
    arm = aw.load("grigorov")
    start, rest = grigorov2013.VIA[0], np.zeros(5)
    for sign in (1.0, -1.0):  # both start from rest in equilibrium
        tau = arm.gravity_torque(start)
        run = aw.simulate(arm, grigorov2013.closed_valves(arm, sign), q0=start, qd0=rest, duration=0.02, every=0.01)
        close(run.tau[0], tau, 1e-12)
        assert np.abs(run.qdd[0]).max() < 1e-8
    assert "grows with 72 1/s" in found(study, "eq. (14): as printed: +k (theta - theta0)").obtained


def test_integrators_agree_on_the_oscillation(study: PaperStudy) -> None:
    (plot,) = [p for p in study.plots if p.title == "Figure 5 by four integrators"]
    errors = {curve.name: curve.y for curve in plot.curves}
    assert set(errors) == {"bs32", "merson43", "dop853", "radau"}
    assert errors["dop853"][-1] < 1e-10 and errors["radau"][-1] < 1e-7 and errors["bs32"][-1] < 1e-8
    assert all(later < earlier for y in errors.values() for earlier, later in itertools.pairwise(y))


def test_the_load_as_a_force_weighs_as_the_load_and_has_no_inertia() -> None:
    arm = aw.load("grigorov")
    empty, q = grigorov2013.without_load(arm), grigorov2013.VIA
    pulled = grigorov2013.load_wrenches(arm, q)
    assert arm.links[-1].mass - empty.links[-1].mass == pytest.approx(3200 / 9.81)
    rest = np.zeros_like(q)
    close(empty.inverse_dynamics(q, rest, rest, link_wrenches=pulled), arm.gravity_torque(q), 1e-12)
    missing = (arm.mass_matrix(q) - empty.mass_matrix(q)) @ np.ones(5)
    moved = arm.inverse_dynamics(q, rest, rest + 1) - empty.inverse_dynamics(q, rest, rest + 1, link_wrenches=pulled)
    close(moved, missing, 1e-11)


def test_the_cost_of_one_torque_and_of_all() -> None:
    assert [grigorov2013.operations_alone(6, j) for j in (0, 5)] == [1089, 446]
    closed, recursive = (grigorov2013.operations("inverse_dynamics", f, 6) for f in ("equilibrium", "cartesian_tensor"))
    assert (closed, recursive) == (1790, 840)


def test_the_closed_form_grows_with_the_square_and_its_mass_matrix_with_the_cube(study: PaperStudy) -> None:
    (plot,) = [p for p in study.plots if p.title.startswith("Operations")]
    totals = {curve.name: list(curve.y) for curve in plot.curves}
    assert np.allclose(np.diff(totals["equilibrium"][2:], 3), 0)
    assert np.allclose(np.diff(totals["newton_euler"][2:], 2), 0)
    cubic = np.diff(totals["M: equilibrium"][2:], 3)
    assert np.allclose(cubic, 20) and np.allclose(np.diff(totals["M: composite_body"][2:], 3), 0)


@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
def test_independent_simulators_agree_or_are_said_to_be_missing(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arm, motion = aw.load("grigorov"), aw.trajectory.cubic(grigorov2013.VIA_TIMES, grigorov2013.VIA)

    def compared() -> Finding:
        return grigorov2013._pinocchio(arm, motion) if peer == "pinocchio" else grigorov2013._mujoco(arm)

    monkeypatch.setitem(sys.modules, f"armwright.study.peers.{peer}", None)
    missing = compared()
    assert missing.verdict is Verdict.UNCHECKABLE and "not installed" in missing.why
    monkeypatch.undo()
    pytest.importorskip(peer, reason="optional")
    assert compared().verdict is Verdict.HOLDS


def test_the_code_of_the_page_runs() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), flags=re.S | re.M)
    exec(compile(block, str(DOCUMENT), "exec"), {})
