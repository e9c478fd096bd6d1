"""Step 3 of AnchorBridge: what the views' own spectra say about each other.

E_v   the c leading non-constant left singular vectors of view v's graph
s_v   their singular values: how sharply the view falls into clusters
a_uv  chance-corrected mean squared canonical correlation of E_u and E_v
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from imvc.kernels._anchor_graph import weights_to_csr
from imvc.kernels._distances import block_slices
from imvc.kernels._patterns import RANK_TOL, inverse_sqrt, leading_eigh

FLOOR = 0.01  # agreement of views that do not agree, or share too few samples
_CLIP = 2.5  # root mean squares; beyond, two or three samples can fake agreement


@dataclass(frozen=True)
class KindGraphs:
    """The graphs of one kind of features, of all views, on the learning samples.

    Parameters
    ----------
    rows : list of ndarray
        Samples of every view, ascending.
    Z : list of CSR matrices (n_v, m_v)
    cross : callable
        ``cross(u, v)``: Z_u'Z_v over the samples seen in both.
    E : list of ndarrays (n_v, c)
    values : list of ndarrays (c,)
        Squared singular values past the constant vector's, zero past the rank.
    """

    rows: list
    Z: list
    cross: Callable
    E: list
    values: list

    @classmethod
    def of(cls, rows, grams, sizes, kind, c, map):
        """One kind of GraphRows; ``sizes`` are the anchors of its views.

        ``grams`` are the PatternGrams of the rows, where these are worth it.
        """
        V = len(sizes)
        graphs = rows.graphs[kind * V : (kind + 1) * V]
        Z = [
            weights_to_csr(indices, np.asarray(weights, np.float64), m)
            for (indices, weights), m in zip(graphs, sizes)
        ]
        seen = [np.flatnonzero(own) for own in rows.mask[:, :V].T]

        def cross(u, v):
            if grams is not None:
                return grams.block(kind * V + u, kind * V + v)
            at_u, at_v = shared(seen[u], seen[v])
            return (Z[u][at_u].T @ Z[v][at_v]).toarray()

        def left_vectors(v):
            degrees = column_sums(Z[v])
            scale = inverse_sqrt(degrees)
            values, Q = leading_without_constant(cross(v, v), degrees, scale, c)
            return Z[v] @ (scale[:, None] * Q * inverse_sqrt(values)), values

        E, values = zip(*map(left_vectors, range(V)))
        return cls(seen, Z, cross, list(E), list(values))

    def sharpness(self, c):
        """Mean of the c - 1 leading squared singular values of every view."""
        q = max(c - 1, 1)
        return np.array([values[:q].sum() / q for values in self.values])


def shared(rows, others):
    """Where samples stand that are in both of two ascending lists of samples."""
    both = np.intersect1d(rows, others, assume_unique=True)
    return np.searchsorted(rows, both), np.searchsorted(others, both)


def column_sums(Z):
    return np.asarray(Z.sum(axis=0)).ravel()


def leading_without_constant(gram, degrees, scale, d, overwrite=False):
    """Leading eigenpairs of the scaled Gram matrix past the constant vector's.

    The constant is a left singular vector of value one exactly, and its right partner
    is known; taking it out beforehand keeps it apart from other vectors of value one
    (a graph in pieces). With ``overwrite`` the Gram matrix, perhaps large, is spoilt.
    """
    constant = scale * degrees
    total = constant @ constant
    S = np.multiply(gram, scale[:, None], out=gram if overwrite else None)
    S *= scale
    for rows in block_slices(*S.shape):
        S[rows] -= np.outer(constant[rows], constant) / total
    values, Q = leading_eigh(symmetric(S), d)
    values[values <= RANK_TOL] = 0
    return values, Q


def symmetric(S):
    """(S + S') / 2 in the place of S."""
    for rows in block_slices(*S.shape):
        rest = slice(rows.start, len(S))
        mean = (S[rows, rest] + S[rest, rows].T) / 2
        S[rows, rest], S[rest, rows] = mean, mean.T
    return S


def agreement(graphs, c):
    """a_uv of one kind: correlations beyond chance, at least 0.01; diagonal 1."""
    V = len(graphs.E)
    a = np.full((V, V), FLOOR)
    np.fill_diagonal(a, 1)
    for u, v in combinations(range(V), 2):
        at_u, at_v = shared(graphs.rows[u], graphs.rows[v])
        if len(at_u) > 2 * c + 2:
            r = mean_squared_correlation(graphs.E[u][at_u], graphs.E[v][at_v])
            a[u, v] = a[v, u] = max(beyond_chance(r, c, len(at_u)), FLOOR)
    return a


def reproducibility(plain, rooted, c):
    """rep_v: agreement of the spectra of plain and of rooted features, by view."""
    return np.array(
        [
            max(beyond_chance(mean_squared_correlation(E, G), c, len(E)), FLOOR)
            for E, G in zip(plain.E, rooted.E)
        ]
    )


def mean_squared_correlation(E, G):
    """||Q_E'Q_G||^2 / c, canonical correlations of clipped columns."""
    E, G = _clipped(E), _clipped(G)
    whiten = []
    for own in (E, G):
        values, Q = leading_eigh(own.T @ own, own.shape[1])
        whiten.append(Q * inverse_sqrt(values))
    return float(np.square(whiten[0].T @ (E.T @ G) @ whiten[1]).sum() / E.shape[1])


def _clipped(E):
    """Centred columns, clipped at 2.5 root mean squares and centred again."""
    E = E - E.mean(axis=0)
    limit = _CLIP * np.sqrt(np.square(E).mean(axis=0))
    E = np.clip(E, -limit, limit)
    return E - E.mean(axis=0)


def beyond_chance(r, c, q):
    """(r - chance) / (1 - chance), chance = c / (q - 1); 0 where q is too small."""
    chance = c / max(q - 1, 1e-12)
    return (r - chance) / (1 - chance) if chance < 1 else 0.0


def missingness(graphs, mask, c):
    """Adjusted R^2 of "v is observed" on E_u, over the samples of u; (V, V)."""
    V = mask.shape[1]
    result = np.zeros((V, V))
    for u, (rows, E) in enumerate(zip(graphs.rows, graphs.E)):
        for v in range(V):
            share = mask[rows, v].mean()
            if 0 < share < 1 and len(rows) > 2 * c + 2:
                sums = E[mask[rows, v]].sum(axis=0)
                explained = np.square(sums).sum() / (len(rows) * share * (1 - share))
                result[u, v] = beyond_chance(explained, c, len(rows))
    return result
