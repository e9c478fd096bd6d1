"""Empty cells of observed rows: what a fit learns of every view to fill them.

Means and deviations of the columns come from all samples, the low-rank model from some,
so that files are read once more at most. Nothing is drawn from ``random_state``: the
same data are filled alike whatever the seed of the method, and so is every refit.
"""

from functools import partial, reduce
from operator import add

import numpy as np

from imvc.kernels._cell_moments import CellMoments
from imvc.kernels._low_rank import fit_low_rank
from imvc.kernels._ridge_fill import PARTS, LowRank
from imvc.scale import CellFill, ThreadRunner, ViewsSource, map_observed

_MOST_ROWS, _FEWEST_ROWS = 10_000, 2_000  # samples to learn from
_MOST_CELLS = 1 << 24  # of a view, unless it is very wide
_SEED = 0  # of these samples, and of the cells hidden to compare ranks
_DIGITS = 30  # binary ones, of means in terms of the deviation


def learn_fill(runner, how):
    """The `CellFill` of the views of a surveyed runner; ``how``: "fill" or "mean"."""

    def learn():
        moments = runner.total(None, view_moments, runner.blocks)
        for v, name in enumerate(runner.names):
            refuse_empty_columns(name, runner.schema.feature_names[v], moments[v].count)
        rules = [settled(own) for own in moments]
        if how == "mean":
            return [column_means(*rule) for rule in rules]
        rows = max(_FEWEST_ROWS, _MOST_CELLS // max(runner.n_features))
        views = runner.sample(min(_MOST_ROWS, rows), _SEED)
        learn_view = partial(model_of_view, views, rules)
        return list(runner.map(learn_view, range(runner.n_views)))

    found = runner.resume("empty cells", learn)
    return CellFill(tuple(LowRank(*arrays) for arrays in found))


def learn_fill_of_views(views, how, map=map):
    """`learn_fill` of IncompleteViews in memory."""
    runner = ThreadRunner(ViewsSource(views), map)
    runner.survey()
    return learn_fill(runner, how)


def view_moments(views):
    """`CellMoments` of every view of a block, as a tuple: they add up."""
    nothing = [
        CellMoments.of(np.empty((0, views.n_features[v]))) for v in range(views.n_views)
    ]
    return tuple(
        reduce(add, map_observed(CellMoments.of, views, v), none)
        for v, none in enumerate(nothing)
    )


def settled(moments):
    """Means and deviations without their last digits, ``(mean, scale)``.

    These depend on how samples were cut into blocks, and what is clustered must not.
    """
    digits, exponent = np.frexp(moments.scale)
    scale = np.ldexp(np.round(np.ldexp(digits, _DIGITS)), exponent - _DIGITS)
    step = np.ldexp(1.0, exponent - _DIGITS)
    with np.errstate(all="ignore"):
        mean = np.round(moments.mean / step) * step
    known = np.isfinite(mean) & (moments.squares > 0)  # constants stay what they are
    return np.where(known, mean, moments.mean), scale


def column_means(mean, scale):
    """The arrays of the model that fills cells with the means of their columns."""
    d = len(mean)
    return mean, scale, np.empty((d, 0)), np.empty(0), np.zeros(d)


def model_of_view(views, rules, v):
    """The arrays of the low-rank model of view ``v``, learnt from samples."""
    mean, scale = rules[v]
    model = fit_low_rank(views.observed(v), mean=mean, scale=scale, seed=_SEED)
    return tuple(getattr(model, part) for part in PARTS)


def refuse_empty_columns(name, features, count):
    """Refuse columns without any number: nothing tells what to fill them with."""
    empty = np.flatnonzero(count == 0)
    if len(empty):
        shown = [int(j) if features is None else features[j] for j in empty[:3]]
        raise ValueError(
            f"view {name!r} has no number in {len(empty)} of its columns, first "
            f"{shown}, so nothing can fill their cells; drop these columns."
        )
