"""ImputeKMeans: mean imputation, concatenation, k-means; the floor to beat.

No paper; what everybody tries first. Specification: docs/methods/impute_kmeans.md.

    min  sum_i |e_i - m_{k(i)}|^2    over centres m and labels k

    e_i   the views of sample i side by side, each scaled; a missing one is the mean of
          the samples that have it
"""

from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import column_moments, merge_moments, unit_rows
from imvc.kernels._distances import block_slices
from imvc.kernels._kmeans import assign
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._cost import check_memory
from imvc.methods._inductive import InductiveMixin
from imvc.methods._parameters import estimator
from imvc.scale import map_observed, threaded_map


@estimator
class ImputeKMeans(InductiveMixin, EmbeddingClusterer):
    """k-means on all views side by side, missing ones at the mean of the others.

    The floor: a method that does not beat it has learnt nothing from the views.

    Parameters
    ----------
    scale : {"unit", "standard"} or None, default="unit"
        What makes the views comparable. "unit": every sample of a view to length one,
        so that all views weigh alike whatever their width, as in the other methods.
        "standard": every feature to mean zero and deviation one, so that a view weighs
        by its number of features. None: features as they are, so that the view with
        the largest variance decides.
    verbose : int, default=0
        1 writes stages, 2 also the objective, to standard error.
    callback : callable, optional
        Called once, as ``callback(1, inertia)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, sum of n_features)
        The scaled views side by side, imputed; dense.
    means_ : list of ndarray, (n_features[v],)
        What stands for a missing sample: the mean of the scaled observed rows.
    cluster_centers_ : ndarray of shape (n_clusters, sum of n_features)
    objective_ : ndarray of shape (1,)
        The inertia.
    n_iter_, converged_ : int, bool
        1 and True: there is nothing to alternate.
    pattern_leakage_ : float
        Adjusted mutual information of ``labels_`` and the missing pattern. Imputed
        samples crowd around the means, so it is often high here.

    References
    ----------
    D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA
    2007, for the starts.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import ImputeKMeans
    >>> data = make_views(200, (5, 6, 7), 3, incomplete=0.5, random_state=0)
    >>> model = ImputeKMeans(n_clusters=3, random_state=0)
    >>> model.fit(data.Xs, mask=data.mask).embedding_.shape
    (200, 18)
    >>> model.predict([data.Xs[0][:2], None, None]).shape
    (2,)
    """

    scale: Literal["unit", "standard"] | None = "unit"
    n_jobs: int | None = None

    _order_of_views_matters = False

    def _embed(self, views, rng):
        E = empty_rows(views)
        with threaded_map(self.n_jobs) as map:
            with self._stage("means"):
                self._scales = [
                    column_scale(views, v, self.scale, map)
                    for v in range(views.n_views)
                ]
                self.means_ = [scale.mean for scale in self._scales]
            with self._stage("imputation"):
                return impute(E, views, self._scales, map)

    def _partition(self, seed, map):
        super()._partition(seed, map)
        self._record([self.inertia_], True)
        self._report(1, self.inertia_)

    def _transform(self, Xs, mask):
        views = self._seen_views(Xs, mask)
        with threaded_map(self.n_jobs) as map:
            X = impute(empty_rows(views), views, self._scales, map)
        return X, views.sample_ids

    def _predict(self, Xs, mask):
        X, ids = self._transform(Xs, mask)
        return assign(X, self.cluster_centers_)[0], ids

    def _get_state(self):
        arrays = {f"center{v}": scale.center for v, scale in enumerate(self._scales)}
        for v, scale in enumerate(self._scales):
            arrays[f"deviation{v}"] = scale.deviation
        return arrays, {}

    def _set_state(self, arrays, values, sizes):
        sizes.check(
            "cluster_centers_", self.cluster_centers_, "float c p",
            p=sum(self.n_features_in_),
        )  # fmt: skip
        self._scales = []
        for v, mean in enumerate(self.means_):
            center, deviation = arrays.get(f"center{v}"), arrays.get(f"deviation{v}")
            sizes.check(f"centre of view {v}", center, "float p", p=len(mean))
            sizes.check(f"deviation of view {v}", deviation, "positive p", p=len(mean))
            self._scales.append(ColumnScale(self.scale, center, deviation, mean))


@dataclass(frozen=True)
class ColumnScale:
    """How rows of a view are scaled, and the mean of the scaled rows of the fit."""

    kind: str | None
    center: np.ndarray
    deviation: np.ndarray
    mean: np.ndarray

    def __call__(self, X):
        """Scaled dense rows of a block."""
        X = X.toarray() if sp.issparse(X) else X
        if self.kind == "standard":
            return (X - self.center) / self.deviation
        return unit_rows(X) if self.kind == "unit" else X


def column_scale(views, v, kind, map):
    """The scale of view ``v``: one pass over its rows, sums in float64."""

    def moments(X):
        return column_moments(unit_rows(X) if kind == "unit" else X)

    count, mean, squares = reduce(
        merge_moments, map_observed(moments, views, v, map=map)
    )
    if kind != "standard":
        return ColumnScale(kind, np.zeros_like(mean), np.ones_like(mean), mean)
    deviation = np.sqrt(squares / count)
    # The rounding of a constant column must not be blown up to deviation one.
    deviation[deviation <= 8 * np.finfo(views.dtype).eps * np.abs(mean)] = 1
    return ColumnScale(kind, mean, deviation, np.zeros_like(mean))


def empty_rows(views):
    """Room for all views side by side, or a MemoryError that says how much it is."""
    n, width, dtype = views.n_samples, sum(views.n_features), views.dtype
    check_memory(
        n * width * dtype.itemsize,
        f"ImputeKMeans: a dense table of {n} samples and {width} features",
    )
    return np.empty((n, width), dtype)


def impute(E, views, scales, map):
    """Write the scaled views into ``E``, their means where a sample is missing.

    Block by block, so that beside ``E`` nothing of its size exists.
    """
    stop = 0
    for v, scale in enumerate(scales):
        start, stop = stop, stop + views.n_features[v]
        fill_view(E[:, start:stop], views, v, scale, map)
    return E


def fill_view(E_v, views, v, scale, map):
    """The columns of ``E`` that belong to view ``v``."""
    rows = views.rows(v)
    complete = len(rows) == views.n_samples
    if not complete:
        E_v[~views.mask[:, v]] = scale.mean

    def write(part):
        chosen = part if complete else rows[part]
        E_v[chosen] = scale(views.take(v, chosen))

    for _ in map(write, block_slices(len(rows), views.n_features[v])):
        pass
