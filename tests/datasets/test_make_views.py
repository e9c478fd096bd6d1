"""Planted clusters: as many, as large, as far apart and as noisy as asked for."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans

from imvc.datasets import MultiViewDataset, make_views, random_mask
from imvc.metrics import clustering_accuracy


@pytest.mark.parametrize("seed", range(3))
def test_k_means_finds_the_planted_clusters_in_every_view(seed):
    data = make_views(random_state=seed)
    for X in data.Xs:
        labels = KMeans(3, n_init=5, random_state=0).fit_predict(X)
        # Overlap 2 * 0.13 % for three centres six standard deviations apart.
        assert clustering_accuracy(data.y, labels) > 0.97


@given(c=st.integers(1, 40), d=st.integers(1, 45), seed=st.integers(0, 100))
def test_neighbouring_centres_have_the_distance_asked_for(c, d, seed):
    data = make_views(c, (d,), c, noise=0.0, separation=2.5, random_state=seed)
    if c > 1:
        distances = pdist(data.Xs[0])
        assert distances.min() == pytest.approx(2.5)
        if d >= c:
            assert distances.max() == pytest.approx(2.5)


def test_noise_is_the_standard_deviation_within_a_cluster():
    data = make_views(20000, (10,), 4, noise=0.5, random_state=0)
    within = [data.Xs[0][data.y == k].std(axis=0) for k in range(4)]
    # Standard error 0.5 / sqrt(2 * 5000) = 0.005.
    assert np.allclose(within, 0.5, atol=0.025)


@given(
    n=st.integers(5, 200),
    weights=st.lists(st.floats(0.01, 100), min_size=1, max_size=5),
)
def test_cluster_sizes_follow_the_weights_and_are_never_zero(n, weights):
    c = len(weights)
    y = make_views(n, (2,), c, weights=weights, random_state=0).y
    sizes = np.bincount(y, minlength=c)
    exact = n * np.array(weights) / np.sum(weights)
    assert sizes.sum() == n
    assert sizes.min() >= 1
    assert (np.abs(sizes - exact)[exact >= c] < c).all()


def test_order_of_samples():
    assert (np.diff(make_views(shuffle=False, random_state=0).y) >= 0).all()
    assert (np.diff(make_views(random_state=0).y) < 0).any()


def test_float32_is_drawn_without_copies_of_its_size():
    tracemalloc.start()
    data = make_views(200_000, (32, 32), 5, dtype=np.float32, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [X.dtype for X in data.Xs] == [np.float32] * 2
    # One float64 copy of a single view would come to twice the result.
    assert peak < 1.4 * sum(X.nbytes for X in data.Xs)


def test_same_seed_same_data_and_incomplete_share():
    a, b = (make_views(incomplete=0.4, random_state=3) for _ in range(2))
    assert all(np.array_equal(X, Z) for X, Z in zip(a.Xs, b.Xs))
    assert np.array_equal(a.y, b.y)
    assert np.array_equal(a.mask, b.mask)
    assert (~a.mask.all(axis=1)).sum() == 120
    assert not np.array_equal(a.Xs[0], make_views(random_state=4).Xs[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 2}, "n_samples=2 must be at least n_clusters=3"),
        ({"n_features": 20}, r"n_features=20 must be a sequence"),
        ({"n_features": ()}, r"n_features=\(\) must be a sequence"),
        ({"n_features": (3, 0)}, r"n_features\[1\]=0 must be a whole number"),
        ({"dtype": np.int64}, "must be float32 or float64"),
        ({"noise": -1}, "noise=-1 must be a finite number"),
        ({"separation": np.inf}, "separation=inf must be a finite number"),
        ({"weights": [1, 2]}, r"weights=\[1, 2\] must be 3 positive numbers"),
        ({"weights": [1, 2, 0]}, "must be 3 positive numbers"),
        ({"n_clusters": 0}, "n_clusters=0 must be"),
        ({"incomplete": 2}, "ratio=2 must be a number from 0 to 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_views(**arguments)


def test_incomplete_views_are_copies_with_nan_rows():
    data = make_views(50, (3, 4), 2, random_state=0)
    before = [X.copy() for X in data.Xs]
    half = data.with_mask(random_mask(50, 2, 0.5, random_state=0))
    for X, original, observed in zip(half.incomplete(), before, half.mask.T):
        assert np.array_equal(np.isnan(X).all(axis=1), ~observed)
        assert np.array_equal(X[observed], original[observed])
    assert all(np.array_equal(X, Z) for X, Z in zip(data.Xs, before))
    assert data.mask.all()


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("uint8", "float64"), ("float16", "float16"), ("float32", "float32")],
)
def test_incomplete_views_are_floats(dtype, expected):
    X = np.ones((2, 3), dtype=dtype)
    data = MultiViewDataset([X, X], np.arange(2), np.eye(2) > 0, ("a", "b"))
    assert [Z.dtype for Z in data.incomplete()] == [expected] * 2


def test_a_new_mask_never_reveals_what_is_missing():
    data = make_views(50, (3, 4), 2, incomplete=0.5, random_state=0)
    assert np.array_equal(data.with_mask(np.ones((50, 2))).mask, data.mask)
    with pytest.raises(ValueError, match=r"mask leaves \d+ samples without any view"):
        data.with_mask(np.tile([True, False], (50, 1)))
    with pytest.raises(ValueError, match=r"mask has shape \(50,\).*\(50, 2\)"):
        data.with_mask(np.ones(50))
    with pytest.raises(ValueError, match="True/False or 1/0"):
        data.with_mask(np.full((50, 2), 2))


def test_parts_that_do_not_fit_are_refused():
    X, y = np.ones((3, 2)), np.arange(3)
    with pytest.raises(ValueError, match=r"mask of shape \(3, 2\) and 1 names"):
        MultiViewDataset([X], y, np.ones((3, 2), bool), ("a",), "mine")
    with pytest.raises(ValueError, match=r"view 'a' has shape \(2, 2\).*3 samples"):
        MultiViewDataset([X[:2]], y, np.ones((3, 1), bool), ("a",), "mine")
