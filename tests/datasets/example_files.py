"""One small dataset, to be written to files and recognised when read back."""

import numpy as np

N = 6
LABELS = np.array([3, 3, 1, 1, 8, 8])
VIEWS = [np.arange(N * d, dtype=float).reshape(N, d) + 1 for d in (4, 2, 3)]


def cells(arrays, shape=None):
    """Return a MATLAB cell array."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out.reshape(shape or (1, len(arrays)))


def assert_is_the_example(data):
    assert data.y.tolist() == [1, 1, 0, 0, 2, 2]
    assert data.mask.all()
    assert len(data.Xs) == len(VIEWS)
    for X, expected in zip(data.Xs, VIEWS):
        assert np.array_equal(X, expected)
