"""Step 5 of AnchorBridge: the completed rows R = Z_p L_p, without n-row matrices.

R = [w_1 Z~_1 | ... | w_V Z~_V] for every graph, side by side, and at its end the mask
block [M, 1 - M] / V where it is asked for. For the samples of a pattern p, R = Z_p L_p
with a small L_p, so what the joint spectrum needs of them is in Z_p'Z_p.

    w_v   view weights         P_uv   anchors of u -> anchors of v, rows sum to one
    a_uv  agreement            T_p    block of L_p from seen anchors to unseen views
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from imvc.kernels._anchor_graph import weights_to_csr
from imvc.kernels._distances import block_slices
from imvc.scale import embed_rows

_ROW_ENTRIES = 1 << 21  # entries of one block of rows of R


@dataclass(frozen=True)
class Bridge:
    """Step 4 for one graph: how the anchor weights of unseen views are filled in.

    Parameters
    ----------
    sizes : tuple of int
        Anchors m_v of the views.
    weights : ndarray of shape (V,)
    agreement : ndarray of shape (V, V)
    transfer : dict
        (u, v) -> P_uv (m_u, m_v).
    """

    sizes: tuple
    weights: np.ndarray
    agreement: np.ndarray
    transfer: dict

    def shares(self, mask):
        """a_uv / sum_{x seen} a_xv per sample: (n, V, V), zero unless u seen, v not."""
        seen = mask[:, :, None] * self.agreement
        total = seen.sum(axis=1, keepdims=True)
        return np.where(mask[:, None, :], 0, seen / total)

    def fill(self, p):
        """T_p: from the anchors of the views in ``p`` to those of the others."""
        unseen = [v for v in range(len(self.sizes)) if v not in p]
        seen = np.isin(np.arange(len(self.sizes)), p)
        share = self.shares(seen[None])[0]
        if not unseen:
            return np.zeros((sum(self.sizes[u] for u in p), 0))
        return np.block(
            [
                [self.weights[v] * share[u, v] * self.transfer[u, v] for v in unseen]
                for u in p
            ]
        )


@dataclass(frozen=True)
class JointGraph:
    """All graphs side by side; knows no sample.

    Parameters
    ----------
    bridges : list of Bridge
        One per kind of features.
    shares : tuple of float
        Weight of every kind in the joint graph, sum one.
    by_pattern : bool
        Whether rows are embedded by pattern, or one by one: for so many patterns.
    mask_share : float
        omega: weight of the mask block; 0: there is none.
    """

    bridges: list
    shares: tuple
    by_pattern: bool = True
    mask_share: float = 0.0

    @property
    def n_views(self):
        return len(self.bridges[0].sizes)

    @cached_property
    def sizes(self):
        """Anchors of every graph and view: the columns of R before the mask block."""
        return tuple(m for bridge in self.bridges for m in bridge.sizes)

    @cached_property
    def offsets(self):
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def width(self):
        return self.offsets[-1] + (2 * self.n_views if self.mask_share else 0)

    @cached_property
    def factors(self):
        """Square root of each column's graph's share in B."""
        kinds = np.repeat(self.shares, [sum(b.sizes) for b in self.bridges])
        mask = np.full(self.width - self.offsets[-1], self.mask_share)
        return np.sqrt(np.append((1 - self.mask_share) * kinds, mask))

    def mask_rows(self, mask):
        """[M, 1 - M] / V, or no columns."""
        if not self.mask_share:
            return np.empty((len(mask), 0))
        return np.hstack([mask, ~mask]) / self.n_views

    def own_views(self, p):
        """Views of a pattern of the stacked views, which holds each once per graph."""
        return tuple(v for v in p if v < self.n_views)

    def statistics(self, grams, dtype=np.float64, map=map):
        """``(R'R, column sums of R)`` from the PatternGrams of the stacked views.

        Products of a pattern are made in ``dtype``, their sum in float64. Threads share
        the work on one pattern, since those on several would need a matrix each.
        """
        N, degrees = np.zeros((self.width, self.width)), np.zeros(self.width)
        for p in grams.patterns:
            group, p = grams.groups[p], self.own_views(p)
            sums = self._add_pattern(N, group, p, dtype, map)
            degrees[: len(sums)] += sums
            if self.mask_share:
                self._add_mask(N, degrees, group.count, p, sums.astype(dtype))
        return N, degrees

    def _add_pattern(self, N, group, p, dtype, map):
        """Add L_p'G_pL_p of the samples of a pattern; the column sums of Z_pL_p."""
        G, sums = group.dense().astype(dtype, copy=False), group.column_sums
        degrees = np.zeros(self.offsets[-1])
        half = np.zeros((len(G), self.width), dtype)  # G_p L_p
        pieces = list(self._pieces(p, dtype))

        def from_right(piece):
            columns, rows, L = piece
            half[:, columns] = G[:, rows] * L if np.isscalar(L) else G[:, rows] @ L
            degrees[columns] = sums[rows] * L if np.isscalar(L) else sums[rows] @ L

        def from_left(piece):
            columns, rows, L = piece
            N[columns] += L * half[rows] if np.isscalar(L) else L.T @ half[rows]

        for step in (from_right, from_left):
            for _ in map(step, pieces):
                pass
        return degrees

    def _add_mask(self, N, degrees, count, p, sums):
        """Add what the mask block's row of a pattern has in common with all columns."""
        mask, row = self.offsets[-1], self._mask_row(p)
        shared = np.outer(row, sums).astype(sums.dtype)
        N[mask:, :mask] += shared
        N[:mask, mask:] += shared.T
        N[mask:, mask:] += (count * np.outer(row, row)).astype(sums.dtype)
        degrees[mask:] += count * row

    def _pieces(self, p, dtype):
        """L_p by view of R: its columns, the rows of Z_p they come from, and how.

        How is a weight for the own columns of a seen view, or a matrix.
        """
        start = 0
        for g, bridge in enumerate(self.bridges):
            ends = start + np.cumsum([0] + [bridge.sizes[u] for u in p])
            rows = slice(start, start := int(ends[-1]))
            unseen = [m for v, m in enumerate(bridge.sizes) if v not in p]
            filled = pairwise(np.cumsum([0, *unseen]))
            fill = bridge.fill(p).astype(dtype)
            for v in range(self.n_views):
                at = g * self.n_views + v
                columns = slice(self.offsets[at], self.offsets[at + 1])
                if v in p:
                    i = p.index(v)
                    yield columns, slice(ends[i], ends[i + 1]), float(bridge.weights[v])
                else:
                    yield columns, rows, fill[:, slice(*next(filled))]

    def _mask_row(self, p):
        """The mask block's row, the same for every sample of the pattern."""
        return self.mask_rows(np.isin(np.arange(self.n_views), p)[None])[0]

    def coefficients(self, p, W, constant):
        """``[constant, L_p W]``: a sample's coordinates from its graph rows."""
        p = self.own_views(p)
        # Graph rows sum to one per view and graph: what is the same for all samples of
        # a pattern is spread evenly over its columns.
        spread = 1 / (len(p) * len(self.bridges))
        same = spread * self._mask_row(p) @ W[self.offsets[-1] :]
        rows = sum(bridge.sizes[v] for bridge in self.bridges for v in p)
        C = np.full((rows, 1 + W.shape[1]), spread * constant)
        C[:, 1:] = same
        for columns, at, L in self._pieces(p, W.dtype):
            C[at, 1:] += L * W[columns] if np.isscalar(L) else L @ W[columns]
        return C

    def row_blocks(self, rows):
        """Blocks ``(slice, R)`` of dense rows of R: many patterns, few samples."""
        position = np.cumsum(rows.mask, axis=0) - 1
        for part in block_slices(rows.n_samples, self.width, _ROW_ENTRIES):
            mask = rows.mask[part, : self.n_views]
            R = np.zeros((len(mask), self.width))
            R[:, self.offsets[-1] :] = self.mask_rows(mask)
            for g, bridge in enumerate(self.bridges):
                share = bridge.shares(mask)
                for u in range(self.n_views):
                    seen = np.flatnonzero(mask[:, u])
                    indices, weights = rows.graphs[g * self.n_views + u]
                    at = position[part][seen, u]
                    Z = weights_to_csr(indices[at], weights[at], bridge.sizes[u])
                    self._add_rows(R, g, bridge, u, seen, Z, share)
            yield part, R

    def _add_rows(self, R, g, bridge, u, seen, Z, share):
        """What the samples ``seen`` in view u of graph g bring to all views of R."""
        for v in range(self.n_views):
            at = g * self.n_views + v
            columns = slice(self.offsets[at], self.offsets[at + 1])
            if v == u:
                R[seen, columns] += bridge.weights[u] * Z.toarray()
                continue
            fills = np.flatnonzero(share[seen, u, v])
            factor = bridge.weights[v] * share[seen[fills], u, v]
            moved = Z[fills] @ bridge.transfer[u, v]
            R[seen[fills], columns] += factor[:, None] * moved

    def row_statistics(self, rows):
        """`statistics` of a block through rows of R, O(n width^2)."""
        N, degrees = np.zeros((self.width, self.width)), np.zeros(self.width)
        for _, R in self.row_blocks(rows):
            N += R.T @ R
            degrees += R.sum(axis=0)
        return N, degrees

    def embed(self, rows, W, constant, dtype, known=None):
        """Rows ``[constant, r W]`` of a block of GraphRows, (n, 1 + columns of W).

        ``known`` is a dict that keeps `coefficients` for the next block.
        """
        d, known = 1 + W.shape[1], {} if known is None else known
        if not self.by_pattern:
            Y = np.empty((rows.n_samples, d), dtype)
            Y[:, 0] = constant
            for part, R in self.row_blocks(rows):
                Y[part, 1:] = R @ W
            return Y

        def coefficients(p):
            if p not in known:
                known[p] = self.coefficients(p, W, constant).astype(dtype)
            return known[p]

        return embed_rows(rows, self.sizes, coefficients, d, dtype)


def many_patterns(patterns, sizes, n):
    """Whether the patterns have more columns together than there are samples.

    Parameters
    ----------
    patterns : sequence of Pattern
        Of the views of all kinds.
    sizes : sequence of int
        Anchors of every kind and view.
    n : int
    """
    sizes = np.asarray(sizes)
    return sum(sizes[list(p.views)].sum() for p in patterns) > n
