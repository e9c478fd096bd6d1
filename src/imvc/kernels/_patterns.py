"""Gram matrices of incomplete anchor graphs by missing pattern, and eigenvectors.

A *pattern* is a tuple of view numbers; the samples observed in exactly these views
form its group. The graph rows of a group stand side by side, Z_p = [Z_v : v in p]
(n_p x M_p), and what the solvers need of them is the Gram matrix Z_p'Z_p: it does not
grow with the number of samples, and it adds up over blocks of rows.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

_FEW = 8  # with fewer than 1/8 as many weights as entries a sparse product is faster
RANK_TOL = 1e-12  # eigenvalues at or below this share of the largest are noise
_LANCZOS_SIZE, _LANCZOS_SHARE = 600, 12  # where a few of many vectors pay off
_RESTARTS = (
    {"rng": 0} if "rng" in signature(scipy.sparse.linalg.eigsh).parameters else {}
)
_ALL_SHARE = 5  # from this share on, all vectors cost less than some of them


def group_rows(graphs, sizes, dtype=np.float64):
    """CSR matrix [Z_v : v in p] of one group from its graph rows.

    Parameters
    ----------
    graphs : list of (indices, weights), each of shape (n_p, k_v)
    sizes : list of int
        Number of anchors of these views.
    """
    n, ends = len(graphs[0][0]), np.cumsum([0] + [g[0].shape[1] for g in graphs])
    indices, weights = np.empty((n, ends[-1]), np.int32), np.empty((n, ends[-1]), dtype)
    offset = 0
    for (own, values), size, (start, stop) in zip(graphs, sizes, pairwise(ends)):
        np.add(own, offset, out=indices[:, start:stop], dtype=np.int32)
        weights[:, start:stop] = values
        offset += size
    k = int(ends[-1])
    indptr = np.arange(0, n * k + 1, k) if k else np.zeros(n + 1, int)
    return sp.csr_matrix(
        (weights.ravel(), indices.ravel(), indptr.astype(np.int32)), shape=(n, offset)
    )


@dataclass(frozen=True)
class SmallGroup:
    """Statistics of a small group: its rows, while these are fewer numbers than G_p.

    All rows have the same number of entries.
    """

    rows: sp.csr_matrix

    @property
    def count(self):
        return self.rows.shape[0]

    @property
    def column_sums(self):
        return np.asarray(self.rows.sum(axis=0)).ravel()

    def __add__(self, other):
        if isinstance(other, SmallGroup):
            return _group(sp.vstack([self.rows, other.rows], format="csr"))
        return other + self

    def dense(self):
        (n, m), Z = self.rows.shape, self.rows
        if Z.nnz * _FEW < m**2:
            return (Z.T @ Z).toarray()
        turned = (array.reshape(n, -1).T.copy() for array in (Z.indices, Z.data))
        return _own_gram(tuple(turned), m)

    def apply(self, C):
        return self.rows.T @ (self.rows @ C)

    def scaled(self, scale):
        rows = self.rows.copy()
        rows.data *= scale[rows.indices]
        return SmallGroup(rows)

    def to_tree(self):
        Z = self.rows
        return np.array(Z.shape), Z.data, Z.indices, Z.indptr

    @classmethod
    def from_tree(cls, shape, *csr):
        return cls(sp.csr_matrix(csr, shape=tuple(shape)))

    def spread(self, columns, width):
        """The rows with their entries moved to ``columns`` of a wider matrix."""
        Z = self.rows
        return sp.csr_matrix(
            (Z.data, columns[Z.indices], Z.indptr), shape=(Z.shape[0], width)
        )


@dataclass(frozen=True)
class LargeGroup:
    """Statistics of a large group: its Gram matrix G_p."""

    count: int
    column_sums: np.ndarray
    gram: np.ndarray

    def __add__(self, other):
        return LargeGroup(
            self.count + other.count,
            self.column_sums + other.column_sums,
            self.gram + other.dense(),
        )

    def to_tree(self):
        return self.count, self.column_sums, self.gram

    def dense(self):
        return self.gram

    def apply(self, C):
        return self.gram @ C

    def scaled(self, scale):
        gram = self.gram * scale[:, None] * scale
        return LargeGroup(self.count, self.column_sums * scale, gram)


def _group(rows):
    """Statistics of the rows of a pattern, in the smaller of the two forms."""
    small = SmallGroup(rows)
    if rows.nnz < rows.shape[1] ** 2:
        return small
    return LargeGroup(small.count, small.column_sums, small.dense())


def _group_of(graphs, sizes, dense=False, skip=0):
    """Statistics of graph rows; of a Gram matrix only the upper blocks are computed.

    What the first ``skip`` columns have to do with each other is left open.
    """
    n, width = len(graphs[0][0]), sum(sizes)
    few = n * sum(indices.shape[1] for indices, _ in graphs) < width**2
    if few and not dense:
        return SmallGroup(group_rows(graphs, sizes))
    # Turned, so that every step below runs over long contiguous arrays.
    turned = [
        (np.array(i.T, np.int32, order="C"), np.array(w.T, np.float64, order="C"))
        for i, w in graphs
    ]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    at = [slice(*pair) for pair in pairwise(offsets)]
    gram = np.zeros((width, width))
    for u, (graph, m) in enumerate(zip(turned, sizes)):
        if at[u].stop > skip:
            gram[at[u], at[u]] = _own_gram(graph, m)
        for v in range(u + 1, len(turned)):
            if at[v].stop > skip:
                gram[at[u], at[v]] = _cross_gram(graph, turned[v], m, sizes[v])
                gram[at[v], at[u]] = gram[at[u], at[v]].T
    sums = [_add_up(i, w, m) for (i, w), m in zip(turned, sizes)]
    return LargeGroup(n, np.concatenate(sums), gram)


def _own_gram(graph, m):
    """Z'Z of turned graph rows (k, n); a pair of entries is added once and mirrored."""
    indices, weights = graph
    half = np.zeros(m * m)
    for q in range(1, len(indices)):
        codes = indices[q] * np.int32(m) + indices[:q]
        half += _add_up(codes, weights[q] * weights[:q], m * m)
    gram = half.reshape(m, m) + half.reshape(m, m).T
    gram.flat[:: m + 1] += _add_up(indices, np.square(weights), m)
    return gram


def _cross_gram(left, right, m_left, m_right):
    """Z_u'Z_v of turned graph rows (k, n) of the same samples."""
    gram = np.zeros(m_left * m_right)
    for indices, weights in zip(*left):
        codes = indices * np.int32(m_right) + right[0]
        gram += _add_up(codes, weights * right[1], gram.size)
    return gram.reshape(m_left, m_right)


def _add_up(codes, values, size):
    """Sum of the values of every code, (size,).

    As `numpy.bincount`, which holds the interpreter lock and looks at the codes twice:
    a sparse row adds up its repeated columns on the way to a dense one.
    """
    ends = np.array([0, codes.size], codes.dtype)
    row = sp.csr_matrix((values.ravel(), codes.ravel(), ends), shape=(1, size))
    return row.toarray()[0]


@dataclass(frozen=True)
class PatternGrams:
    """The Gram matrices G_p = Z_p'Z_p of all patterns, and sums of their blocks.

    Parameters
    ----------
    sizes : tuple of int
        Number of anchors m_v of every view.
    groups : dict
        Pattern (tuple of views) -> statistics of its group.

    Notes
    -----
    Memory O(sum_p min(n_p |p| k, M_p^2)): with many views most groups are small, and
    a small group keeps its rows instead of a Gram matrix.
    """

    sizes: tuple
    groups: dict = field(repr=False)

    @property
    def patterns(self):
        """The patterns that occur, in a fixed order."""
        return tuple(sorted(self.groups))

    def __add__(self, other):
        if self.sizes != other.sizes:
            raise ValueError("statistics of different anchors cannot be added.")
        groups = dict(self.groups)
        for p, group in other.groups.items():
            groups[p] = groups[p] + group if p in groups else group
        return PatternGrams(self.sizes, groups)

    def part(self, p, v):
        """Where the anchors of view ``v`` stand among the columns of pattern ``p``."""
        start = sum(self.sizes[u] for u in p[: p.index(v)])
        return slice(start, start + self.sizes[v])

    def apply(self, p, C):
        """G_p C, in O(min(n_p |p| k, M_p^2) d)."""
        return self.groups[p].apply(C)

    def count(self, p):
        """Number of samples of pattern ``p``."""
        return self.groups[p].count

    @cached_property
    def offsets(self):
        """First column of every view among all anchors, and their total number."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def columns(self, p):
        """Where the columns of pattern ``p`` stand among all anchors."""
        return np.concatenate(
            [np.arange(self.offsets[v], self.offsets[v + 1]) for v in p]
        )

    @cached_property
    def total(self):
        """Sum over patterns of the G_p: block (u, v) is Z_u'Z_v over shared samples."""
        M, small = self.offsets[-1], []
        K = np.zeros((M, M))
        for p in self.patterns:
            columns, group = self.columns(p), self.groups[p]
            if isinstance(group, SmallGroup):
                small.append(group.spread(columns, M))
            else:
                K[np.ix_(columns, columns)] += group.dense()
        if small:  # all of them in one product: there may be thousands
            Z = sp.vstack(small, format="csr")
            K += (Z.T @ Z).toarray()
        return K

    def to_tree(self):
        """Arrays in lists and tuples, for files; `from_tree` is the inverse."""
        return self.sizes, [(p, group.to_tree()) for p, group in self.groups.items()]

    @classmethod
    def from_tree(cls, tree):
        sizes, found = tree
        kinds = {3: LargeGroup, 4: SmallGroup.from_tree}
        return cls(sizes, {p: kinds[len(parts)](*parts) for p, parts in found})

    def cross(self, u, v):
        """Z_u'Z_v over the samples observed in both views, (m_u, m_v)."""
        o = self.offsets
        return self.total[o[u] : o[u + 1], o[v] : o[v + 1]]

    def block(self, u, v):
        """`cross` of dense statistics, where only few of all blocks are asked for."""
        result = np.zeros((self.sizes[u], self.sizes[v]))
        for p in self.patterns:
            if u in p and v in p:
                result += self.groups[p].gram[self.part(p, u), self.part(p, v)]
        return result

    def column_sums(self, v):
        """Degrees of the anchors of view ``v``."""
        parts = [
            self.groups[p].column_sums[self.part(p, v)] for p in self.patterns if v in p
        ]
        return sum(parts, np.zeros(self.sizes[v]))

    def normalized(self, n_views):
        """Statistics of Z_v D_v^{-1/2}, D_v the degrees of the anchors; the scales.

        Columns behind those of the first ``n_views`` views stay as they are.
        """
        scales = [
            inverse_sqrt(self.column_sums(v)) if v < n_views else np.ones(self.sizes[v])
            for v in range(len(self.sizes))
        ]
        return self.scaled(scales), scales

    def scaled(self, scales):
        """The statistics of Z_v diag(scales[v])."""
        return PatternGrams(
            self.sizes,
            {
                p: group.scaled(np.concatenate([scales[v] for v in p]))
                for p, group in self.groups.items()
            },
        )


@dataclass(frozen=True)
class PatternMap:
    """A linear function of graph rows, one per pattern: y = z C_p.

    Parameters
    ----------
    coefficients : dict
        Pattern -> C_p (M_p, d), for the patterns that it was learnt on.
    feedback, inputs : lists of (d, d) and (m_v, d)
        A step y <- y R_p + z J_p on a single sample, with R_p and J_p collected from
        the views of p: its fixed point serves patterns that were never seen.
    averaged : bool
        Whether views enter R_p and J_p by their mean or their sum.
    """

    coefficients: dict
    feedback: list
    inputs: list
    averaged: bool = False

    def __call__(self, p):
        """C_p; from the step where the pattern is new."""
        if p in self.coefficients:
            return self.coefficients[p]
        R, J = sum(self.feedback[v] for v in p), np.vstack([self.inputs[v] for v in p])
        if self.averaged:
            R, J = R / len(p), J / len(p)
        return np.linalg.lstsq((np.eye(len(R)) - R).T, J.T, rcond=None)[0].T

    def scaled(self, scales):
        """The same function of graph rows whose columns were not yet scaled."""
        return replace(
            self,
            coefficients={
                p: np.concatenate([scales[v] for v in p])[:, None] * C
                for p, C in self.coefficients.items()
            },
            inputs=[s[:, None] * J for s, J in zip(scales, self.inputs)],
        )

    def of_views(self, n_views):
        """The same function of the first ``n_views`` views alone."""
        kept = {}
        for p, C in self.coefficients.items():
            views = tuple(v for v in p if v < n_views)
            kept[views] = C[: sum(len(self.inputs[v]) for v in views)]
        return replace(self, coefficients=kept)


def pattern_grams(groups, sizes, *, dense=False, known=None):
    """PatternGrams of blocks of graph rows, added in their order.

    Parameters
    ----------
    groups : iterable of (pattern, graphs)
        ``graphs`` holds, for the views of the pattern, the (indices, weights) of the
        same samples; a pattern may come in several blocks.
    sizes : tuple of int
    dense : bool
        Whether small groups get a Gram matrix, too.
    known : PatternGrams, optional
        Dense, of the first few views of the same samples.
    """
    total, done = PatternGrams(sizes, {}), {}
    for p, graphs in groups:
        if known is not None:
            done[p] = known.groups[tuple(v for v in p if v < len(known.sizes))].gram
        skip = len(done.get(p, ()))
        group = _group_of(graphs, [sizes[v] for v in p], dense, skip)
        total += PatternGrams(sizes, {p: group})
    for p, gram in done.items():
        total.groups[p].gram[: len(gram), : len(gram)] = gram
    return total


def leading_eigh(S, d):
    """The ``d`` leading eigenpairs of a symmetric positive semi-definite ``S``.

    Returns
    -------
    values : ndarray of shape (d,), descending
    vectors : ndarray of shape (q, d)

    Directions with eigenvalues at or below 1e-12 of the largest (or beyond q) carry
    no information: both value and vector are zero there. Signs are fixed. O(q^3), or
    O(q^2 d) by Lanczos iteration, to machine precision, for few of many.
    """
    q = S.shape[0]
    top = min(d, q)
    values = np.zeros(d)
    vectors = np.zeros((q, d))
    if top:
        found, Q = _largest(S, q, top)
        Q = fix_signs(Q)
        kept = found > RANK_TOL * max(found[0], 0)
        values[:top][kept] = found[kept]
        vectors[:, :top][:, kept] = Q[:, kept]
    return values, vectors


def _largest(S, q, top):
    """The ``top`` largest eigenpairs, descending."""
    if q >= _LANCZOS_SIZE and _LANCZOS_SHARE * top <= q:
        start = np.sin(1.0 + np.arange(q))  # any fixed vector that is no eigenvector
        try:
            found, Q = lanczos(S, top, start, which="LA")
        except scipy.sparse.linalg.ArpackError:
            pass
        else:
            order = np.argsort(-found, kind="stable")
            return found[order], Q[:, order]
    found, Q = dense_eigh(S, q - top, q)
    return found[::-1], Q[:, ::-1]


def dense_eigh(S, start, stop):
    """Eigenpairs ``start`` to ``stop - 1`` of a dense symmetric ``S``, ascending.

    Where eigenvalues repeat, LAPACK's solver for some of them may find fewer than it
    was asked for, and says nothing. All of them are sought then, by another one.
    """
    if _ALL_SHARE * (stop - start) < len(S):
        try:
            found, Q = scipy.linalg.eigh(
                S, subset_by_index=(start, stop - 1), driver="evr"
            )
        except scipy.linalg.LinAlgError:
            pass
        else:
            if len(found) == Q.shape[1] == stop - start and np.isfinite(Q).all():
                return found, Q
    found, Q = scipy.linalg.eigh(S, driver="evd")
    return found[start:stop], Q[:, start:stop]


def lanczos(S, k, v0, **options):
    """`scipy.sparse.linalg.eigsh` that gives the same every time.

    Where a graph falls apart it goes on from new vectors, which SciPy from 1.17 on
    draws anew for every call.
    """
    return scipy.sparse.linalg.eigsh(S, k, v0=v0, **_RESTARTS, **options)


def fix_signs(V):
    """Columns of ``V`` with their entry of largest magnitude made positive."""
    if V.size == 0:
        return V
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return V * np.where(largest < 0, -1.0, 1.0)


def inverse_sqrt(values):
    """Entrywise ``values^{-1/2}``, 0 where a value is 0.

    So a direction without information, or an anchor that nobody uses, drops out.
    """
    result = np.zeros_like(values)
    np.divide(1, np.sqrt(values), out=result, where=values > 0)
    return result
