"""Numbers near the ends of their type, and numbers far from zero, in every method."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.methods import load_model
from imvc.methods._base import look_at_rows
from imvc.methods._registry import METHODS
from imvc.metrics import adjusted_rand
from imvc.views import as_views

DATA = make_views(150, (10, 12, 8), 3, separation=12.0, incomplete=0.3, random_state=0)
FACTORS = {
    "smallest normal numbers": 1e-308,
    "no normal numbers": 1e-311,
    "squares vanish": 1e-200,
    "squares overflow": 1e200,
    "sums overflow": 1e306,
}
SINGLE = {"no normal numbers": 1e-41, "squares overflow": 1e30, "sums overflow": 1e36}
PREDICTING = [name for name, entry in METHODS.items() if entry.predicts]


def estimator(name):
    entry = METHODS[name]
    return entry.estimator(3, random_state=0, **entry.test_options)


def fit_quietly(model, Xs, mask=DATA.mask):
    """Fitted, where a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(Xs, mask=mask)


@pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)
@pytest.mark.parametrize("name", METHODS)
def test_a_factor_changes_no_label(name, factor):
    plain = estimator(name).fit_predict(DATA.Xs, mask=DATA.mask)
    views = {"a": DATA.Xs[0] * factor, "b": DATA.Xs[1], "c": DATA.Xs[2] * factor}
    found = fit_quietly(estimator(name), views).labels_
    assert adjusted_rand(DATA.y, plain) == 1
    assert adjusted_rand(plain, found) == 1


@pytest.mark.parametrize("factor", SINGLE.values(), ids=SINGLE)
@pytest.mark.parametrize("name", METHODS)
def test_a_factor_changes_no_label_in_single_precision(name, factor):
    Xs = [(X * factor).astype(np.float32) for X in DATA.Xs]
    found = fit_quietly(estimator(name), Xs).labels_
    assert adjusted_rand(DATA.y, found) == 1


@pytest.mark.parametrize("name", [n for n, e in METHODS.items() if e.sparse])
@pytest.mark.parametrize("factor", [1e-311, 1e200])
def test_a_factor_changes_no_label_of_sparse_views(name, factor):
    Xs = [np.maximum(X, 0) for X in DATA.Xs]
    plain = estimator(name).fit_predict(map_csr(Xs, 1), mask=DATA.mask)
    found = estimator(name).fit_predict(map_csr(Xs, factor), mask=DATA.mask)
    assert adjusted_rand(plain, found) == 1


def map_csr(Xs, factor):
    return [sp.csr_array(X * factor) for X in Xs]


def test_a_power_of_two_changes_no_bit():
    exact = [np.ldexp(X, e) for X, e in zip(DATA.Xs, (700, -700, 0))]
    for scale in ("unit", "standard", None):
        model = RISE(3, scale=scale, random_state=0)
        plain = model.fit_transform(DATA.Xs, mask=DATA.mask)
        np.testing.assert_array_equal(model.fit_transform(exact, mask=DATA.mask), plain)


@pytest.mark.parametrize("name", PREDICTING)
@pytest.mark.parametrize("factor", [1e-311, 1e200])
def test_new_samples_get_the_factor_of_the_fit(name, factor, tmp_path):
    Xs = [X * factor for X in DATA.Xs]
    model = estimator(name).fit([X[:100] for X in Xs], mask=DATA.mask[:100])
    new = [X[100:] for X in Xs], DATA.mask[100:]
    labels = model.predict(new[0], mask=new[1])
    assert adjusted_rand(DATA.y[100:], labels) == 1
    model.save(tmp_path / "model.imvc")
    loaded = load_model(tmp_path / "model.imvc")
    np.testing.assert_array_equal(loaded.predict(new[0], mask=new[1]), labels)
    np.testing.assert_array_equal(
        loaded.transform(new[0], mask=new[1]), model.transform(new[0], mask=new[1])
    )


@pytest.mark.parametrize("name", PREDICTING)
def test_views_in_range_leave_no_trace_in_the_model(name):
    assert estimator(name).fit(DATA.Xs, mask=DATA.mask)._range is None


def test_an_update_takes_the_factor_of_the_fit():
    Xs = [X * 1e200 for X in DATA.Xs]
    model = RISE(3, n_anchors=8, random_state=0)
    model.fit([X[:100] for X in Xs], mask=DATA.mask[:100])
    model.update([X[100:] for X in Xs], mask=DATA.mask[100:])
    assert adjusted_rand(DATA.y, model.labels_) == 1
    assert model.drift_ == pytest.approx(1, abs=0.5)


def test_given_anchors_are_scaled_with_their_view():
    first = RISE(3, scale=None, random_state=0).fit(DATA.Xs, mask=DATA.mask)
    anchors = [A * 1e200 for A in first.anchors_]
    model = RISE(3, scale=None, anchors=anchors, random_state=0)
    found = model.fit_predict([X * 1e200 for X in DATA.Xs], mask=DATA.mask)
    assert adjusted_rand(first.labels_, found) == 1


@pytest.mark.parametrize("factor", [1e-300, 1e200])
@pytest.mark.parametrize("how", ["fill", "mean"])
def test_empty_cells_are_filled_in_range_and_shown_as_given(factor, how):
    Xs = [X.copy() for X in DATA.Xs]
    Xs[0][::7, 3] = np.nan
    plain = RISE(3, empty_cells=how, random_state=0).fit(Xs, mask=DATA.mask)
    Xs = [X * factor for X in Xs]
    model = RISE(3, empty_cells=how, random_state=0).fit(Xs, mask=DATA.mask)
    assert adjusted_rand(plain.labels_, model.labels_) == 1
    seen = model.filled_views(Xs, mask=DATA.mask)
    rows = seen.rows(1)
    np.testing.assert_array_equal(seen.observed(1), Xs[1][rows])


@pytest.mark.parametrize("factor", [1e-311, 1e200])
@pytest.mark.parametrize("method", [RISE, AnchorBridge])
def test_files_are_brought_into_range(method, factor, tmp_path):
    paths = {}
    for v, X in enumerate(DATA.Xs):
        paths[f"v{v}"] = tmp_path / f"v{v}.npy"
        np.save(paths[f"v{v}"], np.where(DATA.mask[:, [v]], X * factor, np.nan))
    options = {"memory_budget": "1MiB", "work_dir": tmp_path / "work"}
    model = method(3, random_state=0, **options).fit(paths)
    assert adjusted_rand(DATA.y, model.labels_) == 1
    assert adjusted_rand(DATA.y, model.predict(paths)) == 1


def test_garbage_in_unobserved_rows_is_not_looked_at():
    Xs = [X.copy() for X in DATA.Xs]
    for v, X in enumerate(Xs):
        X[~DATA.mask[:, v]] = 1e300
    model = fit_quietly(RISE(3, random_state=0), Xs)
    assert model._range is None
    assert adjusted_rand(DATA.y, model.labels_) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_number_that_overflows_beside_others_is_named(dtype, make):
    X = DATA.Xs[0].astype(dtype)
    X[7, 4] = 1e300 if dtype == np.float64 else 1e30
    with pytest.raises(ValueError, match=r"'rna'.*e\+.*row 7, column 4.*overflows"):
        as_views({"rna": make(X), "b": DATA.Xs[1]})


def test_a_number_that_overflows_in_a_file_is_named(tmp_path):
    X = DATA.Xs[0].copy()
    X[7, 4] = 1e300
    np.save(tmp_path / "rna.npy", X)
    model = RISE(3, memory_budget="1MiB", random_state=0)
    with pytest.raises(ValueError, match=r"rna.*row 7.*column 4.*overflows"):
        model.fit({"rna": tmp_path / "rna.npy"})


OFFSETS = [1e3, 1e6, 1e9, 1e12]
TOLERATE = {"bridge"}  # centre every view


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore:.*max_iter")
def test_a_common_offset_changes_no_label_or_is_told(name, offset):
    views = dict(zip(("a", "rna", "c"), DATA.Xs)) | {"rna": DATA.Xs[1] + offset}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = estimator(name).fit_predict(views, mask=DATA.mask)
    told = [w for w in caught if "'rna'" in str(w.message)]
    assert len(told) <= 1
    assert told or adjusted_rand(DATA.y, labels) == 1
    assert not (told and name in TOLERATE)
    assert not any("'a'" in str(w.message) for w in caught)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_digits_that_single_precision_lost_are_told(name, offset):
    views = dict(zip(("a", "rna", "c"), DATA.Xs))
    views["rna"] = (DATA.Xs[1] + offset).astype(np.float32)
    with pytest.warns(UserWarning, match="'rna' differ by only .* their rounding"):
        estimator(name).fit(views, mask=DATA.mask)


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("method", [RISE, ImputeKMeans])
@pytest.mark.parametrize("offset", OFFSETS)
def test_methods_on_distances_do_not_see_an_offset(method, scale, offset):
    model = method(3, scale=scale, random_state=0)
    fit_quietly(model, [X + offset for X in DATA.Xs])
    assert adjusted_rand(DATA.y, model.labels_) == 1


def test_an_offset_in_a_file_is_told(tmp_path):
    np.save(tmp_path / "rna.npy", DATA.Xs[0] + 1e9)
    model = RISE(3, memory_budget="1MiB", random_state=0)
    with pytest.warns(UserWarning, match=r"'rna' are .* larger than their spread"):
        model.fit({"rna": tmp_path / "rna.npy"})


@pytest.mark.parametrize(
    "X",
    [
        np.ones((50, 3)),
        np.zeros((50, 3)),
        np.arange(100).reshape(50, 2) % 2,
        np.full((50, 2), 0.1),
        np.column_stack([np.full(50, 1e6), np.arange(50.0)]).astype(np.float32),
        np.full((1, 4), 7.0),
    ],
    ids=["ones", "zeros", "yes or no", "a fraction", "a constant column", "one row"],
)
def test_plain_numbers_are_not_doubted(X):
    X = np.asarray(X, X.dtype if X.dtype == np.float32 else np.float64)
    exponent, _, steps = look_at_rows(X)
    assert exponent == 0
    assert steps > 1000


@settings(max_examples=40)
@given(
    exponent=st.integers(-1000, 900),
    offset=st.floats(0, 1e6),
    seed=st.integers(0, 1000),
)
def test_a_look_tells_range_and_offset(exponent, offset, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4)) + offset
    found, ratio, steps = look_at_rows(np.ldexp(X, exponent))
    spread = np.sqrt(X.var(axis=0).sum())
    assert ratio == pytest.approx(np.linalg.norm(X.mean(axis=0)) / spread, rel=1e-6)
    largest = np.abs(np.ldexp(X, exponent + found)).max()
    assert 1e-100 <= largest <= 1e100
    assert steps > 1000
