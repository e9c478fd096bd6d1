"""What all methods share: validation, the walk from views to labels, attributes."""

import logging
import sys
import warnings
from abc import ABCMeta, abstractmethod
from contextlib import contextmanager
from time import perf_counter

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._kmeans import kmeans
from imvc.metrics import pattern_leakage
from imvc.scale import threaded_map
from imvc.views import as_views

logger = logging.getLogger(__name__)

_SEED_LIMIT = np.iinfo(np.int32).max


def draw_seed(rng):
    """One integer seed, so that stages do not depend on each other's draws."""
    return int(rng.randint(_SEED_LIMIT))


def warn_user(message, category=UserWarning):
    """Warn at the line that called this library, however deep inside we are."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals["__name__"].startswith("imvc."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class MultiViewClusterer(ClusterMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all methods: views -> embedding -> k-means -> labels.

    A method stores its parameters in ``__init__`` and implements ``_embed``.
    """

    _row_normalize = False  # methods without the parameter: as their paper says

    @abstractmethod
    def _embed(self, views, rng, map):
        """Embed the samples and set ``objective_``, ``n_iter_`` and ``converged_``.

        Parameters
        ----------
        views : IncompleteViews
        rng : RandomState
        map : callable
            Runs a function over blocks on the workers of this fit.

        Returns
        -------
        ndarray of shape (n_samples, d)
        """

    def fit(self, Xs, y=None, *, mask=None):
        """Cluster the samples.

        Parameters
        ----------
        Xs : list or dict of arrays, DataFrames or None, or IncompleteViews
            One table per view; a row of NaN, a False in ``mask`` or an absent id says
            that the sample has no such view. See `imvc.as_views`.
        y : ignored
        mask : array-like of bool, shape (n_samples, n_views), optional
            True where a sample is observed in a view.

        Returns
        -------
        self
        """
        self._validate_params()
        views = as_views(Xs, mask)
        self._check_against(views)
        self._forget()
        self._remember(views)
        rng = check_random_state(self.random_state)
        with threaded_map(getattr(self, "n_jobs", None)) as map:
            self.embedding_ = self._embed_shuffled(views, rng, map)
            with self._stage("kmeans"):
                self._partition(draw_seed(rng), map)
        self._conclude(views, pattern_leakage(self.labels_, views.mask))
        return self

    def _embed_shuffled(self, views, rng, map):
        """`_embed`, on shuffled samples for methods whose result depends on order."""
        if not getattr(self, "shuffle", False):
            return self._embed(views, rng, map)
        order = rng.permutation(views.n_samples)
        shuffled = self._embed(views.select(order), rng, map)
        embedding = np.empty_like(shuffled)
        embedding[order] = shuffled
        return embedding

    def fit_predict(self, Xs, y=None, *, mask=None):
        """Cluster the samples and return their labels; parameters as in `fit`."""
        return self.fit(Xs, mask=mask).labels_

    def _check_against(self, views):
        """Compare the parameters with the data; methods may check more."""
        if self.n_clusters > views.n_samples:
            raise ValueError(
                f"n_clusters={self.n_clusters} exceeds the number of samples, "
                f"{views.n_samples}; lower it."
            )

    def _forget(self):
        """Drop what an earlier fit left, so that nothing stale survives."""
        for name in [a for a in vars(self) if a.endswith("_") and a[0] != "_"]:
            delattr(self, name)

    def _remember(self, views):
        self.n_features_in_ = views.n_features
        self.n_views_in_ = views.n_views
        self.view_names_ = views.names
        self._schema = views.schema
        self.sample_ids_ = views.sample_ids
        self.stage_seconds_ = {}

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

    def _clustering_space(self, Y):
        normalize = getattr(self, "row_normalize", self._row_normalize)
        return unit_rows(Y) if normalize else Y

    def _conclude(self, views, leakage):
        self.pattern_leakage_ = leakage
        self._log(
            "%s: %d samples, %d views, %d iterations, pattern leakage %.3f",
            type(self).__name__,
            views.n_samples,
            views.n_views,
            self.n_iter_,
            self.pattern_leakage_,
        )
        if not self.converged_:
            warn_user(
                f"{type(self).__name__} stopped at max_iter={self.max_iter} before "
                f"it converged; raise max_iter or tol.",
                ConvergenceWarning,
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
