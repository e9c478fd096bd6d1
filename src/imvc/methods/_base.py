"""What all methods share: validation, the walk from views to labels, attributes.

    fit -> _fit: check -> forget an earlier fit -> remember the views -> _learn -> tell

`_learn` sets ``embedding_``, ``labels_`` and the rest; most methods have it from
`EmbeddingClusterer` and only say how samples are embedded.
"""

import logging
import sys
from abc import ABCMeta, abstractmethod
from contextlib import contextmanager
from dataclasses import field
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from imvc._warn import warn_user
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._kmeans import kmeans
from imvc.methods._iterations import Iterations
from imvc.methods._output import as_labels, choose_output, result_table
from imvc.methods._parameters import (
    Callback,
    Count,
    Seed,
    Verbosity,
    estimator,
)
from imvc.methods._sklearn import BaseEstimator, ClusterMixin
from imvc.metrics import pattern_leakage
from imvc.metrics._batch_labels import batch_codes, batch_leakage
from imvc.scale import (
    CellFill,
    SafeRange,
    ThreadRunner,
    ViewsSource,
    fill_source,
    threaded_map,
)
from imvc.views import SAFE_SIZE, IncompleteViews, as_views, name_order

logger = logging.getLogger(__name__)

KEPT = {"error": "error", "fill": "keep", "mean": "keep"}  # missing_values of a fit
_SEED_LIMIT = np.iinfo(np.int32).max
_MOST_ROWS, _FEWEST_ROWS, _MOST_CELLS = 1024, 16, 1 << 22  # that are looked at
_RUNS = 8  # of consecutive rows: few blocks of a file are read
_STEPS = 1000  # of rounding that differences must be worth


def draw_seed(rng):
    """One integer seed, so that stages do not depend on each other's draws."""
    return int(rng.randint(_SEED_LIMIT))


def check_at_most(name, value, most, what, remedy="lower it"):
    """Refuse a parameter that is larger than the data allow."""
    if value > most:
        raise ValueError(f"{name}={value} exceeds {what}, {most}; {remedy}.")


def padded_unit_rows(views, v):
    """Rows of view ``v`` at length one, dense, in float64; zeros where missing."""
    rows = views.observed(v)
    rows = rows.toarray() if issparse(rows) else rows
    X = np.zeros((views.n_samples, rows.shape[1]))
    X[views.rows(v)] = unit_rows(np.asarray(rows, np.float64))
    return X


def count_anchors(model, views):
    """``n_anchors`` of a model, by default ``n_clusters``; refused if out of range."""
    count = getattr(model, "n_anchors", None) or model.n_clusters
    if not model.n_clusters <= count <= views.n_samples:
        raise ValueError(
            f"n_anchors={count} must lie between n_clusters="
            f"{model.n_clusters} and the number of samples, {views.n_samples}."
        )
    return count


class Learnt:
    """Types of what every `fit` sets; apart, for attributes are no parameters."""

    labels_: np.ndarray
    embedding_: np.ndarray
    cluster_centers_: np.ndarray
    inertia_: float
    objective_: np.ndarray
    n_iter_: int
    converged_: bool
    pattern_leakage_: float
    batch_leakage_: float
    n_features_in_: tuple[int, ...]
    n_views_in_: int
    view_names_: tuple[str, ...]
    sample_ids_: np.ndarray | None
    mask_: np.ndarray | None
    stage_seconds_: dict[str, float]


@estimator
class MultiViewClusterer(Learnt, ClusterMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all methods; documents what several of them share.

    Parameters
    ----------
    n_clusters : int
    n_init : int, default=20
        k-means starts.
    max_iter : int, default=100
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    random_state : int, RandomState instance or None
        Random choices go by the ids of samples and the names of views, where they have
        some, so that the order of neither matters; else by their places.
    verbose : int, default=0
        1 writes stages, 2 also iterations, to standard error.
    callback : callable, optional
        Called as ``callback(iteration, objective)``.
    empty_cells : {"error", "fill", "mean"}, default="error"
        What to do about rows of which some cells are NaN (a row of NaN alone is a
        missing view): raise an error; fill them from the rest of the row by a low-rank
        model of the view, learnt in `fit` and applied to new samples too; or fill in
        column means. Stored NaN of sparse views always get column means.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
    n_iter_ : int
    converged_ : bool
    cluster_centers_ : ndarray of shape (n_clusters, columns of the embedding)
        k-means centres.
    inertia_ : float
        Sum of squared distances to the own centre.
    pattern_leakage_ : float
        Adjusted mutual information of ``labels_`` and the missing pattern; near 0 is
        good, a high value says that the clusters follow what is missing.
    batch_leakage_ : float
        The same of ``labels_`` and the ``batch`` given to `fit`: says whether clusters
        follow a batch. NaN where fewer than two batches are known.
    n_features_in_ : tuple of int
        Features of each view.
    view_names_ : tuple of str
    sample_ids_ : ndarray or None
        Ids of the samples, where they have some.
    mask_ : ndarray of bool, shape (n_samples, n_views), or None
        True where a sample was observed; None if the data were not in memory.
    stage_seconds_ : dict
        Seconds that each stage of the fit took.
    """

    n_clusters: Count = field(kw_only=False)
    n_init: Count = 20
    random_state: Seed = None
    verbose: Verbosity = 0
    callback: Callback = None
    empty_cells: Literal["error", "fill", "mean"] = "error"

    _n_found = 0  # clusters that samples of the fit are in
    _row_normalize = False  # of methods without the parameter: as their paper says

    @property
    def _most_offset(self):
        """How far from zero a view may lie, in terms of its spread, without a warning.

        Rows of length one, as nearly all methods have them, lose what lies along the
        mean row, and digits of the rest.
        """
        return 100 if getattr(self, "scale", "unit") == "unit" else np.inf

    def _clustering_space(self, Y):
        """Rows of the embedding as k-means sees them; `imvc.confidence` needs it."""
        normalize = getattr(self, "row_normalize", self._row_normalize)
        return unit_rows(Y) if normalize else Y

    def fit(
        self, Xs: Any, y: Any = None, *, mask: Any = None, batch: Any = None
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        Xs : list or dict of arrays, DataFrames or None, or IncompleteViews
            One table per view; a row of NaN, a False in ``mask`` or an absent id says
            that the sample has no such view. See `imvc.as_views`.
        y : ignored
        mask : array-like of bool, shape (n_samples, n_views), optional
            True where a sample is observed in a view.
        batch : array-like of shape (n_samples,), optional
            Batch of every sample (a site, a plate, a day), None or NaN where it is not
            known; a pandas Series is aligned by its index where samples have ids. It
            does not change the clusters: ``batch_leakage_`` says whether they follow
            it.

        Returns
        -------
        self
        """
        self._validate_params()
        views = as_views(Xs, mask, missing_values=KEPT[self.empty_cells])
        return self._fit(views, batch)

    def fit_predict(
        self, Xs: Any, y: Any = None, *, mask: Any = None, batch: Any = None
    ) -> np.ndarray | Any:
        """Cluster the samples and return their labels; parameters as in `fit`.

        Returns
        -------
        ndarray of int64, shape (n_samples,), or what `set_output` asks for
        """
        self.fit(Xs, mask=mask, batch=batch)
        return as_labels(self, self.labels_, self.sample_ids_)

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Choose what labels and embeddings come as.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Of `fit_predict` and, where there are such, `predict`, `transform` and
            `fit_transform`: arrays; a pandas Series or DataFrame with the ids of the
            samples as its index; a polars Series or DataFrame. None changes nothing.
            Without a choice ``sklearn.set_config(transform_output=...)`` counts.

        Returns
        -------
        self
        """
        choose_output(self, transform)
        return self

    @property
    def results_(self) -> Any:
        """A table of the samples of the fit: id, cluster, confidence, views.

        Samples without ids are numbered. ``confidence`` is there once
        `imvc.confidence` was computed, ``views`` (the names of those observed) if the
        data were in memory. A pandas DataFrame, or one of polars if `set_output` says
        so.
        """
        check_is_fitted(self, "labels_")
        return result_table(self)

    def _fit(self, data, batch=None):
        """The one way from data, wherever they are, to labels."""
        self._check_against(data)
        if batch is not None:  # a wrong one is told before a long fit
            codes, _ = batch_codes(batch, data.n_samples, data.sample_ids)
        self._forget()
        self._remember(data)
        data = self._ready(data)
        self._learn(data, check_random_state(self.random_state))
        self.batch_leakage_ = float("nan")
        if batch is not None:
            self.batch_leakage_ = batch_leakage(self.labels_, codes)
        self._tell(data)
        return self

    def _ready(self, data):
        """The data in a range of safe squares, empty cells filled if asked for."""
        data = self._bring_into_range(data)
        if self.empty_cells == "error":
            return data
        with self._stage("empty cells"):
            return self._fill_cells(data)

    @abstractmethod
    def _bring_into_range(self, data):
        """Look at the size of the numbers, which sets ``_range``; the data in range."""

    @abstractmethod
    def _fill_cells(self, data):
        """Learn to fill empty cells, which sets ``_fill``; the data without such."""

    def filled_views(self, Xs: Any, *, mask: Any = None) -> IncompleteViews:
        """Views in memory as this fitted model sees them, empty cells filled.

        Parameters
        ----------
        Xs, mask : as in `fit`
            Samples of the fit or others.

        Returns
        -------
        IncompleteViews
            In the order of the fit. Cells are filled if the fit had ``empty_cells``
            "fill" or "mean", by what it learnt.
        """
        check_is_fitted(self)
        views = self._seen_views(Xs, mask)
        return views if self._range is None else self._range.undo(views)

    def _seen_views(self, Xs, mask):
        """Views in memory as `_learn` saw those of the fit."""
        rule = "error" if self._fill is None else "keep"
        views = as_views(Xs, mask, missing_values=rule, like=self._schema)
        if self._range is not None:
            views = self._range(views)
        if self._fill is None:
            return views
        with threaded_map(getattr(self, "n_jobs", None)) as map:
            return self._fill(views, map)

    @abstractmethod
    def _learn(self, data, rng):
        """Embed and cluster the samples; set the attributes that `fit` promises."""

    def _check_against(self, data):
        """Compare the parameters with the data; methods may check more."""
        check_at_most(
            "n_clusters", self.n_clusters, data.n_samples, "the number of samples"
        )

    def _forget(self):
        """Drop what an earlier fit left, so that nothing stale survives."""
        for name in [a for a in vars(self) if a.endswith("_") and a[0] != "_"]:
            delattr(self, name)

    def _remember(self, data):
        self.n_features_in_ = data.n_features
        self.n_views_in_ = data.n_views
        self.view_names_ = data.names
        self._schema = data.schema
        self.sample_ids_ = data.sample_ids
        self.mask_ = data.mask
        self.stage_seconds_ = {}
        self._range: SafeRange | None = None
        self._fill: CellFill | None = None

    def _record(self, objective, converged):
        """Set the history of an iteration."""
        self.objective_, self.n_iter_ = np.array(objective), len(objective)
        self.converged_ = converged

    def _tell(self, data):
        """Sum up the fit in the log; warn where it found less than was asked for."""
        self._log(
            "%s: %d samples, %d views, %d iterations, pattern leakage %.3f",
            type(self).__name__,
            data.n_samples,
            data.n_views,
            self.n_iter_,
            self.pattern_leakage_,
        )
        if not self.converged_:
            most = self.get_params(deep=False)["max_iter"]
            warn_user(
                f"{type(self).__name__} stopped at max_iter={most} before it "
                f"converged; raise max_iter (--set max_iter={5 * most}) or tol.",
                ConvergenceWarning,
            )
        asked = getattr(self, "n_clusters_", self.n_clusters)
        if self._n_found < asked:
            warn_user(
                f"only {self._n_found} of n_clusters={asked} clusters were found: too "
                f"few samples differ, or not in what {type(self).__name__} looks at; "
                f"lower n_clusters (-k), or check the views for repeated samples.",
            )

    @contextmanager
    def _stage(self, name):
        """Time a stage of the fit into ``stage_seconds_``."""
        start = perf_counter()
        yield
        self.stage_seconds_[name] = (
            self.stage_seconds_.get(name, 0.0) + perf_counter() - start
        )
        self._log("%s: %.3f s", name, self.stage_seconds_[name])

    def _report(self, iteration, objective):
        """Tell the callback, the log and, if verbose, the user about an iteration."""
        if self.callback is not None:
            self.callback(iteration, objective)
        self._log("iteration %d: objective %.10g", iteration, objective, detail=True)

    def _log(self, message, *args, detail=False):
        logger.log(logging.DEBUG if detail else logging.INFO, message, *args)
        if self.verbose > (1 if detail else 0):
            sys.stderr.write(f"[{type(self).__name__}] {message % args}\n")

    def __sklearn_is_fitted__(self):
        # A model file leaves out labels that are not in memory.
        return hasattr(self, "labels_") or hasattr(self, "cluster_centers_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class EmbeddingClusterer(MultiViewClusterer):
    """Base of the methods that embed all samples at once: then k-means."""

    view_weights_: np.ndarray
    max_iter: int  # of all that iterate, with a default of their own
    tol: float
    _order_of_views_matters = True  # beyond rounding, to what `_embed` finds

    @property
    def _shuffles(self):
        """Whether samples are shuffled first; None where their order says nothing."""
        return getattr(self, "shuffle", None)

    @abstractmethod
    def _embed(self, views, rng):
        """Embedding (n_samples, d) of IncompleteViews, found in `_iterations`."""

    @contextmanager
    def _iterations(self):
        """The iterations of a solver; leaving sets ``objective_`` and the like."""
        steps = Iterations(self.max_iter, self.tol, self._report)
        yield steps
        self._record(steps.objective, steps.converged)

    def _bring_into_range(self, views):
        runner = ThreadRunner(ViewsSource(views), map)
        runner.survey()
        bring_into_range(self, runner)
        return runner.views

    def _fill_cells(self, views):
        from imvc.methods._empty_cells import learn_fill_of_views

        with threaded_map(getattr(self, "n_jobs", None)) as map:
            self._fill = learn_fill_of_views(views, self.empty_cells, map)
            return self._fill(views, map)

    def _learn(self, views, rng):
        order, by_name = self._own_order(views)
        own = views if by_name is None else views.select_views(by_name)
        own = own if order is None else own.select(order)
        with threaded_map(getattr(self, "n_jobs", None)) as map:
            self.embedding_ = self._embed_shuffled(own, rng)
            with self._stage("kmeans"):
                self._partition(draw_seed(rng), map)
        if order is not None:
            self._give_back_samples(order, np.argsort(order))
        if by_name is not None:
            self._give_back_views(np.argsort(by_name).tolist())
        self.pattern_leakage_ = pattern_leakage(self.labels_, views.mask)
        self._n_found = len(np.unique(self.labels_))

    def _own_order(self, views):
        """Orders of samples and views to learn in, so that the given ones do not count.

        Samples go by their keys, views by their names; None: as they are given.
        """
        order = by_name = None
        # Without `shuffle` the order is part of such a method.
        if views.sample_keys is not None and self._shuffles is not False:
            order = np.argsort(views.sample_keys, kind="stable")
        if self._order_of_views_matters:
            by_name = name_order(views.names)
        return order, None if by_name == list(range(views.n_views)) else by_name

    def _give_back_samples(self, order, place):
        """Put what a fit keeps of samples into the order in which they were given.

        Row ``j`` is of sample ``order[j]``; sample ``i`` stands in row ``place[i]``.
        """
        self.embedding_, self.labels_ = self.embedding_[place], self.labels_[place]

    def _give_back_views(self, place):
        """The same for what it keeps of views: view ``v`` stands at ``place[v]``."""
        if hasattr(self, "view_weights_"):
            self.view_weights_ = self.view_weights_[place]

    def _embed_shuffled(self, views, rng):
        """`_embed`, on shuffled samples for methods whose result depends on order."""
        if not self._shuffles:
            return self._embed(views, rng)
        order = rng.permutation(views.n_samples)
        shuffled = self._embed(views.select(order), rng)
        embedding = np.empty_like(shuffled)
        embedding[order] = shuffled
        return embedding

    def _partition(self, seed, map):
        """k-means on the embedding: sets ``labels_`` and ``cluster_centers_``."""
        result = kmeans(
            self._clustering_space(self.embedding_),
            self.n_clusters,
            n_init=self.n_init,
            random_state=seed,
            map=map,
        )
        self.labels_, self.cluster_centers_ = result.labels, result.centers
        self.inertia_ = result.inertia


def bring_into_range(model, runner):
    """Let a surveyed runner read views in safe range; sets ``_range``, warns by name.

    A thousand rows of every view tell the size of its numbers. Views outside the range
    in which squares are safe are multiplied by a power of two, which changes no digit;
    ``_range``, a `SafeRange` or None, keeps the powers for new samples. Views whose
    differences drown in a common offset get a warning.
    """
    looks = runner.resume("values", lambda: look_at_views(runner))
    for name, (_, offset, steps) in zip(runner.names, looks):
        _warn_of_offset(model, name, offset, steps)
    exponents = tuple(int(exponent) for exponent, _, _ in looks)
    model._range = SafeRange(exponents) if any(exponents) else None
    if model._range is not None:
        runner.read_from(fill_source(runner.source, model._range, runner.map))


def look_at_views(runner):
    """`look_at_rows` of some rows of every view, spread over all of them."""
    looks = []
    for v, n_v in enumerate(runner.surveyed.observed.sum(axis=0)):
        cells = _MOST_CELLS // runner.n_features[v]
        size = min(max(cells, _FEWEST_ROWS), _MOST_ROWS) // _RUNS
        starts = np.linspace(0, max(n_v - size, 0), _RUNS).astype(np.int64)
        ranks = np.unique(starts[:, None] + np.arange(min(size, n_v)))
        looks.append(look_at_rows(runner.observed_rows(v, ranks)))
    return np.array(looks, np.float64).reshape(-1, 3)


def look_at_rows(X):
    """``(exponent, offset, steps)`` of rows, of which cells may be NaN.

    ``2**exponent`` brings them into range; ``offset`` is the length of the mean row in
    terms of the spread around it; ``steps`` is the spread in terms of what rounding
    adds. Offset 0 and infinitely many steps where nothing differs, and of sparse rows,
    which stay sparse: their zeros are in the midst of their spread.
    """
    size = np.fmax.reduce(np.abs(X.data if issparse(X) else X), axis=0, initial=0)
    largest, safe = size.max(initial=0), SAFE_SIZE[X.dtype.itemsize]
    exponent = 0
    if largest and not 1 / safe <= largest <= safe:
        exponent = -int(np.frexp(largest)[1])
    if issparse(X):
        return exponent, 0.0, np.inf
    known = ~np.isnan(X)
    scaled = np.ldexp(np.where(known, X, 0).astype(np.float64), exponent)
    count = np.maximum(known.sum(axis=0), 1)
    mean = scaled.sum(axis=0) / count
    squares = (np.square(scaled - mean) * known).sum(axis=0) / count
    step = np.ldexp(np.spacing(size).astype(np.float64), exponent)
    differs = np.fmax.reduce(X) > np.fmin.reduce(X)  # a mean may be rounded
    spread = np.sqrt(squares[differs].sum())
    if not spread:  # whole numbers that rounding made equal would differ by 1 or more
        return exponent, 0.0, 0.0 if np.spacing(largest) >= 1 else np.inf
    offset = np.linalg.norm(mean) / spread
    return exponent, offset, spread / np.linalg.norm(step[differs])


def _warn_of_offset(model, name, offset, steps):
    if steps < _STEPS:
        warn_user(
            f"the numbers of view {name!r} differ by only {steps:.3g} times their "
            f"rounding: a common offset, or numbers too small for their type, took the "
            f"other digits; subtract the offset, or multiply them, before they are "
            f"stored, or store them as float64."
        )
    elif offset > model._most_offset:
        warn_user(
            f"the numbers of view {name!r} are {offset:.3g} times larger than their "
            f"spread; {type(model).__name__} compares the directions of rows, which "
            f"are nearly the same then: subtract the mean of every column, or "
            f"standardise them (--scale {name}=standard)."
        )
