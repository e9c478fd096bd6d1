"""Step 3 of AnchorBridge: what the views' own spectra say about each other.

E_v   the c leading non-constant left singular vectors of view v's graph
s_v   their singular values: how sharply the view falls into clusters
a_uv  chance-corrected mean squared canonical correlation of E_u and E_v
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from imvc.kernels._anchor_graph import weights_to_csr
from imvc.kernels._patterns import (
    RANK_TOL,
    PatternGrams,
    inverse_sqrt,
    leading_eigh,
)

FLOOR = 0.01  # agreement of views that do not agree, or share too few samples
_CLIP = 2.5  # root mean squares; beyond, two or three samples can fake agreement


@dataclass(frozen=True)
class KindGraphs:
    """The graphs of one kind of features, of all views, on the learning samples.

    Parameters
    ----------
    grams : PatternGrams
        Of all kinds so far.
    first : int
        Number of this kind's view 0 among the views of ``grams``.
    rows : list of ndarray
        Samples of every view, ascending.
    E : list of ndarrays (n_v, c)
    values : list of ndarrays (c,)
        Squared singular values past the constant vector's, zero past the rank.
    """

    grams: PatternGrams
    first: int
    rows: list
    E: list
    values: list

    @classmethod
    def of(cls, rows, grams, kind, n_views, c, map):
        """One kind of GraphRows."""
        own = range(kind * n_views, (kind + 1) * n_views)

        def left_vectors(i):
            degrees = grams.column_sums(i)
            scale = inverse_sqrt(degrees)
            found = leading_without_constant(grams.cross(i, i), degrees, scale, c)
            T = scale[:, None] * found[1] * inverse_sqrt(found[0])
            indices, weights = rows.graphs[i]
            return weights_to_csr(indices, weights, len(T)) @ T, found[0]

        E, values = zip(*map(left_vectors, own))
        seen = [np.flatnonzero(rows.mask[:, i]) for i in own]
        return cls(grams, own.start, seen, list(E), list(values))

    @property
    def sizes(self):
        """Anchors of every view."""
        return self.grams.sizes[self.first : self.first + len(self.rows)]

    def shared(self, u, v):
        """Which of the rows of u and of v belong to samples seen in both."""
        both = np.intersect1d(self.rows[u], self.rows[v], assume_unique=True)
        return np.searchsorted(self.rows[u], both), np.searchsorted(self.rows[v], both)

    def sharpness(self, c):
        """Mean of the c - 1 leading squared singular values of every view."""
        q = max(c - 1, 1)
        return np.array([values[:q].sum() / q for values in self.values])


def leading_without_constant(gram, degrees, scale, d):
    """Leading eigenpairs of the scaled Gram matrix past the constant vector's.

    The constant is a left singular vector of value one exactly, and its right partner
    is known; taking it out beforehand keeps it apart from other vectors of value one
    (a graph in pieces).
    """
    constant = scale * degrees
    S = gram * scale[:, None] * scale
    S -= np.outer(constant, constant) / (constant @ constant)
    values, Q = leading_eigh((S + S.T) / 2, d)
    values[values <= RANK_TOL] = 0
    return values, Q


def agreement(graphs, c):
    """a_uv of one kind: correlations beyond chance, at least 0.01; diagonal 1."""
    V = len(graphs.E)
    a = np.full((V, V), FLOOR)
    np.fill_diagonal(a, 1)
    for u, v in combinations(range(V), 2):
        at_u, at_v = graphs.shared(u, v)
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
