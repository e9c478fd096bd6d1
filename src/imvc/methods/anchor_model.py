"""Fit and place any model made of graph rows, a solve, and an embedding.

    graph rows of every block -> statistics, added up -> solution, free of n
    -> embedding of every block -> k-means by sums over blocks -> labels

Two passes over the samples and a small problem between them. With a learning sample
both are passes over that sample, in memory, and one more then places all samples as if
they were new. This is the only meeting of methods and runners: a method hands in pure
functions, `imvc.scale` brings them to the blocks, whether these are in memory, in
files or on a cluster.
"""

import hashlib
import json
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imvc._machine import give_back_memory, keep_little_freed_memory
from imvc.kernels._anchor_graph import kmeans_anchors, scale_rows, unit_rows
from imvc.kernels._distances import nearest_anchors, row_slices
from imvc.kernels._kmeans import add_results, kmeans_centers
from imvc.kernels._patterns import PatternGrams
from imvc.methods._base import (
    KEPT,
    MultiViewClusterer,
    bring_into_range,
    draw_seed,
    warn_user,
)
from imvc.methods._inductive import InductiveMixin
from imvc.methods._parameters import Count, MemorySize, PathLike, estimator
from imvc.methods.persistence import write_model
from imvc.metrics import pattern_leakage_of
from imvc.scale import (
    BlockProgress,
    ChangedFileError,
    ThreadRunner,
    ViewsSource,
    fill_source,
    open_runner,
    parse_bytes,
    row_statistics,
)
from imvc.views import group_patterns, name_places

_NOT_IN_PLAN = ("n_jobs", "verbose", "callback", "work_dir", "memory_budget")
_FEW_SAMPLES = 5  # per anchor
_MANY_SAMPLES = 50  # per cluster
_ROWS_PER_ANCHOR = 20  # fewer would make centres of next to nothing
_PLACED_AT_ONCE = 1 << 15  # samples: what is made of them stays in the cache
_ROWS_PER_CLUSTER = 200  # of a learning sample, at least
_LITTLE = 64 * 2**20  # bytes that are not worth a warning


class Statistics(NamedTuple):
    """All that a solution needs of the samples; adds up by `add_results`."""

    grams: PatternGrams
    nearest: tuple  # as in GraphRows


@dataclass(frozen=True)
class Samples:
    """What the first pass leaves of the samples; a model keeps it, to be given more."""

    rows: Any  # indexable: GraphRows per block
    starts: np.ndarray  # first sample of every block, and their number
    statistics: Statistics
    seeds: tuple  # of anchors and of k-means
    folders: tuple = ()  # RunFolder or None: keep temporary folders alive
    stand_for: int | None = None  # all samples that these were drawn of; None: no draw
    keys: Any = None  # indexable: keys of the samples per block, where they have some


@dataclass(frozen=True)
class Embedding:
    """What was solved, as a function of a sample's graph rows."""

    embed: Callable  # embed(rows, dtype=...): GraphRows of a block -> rows of Y
    width: int  # columns of Y
    rows: Any  # indexable: GraphRows per block that it is meant for
    rank: int | None = None  # columns that carry anything; by default all


@estimator
class AnchorClusterer(InductiveMixin, MultiViewClusterer):
    """Base of the methods that learn from a runner, never from all samples at once.

    Parameters
    ----------
    anchor_sample : int or None, default=5000
        Rows per view that k-means anchors are sought on, and at least 20 for each of
        them; None: all rows. Anchors only have to cover the data.
    learn_sample : int or None, default=None
        Samples that everything is learnt from, drawn by missing pattern and held in
        memory, at least 200 for each cluster; all samples are then placed by what was
        learnt, in one pass, as `predict` does. None: learn from all samples.
    memory_budget : int or str, optional
        Bound on the working memory of a fit on files, such as ``"1GiB"``, for all
        threads together. A warning says if a learning sample needs more.
    work_dir : path-like, optional
        Folder for what does not fit into memory, from which an interrupted fit goes
        on; by default a temporary one, where it is needed. See docs/scale.md.

    Attributes
    ----------
    anchor_distance_ : ndarray of shape (n_views,)
        Root mean square distance to the nearest anchor, as of samples that the anchors
        do not know; NaN with fewer than five samples per anchor.
    drift_ : ndarray of shape (n_views,)
        The same of the samples of the last `update`, divided by ``anchor_distance_``;
        1 after a fit.
    """

    anchor_sample: Count | None = 5_000
    learn_sample: Count | None = None
    memory_budget: MemorySize = None
    work_dir: PathLike = None
    n_jobs: int | None = None

    _learnt_before_solving: ClassVar[set] = set()  # attributes that `update` keeps
    _worker_room: ClassVar[int | None] = None  # bytes for a task's model, if many

    @abstractmethod
    def _learn_blocks(self, runner, seeds):
        """Learn from the samples of a surveyed runner and label them."""

    @abstractmethod
    def _learn_again(self, runner, samples):
        """Learn from Samples, of which there are graph rows only, and label them."""

    @abstractmethod
    def _statistics(self, runner, rows):
        """Statistics of GraphRows that are kept."""

    @abstractmethod
    def _embed_views(self):
        """Block function ``(IncompleteViews, dtype)`` -> rows of Y, and their width."""

    @abstractmethod
    def _place(self):
        """Block function of rows of Y and their mask -> ``(labels, inertia)``."""

    def fit(
        self,
        Xs: Any,
        y: Any = None,
        *,
        mask: Any = None,
        batch: Any = None,
        client: Any = None,
    ) -> Self:
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
        batch : array-like of shape (n_samples,), optional
            Batch of every sample (a site, a plate, a day), None or NaN where it is not
            known; a pandas Series is aligned by its index where samples have ids. It
            does not change the clusters: ``batch_leakage_`` says whether they follow
            it.
        client : distributed.Client, optional
            Fit on its workers, which must be able to read the data. ``labels_`` and
            ``embedding_`` are then Dask arrays, and ``batch`` is refused.

        Returns
        -------
        self
        """
        self._validate_params()
        if self.memory_budget is not None:
            keep_little_freed_memory()
        rule = {"plan": self._plan(), "work_dir": self.work_dir}
        try:
            with self._runner(Xs, mask, client=client, **rule) as runner:
                if batch is not None and not runner.keeps_rows_here:
                    raise ValueError(
                        "batch needs labels in memory, and those of a fit on a Dask "
                        "client stay on its workers; leave it out and give "
                        "labels_.compute() and the batches to "
                        "imvc.metrics.column_leakage."
                    )
                return self._fit(runner, batch)
        except ChangedFileError:
            self._forget()  # labels of files that are not what they were
            raise

    def _bring_into_range(self, runner):
        with self._stage("survey"):
            check_survey(runner)
            bring_into_range(self, runner)
        return runner

    def _fill_cells(self, runner):
        from imvc.methods._empty_cells import learn_fill

        self._fill = learn_fill(runner, self.empty_cells)
        runner.read_from(fill_source(runner.source, self._fill, runner.map))
        return runner

    def _remember(self, runner):
        super()._remember(runner)
        self.__dict__.pop("_samples", None)  # of an earlier fit
        self._dtype = runner.dtype

    @contextmanager
    def _stage(self, name):
        with super()._stage(name):
            yield
        if self.memory_budget is not None:
            give_back_memory()

    def _learn(self, runner, rng):
        seeds = runner.resume(
            "seeds",
            lambda: (draw_seed(rng), draw_seed(rng)),
            repeatable=isinstance(self.random_state, Integral),
        )
        learning = self._learning_runner(runner, seeds[0])
        self._learn_blocks(learning, seeds)
        self._place_others(learning, runner)

    def _sample_size(self, n):
        """How many of ``n`` samples ``learn_sample`` asks to learn from."""
        if self.learn_sample is None:
            return n
        least = _ROWS_PER_CLUSTER * self._most_clusters(n)
        return min(n, max(self.learn_sample, least))

    def _most_clusters(self, n):
        """The largest number of clusters that ``n`` samples may be cut into."""
        return self.n_clusters

    def _learning_bytes(self, runner):
        """About what learning needs of memory for every sample, if it holds them."""
        held = self.learn_sample is not None
        return held * 3 * sum(runner.n_features) * runner.dtype.itemsize

    def _statistics_bytes(self, runner, size):
        """About what the statistics of ``size`` samples take, if that is much."""
        return 0

    def _warn_of_memory(self, runner, size):
        """A smaller sample would be another result, so it is for the user to choose."""
        held = size * self._learning_bytes(runner)
        # Most that is made of the samples is gone when the statistics are complete.
        need = max(held, held // 3 + self._statistics_bytes(runner, size))
        if self.memory_budget is None or need <= _LITTLE:
            return
        if need > parse_bytes(self.memory_budget):
            warn_user(
                f"{size} learning samples need about {need / 2**20:.0f} MiB with their "
                f"statistics, more than memory_budget={self.memory_budget!r}; lower "
                f"learn_sample or n_anchors, or raise it.",
            )

    def _learning_runner(self, runner, seed):
        """The runner itself, or one over a learning sample of its samples."""
        size = self._sample_size(runner.n_samples)
        self._warn_of_memory(runner, size)
        if size == runner.n_samples:
            return runner
        with self._stage("sample"):
            return sample_runner(runner, size, seed)

    def _place_others(self, learning, runner):
        """Place all samples of a runner, if only a sample of them was learnt from."""
        if learning is runner:
            return
        kept = vars(self).get("_samples")
        if kept is not None:
            self._samples = replace(kept, stand_for=runner.n_samples)
        place_all(self, runner)

    def update(self, Xs: Any, *, mask: Any = None) -> Self:
        """Add samples to a fitted model: anchors stay, everything else is solved anew.

        The result is that of a fit on all samples, old ones first, with these anchors.
        A model that was learnt from a sample keeps no more than that: a share of the
        new samples joins it, and ``labels_`` are those of the new samples only, while
        `predict` has those of the old ones. ``drift_`` tells whether the anchors still
        cover the new samples.

        Parameters
        ----------
        Xs, mask : as in `transform`
            New samples only.

        Returns
        -------
        self
        """
        from imvc.methods._update import update_model

        return update_model(self, Xs, mask)

    def save(self, path: str | os.PathLike[str], *, updatable: bool = False) -> None:
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
        arrays, values = self._whole_state()
        values = {**values, "dtype": np.dtype(self._dtype).str}
        if updatable:
            from imvc.methods._update import kept_samples, samples_to_state

            rows, about = samples_to_state(kept_samples(self))
            arrays, values = arrays | rows, values | about
        write_model(self, path, arrays, values)

    def _set_samples(self, arrays, values):
        """Take back what a model file keeps of the samples of the fit."""
        if "dtype" in values:
            if values["dtype"] not in ("<f4", "<f8", ">f4", ">f8"):
                raise ValueError("its type of numbers is not as imvc writes it.")
            self._dtype = np.dtype(values["dtype"])
        if "starts" in values:
            from imvc.methods._update import samples_from_state

            self._samples = samples_from_state(self, arrays, values)

    def _transform(self, Xs, mask):
        embed, width = self._embed_views()
        with self._runner(Xs, mask, like=self._schema) as runner:
            embed = partial(embed, dtype=runner.dtype)
            Y = runner.rows(
                "embedding", embed, runner.blocks, width=width, dtype=runner.dtype
            )
            return runner.array(Y), runner.sample_ids

    def _predict(self, Xs, mask):
        embed, _ = self._embed_views()
        with self._runner(Xs, mask, like=self._schema) as runner:
            rule = {"embed": embed, "place": self._place(), "dtype": runner.dtype}
            labels = runner.rows(
                "labels",
                partial(predict_block, **rule),
                runner.blocks,
                width=None,
                dtype=np.int64,
            )
            return runner.array(labels), runner.sample_ids

    @contextmanager
    def _runner(self, Xs, mask, like=None, **options):
        """The runner for the data, wherever they are; those of new samples filled."""
        fill = None if like is None else self._fill
        rule = KEPT[self.empty_cells] if like is None else "error"
        with open_runner(
            Xs,
            mask,
            like=like,
            missing_values=rule if fill is None else "keep",
            n_jobs=self.n_jobs,
            memory_budget=self.memory_budget,
            worker_room=self._worker_room,
            progress=BlockProgress() if self.verbose else None,
            **options,
        ) as runner:
            for change in () if like is None else (self._range, fill):
                if change is not None:
                    runner.read_from(fill_source(runner.source, change, runner.map))
            yield runner

    def _plan(self):
        """What makes this run another than an interrupted one, in JSON's types."""
        params = {k: v for k, v in self.get_params().items() if k not in _NOT_IN_PLAN}
        plan = {"method": type(self).__name__} | params
        return json.loads(json.dumps(plan, default=_in_json))


def fit(estimator, runner, seeds, graphs, solve, cluster):
    """Fit a model on the samples of a surveyed runner.

    Parameters
    ----------
    estimator : AnchorClusterer
        Gets the attributes.
    runner : Runner
    seeds : pair of int
        Of anchors and of k-means.
    graphs : callable
        How graph rows are made: IncompleteViews of a block -> GraphRows; its ``sizes``
        are the numbers of anchors.
    solve : callable
        What is learnt from the statistics and how rows are embedded:
        ``(runner, samples)`` -> Embedding.
    cluster : callable
        ``(runner, Y, seed)``: finds the clusters of the embedded samples.

    Returns
    -------
    Samples
    """
    samples = pass_over_graphs(estimator, runner, seeds, graphs)
    solve_and_label(estimator, runner, samples, solve, cluster)
    if runner.keeps_rows_here:
        estimator._samples = samples
    return samples


def pass_over_graphs(estimator, runner, seeds, graphs):
    """The first pass: graph rows of every block, kept, and their statistics."""
    with estimator._stage("graph"):
        rows = runner.keep("graph", graphs, runner.blocks)
    with estimator._stage("statistics"):
        statistics = total_statistics(runner, rows, graphs.sizes)
    own = statistics.nearest[: runner.n_views]
    estimator.anchor_distance_ = np.array([fresh_distance(nearest) for nearest in own])
    estimator.drift_ = np.ones(runner.n_views)
    starts, folders = runner.source.starts, (runner.folder,)
    return Samples(rows, starts, statistics, seeds, folders, keys=runner.keys)


def solve_and_label(estimator, runner, samples, solve, cluster):
    """The second half of a fit: from the statistics of samples to their labels."""
    found = solve(runner, samples)
    if found.rank is not None and found.rank < found.width:
        warn_user(
            f"the graphs carry only {found.rank} of embedding_dim={found.width} "
            f"dimensions; the other columns of embedding_ are zero.",
        )
    with estimator._stage("embedding"):
        embed = partial(found.embed, dtype=runner.dtype)
        Y = runner.rows(
            "embedding", embed, found.rows, width=found.width, dtype=runner.dtype
        )
    with estimator._stage("kmeans"):
        cluster(runner, Y, samples.seeds[1])
        label_rows(estimator, runner, Y)


def label_rows(estimator, runner, Y):
    """Give every sample its cluster; sets embedding, labels, inertia and leakage."""
    labels, (inertia, table) = runner.rows_and_total(
        "labels",
        partial(label_block, place=estimator._place()),
        Y.items,
        runner.masks,
        width=None,
        dtype=np.int64,
    )
    _set_placed(estimator, runner, Y, labels, inertia, table)


def place_all(estimator, runner):
    """Place all samples of a runner by what was learnt, in one pass, as new ones are.

    Sets embedding, labels, inertia and leakage.
    """
    embed, width = estimator._embed_views()
    with estimator._stage("placing"):
        rule = {"embed": embed, "place": estimator._place(), "dtype": runner.dtype}
        (Y, labels), (inertia, table) = runner.several_rows(
            "placing",
            partial(place_block, **rule),
            runner.blocks,
            outputs={"embedding": (width, runner.dtype), "labels": (None, np.int64)},
        )
    _set_placed(estimator, runner, Y, labels, inertia, table)


def _set_placed(estimator, runner, Y, labels, inertia, table):
    """The attributes that say where samples are; ``table`` is that of `label_block`."""
    estimator.embedding_, estimator.labels_ = runner.array(Y), runner.array(labels)
    estimator.inertia_ = float(inertia)
    estimator.pattern_leakage_ = leakage_of(table)
    estimator._n_found = len({label for _, label in table})


def sample_runner(runner, size, seed):
    """A surveyed runner in memory over ``size`` samples of another; None: all."""
    learning = ThreadRunner(ViewsSource(runner.sample(size, seed)), runner.map)
    learning.survey()
    return learning


def total_statistics(runner, rows, sizes):
    """Statistics of all blocks of GraphRows."""
    function = partial(block_statistics, sizes=sizes)
    return Statistics(*runner.total("statistics", function, rows))


def find_centers(runner, rows, k, n_init, seed):
    """Centres of k-means on KeptRows."""

    def find():
        return kmeans_centers(rows, k, n_init=n_init, random_state=seed, map=runner.map)

    return runner.resume("kmeans", find)[0]


def choose_anchors(runner, seed, n_anchors, sample, scale, deviations):
    """k-means centres of the scaled rows of every view, or of a sample of them.

    Parameters
    ----------
    n_anchors : int
        A view with too few samples gets one anchor less than it has samples.
    sample : int or None
        Rows to choose from, and at least 20 per anchor; None: all.
    scale, deviations : as in AnchorGraphs
    """
    tasks, place = [], name_places(runner.names)
    for v, n_v in enumerate(runner.surveyed.observed.sum(axis=0)):
        rng, m = (
            np.random.RandomState([seed, place[v]]),
            max(1, min(n_anchors, n_v - 1)),
        )
        size = n_v if sample is None else max(sample, _ROWS_PER_ANCHOR * m)
        tasks.append((v, runner.random_rows(v, size, rng), m, rng))

    def of_view(task):
        v, X, m, rng = task
        return kmeans_anchors(scale_rows(X, scale, deviations[v]), m, rng)

    return list(runner.map(of_view, tasks))


def default_anchors(n, c):
    """Anchors of a view for ``n`` samples in ``c`` clusters.

    Four for each cluster; two of small clusters, whose samples would be spread over so
    many that time and accuracy are lost.
    """
    return max(100, (4 if n >= _MANY_SAMPLES * c else 2) * c)


def check_neighbors(n_neighbors, n_anchors):
    if n_neighbors >= n_anchors:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be smaller than n_anchors={n_anchors}; "
            f"lower it or raise n_anchors."
        )


def check_survey(runner):
    """Count who is observed where; refuse views that nobody has."""
    seen = runner.survey().observed.sum(axis=0) > 0
    empty = [name for name, own in zip(runner.names, seen) if not own]
    if empty:
        raise ValueError(
            f"views {empty} have no observed sample; leave them out, or check mask."
        )


def fresh_distance(nearest):
    """Root mean square distance to the nearest anchor, of samples it was not made of.

    ``nearest`` (m, 2) is as in GraphRows. A centre of s samples is nearer to these than
    to others of the same kind: squared distances are as (s - 1) to (s + 1). With a few
    samples per anchor that guess is no good, and the result NaN.
    """
    if nearest[:, 0].sum() < _FEW_SAMPLES * len(nearest):
        return np.nan
    count, squares = nearest[nearest[:, 0] > 1].T
    squares = squares * (count + 1) / (count - 1)
    return np.sqrt(squares.sum() / count.sum())


def block_statistics(rows, sizes):
    """Statistics of a block, as a tuple that adds up."""
    return row_statistics(rows, sizes), rows.nearest


def nearest_center(Y, mask, centers, normalize):
    """``(labels, inertia)`` of rows of the embedding, whatever their mask."""
    labels, distances = nearest_anchors(unit_rows(Y) if normalize else Y, centers, 1)
    return labels[:, 0], distances.sum(dtype=np.float64)


def place_block(views, embed, place, dtype):
    """``(Y, labels, summary)`` of samples, new or not; the summary of `label_block`."""
    found = []
    for rows in row_slices(views.n_samples, _PLACED_AT_ONCE) or [slice(0)]:
        part = views.select(rows)
        Y = embed(part, dtype=dtype)
        found.append((Y, *label_block(Y, part.mask, place, part.patterns())))
    Y, labels, summaries = zip(*found)
    return np.concatenate(Y), np.concatenate(labels), reduce(add_results, summaries)


def predict_block(views, embed, place, dtype):
    return place(embed(views, dtype=dtype), views.mask)[0]


def label_block(Y, mask, place, patterns=None):
    """``(labels, (inertia, how many samples have which pattern and label))``."""
    labels, inertia = place(Y, mask)
    table: Counter = Counter()
    for pattern in group_patterns(mask) if patterns is None else patterns:
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


def _in_json(value):
    """What stands in a plan for a parameter that JSON does not know."""
    if isinstance(value, np.random.RandomState):
        return None  # the seeds that it gave are kept
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return value.item() if isinstance(value, np.generic) else repr(value)
