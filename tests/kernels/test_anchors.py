import numpy as np
import pytest
import scipy.sparse as sp

from imvc.kernels._anchors import (
    das_anchors,
    das_rows,
    distinct_rows,
    kmeans_anchors,
)
from imvc.kernels._distances import squared_distances
from imvc.kernels._sample import random_rows
from imvc.kernels._scale import unit_rows


def test_kmeans_anchors_cover_planted_groups(rng):
    centres = 20 * np.eye(5)
    X = centres[rng.integers(0, 5, 3000)] + rng.standard_normal((3000, 5))
    A = kmeans_anchors(X, 8, np.random.RandomState(0))
    assert A.shape == (8, 5)
    assert squared_distances(centres, A).min(axis=1).max() < 20


def test_repeated_samples_give_distinct_anchors():
    X = np.repeat(np.eye(3), 10, axis=0)
    A = kmeans_anchors(X, 6, np.random.RandomState(0))
    np.testing.assert_allclose(
        np.sort(A, axis=0)[::-1], np.sort(np.eye(3), axis=0)[::-1], atol=1e-12
    )
    assert len(A) == 3


def test_anchors_of_sparse_samples_equal_those_of_dense_ones(rng):
    X = rng.standard_normal((300, 12)) * (rng.random((300, 12)) < 0.3)
    dense = kmeans_anchors(X, 6, np.random.RandomState(0))
    sparse = kmeans_anchors(sp.csr_array(X), 6, np.random.RandomState(0))
    np.testing.assert_allclose(np.sort(sparse, axis=0), np.sort(dense, axis=0))
    for cosine in (False, True):
        np.testing.assert_allclose(
            das_anchors(sp.csr_array(X), 6, cosine=cosine),
            das_anchors(X, 6, cosine=cosine),
        )


@pytest.mark.parametrize(("n", "m"), [(50, 20), (3_000_000, 500), (10**12, 500)])
def test_random_rows_are_distinct_and_sorted(n, m):
    rows = random_rows(n, m, np.random.RandomState(0))
    assert (np.diff(rows) > 0).all()
    assert len(rows) == m
    assert 0 <= rows[0] <= rows[-1] < n


def test_das_picks_never_repeat():
    rows = das_rows(np.random.default_rng(0).random(30), 30)
    np.testing.assert_array_equal(rows, np.arange(30))


def test_das_fills_up_when_all_scores_vanish():
    np.testing.assert_array_equal(das_rows(np.ones(6), 4), [0, 1, 2, 3])
    np.testing.assert_array_equal(das_rows(np.zeros(6), 4), [0, 1, 2, 3])


@pytest.mark.parametrize("v", range(3))
def test_das_equals_the_authors_programs(v, reference_data):
    case = np.load(reference_data / "small_case.npz")
    reference = np.load(reference_data / "das_small.npz")
    raw = case[f"X{v}"][case["mask"][:, v]]
    unit = unit_rows(raw)
    for X, cosine, key in (
        (raw, False, "das_raw"),
        (unit, False, "das_unit"),
        (unit, True, "das_cosine_unit"),
    ):
        np.testing.assert_array_equal(
            das_anchors(X, 9, cosine=cosine), X[reference[f"{key}_view{v}"]]
        )


def test_distinct_rows_keep_their_order():
    A = np.array([[2.0, 1], [0, 0], [2, 1], [1, 1]])
    np.testing.assert_array_equal(distinct_rows(A), [[2, 1], [0, 0], [1, 1]])
