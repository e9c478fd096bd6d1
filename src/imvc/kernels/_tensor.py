"""Shrinkage of matrices and of stacked graphs, and the tensor ring.

The proximal maps of the l1, nuclear and tensor nuclear norms.
"""

from functools import lru_cache, reduce

import numpy as np
import scipy.fft
from scipy.linalg.lapack import dpotrf, dpotrs

from imvc.kernels._distances import block_slices

_GRAM_TOL = 1e-6  # below this share of the largest value, squaring costs digits
_ANY_ORDER = ("optimal", 1 << 62)  # einsum may pick any order, of any size
_NORMAL_TOL = 1e-8  # the normal equations keep half the digits above this


def soft_threshold(X, tau):
    """Entries of ``X`` moved towards zero by ``tau``: prox of ``tau |X|_1``.

    ``sign(x) max(|x| - tau, 0)``; a new array in the dtype of ``X``. O(size).
    """
    return X - np.clip(X, -tau, tau)


def shrink_singular_values(X, tau):
    """Singular values lowered by ``tau``: prox of ``tau |X|_*``, matrix by matrix.

    Parameters
    ----------
    X : ndarray of shape (..., p, q), real or complex
    tau : float or array of shape (...), non-negative

    Returns
    -------
    ndarray of the shape and dtype of ``X``.

    Notes
    -----
    Through eigh of the small Gram matrix (min(p, q) wide, in double precision),
    O(p q min(p, q)) a matrix: with ``W W' = Phi diag(s^2) Phi'`` the answer is
    ``Phi diag(max(1 - tau / s, 0)) Phi' W``. Squaring loses singular values below
    1e-8 of the largest; matrices where ``tau`` is below 1e-6 of the largest, so that
    such values might survive, take a thin SVD instead.
    """
    X = _floating(X)
    p, q = X.shape[-2:]
    if X.size == 0:
        return X.copy()
    if p > q:
        turned = shrink_singular_values(np.swapaxes(X, -1, -2), tau)
        return np.swapaxes(turned, -1, -2)
    wide = X.astype(np.result_type(X, np.float64), copy=False)
    tau = np.broadcast_to(np.asarray(tau, np.float64), X.shape[:-2])
    cores = _shrinking_cores(_grams(wide), tau, lambda chosen: wide[chosen])
    return (cores @ wide).astype(X.dtype, copy=False)


def _grams(W):
    """Lower triangles of ``W W'``, matrix by matrix; the rest is 0."""
    turned = W.conj()[..., None]
    grams = np.zeros((*W.shape[:-1], W.shape[-2]), W.dtype)
    for i in range(W.shape[-2]):  # column by column is faster than all at once
        grams[..., i:, i] = (W[..., i:, :] @ turned[..., i, :, :])[..., 0]
    return grams


def _shrinking_cores(grams, tau, matrices):
    """Square matrices that, from the left, lower the singular values by ``tau``.

    ``grams`` has the lower triangles of W W' for matrices W, of which
    ``matrices(chosen)`` gives the chosen ones: where squaring would cost digits, an SVD
    of W takes its place.
    """
    squares, Phi = np.linalg.eigh(grams)
    s = np.sqrt(np.maximum(squares, 0))
    doubtful = tau < _GRAM_TOL * s[..., -1]
    if doubtful.any():
        W = matrices(doubtful)
        W = np.pad(W, [(0, 0), (0, 0), (0, max(0, W.shape[1] - W.shape[2]))])
        Phi[doubtful], s[doubtful], _ = np.linalg.svd(W, full_matrices=False)
    factors = np.zeros_like(s)
    np.divide(s - tau[..., None], s, out=factors, where=s > tau[..., None])
    return (Phi * factors[..., None, :]) @ np.swapaxes(Phi.conj(), -1, -2)


def _floating(X):
    """``X`` as it is, or in float64 where it holds integers."""
    X = np.asarray(X)
    return X if np.issubdtype(X.dtype, np.inexact) else X.astype(np.float64)


def shrink_frequencies(
    T, tau, *, scale=1.0, repeat_last=False, overwrite=False, map=map, workers=1
):
    """t-SVD shrinkage of V matrices whose rows alternate, DFT along the first axis.

    An unnormalised DFT, then every frequency slice (V x width) has its singular values
    lowered by ``tau``, then the inverse DFT. This is the prox of ``tau`` times the
    tensor nuclear norm (1/length) sum_f |slice_f|_*. O(V N log N + V^2 N) for
    N = length * width. The result depends on the order of the rows.

    Parameters
    ----------
    T : real ndarray of shape (length, V, width)
    tau : float, non-negative
    scale : float
        What the result is multiplied with, at no cost.
    repeat_last : bool
        For an odd length, lower the highest frequency twice, as the released programs
        of two methods do by a rounding slip. No effect for an even length.
    overwrite : bool
        Give the result the memory of ``T`` where possible: for a C-contiguous ``T`` of
        an even width. Otherwise one array of this size is made.
    map, workers : callable and int
        How functions are run on blocks of frequencies, perhaps on threads, and how
        many threads the DFT gets. The result does not depend on them.

    Returns
    -------
    ndarray of the shape and dtype of ``T``.

    Notes
    -----
    Two real columns count as one complex one, so that a complex DFT in place replaces
    the real one, at half its cost where the length has a large prime factor. The slice
    F_f of the pairs and its mirror image F_-f hold what the real slice holds: with
    ``W = [F_f, conj(F_-f)] / sqrt(2)``, a rotation of the real slice from the right,
    ``W W'`` is the Gram matrix of both (V x V, in double precision), and the matrix
    that shrinks W from the left (see `shrink_singular_values`) shrinks F_f, its
    conjugate F_-f.
    """
    length, _, width = T.shape
    if T.size == 0:
        return T.copy()
    rule = {"axis": 0, "overwrite_x": True, "workers": workers}
    F = scipy.fft.fft(_pair_columns(T, overwrite), **rule)
    blocks = block_slices(length, F[0].size, entries=1 << 14)
    half, mirror = length // 2 + 1, -np.arange(length) % length

    def rotated(chosen):
        f = np.flatnonzero(chosen)
        return np.concatenate([F[f], F[mirror[f]].conj()], axis=2) / np.sqrt(2)

    def gram(b):
        return _grams(F[b].astype(np.complex128, copy=False))

    def shrink(b):
        # Scaled here, as the FFT takes twice as long right after a complex product of
        # OpenBLAS (measured; it seems to leave the vector registers in a slow state).
        product = (cores[b] @ F[b]).view(np.float64)
        np.multiply(product, scale, out=F[b].view(T.dtype))

    K = np.concatenate([*map(gram, blocks)])
    K = (K[:half] + K[mirror[:half]].conj()) / 2
    cores = _shrinking_cores(K, _taus(tau, length, repeat_last), rotated)
    cores = np.concatenate([cores, cores[1 : length - half + 1][::-1].conj()])
    list(map(shrink, blocks))
    pairs = scipy.fft.ifft(F, **rule)
    return pairs.view(T.dtype)[..., :width]


def slice_grams(F):
    """Lower triangles of ``F_f F_f'`` for the slices of a spectrum (V, rows, f).

    An array (f, V, V). Together with `shrinking_cores` and `multiply_slices` this is
    the shrinkage of `shrink_frequencies` with the DFT along the columns, for those who
    walk over blocks of rows: the Gram matrices of the blocks add up.
    """
    grams = np.zeros((F.shape[2], len(F), len(F)), F.dtype)
    turned = F.conj()
    for i in range(len(F)):
        for j in range(i + 1):
            grams[:, i, j] = (F[i] * turned[j]).sum(axis=0)
    return grams


def shrinking_cores(F, grams, tau, length, *, repeat_last=False):
    """Matrices (V, V, frequencies) that lower the singular values of slices by ``tau``.

    ``F`` is the half spectrum (V, rows, length // 2 + 1), ``grams`` that of its slices.
    """
    taus = _taus(tau, length, repeat_last)
    cores = _shrinking_cores(grams, taus, lambda f: F[:, :, f].transpose(2, 0, 1))
    return np.ascontiguousarray(cores.transpose(1, 2, 0))


def multiply_slices(cores, F):
    """Every slice of ``F`` (V, rows, frequencies) with its core from the left."""
    product = np.empty_like(F)
    for row, result in zip(cores, product):
        np.multiply(row[0], F[0], out=result)
        for factor, part in zip(row[1:], F[1:]):
            result += factor * part
    return product


def _taus(tau, length, repeat_last):
    """The threshold of every frequency of a half spectrum."""
    taus = np.full(length // 2 + 1, tau, np.float64)
    if repeat_last and length % 2:
        taus[-1] *= 2  # twice by tau is once by 2 tau
    return taus


def _pair_columns(T, overwrite):
    """Columns 0 and 1 of ``T`` as one complex column, and so on; a last one alone."""
    *shape, width = T.shape
    kind = np.result_type(T, np.complex64)
    if overwrite and T.flags.c_contiguous and width % 2 == 0:
        return T.view(kind)
    pairs = np.zeros((*shape, (width + 1) // 2), kind)
    pairs.view(T.dtype)[..., :width] = T
    return pairs


def random_ring_cores(shape, rank, rng):
    """Standard normal cores (rank, m_k, rank), drawn in order, filled column-major."""
    return [
        rng.standard_normal(rank * m * rank).reshape((rank, m, rank), order="F")
        for m in shape
    ]


def fit_tensor_ring(T, cores, n_updates):
    """Alternating least squares for a tensor ring, from given cores.

    The ring is ``T[i, j, ...] = trace(Q_0[:, i] Q_1[:, j] ...)``. Update u solves for
    core ``u mod D`` exactly, the others fixed, then scales it to unit norm.

    Parameters
    ----------
    T : ndarray of shape (m_0, ..., m_{D-1}), D >= 2
    cores : list of D ndarrays of shape (r_k, m_k, r_{k+1}), cyclic
    n_updates : int, at least 1
        Single-core updates; two sweeps over a fourth-order tensor are 8.

    Returns
    -------
    fit : ndarray of the shape of ``T``
        The ring after the last update, with the last core's norm kept.
    cores : list of D ndarrays
        Unit norm where updated.

    Notes
    -----
    The Gram matrix of the other cores comes from their r^2 x r^2 transfer matrices and
    the right-hand side from contracting ``T`` core by core, so an update costs
    O(size r^2 + sum_k m_k r^4 + r^6) and no (r^2 x size / m_k) matrix is built. Where
    that Gram matrix is worse conditioned than about 1e6, the matrix is built and the
    minimum-norm least-squares solution taken. An all-zero tensor gives zeros. A mode
    longer than all that meets it goes through an orthonormal basis, O(m_k (r^2 +
    size / m_k)^2) once, after which no update sees its length.
    """
    D, cores = T.ndim, [np.asarray(Q, np.float64) for Q in cores]
    if not np.any(T):
        return np.zeros(T.shape), cores
    longest = int(np.argmax(T.shape))
    if T.shape[longest] ** 2 > T.size + cores[longest].size:
        return _fit_in_basis(T, cores, n_updates, longest)
    transfers = [_transfer(Q) for Q in cores]
    for update in range(n_updates):
        k = update % D
        turned = T.transpose([*range(k, D), *range(k)])
        others = cores[k + 1 :] + cores[:k]
        gram = reduce(np.matmul, transfers[k + 1 :] + transfers[:k])
        solved = _solve_core(turned, others, gram, cores[k].shape)
        norm = np.linalg.norm(solved)
        cores[k] = solved / norm if norm > 0 else solved
        transfers[k] = _transfer(cores[k])
    ring = _contract(None, [solved, *others])
    fit = ring.transpose(np.argsort([*range(k, D), *range(k)]))
    return fit.astype(np.result_type(T, np.float32), copy=False), cores


def _fit_in_basis(T, cores, n_updates, k):
    """`fit_tensor_ring` with mode ``k`` in a basis of what ``T`` and its core span.

    Turning a mode changes no least-squares problem, so this is the same fit.
    """
    m = T.shape[k]
    unfolded = [np.moveaxis(A, axis, 0) for A, axis in ((T, k), (cores[k], 1))]
    basis, R = np.linalg.qr(np.hstack([A.reshape(m, -1) for A in unfolded]))
    short = [
        np.moveaxis(part.reshape(len(R), *A.shape[1:]), 0, axis)
        for part, A, axis in zip(np.hsplit(R, [T.size // m]), unfolded, (k, 1))
    ]
    cores[k] = short[1]
    fit, cores = fit_tensor_ring(short[0], cores, n_updates)
    fit = np.moveaxis(np.tensordot(basis, fit, (1, k)), 0, k)
    cores[k] = np.moveaxis(np.tensordot(basis, cores[k], (1, 1)), 0, 1)
    return fit.astype(np.result_type(T, np.float32), copy=False), cores


def _solve_core(T, others, transfer, shape):
    """The core in front of the chain ``others`` that fits ``T`` best.

    ``transfer`` is the product of the transfer matrices of that chain.
    """
    left, m, right = shape
    rhs = _contract(T, others).reshape(m, left * right)
    gram = transfer.reshape(right, right, left, left).transpose(2, 0, 3, 1)
    solution = _solve_normal(gram.reshape(left * right, left * right), rhs)
    if solution is None:
        chain = np.moveaxis(_chain(others), (-1, 0), (0, 1))
        B = chain.reshape(left * right, -1)
        eps = np.finfo(np.float64).eps
        solution = np.linalg.lstsq(B.T, T.reshape(m, -1).T, rcond=eps)[0].T
    return solution.reshape(m, left, right).transpose(1, 0, 2)


def _solve_normal(gram, rhs):
    """``rhs gram^{-1}`` by Cholesky, or None where that would cost too many digits.

    The squared ratio of the factor's extreme diagonal entries bounds the condition
    from below; the margin of 100 covers how far it may be off in practice.
    """
    factor, failed = dpotrf(gram.T, lower=1, clean=0)
    if failed:
        return None
    diagonal = factor.diagonal()
    if (diagonal.min() / diagonal.max()) ** 2 <= 100 * _NORMAL_TOL:
        return None
    return dpotrs(factor, rhs.T, lower=1)[0].T


def _contract(T, cores):
    """``T`` against a chain, (m, left, right); or, without ``T``, the closed ring."""
    D = len(cores)
    if T is None:  # bond b has label b, mode k has label D + k
        labels = [(k, D + k, (k + 1) % D) for k in range(D)]
        return _einsum(cores, labels, tuple(range(D, 2 * D)))
    labels = [(k, D + 2 + k, k + 1) for k in range(D)]
    modes = (D + 1, *range(D + 2, 2 * D + 2))
    return _einsum([T, *cores], [modes, *labels], (D + 1, D, 0))


def _einsum(arrays, labels, result):
    """einsum, pair by pair in the cheapest order, which is planned once for shapes.

    No label may be in more than two of arrays and result.
    """
    shapes = tuple(A.shape for A in arrays)
    pairs, order = _plan_einsum(shapes, tuple(labels), result)
    arrays = list(arrays)
    for (first, second), axes in pairs:
        B, A = arrays.pop(second), arrays.pop(first)
        arrays.append(np.tensordot(A, B, axes))
    return arrays[0].transpose(order)


@lru_cache(maxsize=128)
def _plan_einsum(shapes, labels, result):
    """Pairs of arrays with the axes to sum over, and the order of the last axes."""
    blanks = [np.broadcast_to(0.0, shape) for shape in shapes]
    terms = [x for pair in zip(blanks, map(list, labels)) for x in pair]
    path = np.einsum_path(*terms, list(result), optimize=_ANY_ORDER)[0]
    labels, pairs = [list(own) for own in labels], []
    for first, second in map(sorted, path[1:]):
        b, a = labels.pop(second), labels.pop(first)
        shared = [label for label in a if label in b]
        axes = [a.index(label) for label in shared], [b.index(x) for x in shared]
        pairs.append(((first, second), axes))
        labels.append([label for label in a + b if label not in shared])
    return pairs, [labels[0].index(label) for label in result]


def _transfer(Q):
    """Transfer matrix (r^2, s^2) of a core (r, m, s): sum over modes of Q x Q."""
    r, m, s = Q.shape
    rows = Q.transpose(0, 2, 1).reshape(r * s, m)
    product = (rows @ rows.T).reshape(r, s, r, s).transpose(0, 2, 1, 3)
    return product.reshape(r * r, s * s)


def _chain(cores):
    """The chain itself, (right bond of the missing core, modes..., its left bond)."""
    product = cores[0]
    for Q in cores[1:]:
        product = np.tensordot(product, Q, axes=1)
    return product
