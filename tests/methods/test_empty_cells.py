"""Empty cells in observed rows: filled alike in memory, in files, on Dask, when new."""

import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc import DAIMC, RISE, AnchorBridge, ImputeKMeans, as_views, confidence, explain
from imvc.datasets import make_views
from imvc.kernels._ridge_fill import fill_rows
from imvc.methods._empty_cells import learn_fill_of_views, settled, view_moments
from imvc.methods.persistence import load_model
from imvc.metrics import adjusted_rand
from imvc.scale import Blocks, CellFill

NAN = np.nan
MODELS = [RISE, AnchorBridge]


def holey_views(seed=0, n=160, share=0.2):
    """Planted clusters with some views missing and some cells of the others empty."""
    data = make_views(n, (10, 14, 8), 3, incomplete=0.4, random_state=seed)
    rng, Xs = np.random.default_rng(seed), []
    for X, seen in zip(data.Xs, data.mask.T):
        empty = rng.random(X.shape) < share
        empty[empty.all(axis=1)] = False
        Xs.append(np.where(seen[:, None], np.where(empty, NAN, X), NAN))
    return Xs, data


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request):
    return request.param(3, random_state=0, empty_cells="fill")


def save_views(folder, Xs):
    for v, X in enumerate(Xs):
        np.save(folder / f"{v}.npy", X)
    return [str(folder / f"{v}.npy") for v in range(len(Xs))]


def as_blocks(Xs, cuts):
    return [[X[a:b] for X in Xs] for a, b in pairwise(cuts)]


def assert_same(one, other):
    np.testing.assert_array_equal(np.asarray(one.labels_), np.asarray(other.labels_))
    np.testing.assert_array_equal(
        np.asarray(one.embedding_), np.asarray(other.embedding_)
    )


# What is learnt


def test_filled_cells_are_nearer_to_the_truth_than_means(seed):
    Xs, data = holey_views(seed, n=400)
    views = as_views(Xs, missing_values="keep")
    errors = {}
    for how in ("fill", "mean"):
        filled = learn_fill_of_views(views, how)(views)
        empty = [np.isnan(X) & seen[:, None] for X, seen in zip(Xs, data.mask.T)]
        errors[how] = sum(
            np.square(A - X)[own].mean()
            for A, X, own in zip(filled.arrays, data.Xs, empty)
        )
        assert not filled.empty_cells
        assert all(np.isfinite(filled.observed(v)).all() for v in range(3))
    assert errors["fill"] < 0.8 * errors["mean"]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mean_fills_in_the_means_of_observed_rows(kind, dtype):
    X = np.array([[1, NAN], [3, 4], [NAN, 0], [9, 9], [NAN, NAN]], dtype)
    mask = np.array([[1, 1], [1, 1], [1, 1], [1, 0], [1, 1]])
    views = as_views([np.ones((5, 1)), kind(X)], mask, missing_values="keep")
    filled = learn_fill_of_views(views, "mean")(views).observed(1)
    filled = filled.toarray() if sp.issparse(filled) else filled
    assert filled.tolist() == [[1.0, 2.0], [3.0, 4.0], [2.0, 0.0]]
    assert filled.dtype == dtype


@given(st.integers(0, 999), st.booleans())
def test_garbage_in_unobserved_rows_is_not_filled_from(seed, sparse):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3))
    X[rng.random(X.shape) < 0.2] = NAN
    mask = np.column_stack([np.ones(20, bool), rng.random(20) < 0.6])
    mask[0] = True
    X[0] = 1.0
    found = []
    for garbage in (0.0, NAN, np.inf):
        own = np.where(mask[:, 1:], X, garbage)
        own[~mask[:, 1], 0] = NAN
        own = sp.csr_array(own) if sparse else own
        views = as_views([np.ones((20, 1)), own], mask, missing_values="keep")
        filled = learn_fill_of_views(views, "fill")(views).observed(1)
        found.append(filled.toarray() if sparse else filled)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_joined_tables_are_filled_by_their_own_rows():
    pd = pytest.importorskip("pandas")
    Xs, _ = holey_views()
    tables = {
        name: pd.DataFrame(X).dropna(how="all").iloc[::-1]
        for name, X in zip(("rna", "protein", "images"), Xs)
    }
    plain = as_views(Xs, missing_values="keep")
    fill = learn_fill_of_views(plain, "fill")
    joined, expected = fill(as_views(tables, missing_values="keep")), fill(plain)
    for v in range(3):
        samples = joined.sample_ids[joined.rows(v)].astype(int)
        np.testing.assert_array_equal(joined.observed(v), expected.take(v, samples))


@pytest.mark.parametrize("how", ["fill", "mean"])
def test_a_column_without_any_number_is_named(how):
    Xs, _ = holey_views()
    Xs[1][:, 3] = NAN
    with pytest.raises(ValueError, match=r"'view1' has no number in 1 .* first \[3\]"):
        DAIMC(3, empty_cells=how).fit(Xs)


def test_moments_lose_the_digits_that_depend_on_blocks():
    Xs, _ = holey_views(n=300)
    views = as_views([1e3 + X for X in Xs], missing_values="keep")
    whole = view_moments(views)
    parts = [view_moments(views.select(slice(a, a + 77))) for a in range(0, 300, 77)]
    for v in range(3):
        cut = parts[0][v] + parts[1][v] + parts[2][v] + parts[3][v]
        for one, other in zip(settled(whole[v]), settled(cut)):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(settled(cut)[0], cut.mean, rtol=1e-9)


def test_constant_columns_stay_constant():
    X = np.random.default_rng(0).standard_normal((50, 4))
    X[:, 2] = 0.1
    X[5, 2] = X[6, 0] = NAN
    views = as_views([X], missing_values="keep")
    for how in ("fill", "mean"):
        assert learn_fill_of_views(views, how)(views).arrays[0][5, 2] == 0.1


# What estimators do with it


def test_complete_cells_give_what_they_gave_without_filling(model):
    _, data = holey_views()
    plain = type(model)(3, random_state=0).fit(data.Xs, mask=data.mask)
    assert_same(model.fit(data.Xs, mask=data.mask), plain)


def test_a_fit_on_filled_views_is_the_same(model):
    Xs, _ = holey_views()
    model.fit(Xs)
    filled = model.filled_views(Xs)
    assert_same(type(model)(3, random_state=0).fit(filled), model)
    assert "empty cells" in model.stage_seconds_


def test_new_samples_are_filled_by_what_the_fit_learnt(model):
    _, data = holey_views()
    model.fit(data.Xs, mask=data.mask)
    new = [X[:5].copy() for X in data.Xs]
    new[0][:, 2] = NAN
    filled = model.filled_views([new[0], None, new[2]])
    expected = fill_rows(new[0], model._fill.models[0])
    np.testing.assert_array_equal(filled.arrays[0], expected)
    labels = model.predict([new[0], None, new[2]])
    np.testing.assert_array_equal(labels, model.predict([expected, None, new[2]]))
    np.testing.assert_array_equal(
        model.transform([new[0], None, new[2]])[3:],
        model.transform([new[0][3:], None, new[2][3:]]),
    )


@pytest.mark.parametrize("estimator", [*MODELS, ImputeKMeans])
def test_a_model_that_fills_nothing_refuses_new_empty_cells(estimator):
    Xs, data = holey_views()
    fitted = estimator(3, random_state=0).fit(data.Xs, mask=data.mask)
    with pytest.raises(ValueError, match=r'partly NaN.*empty_cells="fill"'):
        fitted.predict(Xs)
    with pytest.raises(ValueError, match=r'partly NaN.*empty_cells="fill"'):
        fitted.filled_views(Xs)


@pytest.mark.parametrize("estimator", [*MODELS, ImputeKMeans])
def test_the_fill_travels_with_the_model_file(estimator, tmp_path):
    Xs, _ = holey_views()
    fitted = estimator(3, random_state=0, empty_cells="fill").fit(Xs)
    fitted.save(tmp_path / "model.imvc")
    again = load_model(tmp_path / "model.imvc")
    assert again.empty_cells == "fill"
    np.testing.assert_array_equal(again.predict(Xs), fitted.labels_)
    for one, other in zip(again._fill.models, fitted._fill.models):
        assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())


def test_a_model_file_without_fill_has_none(tmp_path):
    _, data = holey_views()
    RISE(3, random_state=0).fit(data.Xs, mask=data.mask).save(tmp_path / "model.imvc")
    assert RISE.load(tmp_path / "model.imvc")._fill is None
    assert CellFill.from_arrays({}, 3) is None


def test_update_fills_new_samples(model, tmp_path):
    Xs, data = holey_views(n=300)
    old, new = [X[:200] for X in Xs], [X[200:] for X in Xs]
    model.fit(old)
    model.save(tmp_path / "model.imvc", updatable=True)
    filled = type(model).load(tmp_path / "model.imvc").update(model.filled_views(new))
    again = type(model).load(tmp_path / "model.imvc").update(new)
    assert_same(model.update(new), again)
    assert_same(filled, again)
    assert adjusted_rand(data.y, model.labels_) > 0.9


def test_a_path_of_betas_is_learnt_from_filled_views():
    Xs, _ = holey_views()
    rise = RISE(3, random_state=0, empty_cells="fill")
    for beta, found in zip((1.0, 100.0), rise.beta_path(Xs, (1.0, 100.0))):
        expected = RISE(3, random_state=0, empty_cells="fill", beta=beta).fit(Xs)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_array_equal(found.predict(Xs), found.labels_)


@pytest.mark.parametrize("estimator", [AnchorBridge, ImputeKMeans])
def test_insight_sees_filled_views(estimator):
    Xs, _ = holey_views()
    fitted = estimator(3, random_state=0, empty_cells="fill").fit(Xs)
    found = explain(fitted, Xs)
    assert found == explain(fitted, fitted.filled_views(Xs))
    assert np.isfinite([effect.effect for effect in found.features]).all()
    sure = confidence(fitted, Xs, n_refits=1)
    assert np.isfinite(sure.score).all()
    assert sure.low.mean() < 0.2


# Data that are not in memory


@pytest.mark.parametrize("how", ["fill", "mean"])
@pytest.mark.parametrize("estimator", MODELS)
def test_files_and_blocks_give_what_arrays_give(estimator, how, tmp_path):
    Xs, _ = holey_views()
    rule = {"n_clusters": 3, "random_state": 0, "empty_cells": how}
    expected = estimator(**rule).fit(Xs)
    paths = save_views(tmp_path, Xs)
    assert_same(estimator(**rule).fit(paths), expected)
    assert_same(estimator(**rule, memory_budget="40MB").fit(paths), expected)
    blocks = as_blocks(Xs, (0, 30, 31, 100, 160))
    assert_same(estimator(**rule).fit(Blocks(blocks)), expected)
    spooled = estimator(**rule).fit(Blocks(iter(blocks)))
    assert_same(spooled, expected)
    np.testing.assert_array_equal(spooled.predict(paths), expected.labels_)


def test_a_fit_goes_on_from_its_folder(model, tmp_path):
    Xs, _ = holey_views()
    paths = save_views(tmp_path, Xs)
    model.set_params(work_dir=tmp_path / "run").fit(paths)
    first = np.array(model.labels_)
    assert (tmp_path / "run" / "empty cells.state").exists()
    np.testing.assert_array_equal(model.fit(paths).labels_, first)
    model.set_params(empty_cells="mean")
    with pytest.raises(ValueError, match="differs in empty_cells"):
        model.fit(paths)


def test_a_learning_sample_is_filled(tmp_path):
    Xs, data = holey_views(n=900)
    rule = {"random_state": 0, "empty_cells": "fill", "learn_sample": 600}
    expected = RISE(3, **rule).fit(Xs)
    assert_same(RISE(3, **rule).fit(save_views(tmp_path, Xs)), expected)
    assert adjusted_rand(data.y, expected.labels_) > 0.9


def test_blocks_with_empty_cells_are_refused_with_the_remedy(tmp_path):
    Xs, _ = holey_views()
    match = (
        r'0\.npy, block 0, row \d+: partly NaN in column .*; pass empty_cells="fill"'
    )
    with pytest.raises(ValueError, match=match):
        RISE(3).fit(save_views(tmp_path, Xs))


@pytest.mark.filterwarnings("ignore::UserWarning:distributed")
def test_dask_gives_what_arrays_give(model):
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    Xs, _ = holey_views()
    arrays = [da.from_array(X, chunks=(50, 5)) for X in Xs]
    expected = type(model)(3, random_state=0, empty_cells="fill").fit(Xs)
    assert_same(model.fit(arrays), expected)
    with distributed.Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as client:
        np.testing.assert_array_equal(
            np.asarray(model.fit(arrays, client=client).labels_), expected.labels_
        )
        np.testing.assert_array_equal(
            np.asarray(model.predict(arrays)), expected.labels_
        )
