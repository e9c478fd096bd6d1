"""Small incomplete views, and the check that a source holds the same."""

import pickle

import numpy as np
import scipy.sparse as sp


def small_views(n=53, widths=(4, 3, 1), seed=0, dtype=np.float32):
    """Views with rows of NaN; every sample has one view at least."""
    rng = np.random.default_rng(seed)
    mask = rng.random((n, len(widths))) < 0.6
    mask[np.arange(n), rng.integers(len(widths), size=n)] = True
    Xs = [rng.normal(size=(n, d)).astype(dtype) for d in widths]
    for v, X in enumerate(Xs):
        X[~mask[:, v]] = np.nan
    return Xs, mask


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def assert_same(source, views):
    """Blocks of a source hold what ``as_views`` found in all the data."""
    assert source.names == views.names
    assert source.n_features == views.n_features
    assert source.dtype == views.dtype
    assert source.n_samples == views.n_samples
    for i in range(source.n_blocks):
        start, stop = source.starts[i], source.starts[i + 1]
        block, mask = source.block(i), source.mask(i)
        np.testing.assert_array_equal(mask, views.mask[start:stop])
        np.testing.assert_array_equal(block.mask, mask)
        for v in range(source.n_views):
            seen = np.flatnonzero(mask[:, v])
            expected = dense(views.take(v, start + seen))
            found = block.observed(v)
            assert found.dtype.kind == "f"
            np.testing.assert_array_equal(dense(found), expected)
            some = source.rows(i, v, seen[::3])
            np.testing.assert_array_equal(dense(some), expected[::3])


def assert_pickles(source, views):
    """A source that travelled to another process is as good."""
    assert_same(pickle.loads(pickle.dumps(source)), views)
