"""Low-rank models of tables with empty cells, against slow obvious twins."""

import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from imvc.kernels import _low_rank
from imvc.kernels._cell_moments import CellMoments
from imvc.kernels._low_rank import fit_low_rank
from imvc.kernels._ridge_fill import LowRank, fill_rows

NAN = np.nan


@pytest.fixture(autouse=True, scope="module")
def _one_blas_thread():
    """As the runners have it."""
    with threadpool_limits(1, user_api="blas"):
        yield


def planted(rng, n=200, d=12, rank=2, noise=0.1):
    """A table of low rank with noise, columns of very different place and scale."""
    loadings = rng.standard_normal((rank, d))
    X = rng.standard_normal((n, rank)) @ (loadings / np.linalg.norm(loadings, axis=0))
    X += noise * rng.standard_normal((n, d))
    return X * 10.0 ** rng.integers(-3, 4, d) + 10.0 ** rng.integers(0, 4, d)


def emptied(X, share, rng):
    """Copy with some cells empty, none of the rows all of them."""
    empty = rng.random(X.shape) < share
    empty[empty.all(axis=1)] = False
    return np.where(empty, NAN, X), empty


def error_in_deviations(filled, X, empty):
    """Root mean square error of the filled cells, in standard deviations."""
    return np.sqrt(np.mean(np.square((filled - X) / X.std(axis=0))[empty]))


def random_model(rng, d, rank):
    axes = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    place, scale = rng.standard_normal(d), rng.random(d) + 0.5
    return LowRank(place, scale, axes, rng.random(rank) + 0.01, np.zeros(d))


def textbook_fill(y, empty, V, shrink):
    """A row filled by projecting and shrinking it, again and again."""
    y = np.where(empty, 0, y)
    for _ in range(20_000):
        y = np.where(empty, V @ (shrink * (V.T @ y)), y)
    return y


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_low_rank_tables_are_filled_much_better_than_by_means(share, rng):
    X = planted(rng)
    holey, empty = emptied(X, share, rng)
    model = fit_low_rank(holey)
    # The noise itself is a tenth of a deviation; means are wrong by one.
    assert error_in_deviations(fill_rows(holey, model), X, empty) < 0.2


def test_independent_columns_are_filled_with_their_means(rng):
    holey, empty = emptied(rng.standard_normal((300, 8)), 0.2, rng)
    model = fit_low_rank(holey)
    assert model.rank == 0
    expected = np.broadcast_to(np.nanmean(holey, axis=0), holey.shape)
    np.testing.assert_allclose(fill_rows(holey, model)[empty], expected[empty])


def test_a_row_is_what_projecting_and_shrinking_it_converges_to(rng):
    d, values, noise = 7, np.array([4.0, 2.0, 1.1]), 0.5
    V = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    ridge = noise / (values - noise)
    model = LowRank(np.zeros(d), np.ones(d), V, ridge, np.zeros(d))
    for _ in range(5):
        y, empty = rng.standard_normal(d), rng.random(d) < 0.5
        empty[0] = False
        row = np.where(empty, NAN, y)[None]
        slow = textbook_fill(y, empty, V, (values - noise) / values)
        np.testing.assert_allclose(fill_rows(row, model)[0], slow, atol=1e-9)


def slow_step(Y, seen, V, values, noise):
    """One pass of the textbook, row by row, with the variance that fills lack."""
    n, d = Y.shape
    r = len(values)
    second = np.zeros((d, d))
    ridge = np.diag(noise / (values - noise))
    for y, there in zip(Y, seen):
        inverse = np.linalg.inv(V[there].T @ V[there] + ridge)
        y = np.where(there, y, V @ (inverse @ V[there].T @ y[there]))
        lacking = np.where(~there[:, None], V, 0)
        missing = noise * (lacking @ inverse @ lacking.T + np.diag(1.0 * ~there))
        second += np.outer(y, y) + missing
    second /= n
    U, values, _ = np.linalg.svd(second @ V, full_matrices=False)
    rest = np.trace(second) - values.sum()
    return U, values, rest * n / ((n - 1 - r) * (d - r))


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_pass_equals_the_slow_one(share, rng):
    X, _ = emptied(
        rng.standard_normal((40, 3)) @ rng.standard_normal((3, 9)), share, rng
    )
    X += 0.3 * rng.standard_normal(X.shape)
    seen = ~np.isnan(X)
    Y = np.where(seen, X, 0)
    V = np.linalg.qr(rng.standard_normal((9, 2)))[0]
    start = _low_rank._Spectrum(V, np.array([3.0, 1.5]), 0.4, len(Y))
    found = _low_rank._step(lambda: [(Y[:7], seen[:7]), (Y[7:], seen[7:])], start)
    axes, values, noise = slow_step(Y, seen, V, start.values, start.noise)
    np.testing.assert_allclose(found.values, values)
    np.testing.assert_allclose(found.noise, noise)
    np.testing.assert_allclose(np.abs(found.axes), np.abs(axes), atol=1e-10)


def test_blocks_give_the_model_of_the_whole_table(rng):
    holey, _ = emptied(planted(rng, n=150), 0.3, rng)
    holey[[0, 40, 149]] = NAN
    cuts = [0, 1, 3, 60, 60, 150]
    blocks = [holey[a:b] for a, b in pairwise(cuts)]
    whole, cut = fit_low_rank(holey), fit_low_rank(lambda: iter(blocks))
    assert cut.rank == whole.rank
    change = fill_rows(holey, cut) - fill_rows(holey, whole)
    assert np.nanmax(np.abs(change) / np.nanstd(holey, axis=0)) < 1e-6


def test_rows_beyond_the_sample_are_learnt_from_too(monkeypatch, rng):
    monkeypatch.setattr(_low_rank, "_CHOICE_ROWS", 30)
    X = planted(rng, n=600, d=20, rank=3, noise=0.5)
    holey, empty = emptied(X, 0.4, rng)
    few, many = (
        fill_rows(holey, fit_low_rank(part, rank=3)) for part in (holey[:30], holey)
    )
    gain = error_in_deviations(few, X, empty) - error_in_deviations(many, X, empty)
    assert gain > 0.02


def test_a_complete_table_gives_a_model_for_new_rows(monkeypatch, rng):
    monkeypatch.setattr(_low_rank, "_COMPLETE_ROWS", 150)
    X = planted(rng, n=400)
    model = fit_low_rank(X[:300])
    holey, empty = emptied(X[300:], 0.3, rng)
    assert error_in_deviations(fill_rows(holey, model), X[300:], empty) < 0.3


def test_rows_and_columns_may_come_in_any_order(rng):
    holey, _ = emptied(planted(rng), 0.3, rng)
    filled = fill_rows(holey, fit_low_rank(holey, rank=2))
    rows, columns = rng.permutation(holey.shape[0]), rng.permutation(holey.shape[1])
    moved = holey[np.ix_(rows, columns)]
    again = fill_rows(moved, fit_low_rank(moved, rank=2))
    deviation = np.nanstd(holey, axis=0)[columns]
    # Both stop when a pass changes the model by less than a thousandth.
    change = (again - filled[np.ix_(rows, columns)]) / deviation
    assert np.abs(change).max() < 0.02


def test_the_same_seed_gives_the_same_model(rng):
    holey, _ = emptied(planted(rng), 0.3, rng)
    one, two = fit_low_rank(holey, seed=3), fit_low_rank(holey.copy(), seed=3)
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, getattr(two, name))


@given(st.integers(0, 99), st.integers(1, 40), st.integers(0, 5), st.sampled_from("fd"))
def test_a_row_is_filled_alike_wherever_it_stands(seed, d, rank, dtype):
    rng = np.random.default_rng(seed)
    model = random_model(rng, d, min(rank, d))
    row = emptied(rng.standard_normal((1, d)), 0.4, rng)[0].astype(dtype)
    others = emptied(rng.standard_normal((60, d)), 0.2, rng)[0].astype(dtype)
    alone = fill_rows(row, model)
    assert alone.dtype == row.dtype
    for at in (0, 7, 59):
        table = others.copy()
        table[at] = row
        np.testing.assert_array_equal(fill_rows(table, model)[at], alone[0])
        np.testing.assert_array_equal(fill_rows(table[at:], model)[0], alone[0])


def test_only_the_empty_cells_of_partly_empty_rows_change(rng):
    X = rng.standard_normal((50, 6))
    holey, _ = emptied(X, 0.3, rng)
    holey[3] = NAN
    before = holey.copy()
    filled = fill_rows(holey, random_model(rng, 6, 2))
    np.testing.assert_array_equal(holey, before)
    seen = ~np.isnan(holey)
    np.testing.assert_array_equal(filled[seen], holey[seen])
    np.testing.assert_array_equal(np.isnan(filled).any(axis=1), np.arange(50) == 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stored_nan_of_sparse_tables_get_column_means(dtype):
    X = sp.csr_array(np.array([[1, NAN], [3, 4], [NAN, 0], [0, 8]], dtype=dtype))
    filled = fill_rows(X, fit_low_rank(X))
    expected = np.array([[1, 4], [3, 4], [4 / 3, 0], [0, 8]], dtype)
    np.testing.assert_array_equal(filled.toarray(), expected)
    assert filled.dtype == dtype
    assert np.isnan(X.data).sum() == 2


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_columns_that_are_nearly_always_zero_are_filled_with_zero(kind, rng):
    X = (rng.random((200, 5)) < 0.05) * 3.0
    X[:, 4] = rng.standard_normal(200)
    X[0] = [NAN, NAN, 0.0, 3.0, NAN]
    filled = fill_rows(kind(X), fit_low_rank(kind(X)))
    filled = filled.toarray() if sp.issparse(filled) else filled
    assert filled[0, :2].tolist() == [0.0, 0.0]
    assert filled[0, 4] != 0
    assert fit_low_rank(kind(X)).zero_below.tolist() == [1.5, 1.5, 1.5, 1.5, 0.0]


def test_the_caller_may_give_means_and_scales(rng):
    holey, empty = emptied(planted(rng), 0.2, rng)
    mean, scale = rng.standard_normal(12), rng.random(12) + 0.1
    model = fit_low_rank(holey, mean=mean, scale=scale, rank=0)
    np.testing.assert_array_equal(model.scale, scale)
    expected = np.broadcast_to(mean, holey.shape)[empty]
    np.testing.assert_array_equal(fill_rows(holey, model)[empty], expected)


def test_integers_are_taken(rng):
    model = fit_low_rank(rng.integers(0, 9, (30, 4)))
    assert np.isfinite(fill_rows(np.array([[1.0, NAN, 2.0, 3.0]]), model)).all()


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0], [2.0], [NAN]]),
        np.array([[1.0, 2.0], [3.0, NAN]]),
        np.array([[1.0, NAN, NAN], [NAN, 2.0, NAN], [NAN, NAN, 3.0], [4.0, 5.0, 6.0]]),
        np.array([[5.0, NAN], [5.0, 5.0], [5.0, 5.0], [NAN, 5.0]]),
        np.array([[1e300, NAN], [-1e300, 1.0], [NAN, 2.0], [1e299, 3.0], [1.0, 1.0]]),
        np.array([[1e-300, NAN, 1e-300]] + [[i * 1e-300, i, NAN] for i in range(5)]),
    ],
    ids=["one column", "two rows", "one cell a row", "constant", "huge", "tiny"],
)
def test_hard_tables_give_finite_numbers_without_warnings(X):
    for rank in (None, 1, 5):
        with np.errstate(all="raise", under="ignore"):
            filled = fill_rows(X, fit_low_rank(X, rank=rank))
        seen = ~np.isnan(X)
        assert np.isfinite(filled[seen.any(axis=1)]).all()
        np.testing.assert_array_equal(filled[seen], X[seen])


def test_exact_tables_without_noise_are_recovered(rng):
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 9))
    holey, empty = emptied(X, 0.2, rng)
    assert error_in_deviations(fill_rows(holey, fit_low_rank(holey)), X, empty) < 0.02


def test_a_large_offset_costs_no_digits(rng):
    X = planted(rng, noise=0.1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    holey, empty = emptied(X, 0.3, rng)
    plain = fill_rows(holey, fit_low_rank(holey))
    shifted = fill_rows(holey + 1e8, fit_low_rank(holey + 1e8)) - 1e8
    np.testing.assert_allclose(shifted[empty], plain[empty], atol=1e-5)


def test_more_columns_than_rows_are_shrunk_towards_the_means(rng):
    """Of 20 rows of noise 500 columns seem to have strong axes."""
    X = rng.standard_normal((20, 500))
    holey, empty = emptied(X, 0.2, rng)
    filled = fill_rows(holey, fit_low_rank(holey, rank=3))
    assert error_in_deviations(filled, X, empty) < 1.15


def test_columns_without_any_number_are_refused():
    with pytest.raises(
        ValueError, match=r"1 columns have no number, first \[1\]; drop"
    ):
        fit_low_rank(np.array([[1.0, NAN], [2.0, NAN]]))
    with pytest.raises(ValueError, match="no rows with numbers"):
        fit_low_rank(np.full((3, 2), NAN))


def test_rows_of_another_width_are_refused(rng):
    with pytest.raises(ValueError, match=r"have 4 columns, the low-rank model 5"):
        fill_rows(np.ones((2, 4)), random_model(rng, 5, 2))


@pytest.mark.parametrize("rank", [0, 3])
def test_a_model_survives_json(rank, rng):
    model = random_model(rng, 5, rank)
    again = LowRank.from_dict(json.loads(json.dumps(model.to_dict())))
    for name, value in vars(model).items():
        np.testing.assert_array_equal(getattr(again, name), value)
        assert getattr(again, name).dtype == np.float64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": [1.0]}, "scale of a low-rank model must be finite .* shape \\(1,\\)"),
        ({"axes": [[1.0], [0.0]]}, "axes of a low-rank model .* shape \\(2, 2\\)"),
        ({"scale": [1.0, NAN]}, "scale of a low-rank model must be finite"),
        ({"scale": [1.0, 0.0]}, "must be positive"),
        ({"axes": [[1.0, 1.0], [0.0, 1.0]]}, "must be orthonormal"),
        ({"axes": np.eye(2, 3), "ridge": np.ones(3)}, "2 columns has 3 axes"),
        ({"ridge": "no"}, "could not convert|no low-rank model"),
        ({"ridge": None}, "of a low-rank model must be finite|no low-rank model"),
    ],
)
def test_what_is_no_model_is_refused(change, message):
    tree = {
        "mean": [0.0, 0.0],
        "scale": [1.0, 1.0],
        "axes": [[1.0, 0.0], [0.0, 1.0]],
        "ridge": [0.1, 0.2],
        "zero_below": [0.0, 0.5],
    }
    LowRank.from_dict(tree)
    with pytest.raises(ValueError, match=message):
        LowRank.from_dict(tree | change)
    with pytest.raises(ValueError, match="no low-rank model: KeyError"):
        LowRank.from_dict({"mean": [1.0]})


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_moments_of_blocks_add_up_to_those_of_the_table(kind, rng):
    X, _ = emptied(planted(rng, n=60, d=5), 0.3, rng)
    X[:20, 1] = NAN  # a block without any cell of a column
    parts = [CellMoments.of(kind(part)) for part in (X[:20], X[20:20], X[20:])]
    found = parts[0] + parts[1] + parts[2]
    np.testing.assert_array_equal(found.count, (~np.isnan(X)).sum(axis=0))
    np.testing.assert_allclose(found.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(found.scale, np.nanstd(X, axis=0), rtol=1e-5)
    np.testing.assert_array_equal(found.zeros, (X == 0).sum(axis=0))
    np.testing.assert_array_equal(found.least, np.nanmin(np.abs(X), axis=0))
