"""sFSR-IMVC: recovered feature spaces, coded by anchors, tied by a tensor ring.

Z. Long, C. Zhu, P. Comon, Y. Ren, Y. Liu, "Feature Space Recovery for Efficient
Incomplete Multi-View Clustering", IEEE Transactions on Knowledge and Data Engineering,
2024. Specification: docs/methods/sfsr_imvc.md.

    min  sum_v gamma/2 |H_v|^2 + lambda |Ex_v|_1 + lambda |Eh_v|_1
    s.t. X_v = H_v P_v' + Ex_v,  P_v'P_v = I,  X_v = T_v on the observed rows
         H_v = C_v A_v' + Eh_v,  A_v'A_v = I,  C_v >= 0
         C_v = Y_v,  where Y, folded to (M, n1, n2, V), is a tensor ring of rank r

    T_v   observed rows of length one    X_v   completed view (n x d_v)
    P_v   basis (d_v x K), K = c + 1     H_v   features (n x K)
    A_v   anchors (K x M)                C_v   codes (n x M)
    Ex_v, Eh_v  sparse errors            Y     ring copy of the codes (V x n x M)
    L1_v, L2_v, L3  multipliers of the three constraints, here divided by rho
    rho, eta  penalty and its growth

Rows are samples: every matrix but P_v is the transpose of the authors'.

ADMM without the large variables. With the sum G_v = L1_v + X_v - Ex_v on the observed
rows the new multiplier is G_v - H_v P_v', which is also the misfit that the stopping
rule asks for. On the missing rows L1_v = 0, Ex_v is one number e_v and
X_v = H_v P_v' + e_v. So T_v and L1_v are the only arrays with d_v columns and n_v rows.

The fold (n1, n2) = (1, n), a line, knows no neighbours. Any other one lays the samples
out in the order in which they stand, which a low-rank ring profits from if they are
sorted by class. On a line r^2 >= M V numbers a sample fit any codes: no ring is fitted.
"""

import warnings
from dataclasses import dataclass
from math import isqrt
from numbers import Integral
from typing import Literal

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import block_slices
from imvc.kernels._patterns import fix_signs
from imvc.kernels._procrustes import left_singular_vectors, tall_polar_factor
from imvc.kernels._tensor import fit_tensor_ring, random_ring_cores, soft_threshold
from imvc.methods._base import EmbeddingClusterer, draw_seed
from imvc.methods._parameters import AtLeastOne, Count, NonNegative, estimator

_RHO, _RHO_MAX = 1e-3, 1e12  # the authors' penalty and its end
_RING_UPDATES = 8  # two sweeps over the four cores
_FIRST_STOP = 11  # the first iteration that may stop
_LONGEST_FOLD = 4  # n2 / n1 up to which n is split into factors, not padded
_START_ROWS = 1000  # a start only has to point in the right directions
_BLOCK = 1 << 17  # entries of a view that are worked on at once


@estimator
class SFSRIMVC(EmbeddingClusterer):
    """Feature space recovery with anchors and a tensor ring (sFSR-IMVC).

    Every view is completed by a low-dimensional orthogonal model, its features are
    coded by a few orthogonal anchors, and the codes of all views are tied together by
    a tensor ring of low rank. k-means on singular vectors of the summed codes gives
    the clusters.

    Parameters
    ----------
    n_anchors : int, optional
        M; by default ``n_clusters``. More than ``n_clusters + 1`` cannot be orthogonal:
        the program then runs as the authors' does, with a warning.
    ring_rank : int, default=8
        r, the rank of the tensor ring. On a line it ties the views only where
        ``ring_rank**2`` is below ``n_views * n_anchors``.
    feature_penalty : float, default=1e-4
        gamma: weight of the squared norm of the features.
    error_penalty : float, default=1.0
        lambda: weight of the absolute errors.
    penalty_growth : float, default=1.8
        eta: growth of the ADMM penalty; smaller is slower and more careful.
    start : {"identity", "pca"}
        First basis of every view: its first features (the authors' program) or its
        leading right singular vectors. A view whose first features are all zero takes
        the latter anyway.
    embedding : {"singular-vectors", "codes", "features"}
        What k-means runs on: all left singular vectors of the summed codes,
        unweighted (the authors' program); the summed codes; or the recovered features
        of all views side by side (not the authors'; see the documentation).
    fold : {"line", "balanced"} or pair of int, default="line"
        n1 and n2, how the ring lays out the samples: "line" is (1, n_samples), where
        order carries nothing; "balanced" the most even factors of n_samples, or a
        padded square, as in the authors' program; a pair has n2 = n_samples / n1,
        rounded up.
    shuffle : bool, default=True
        For folds other than a line: fit on shuffled samples and bring the result back
        into order. False keeps the stored order, which **leaks labels** where samples
        are stored class by class; with ``fold="balanced"`` it reproduces what was
        published, and is for nothing else.
    tol : float, default=1e-6
        Stop, after ten iterations, when the relative misfit of the observed samples
        or the largest change of an entry of codes, features or inferred samples
        falls below.
    random_state : int, RandomState instance or None
        New ring cores are drawn in every iteration.
    callback : callable, optional
        Called as ``callback(iteration, misfit)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_anchors)
        For "features", of shape (n_samples, n_views * (n_clusters + 1)), views by name.
    objective_ : ndarray of shape (n_iter_,)
        Relative misfit of the observed samples after every iteration, largest view.
        The growing penalty drives it to zero.

    References
    ----------
    Z. Long, C. Zhu, P. Comon, Y. Ren, Y. Liu, IEEE Transactions on Knowledge and Data
    Engineering, 2024.

    Examples
    --------
    >>> from imvc import SFSRIMVC
    >>> from imvc.datasets import make_views
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.3, random_state=0)
    >>> model = SFSRIMVC(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (200, 3)
    """

    n_anchors: Count | None = None
    ring_rank: Count = 8
    feature_penalty: NonNegative = 1e-4
    error_penalty: NonNegative = 1.0
    penalty_growth: AtLeastOne = 1.8
    start: Literal["identity", "pca"] = "identity"
    embedding: Literal["singular-vectors", "codes", "features"] = "singular-vectors"
    fold: Literal["line", "balanced"] | tuple | list = "line"
    shuffle: bool = True
    max_iter: Count = 50
    tol: NonNegative = 1e-6

    _most_offset = 10  # from there on the mean row hides the others (measured)

    @property
    def _shuffles(self):
        on_a_line = self.fold == "line" or 1 in tuple(self.fold)
        return None if on_a_line else self.shuffle

    def _check_against(self, data):
        super()._check_against(data)
        fold_shape(data.n_samples, self.fold)

    def _embed(self, views, rng):
        K, M = self.n_clusters + 1, self.n_anchors or self.n_clusters
        if M > K:
            warnings.warn(
                f"n_anchors={M} exceeds n_clusters + 1 = {K}, so the anchors cannot be "
                f"orthogonal and the code step is a heuristic; lower it (--set "
                f"n_anchors={K}).",
                UserWarning,
                stacklevel=5,
            )
        parts = [start_view(views, v, K, M, self.start) for v in range(views.n_views)]
        rule = self.ring_rank, self.feature_penalty, self.error_penalty
        draw = np.random.default_rng(draw_seed(rng))
        fold = fold_shape(views.n_samples, self.fold)
        with self._stage("solve"), self._iterations() as steps:
            C, _ = solve(parts, *rule, draw, steps, fold=fold, eta=self.penalty_growth)
        if self.embedding == "features":
            return np.hstack([part.H for part in parts]).astype(views.dtype)
        S = C.sum(axis=0)
        if self.embedding == "singular-vectors":
            S, _ = left_singular_vectors(S, M)
        return S.astype(views.dtype)


@dataclass
class View:
    """Variables of one view; ``T``, ``L1`` have the observed rows, the others all."""

    T: np.ndarray
    L1: np.ndarray
    rows: np.ndarray
    absent: np.ndarray
    e: float
    P: np.ndarray
    H: np.ndarray
    A: np.ndarray
    CA: np.ndarray
    Eh: np.ndarray
    L2: np.ndarray


def start_view(views, v, K, M, start="identity"):
    """All zero but P_v, A_v; missing rows hold the mean of the zero-filled view."""
    T = views.observed(v)
    T = unit_rows(T.toarray() if sp.issparse(T) else T).astype(views.dtype, copy=False)
    n, d = views.n_samples, T.shape[1]
    zero = np.zeros((n, K))
    # Zero features would stay zero for ever.
    first = start == "identity" and T[:, :K].any()
    P = np.eye(d, K) if first else principal_basis(T, K)
    return View(
        T=T,
        L1=np.zeros_like(T),
        rows=views.rows(v),
        absent=np.flatnonzero(~views.mask[:, v]),
        e=float(T.sum(dtype=np.float64)) / (n * d),
        P=P,
        H=zero,
        A=np.eye(K, M),
        CA=zero,
        Eh=zero,
        L2=zero,
    )


def principal_basis(T, K):
    """Leading right singular vectors of evenly spaced rows, (d, K); zeros beyond d."""
    few = T[:: -(-len(T) // _START_ROWS)].astype(np.float64)
    Q = np.linalg.svd(few, full_matrices=False)[2][:K].T
    return np.pad(fix_signs(Q), ((0, 0), (0, K - Q.shape[1])))


def solve(parts, r, gamma, lambda_, rng, steps, *, fold, eta=1.8):
    """The ADMM loop; ``rng.standard_normal(size)`` feeds the ring, ``fold`` is n1, n2.

    ``parts`` come from `start_view`, are overwritten, and hold the last variables.
    Returns the codes (V, n, M), and per iteration misfit and changes of C, X, H.
    """
    n, M = len(parts[0].H), parts[0].A.shape[1]
    C = np.zeros((len(parts), n, M))
    Y, L3 = np.zeros_like(C), np.zeros_like(C)
    rho, growth, history = _RHO, 1.0, []
    # Where nothing is missing X cannot change, which says nothing.
    watched = [0, 1, 2, 3] if any(part.absent.size for part in parts) else [0, 1, 3]
    for iteration in steps:
        if iteration > 1:
            growth = min(eta, _RHO_MAX / rho)
            rho *= growth
            L3 /= growth
            for part in parts:
                part.L2 = part.L2 / growth
        changes = []
        for v, part in enumerate(parts):
            tau = lambda_ / rho
            misfit, dX, dH = recover(part, gamma / rho, tau, growth, iteration == 1)
            C_old, C[v] = C[v].copy(), encode(part, C[v], Y[v] + L3[v], iteration == 1)
            update_Eh(part, C[v], tau)
            changes.append((misfit, np.abs(C[v] - C_old).max(), dX, dH))
        Y = update_Y(C - L3, fold, r, rng)
        L3 += Y - C
        history.append(np.max(changes, axis=0))
        steps.add(history[-1][0])
        # Any of the four ends the iteration, as in the authors' program.
        small = bool(history[-1][watched].min() < steps.tol)
        steps.converged = iteration >= _FIRST_STOP and small
    return C, np.array(history)


def recover(part, gamma, tau, growth, first):
    """The steps for Ex_v, P_v, H_v, X_v, L1_v; returns misfit, changes of X_v and H_v.

    ``gamma`` and ``tau`` are divided by rho.
    """
    H_old, P_old, e_old = part.H, part.P, part.e
    H_seen, H_gone = H_old[part.rows], H_old[part.absent]
    update_Ex(part, H_seen, tau, growth)
    g = np.clip(e_old, -tau, tau)  # G - H P' on the missing rows
    part.e = e_old - g
    if not first:
        GH = part.L1.T @ H_seen.astype(part.T.dtype) + P_old @ (H_gone.T @ H_gone)
        part.P = update_P(GH + g * H_gone.sum(axis=0))
    GP = np.empty_like(H_old)
    GP[part.rows] = part.L1 @ part.P.astype(part.T.dtype)
    GP[part.absent] = H_gone @ (P_old.T @ part.P) + g * part.P.sum(axis=0)
    part.H = update_H(GP, part.Eh, part.CA, part.L2, gamma)
    change = part.e - e_old, H_gone, P_old
    misfit = update_L1(part, part.H[part.rows])
    return misfit, change_of_X(part, *change), np.abs(part.H - H_old).max()


def update_Ex(part, H, tau, growth):
    """Ex_v = soft(X_v - H_v P_v' + L1_v, lambda / rho); L1_v becomes L1_v + X_v - Ex_v.

    That sum is H_v P_v' plus the clipped rest, so Ex_v itself is never stored.
    """
    Pt, H = part.P.T.astype(part.T.dtype), H.astype(part.T.dtype)
    for rows in block_slices(len(H), part.T.shape[1], _BLOCK):
        G, HP = part.L1[rows], H[rows] @ Pt
        G /= growth
        G += part.T[rows]
        G -= HP
        np.clip(G, -tau, tau, out=G)
        G += HP


def update_P(GH):
    """P_v = polar(G_v' H_v)."""
    return tall_polar_factor(GH)


def update_H(GP, Eh, CA, L2, gamma):
    """H_v = (Eh_v + C_v A_v' - L2_v + G_v P_v) / (gamma / rho + 2)."""
    return (Eh + CA - L2 + GP) / (gamma + 2)


def update_L1(part, H):
    """L1_v = G_v - H_v P_v'; its norm over that of T_v is the misfit."""
    Pt, H, squares = part.P.T.astype(part.T.dtype), H.astype(part.T.dtype), 0.0
    for rows in block_slices(len(H), part.T.shape[1], _BLOCK):
        L1 = part.L1[rows]
        L1 -= H[rows] @ Pt
        squares += float(np.vdot(L1, L1))
    norm = np.sqrt(np.vdot(part.T, part.T))
    return np.sqrt(squares) / norm if norm > 0 else 0.0


def change_of_X(part, shift, H_old, P_old):
    """Largest change of an inferred entry; 0 where the view is complete."""
    both = np.hstack([part.H[part.absent], -H_old])
    bases, largest = np.hstack([part.P, P_old]).T, 0.0
    for rows in block_slices(len(both), bases.shape[1], _BLOCK):
        largest = max(largest, np.abs(both[rows] @ bases + shift).max())
    return largest


def encode(part, C, target, first):
    """A_v = polar(G'C_v), C_v = max((G A_v + Y_v + L3_v) / 2, 0).

    G = L2_v + H_v - Eh_v; ``target`` is Y_v + L3_v. Stores A_v, returns C_v.
    """
    G = part.L2 + part.H - part.Eh
    if not first:
        part.A = tall_polar_factor(G.T @ C)
    return np.maximum((G @ part.A + target) / 2, 0)


def update_Eh(part, C, tau):
    """Eh_v = soft(H_v - C_v A_v' + L2_v, lambda / rho), then L2_v is what remains."""
    part.CA = C @ part.A.T
    rest = part.H - part.CA + part.L2
    part.Eh = soft_threshold(rest, tau)
    part.L2 = rest - part.Eh


def update_Y(G, fold, r, rng):
    """Y = tensor ring of rank r near stack(C_v) - L3, from new random cores."""
    V, n, M = G.shape
    n1, n2 = fold
    if M * n1 * V <= r**2:  # the core of n2 alone fits anything, whatever the others
        return G
    if n1 * n2 > n:
        G = np.concatenate([G, np.zeros((V, n1 * n2 - n, M))], axis=1)
    folded = G.reshape(V, n2, n1, M).transpose(3, 2, 1, 0)
    cores = random_ring_cores(folded.shape, r, rng)
    ring, _ = fit_tensor_ring(folded, cores, _RING_UPDATES)
    return ring.transpose(3, 2, 1, 0).reshape(V, n1 * n2, M)[:, :n]


def fold_shape(n, fold):
    """n1, n2 for n samples; a pair that does not hold just these is refused."""
    if fold == "line":
        return 1, n
    if fold == "balanced":
        return balanced_fold(n)
    if len(fold) != 2 or not all(isinstance(size, Integral) for size in fold):
        raise ValueError(
            f"fold={fold!r} must be 'line', 'balanced' or a pair of whole numbers n1, "
            f"n2 (--set fold=line)."
        )
    n1, n2 = fold
    if not (1 <= n1 <= n and n2 == -(-n // n1)):
        fits = f"{n1}, {-(-n // n1)}" if 1 <= n1 <= n else f"1, {n}"
        raise ValueError(
            f"fold={fold!r} does not fit {n} samples: n1 must lie between 1 and {n}, "
            f"and n2 be {n} / n1, rounded up, such as ({fits}); or take 'line' (--set "
            f"fold=line)."
        )
    return int(n1), int(n2)


def balanced_fold(n):
    """n1, n2 for n samples: the balanced factors if near a square, else padded."""
    root = isqrt(n)
    n1 = next(q for q in range(root, 0, -1) if n % q == 0)
    if n // n1 <= _LONGEST_FOLD * n1:
        return n1, n // n1
    return root, -(-n // root)
