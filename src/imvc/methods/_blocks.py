"""Methods that fit by blocks of samples: in memory, in files, or on a cluster.

A fit is two passes over the samples and a small problem between them:

    graph rows of every block -> statistics, added up -> solution, free of n
    -> embedding of every block -> k-means by sums over blocks -> labels

Only the blocks' functions see samples; a runner of `imvc.scale` brings both together.
"""

import hashlib
from abc import abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._kmeans import add_results, assign, kmeans_centers
from imvc.kernels._patterns import PatternGrams
from imvc.methods._base import draw_seed, warn_user
from imvc.methods._inductive import InductiveClusterer
from imvc.methods._persistence import write_model
from imvc.metrics import pattern_leakage_of
from imvc.scale import (
    BlockProgress,
    Chain,
    FolderStore,
    GraphRows,
    KeptSource,
    ThreadRunner,
    open_runner,
    row_statistics,
    threaded_map,
)
from imvc.views import group_patterns

_NOT_IN_PLAN = ("n_jobs", "verbose", "callback", "work_dir", "memory_budget")
_WARN_DRIFT = 1.4
_FEW_SAMPLES = 5  # per anchor


@dataclass(frozen=True)
class Statistics:
    """All that a solution needs of the samples; of two sets of samples it adds up.

    Parameters
    ----------
    grams : PatternGrams
    nearest : tuple of ndarrays
        As in GraphRows.
    """

    grams: PatternGrams
    nearest: tuple

    def __add__(self, other):
        nearest = add_results(self.nearest, other.nearest)
        return Statistics(self.grams + other.grams, nearest)


@dataclass(frozen=True)
class Trained:
    """What a fitted model keeps of its samples, so that more can be added.

    Parameters
    ----------
    rows : indexable
        GraphRows per block.
    starts : ndarray
        First sample of every block, and their number.
    statistics : Statistics
    seeds : tuple of int
        Of the fit.
    folders : tuple of (FolderStore or None)
        Keep temporary folders alive.
    """

    rows: Any
    starts: np.ndarray
    statistics: Statistics
    seeds: tuple
    folders: tuple = ()

    def with_more(self, runner, rows, statistics):
        """The same with the samples of a runner after the others."""
        starts = runner.source.starts
        return Trained(
            Chain([self.rows, rows], [len(self.starts) - 1, len(starts) - 1]),
            np.append(self.starts, self.starts[-1] + starts[1:]),
            self.statistics + statistics,
            self.seeds,
            (*self.folders, runner.folder),
        )


class BlockClusterer(InductiveClusterer):
    """Base of RISE and AnchorBridge.

    Its methods learn from a runner, never from all samples at once.
    """

    _embed: Any = None  # samples are embedded block by block,
    _embed_new: Any = None  # new ones too

    @abstractmethod
    def _learn_graphs(self, runner, seed):
        """Choose anchors from a sample of the rows."""

    @property
    @abstractmethod
    def _block_rows(self):
        """Block function: IncompleteViews -> GraphRows; has `sizes`, its anchors."""

    @abstractmethod
    def _solve_blocks(self, runner, trained):
        """Learn the embedding from statistics; returns the KeptRows of Y."""

    @abstractmethod
    def _embed_block(self):
        """Block function: ``(IncompleteViews, dtype)`` -> rows of Y."""

    @property
    @abstractmethod
    def _width(self):
        """Number of columns of Y."""

    def _place(self):
        """Function of rows of Y and their mask -> ``(labels, inertia)``."""
        space = partial(clustering_space, normalize=self._normalizes)
        return partial(nearest_center, centers=self.cluster_centers_, space=space)

    def fit(self, Xs, y=None, *, mask=None, client=None):
        """Cluster the samples.

        Parameters
        ----------
        Xs : list or dict of arrays, DataFrames or None, or IncompleteViews
            One table per view; a row of NaN, a False in ``mask`` or an absent id says
            that the sample has no such view. See `imvc.as_views`. Views that need not
            fit into memory: memory-mapped and zarr arrays, paths of ``.npy``, zarr,
            Parquet and ``.h5ad`` files, Dask arrays, blocks; see docs/scale.md.
        y : ignored
        mask : array-like of bool, shape (n_samples, n_views), optional
            True where a sample is observed in a view.
        client : distributed.Client, optional
            Fit on its workers, which must be able to read the data. ``labels_`` and
            ``embedding_`` are then Dask arrays.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._runner(Xs, mask, client=client, plan=self._plan()) as runner:
            self._check_against(runner)
            self._forget()
            self.__dict__.pop("_trained", None)
            self._remember(runner)
            self._dtype = runner.dtype
            with self._stage("survey"):
                self._check_survey(runner.survey(), runner)
            rng = check_random_state(self.random_state)
            seeds = runner.once("seeds", lambda: (draw_seed(rng), draw_seed(rng)))
            self._fit_blocks(runner, seeds)
        return self

    def _fit_blocks(self, runner, seeds):
        with self._stage("anchors"):
            self._learn_graphs(runner, seeds[0])
        with self._stage("graph"):
            rows = runner.keep("graph", self._block_rows, runner.blocks)
        with self._stage("statistics"):
            statistics = self._statistics(runner, rows)
        self._measure_anchors(statistics, runner.n_views)
        self._trained = Trained(
            rows, runner.source.starts, statistics, seeds, (runner.folder,)
        )
        self._finish(runner)
        if not runner.keeps_rows_here:
            del self._trained

    def _measure_anchors(self, statistics, n_views):
        """How far samples are from their nearest anchor, for `update` to compare."""
        own = statistics.nearest[:n_views]
        self.anchor_distance_ = np.array([fresh_distance(n) for n in own])
        self.drift_ = np.ones(n_views)

    def _statistics(self, runner, rows):
        return self._statistics_of(runner, rows, self._block_rows.sizes)

    @staticmethod
    def _statistics_of(runner, rows, sizes):
        function = partial(block_statistics, sizes=sizes)
        return Statistics(*runner.total("statistics", function, rows))

    def _finish(self, runner):
        """From statistics to labels."""
        Y = self._solve_blocks(runner, self._trained)
        with self._stage("kmeans"):
            leakage = self._partition_blocks(runner, Y, self._trained.seeds[1])
        self.embedding_ = runner.array(Y)
        self._conclude(runner, leakage)

    def _partition_blocks(self, runner, Y, seed):
        """k-means of the embedding; sets labels and centres, returns the leakage."""
        space = partial(clustering_space, normalize=self._normalizes)
        self.cluster_centers_ = self._find_centers(
            runner, Y.then(space), self.n_clusters, seed
        )
        return self._label_blocks(runner, Y)

    def _find_centers(self, runner, rows, k, seed):
        """Centres of k-means on KeptRows."""

        def find():
            return kmeans_centers(
                rows, k, n_init=self.n_init, random_state=seed, map=runner.map
            )

        return runner.once("kmeans", find)[0]

    def _label_blocks(self, runner, Y):
        """Label every sample; returns the leakage."""
        labels, (inertia, table) = runner.rows(
            "labels",
            partial(label_block, place=self._place()),
            Y.items,
            runner.masks,
            width=None,
            dtype=np.int64,
        )
        self.labels_, self.inertia_ = runner.array(labels), float(inertia)
        return leakage_of(table)

    @property
    def _normalizes(self):
        return getattr(self, "row_normalize", self._row_normalize)

    def update(self, Xs, *, mask=None):
        """Add samples to a fitted model: anchors stay, everything else is solved anew.

        The result is that of a fit on all samples, old ones first, with these anchors.
        ``drift_`` tells whether the anchors still cover the new samples.

        Parameters
        ----------
        Xs, mask : as in `transform`
            New samples only.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._samples()
        with self._runner(Xs, mask, like=self._schema) as runner:
            rows = runner.keep("graph", self._block_rows, runner.blocks)
            new = self._statistics(runner, rows)
            trained = self._trained.with_more(runner, rows, new)
            ids = joined_ids(self.sample_ids_, runner.sample_ids)
        self._solve_again(trained, new, ids)
        return self

    def _solve_again(self, trained, new, ids):
        source = KeptSource(trained.rows, trained.starts, self._schema, self._dtype)
        store = None
        if any(folder is not None for folder in trained.folders):
            store = FolderStore(TemporaryDirectory(prefix="imvc-"), {})
        names = {"n_features_in_", "n_views_in_", "view_names_", "anchor_distance_"}
        kept = {
            k: v for k, v in vars(self).items() if k in names | self._kept_by_update
        }
        with threaded_map(getattr(self, "n_jobs", None)) as map:
            runner = ThreadRunner(source, map, store)
            runner.survey()
            self._forget()
            self.__dict__.update(kept)
            self.sample_ids_, self.stage_seconds_ = ids, {}
            found = [mean_distance(own) for own in new.nearest[: self.n_views_in_]]
            with np.errstate(divide="ignore", invalid="ignore"):
                self.drift_ = np.array(found) / self.anchor_distance_
            self._trained = trained
            self._finish(runner)
        self._warn_of_drift()

    _kept_by_update: set = set()  # names of attributes that `_learn_graphs` sets

    def _warn_of_drift(self):
        far = np.flatnonzero(self.drift_ > _WARN_DRIFT)
        if far.size:
            v = far[0]
            warn_user(
                f"the anchors cover new samples badly: in view {self.view_names_[v]!r} "
                f"they are {self.drift_[v]:.1f} times as far from their nearest anchor "
                f"as those of the fit (drift_); fit anew.",
            )

    def save(self, path, *, updatable=False):
        """Write the fitted model to one file (arrays and JSON, no pickle), atomically.

        Parameters
        ----------
        path : str or path-like
            The callback and a ``random_state`` that is not an int are not kept.
        updatable : bool, default=False
            Keep the graph rows of the samples too, some 25 bytes per sample and view,
            so that a model read from the file can be given more samples.
        """
        check_is_fitted(self)
        arrays, values = self._get_state()
        values = {**values, "dtype": np.dtype(self._dtype).str}
        if updatable:
            trained = self._samples()
            count = len(trained.starts) - 1
            for i in range(count):
                for j, array in enumerate(trained.rows[i].to_arrays()):
                    arrays[f"rows{i}.{j}"] = array
            values |= {"seeds": list(trained.seeds), "starts": trained.starts.tolist()}
        write_model(self, path, arrays, values)

    def _set_samples(self, arrays, values):
        if "dtype" in values:
            self._dtype = np.dtype(values["dtype"])
        if "starts" not in values:
            return
        starts, rows = np.array(values["starts"], np.int64), {}
        for i in range(len(starts) - 1):
            names = [f"rows{i}.{j}" for j in range(2 + 3 * len(self._block_rows.sizes))]
            rows[i] = GraphRows.from_arrays([arrays[name] for name in names])
        source = KeptSource(rows, starts, self._schema, self._dtype)
        found = self._statistics(ThreadRunner(source, map), rows)
        self._trained = Trained(rows, starts, found, tuple(values["seeds"]))

    def _samples(self):
        """What is kept of the samples of the fit, or why nothing is."""
        if not hasattr(self, "_trained"):
            raise ValueError(
                "this model keeps no graph rows of its samples, so none can be added: "
                "it was fitted on a cluster or on groups of views apart, has "
                "graph='full', or was saved without updatable=True."
            )
        return self._trained

    def transform(self, Xs, *, mask=None):
        check_is_fitted(self)
        embed = self._embed_block()
        with self._runner(Xs, mask, like=self._schema) as runner:
            Y, _ = runner.rows(
                "embedding",
                partial(with_nothing, function=partial(embed, dtype=runner.dtype)),
                runner.blocks,
                width=self._width,
                dtype=runner.dtype,
            )
            return runner.array(Y)

    def predict(self, Xs, *, mask=None):
        check_is_fitted(self)
        embed, place = self._embed_block(), self._place()
        with self._runner(Xs, mask, like=self._schema) as runner:
            labels, _ = runner.rows(
                "labels",
                partial(predict_block, embed=embed, place=place, dtype=runner.dtype),
                runner.blocks,
                width=None,
                dtype=np.int64,
            )
            return runner.array(labels)

    transform.__doc__ = InductiveClusterer.transform.__doc__
    predict.__doc__ = InductiveClusterer.predict.__doc__

    @contextmanager
    def _runner(self, Xs, mask, **options):
        fitting = "like" not in options
        with open_runner(
            Xs,
            mask,
            n_jobs=getattr(self, "n_jobs", None),
            memory_budget=self.memory_budget,
            work_dir=self.work_dir if fitting else None,
            progress=BlockProgress() if self.verbose else None,
            **options,
        ) as runner:
            yield runner

    def _plan(self):
        """What makes this run another than one that was interrupted."""
        return {"method": type(self).__name__} | {
            name: _plain(value)
            for name, value in self.get_params(deep=False).items()
            if name not in _NOT_IN_PLAN
        }

    def _check_survey(self, survey, runner):
        seen = survey.observed.sum(axis=0) > 0
        empty = [name for name, own in zip(runner.names, seen) if not own]
        if empty:
            raise ValueError(
                f"views {empty} have no observed sample; leave them out, or check mask."
            )


def mean_distance(nearest):
    """Root mean square distance to the nearest anchor; NaN where nobody has the view.

    Parameters
    ----------
    nearest : ndarray of shape (m, 2)
        As in GraphRows.
    """
    count, squares = nearest.sum(axis=0)
    return np.sqrt(squares / count) if count else np.nan


def fresh_distance(nearest):
    """The same for samples that anchors do not know, from those they were made of.

    A centre of s samples is nearer to these than to others of the same kind: squared
    distances are as (s - 1) to (s + 1). With a few samples per anchor that guess is
    no good, and the result NaN.
    """
    if nearest[:, 0].sum() < _FEW_SAMPLES * len(nearest):
        return np.nan
    count, squares = nearest[nearest[:, 0] > 1].T
    squares = squares * (count + 1) / (count - 1)
    return np.sqrt(squares.sum() / count.sum())


def joined_ids(old, new):
    """Ids of old and new samples, where both have some."""
    return None if old is None or new is None else np.concatenate([old, new])


def block_statistics(rows, sizes):
    """Statistics of a block, as a tuple that adds up."""
    return row_statistics(rows, sizes), rows.nearest


def clustering_space(Y, normalize):
    """The rows that k-means works on."""
    return unit_rows(Y) if normalize else Y


def nearest_center(Y, mask, centers, space):
    """``(labels, inertia)`` of rows of the embedding."""
    labels, distances = assign(space(Y), centers)
    return labels, distances.sum(dtype=np.float64)


def with_nothing(item, function):
    """``(function(item), 0)``: rows without a summary."""
    return function(item), 0


def predict_block(views, embed, place, dtype):
    return place(embed(views, dtype=dtype), views.mask)


def label_block(Y, mask, place):
    """``(labels, (inertia, how many samples have which pattern and label))``."""
    labels, inertia = place(Y, mask)
    table: Counter = Counter()
    for pattern in group_patterns(mask):
        found = np.bincount(labels[pattern.rows])
        for label in np.flatnonzero(found).tolist():
            table[pattern.views, label] = int(found[label])
    return labels, (inertia, table)


def leakage_of(table):
    """Pattern leakage from how many samples have which pattern and label."""
    row = {p: i for i, p in enumerate(sorted({p for p, _ in table}))}
    counts = np.zeros((len(row), 1 + max(label for _, label in table)), np.int64)
    for (p, label), n in table.items():
        counts[row[p], label] = n
    return pattern_leakage_of(counts)


def _plain(value):
    """A parameter in JSON's types; arrays by their checksum."""
    if isinstance(value, np.random.RandomState):
        return None  # the seeds that it gave are kept
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
