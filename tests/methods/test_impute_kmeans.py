import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from hard_views import hard_views
from imvc.datasets import make_views
from imvc.kernels._anchor_graph import unit_rows
from imvc.methods.impute_kmeans import ImputeKMeans
from imvc.metrics import adjusted_rand

SCALES = ["unit", "standard", None]


@pytest.fixture(scope="module")
def data():
    return make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)


def slow_embedding(Xs, mask, scale):
    """Mean imputation as one would write it in a notebook."""
    parts = []
    for X, seen in zip(Xs, mask.T):
        X = X.astype(np.float64)
        if scale == "unit":
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        elif scale == "standard":
            X = (X - X[seen].mean(axis=0)) / X[seen].std(axis=0)
        parts.append(np.where(seen[:, None], X, X[seen].mean(axis=0)))
    return np.hstack(parts)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_embedding_is_the_imputed_concatenation(make, scale, data):
    Xs = [make(X) for X in data.Xs]
    model = ImputeKMeans(3, scale=scale, random_state=0).fit(Xs, mask=data.mask)
    slow = slow_embedding(data.Xs, data.mask, scale)
    np.testing.assert_allclose(model.embedding_, slow, atol=1e-12)
    np.testing.assert_allclose(
        model.means_[1], slow[data.mask[:, 1], 10:24].mean(axis=0), atol=1e-12
    )


@pytest.mark.parametrize("scale", SCALES)
def test_labels_are_those_of_kmeans_on_it(scale, data):
    model = ImputeKMeans(3, scale=scale, random_state=0).fit(data.Xs, mask=data.mask)
    slow = slow_embedding(data.Xs, data.mask, scale)
    theirs = KMeans(3, n_init=20, random_state=0).fit(slow)
    assert adjusted_rand(model.labels_, theirs.labels_) > 0.95
    assert model.inertia_ == pytest.approx(theirs.inertia_, rel=1e-3)
    np.testing.assert_array_equal(model.objective_, [model.inertia_])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", SCALES)
def test_many_blocks_give_the_same_as_one(scale, make, data, monkeypatch):
    Xs = [make(X) for X in data.Xs]
    whole = ImputeKMeans(3, scale=scale, random_state=0).fit(Xs, mask=data.mask)

    def small(n_rows, width, entries=None):
        return [slice(i, min(i + 16, n_rows)) for i in range(0, n_rows, 16)]

    monkeypatch.setattr("imvc.methods.impute_kmeans.block_slices", small)
    monkeypatch.setattr("imvc.scale._source.block_slices", small)
    parts = ImputeKMeans(3, scale=scale, random_state=0, n_jobs=2).fit(
        Xs, mask=data.mask
    )
    np.testing.assert_allclose(parts.embedding_, whole.embedding_, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_missing_views_of_new_samples_are_the_training_means(scale, data):
    model = ImputeKMeans(3, scale=scale, random_state=0).fit(data.Xs, mask=data.mask)
    new = model.transform([data.Xs[0][:5] + 1, None, None])
    np.testing.assert_allclose(new[:, 10:24], np.tile(model.means_[1], (5, 1)))
    np.testing.assert_allclose(new[:, 24:], np.tile(model.means_[2], (5, 1)))
    if scale == "unit":
        np.testing.assert_allclose(new[:, :10], unit_rows(data.Xs[0][:5] + 1))


def test_new_samples_of_the_same_clusters_are_recognised(seed):
    data = make_views(600, (10, 14, 8), 3, incomplete=0.3, random_state=seed)
    model = ImputeKMeans(3, random_state=seed).fit(
        [X[:300] for X in data.Xs], mask=data.mask[:300]
    )
    labels = model.predict([X[300:] for X in data.Xs], mask=data.mask[300:])
    assert adjusted_rand(data.y[300:], labels) > 0.85


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", SCALES)
def test_a_saved_model_predicts_the_same(scale, dtype, data, tmp_path):
    Xs = [X.astype(dtype) for X in data.Xs]
    model = ImputeKMeans(3, scale=scale, random_state=0).fit(Xs, mask=data.mask)
    model.save(tmp_path / "model.imvc")
    copy = ImputeKMeans.load(tmp_path / "model.imvc")
    assert copy.get_params() == model.get_params()
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    np.testing.assert_array_equal(copy.transform(Xs, mask=data.mask), model.embedding_)
    np.testing.assert_array_equal(copy.predict(Xs, mask=data.mask), model.labels_)


def test_unit_scaling_weighs_views_alike_and_none_lets_units_decide(data):
    """A view of pure noise in large units spoils the unscaled variant only."""
    noise = 1e4 * np.random.default_rng(0).standard_normal((150, 8))
    Xs = [data.Xs[0], data.Xs[1], noise]
    scores = {
        scale: adjusted_rand(
            data.y, ImputeKMeans(3, scale=scale, random_state=0).fit_predict(Xs)
        )
        for scale in SCALES
    }
    assert scores[None] < 0.1
    assert scores["unit"] > 0.85
    assert scores["standard"] > 0.85


def test_standard_scaling_ignores_units_and_offsets(data, seed):
    rng = np.random.default_rng(seed)
    moved = [
        X * rng.uniform(0.1, 10, X.shape[1]) + 100 * rng.standard_normal(X.shape[1])
        for X in data.Xs
    ]
    a, b = (
        ImputeKMeans(3, scale="standard", random_state=0).fit(Xs, mask=data.mask)
        for Xs in (data.Xs, moved)
    )
    np.testing.assert_allclose(a.embedding_, b.embedding_, atol=1e-9)


HARD = hard_views()
HARD["integers"] = ([np.arange(40).reshape(20, 2), np.eye(20, dtype=int)], None, 2)


@pytest.mark.parametrize("name", HARD)
def test_standardised_hard_data_give_moderate_results_without_a_warning(name):
    Xs, mask, c = HARD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "only . of n_clusters")
        model = ImputeKMeans(c, scale="standard", random_state=0).fit(Xs, mask=mask)
    assert np.isfinite(model.embedding_).all()
    # A lone value among n equal ones is sqrt(n) deviations away.
    assert np.abs(model.embedding_).max() <= np.sqrt(len(model.labels_))
    assert set(model.labels_) <= set(range(c))


def test_the_rounding_of_a_constant_column_is_not_blown_up():
    X = np.full((50, 2), 0.1, np.float32)
    X[:, 1] = np.arange(50)
    model = ImputeKMeans(2, scale="standard", random_state=0).fit([X, X])
    assert np.abs(model.embedding_[:, 0]).max() < 1e-6


def test_sparse_views_too_wide_for_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("imvc.methods._cost.available_memory", lambda: 2**20)
    X = sp.csr_array((np.ones(50), (np.arange(50), np.arange(50))), (50, 300_000))
    with pytest.raises(MemoryError, match=r"50 samples and 300003 features.*0\.1 GiB"):
        ImputeKMeans(2).fit([X, X[:, :3] + sp.csr_array(np.ones((50, 3)))])


@pytest.mark.parametrize("scale", ["unit", "standard"])
def test_there_is_no_second_copy_of_the_data(scale):
    data = make_views(
        60_000, (32, 32), 3, incomplete=0.5, dtype=np.float32, random_state=0
    )
    model = ImputeKMeans(3, scale=scale, n_init=1, n_jobs=1, random_state=0)
    tracemalloc.start()
    model.fit(data.Xs, mask=data.mask)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The embedding is 15 MB; blocks of rows and labels come to about 20 at any size.
    assert model.embedding_.dtype == np.float32
    assert peak < model.embedding_.nbytes + 30e6


def test_the_callback_hears_the_inertia(data):
    heard = []
    model = ImputeKMeans(3, random_state=0, callback=lambda *a: heard.append(a))
    model.fit(data.Xs, mask=data.mask)
    assert heard == [(1, model.inertia_)]


def test_an_unknown_scale_is_named(data):
    with pytest.raises(ValueError, match="'scale' parameter of ImputeKMeans"):
        ImputeKMeans(3, scale="max").fit(data.Xs)
