"""What results depend on: Sobol indices where the design has them, exactly over a grid, and where nothing is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import armwright as aw
from armwright.errors import ModelError, UnknownNameError
from armwright.sweep.design import INDICES, Design, design_of
from armwright.sweep.global_sensitivity import grid_indices, indices_of, sobol_indices
from armwright.sweep.study_page import study_page

A, B = 7.0, 0.1
"""Of Ishigami and Homma's function sin x1 + A sin^2 x2 + B x3^4 sin x1, each number uniform in (-pi, pi)."""

ALONE = np.array([(1 + B * np.pi**4 / 5) ** 2 / 2, A**2 / 8, 0.0])
TOGETHER = B**2 * np.pi**8 * (1 / 18 - 1 / 50)
"""What x1 and x3 do only together."""

FIRST = ALONE / (ALONE.sum() + TOGETHER)
TOTAL = (ALONE + TOGETHER * np.array([1, 0, 1])) / (ALONE.sum() + TOGETHER)

BAR = {"type": "revolute", "alpha": 0, "a": 1, "d": 0, "mass": 1, "com": [0.5, 0, 0], "inertia": [0, 0.1, 0.1, 0, 0, 0]}
ANGLE = {"uniform": [-np.pi, np.pi]}


def ishigami(x1: np.ndarray, x2: np.ndarray, x3: np.ndarray) -> np.ndarray:
    return np.sin(x1) + A * np.sin(x2) ** 2 + B * x3**4 * np.sin(x1)


def design(count: int, **more: object) -> Design:
    vary = {"x1": ANGLE, "x2": ANGLE, "x3": ANGLE}
    return design_of(aw.Study("rr", vary, {"method": INDICES, "count": count, "seed": 5, **more}))


def test_indices_of_the_ishigami_function_are_its_own() -> None:
    made = design(4096)
    f = ishigami(*made.draw(0, made.rows).values())
    found = indices_of(made, np.arange(made.rows), f)
    assert found.used == 4096 and found.left_out == 0
    assert found.first == pytest.approx(FIRST, abs=0.01)
    assert found.total == pytest.approx(TOTAL, abs=0.01)
    assert (np.abs(found.first - FIRST) < found.first_error).all()
    assert (np.abs(found.total - TOTAL) < found.total_error + 1e-12).all()
    shifted = indices_of(made, np.arange(made.rows), 1e6 + f)
    assert shifted.first == pytest.approx(found.first, abs=1e-8)


def test_an_error_holds_as_often_as_it_says() -> None:
    """Of base samples that are drawn at random the true index lies within the error in 95 of 100 cases."""
    chance, within = np.random.default_rng(1), np.zeros(3)
    for _ in range(400):
        a, b = chance.uniform(-np.pi, np.pi, (2, 256, 3))
        mixed = [np.where(np.arange(3) == k, b, a) for k in range(3)]
        found = sobol_indices(np.column_stack([ishigami(*x.T) for x in (a, b, *mixed)]))
        within += np.abs(found.first - FIRST) < found.first_error
    assert (within / 400 > 0.91).all() and (within / 400 < 0.99).all()


def test_rows_are_crossed_and_each_is_the_same_however_many_are_drawn() -> None:
    made = design(10)
    whole = np.column_stack(list(made.draw(0, 50).values()))
    for j in range(10):
        a, b, *mixed = whole[5 * j : 5 * j + 5]
        assert not (a == b).any()
        for k, row in enumerate(mixed):
            assert (row == np.where(np.arange(3) == k, b, a)).all()
    for first, count in ((0, 3), (7, 1), (13, 20), (49, 1)):
        part = np.column_stack(list(made.draw(first, count).values()))
        assert np.array_equal(part, whole[first : first + count])


def test_a_base_sample_without_a_number_is_left_out_whole_and_counted() -> None:
    made = design(64)
    f, rows = ishigami(*made.draw(0, made.rows).values()), np.arange(made.rows)
    broken = f.copy()
    broken[[7, 8, 203]] = np.nan  # of base samples 1 and 40
    found = indices_of(made, rows, broken)
    kept = np.delete(f.reshape(64, 5), [1, 40], axis=0)
    assert (found.used, found.left_out) == (62, 2)
    assert np.array_equal(found.first, sobol_indices(kept).first)
    assert indices_of(made, rows[:200], f[:200]).left_out == 24  # not computed yet
    assert indices_of(made, rows, np.full(made.rows, 3.0)) is None


def test_indices_over_a_grid_are_exact() -> None:
    x, y = np.meshgrid([-1.0, 0.0, 1.0], [-2.0, 2.0], indexing="ij")
    found = grid_indices(x + 2 * x * y)
    assert found.first == pytest.approx([1 / 17, 0])
    assert found.total == pytest.approx([1, 16 / 17])
    assert grid_indices(np.where(x > 0, np.nan, x)) is None and grid_indices(np.ones_like(x)) is None


def test_a_study_finds_what_a_linear_result_depends_on(tmp_path: Path) -> None:
    """Without gravity and torque a joint goes on at its speed: q = q0 + T qd0, and variances add."""
    still = {
        "robot": aw.Robot.from_dh([BAR], convention="modified"),
        "gravity": [0, 0, 0],
        "duration": 0.5,
        "integrator": {"method": "rk4", "step": 0.1},
        "vary": {"q0.1": {"uniform": [0, 1]}, "qd0.1": {"uniform": [0, 2]}, "start": {"uniform": [0, 1]}},
        "want": {"measures": ["final_q"]},
    }
    results = aw.Study(**still, design={"method": INDICES, "count": 256, "seed": 2}).run(tmp_path / "drawn", threads=1)
    assert results.count == 5 * 256
    found = results.indices("final_q1")
    assert found.first == pytest.approx([0.5, 0.5, 0.0], abs=0.02)
    assert found.total == pytest.approx([0.5, 0.5, 0.0], abs=0.02)
    shown = study_page(results)
    assert "Sobol indices" in shown and "256 base samples" in shown and "Spearman" not in shown
    with pytest.raises(UnknownNameError, match="Did you mean 'final_q1'"):
        results.indices("final_q2")
    grid = {**still, "vary": {"q0.1": [0, 1], "qd0.1": [0, 4]}}
    results = aw.Study(**grid).run(tmp_path / "grid", threads=1)
    assert results.indices("final_q1").first == pytest.approx([0.2, 0.8])
    assert "Parts of the variance over the grid" in study_page(results)


def test_indices_of_numbers_that_depend_on_each_other_are_refused() -> None:
    with pytest.raises(ModelError, match=r"Sobol indices need independent numbers; remove these"):
        design(8, correlations=[["x1", "x2", 0.3]])
    with pytest.raises(ModelError, match=r"1000000000 base samples of 3 numbers are 5000000000 rollouts"):
        design(10**9)


def test_errors_of_indices_are_those_of_the_unbiased_standard_deviation() -> None:
    """f(A) and f(B) are 1 or -1 and f(AB) = f(B): both numerators are 0 or 2, half of each, over a variance of 1."""
    a = np.array([1.0, -1.0] * 4)
    b = np.array([1.0, -1.0, -1.0, 1.0] * 2)
    found = sobol_indices(np.column_stack([a, b, b]))
    assert found is not None and found.used == 8
    np.testing.assert_allclose([found.first, found.total], 1.0, rtol=1e-15)
    # eight deviations of 1: the standard deviation is sqrt(8 / 7), that of the mean sqrt(1 / 7)
    width = stats.norm.ppf(0.975) / np.sqrt(7)
    np.testing.assert_allclose([found.first_error, found.total_error], width, rtol=1e-14)
    assert sobol_indices(np.column_stack([a, b, b])[:7]) is None  # too few base samples
