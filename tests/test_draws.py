"""Random numbers by counter: those of a rollout depend on seed, name and its number, on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from on_cpu import compiled, needs_compiler
from scipy.stats import kstest, norm

import armwright as aw
from armwright.backends.cuda.kernels import random_numbers
from armwright.draws import FIRST_INSTANT, _normal, philox
from armwright.errors import InputError

RR = aw.load("rr")


@pytest.mark.parametrize(
    ("word", "key", "expected"),
    [
        (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (0xFFFFFFFF, 0xFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ],
)
def test_philox_gives_the_words_of_its_authors(word: int, key: int, expected: tuple[int, ...]) -> None:
    """The known answers of Random123, kat_vectors."""
    words = philox(tuple(np.full(1, word, np.uint64) for _ in range(4)), (key, key))
    assert tuple(int(x[0]) for x in words) == expected


def test_draws_have_the_distribution_they_claim() -> None:
    draws = aw.draws(7)
    uniform = draws.uniform(-2, 3).columns("x", 1)[0].numbers(0, 20000)[0]
    normal = draws.normal(1, 2).columns("x", 1)[0].numbers(0, 20000)[0]
    assert kstest((uniform + 2) / 5, "uniform").pvalue > 0.01 and kstest((normal - 1) / 2, "norm").pvalue > 0.01
    shares = np.array([1e-300, 2.0**-53, 1e-3, 0.1, 0.5, 0.9, 1 - 2.0**-53])
    np.testing.assert_allclose(_normal(shares), norm.ppf(shares), rtol=1e-14, atol=1e-15)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_written_for_a_card_draws_the_same_numbers_bit_by_bit(dtype: str) -> None:
    run, count, begin = compiled(random_numbers.kernel_source(dtype == "float64")), 40_000, 2**32 - 7
    index = np.arange(count)
    for drawn in (aw.draws(5).uniform(-1, [2, 3]), aw.draws(6).normal(0.5, 3.0)):
        column, out = drawn.columns("x", 2)[1], np.empty(count, dtype)
        for which, turns in ((begin, FIRST_INSTANT), (begin, index[None] // 7 - 3), (index[::-1] ** 3, index[None])):
            run(random_numbers.DrawArguments.of(column, which, turns[0], out, lambda array: array.ctypes.data))
            np.testing.assert_array_equal(out, column.numbers(which, count, turns)[0].astype(dtype))


def test_a_rollout_has_its_numbers_however_many_go_with_it() -> None:
    draws = aw.draws(3)
    options = {"duration": 0.01, "q0": draws.normal([0.1, -0.2], 0.3), "qd0": draws.uniform(-1, 1)}
    vary = {"payload.mass": draws.uniform(0, 2)}
    few, many = (aw.simulate_batch(RR, rollouts=count, vary=vary, **options) for count in (3, 8))
    np.testing.assert_array_equal(few.q, many.q[:3])
    assert len(np.unique(many.q[:, 0])) == 16 and len(np.unique(many.qd[:, 0])) == 16
    np.testing.assert_array_equal(aw.simulate_batch(RR, rollouts=[7, 2], vary=vary, **options).q, many.q[[7, 2]])
    other = aw.simulate_batch(RR, rollouts=3, vary=vary, **{**options, "q0": aw.draws(4).normal([0.1, -0.2], 0.3)})
    assert (other.q[:, 0] != few.q[:, 0]).all() and (other.qd[:, 0] == few.qd[:, 0]).all()


def test_what_cannot_be_drawn_is_an_error() -> None:
    draws = aw.draws(1)
    for options, match in (
        ({"q0": draws.uniform(0, 1)}, "expected rollouts="),
        ({"q0": draws.uniform([0, 0, 0], 1), "rollouts": 2}, "expected one, or 2"),
        ({"vary": {"payload.mass": draws.normal(1, 1)}, "rollouts": 2}, "below zero"),
        ({"rollouts": [[1]]}, "a list of indices from zero"),
        ({"rollouts": [-1]}, "list of indices from zero"),
        ({"rollouts": [0.5]}, "list of indices from zero"),
        ({"qd0": np.zeros((3, 2)), "rollouts": 2}, "rollouts= is for 2 rollouts, others are for 3"),
    ):
        with pytest.raises(InputError, match=match):
            aw.simulate_batch(RR, duration=0.1, **options)
    with pytest.raises(InputError, match="low not above high"):
        draws.uniform(1, 0)
    with pytest.raises(InputError, match="zero or more"):
        draws.normal(0, -1)
    with pytest.raises(InputError, match="holds Python objects, not numbers"):
        aw.stepper(RR, vary={"payload.mass": draws.uniform(0, 1)})
