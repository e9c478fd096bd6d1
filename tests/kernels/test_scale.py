import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from imvc.kernels._scale import (
    column_moments,
    merge_moments,
    row_norms,
    scale_rows,
    unit_rows,
)

matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(-1e200, 1e200, allow_subnormal=False),
)


@given(matrices)
def test_unit_rows_have_length_one_or_zero(X):
    lengths = np.linalg.norm(unit_rows(X), axis=1)
    zero = (X == 0).all(axis=1)
    np.testing.assert_allclose(lengths[~zero], 1, rtol=1e-12)
    np.testing.assert_array_equal(lengths[zero], 0)


@given(matrices)
def test_sparse_unit_rows_equal_dense_ones(X):
    scaled = unit_rows(sp.csr_array(X))
    assert sp.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), unit_rows(X), rtol=1e-12, atol=1e-300)


def test_unit_rows_keeps_float32_and_its_input():
    X = np.ones((3, 2), np.float32)
    assert unit_rows(X).dtype == np.float32
    np.testing.assert_array_equal(X, 1)


def test_merged_moments_equal_moments_of_everything(rng):
    X = rng.standard_normal((50, 4)) * [1, 10, 0, 1e-3] + 1e4
    count, mean, squares = merge_moments(column_moments(X[:13]), column_moments(X[13:]))
    assert count == 50
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(squares / 50, X.var(axis=0), rtol=1e-8, atol=1e-16)


def test_moments_of_sparse_rows_equal_dense_ones(rng):
    X = rng.standard_normal((30, 5)) * (rng.random((30, 5)) < 0.3)
    for a, b in zip(column_moments(sp.csr_array(X)), column_moments(X)):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("kind", ["unit", "standard", None])
def test_scaling_keeps_sparse_rows_sparse(kind, rng):
    X = rng.standard_normal((6, 4))
    deviation = X.std(axis=0)
    sparse = scale_rows(sp.csr_array(X), kind, deviation)
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), scale_rows(X, kind, deviation))


@pytest.mark.parametrize("p", [7, 9000, 20_000])
def test_the_length_of_a_row_does_not_depend_on_its_company(p, rng):
    X = rng.standard_normal((5, p)).astype(np.float32)
    alone = np.concatenate([row_norms(x[None]) for x in X])
    np.testing.assert_array_equal(alone, row_norms(X))
