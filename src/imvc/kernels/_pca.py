"""Centred, unit-norm, PCA-reduced features of a block of rows, dense or sparse.

A sparse block is never centred in memory: with f = (x - mean) / |x - mean|, products
with the features are products with x and a rank-one correction.
"""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import inverse, row_norms, unit_rows
from imvc.kernels._distances import row_products
from imvc.kernels._patterns import fix_signs, leading_eigh

_GRAM_WIDTH = 600  # up to here the Gram matrix of the features is cheaper, and exact
_OVERSAMPLING = 10
_POWER_ITERATIONS = 3


def signed_root_rows(X):
    """Rows of sign(x) sqrt|x|, scaled to length one; sparse stays sparse."""
    if sp.issparse(X):
        rooted = X.copy()
        rooted.data = np.sign(X.data) * np.sqrt(np.abs(X.data))
        return unit_rows(rooted)
    rooted = np.abs(X)
    np.sqrt(rooted, out=rooted)
    np.copysign(rooted, X, out=rooted)
    return unit_rows(rooted)


def centred_features(X, mean, axes=None):
    """Rows (x - mean) / |x - mean|, in coordinates of ``axes`` where given; dense.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    mean : ndarray of shape (p,)
    axes : ndarray of shape (p, r), optional
        Without it the result is dense of shape (n, p), so a wide sparse ``X`` should
        come with axes. A row that equals the mean up to rounding gives zeros.

    Notes
    -----
    The features of a row do not depend on the rows around it, not even by rounding.
    """
    mean = mean.astype(X.dtype, copy=False)
    if sp.issparse(X) and axes is not None:
        axes = axes.astype(X.dtype, copy=False)
        scale = _inverse_lengths(X, mean)
        return (np.asarray(X @ axes) - mean @ axes) * scale[:, None]
    shifted = (X.toarray() if sp.issparse(X) else X) - mean
    lengths = row_norms(shifted)
    lengths[lengths <= 16 * np.finfo(X.dtype).eps * np.linalg.norm(mean)] = 0
    # With axes, lengths are divided out after the projection: the smaller array.
    features = shifted if axes is None else row_products(shifted, axes)
    features *= inverse(lengths)[:, None]
    return features


def principal_axes(X, mean, r, rng):
    """The ``r`` leading right singular vectors (p, r) of the centred features of ``X``.

    Scaling rows moves their mean a little off zero; taking it out once more was
    measured to be worse. Up to 600 dense columns by the Gram matrix, O(n p^2); else a
    randomized range finder with 3 power iterations, O(n p r) or O(nnz r).
    """
    if not sp.issparse(X) and X.shape[1] <= _GRAM_WIDTH:
        F = centred_features(X, mean)
        return leading_eigh((F.T @ F).astype(np.float64), r)[1].astype(X.dtype)
    forward, backward = _products(X, mean)
    width = min(r + _OVERSAMPLING, *X.shape)
    basis = rng.standard_normal((X.shape[1], width)).astype(X.dtype)
    for _ in range(_POWER_ITERATIONS):
        basis = np.linalg.qr(backward(forward(basis)))[0]
    projected = forward(basis)
    _, turn = leading_eigh(projected.T.astype(np.float64) @ projected, r)
    return fix_signs(basis @ turn).astype(X.dtype)


def _products(X, mean):
    """Functions ``B -> F B`` and ``B -> F'B`` for the centred features F of ``X``."""
    if not sp.issparse(X):
        F = centred_features(X, mean)
        return (lambda B: F @ B), (lambda B: F.T @ B)
    mean = mean.astype(X.dtype)
    scale = _inverse_lengths(X, mean)[:, None]

    def forward(B):
        return (np.asarray(X @ B) - mean @ B) * scale

    def backward(B):
        B = B * scale
        return np.asarray(X.T @ B) - np.outer(mean, B.sum(axis=0))

    return forward, backward


def _inverse_lengths(X, mean):
    """1 / |x - mean| of sparse rows, 0 where the row is the mean up to rounding."""
    mean = mean.astype(np.float64)
    own = np.asarray(X.multiply(X).sum(axis=1, dtype=np.float64)).ravel()
    squares = own - 2 * (X @ mean) + mean @ mean
    known = squares > 64 * np.finfo(X.dtype).eps * (own + mean @ mean)
    scale = np.zeros(X.shape[0])
    scale[known] = 1 / np.sqrt(squares[known])
    return scale.astype(X.dtype)
