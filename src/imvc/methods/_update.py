"""More samples for a fitted anchor model, and model files that can take them.

A fitted model keeps the graph rows of the samples that it was learnt from, all or some;
those of new samples join them, and everything after the graphs is solved anew.
"""

from tempfile import TemporaryDirectory

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imvc._plain import wrong_key
from imvc.kernels._kmeans import add_results
from imvc.methods._base import warn_user
from imvc.methods.anchor_model import (
    Samples,
    Statistics,
    place_all,
    sample_runner,
)
from imvc.scale import BlockSource, GraphRows, RunFolder, ThreadRunner, threaded_map

_WARN_DRIFT = 1.4
_VALUES = {"starts": list[int], "seeds": list[int], "stand_for": int | None}
_FROM_GRAPHS = {"n_features_in_", "n_views_in_", "view_names_", "anchor_distance_"}


class GraphRowsSource(BlockSource):
    """Samples of which only the graph rows, by block, are left."""

    def __init__(self, rows, starts, schema, dtype, keys=None):
        self._rows, self.starts, self.dtype = rows, starts, dtype
        self._keys, self.has_ids = keys, keys is not None
        self.names, self.n_features = schema.names, schema.n_features
        self.feature_names = schema.feature_names

    @property
    def fingerprint(self):
        return {"kind": "graph rows", "n_samples": self.n_samples}

    def mask(self, i):
        return self._rows[i].mask[:, : self.n_views]

    def keys(self, i):
        return self._keys[i]

    def block(self, i):
        raise ValueError("only graph rows of these samples were kept.")


class JoinedBlocks:
    """The ``n_old`` blocks of old samples, then those of new ones, by one number."""

    def __init__(self, old, new, n_old):
        self._old, self._new, self._n_old = old, new, n_old

    def __getitem__(self, i):
        return self._old[i] if i < self._n_old else self._new[i - self._n_old]


def update_model(model, Xs, mask):
    """`AnchorClusterer.update`."""
    check_is_fitted(model)
    old, drawn = kept_samples(model), None
    with model._runner(Xs, mask, like=model._schema) as runner:
        learning, ids, seen = runner, runner.sample_ids, runner.mask
        if old.stand_for is not None:
            drawn = old.stand_for + runner.n_samples
            learning = _share_of(runner, old)
        else:
            ids = _joined(model.sample_ids_, ids)
            seen = _joined(getattr(model, "mask_", None), seen)
        rows = learning.keep("graph", model._graphs, learning.blocks)
        new, n_old = model._statistics(learning, rows), len(old.starts) - 1
        keys = None if old.keys is None else learning.keep_keys()
        samples = Samples(
            JoinedBlocks(old.rows, rows, n_old),
            np.append(old.starts, old.starts[-1] + learning.source.starts[1:]),
            Statistics(*add_results(old.statistics, new)),
            old.seeds,
            (*old.folders, learning.folder),
            drawn,
            None if keys is None else JoinedBlocks(old.keys, keys, n_old),
        )
        views = new.nearest[: model.n_views_in_]
        distance = np.array([mean_distance(nearest) for nearest in views])
        runner.source.check_unchanged()  # before the model is another
        _solve_again(model, samples, ids, distance)
        model.mask_ = seen
        if drawn is not None:
            place_all(model, runner)
            warn_user(
                "this model was learnt from a sample (learn_sample), so labels_ and "
                "embedding_ are now those of the new samples only; predict gives "
                "those of the old ones.",
            )
    _warn_of_drift(model)
    return model


def _joined(old, new):
    """What is known of old and of new samples; None where it is not known of all."""
    return None if old is None or new is None else np.concatenate([old, new])


def _share_of(runner, old):
    """A runner over as large a share of new samples as was learnt from of the old."""
    runner.survey()
    share = old.starts[-1] / old.stand_for
    return sample_runner(runner, max(1, round(share * runner.n_samples)), old.seeds[0])


def _solve_again(model, samples, ids, distance):
    about = samples.starts, model._schema, model._dtype, samples.keys
    source = GraphRowsSource(samples.rows, *about)
    folder = None
    if any(own is not None for own in samples.folders):
        folder = RunFolder(TemporaryDirectory(prefix="imvc-"), {})
    names = _FROM_GRAPHS | model._learnt_before_solving
    kept = {name: value for name, value in vars(model).items() if name in names}
    with threaded_map(model.n_jobs) as map:
        runner = ThreadRunner(source, map, folder)
        runner.survey()
        model._forget()
        vars(model).update(kept)
        model.sample_ids_, model.stage_seconds_ = ids, {}
        model.batch_leakage_ = float("nan")  # batches of new samples are not known
        with np.errstate(divide="ignore", invalid="ignore"):
            model.drift_ = distance / model.anchor_distance_
        model._learn_again(runner, samples)
    model._samples = samples
    model._tell(runner)


def _warn_of_drift(model):
    far = np.flatnonzero(model.drift_ > _WARN_DRIFT)
    if far.size:
        v = far[0]
        warn_user(
            f"the anchors cover new samples badly: in view {model.view_names_[v]!r} "
            f"they are {model.drift_[v]:.1f} times as far from their nearest anchor "
            f"as those of the fit (drift_); fit anew.",
        )


def mean_distance(nearest):
    """Root mean square distance to the nearest anchor; NaN where nobody has the view.

    ``nearest`` (m, 2) is as in GraphRows.
    """
    count, squares = nearest.sum(axis=0)
    return np.sqrt(squares / count) if count else np.nan


def kept_samples(model):
    """What is kept of the samples of the fit, or why nothing is."""
    if not hasattr(model, "_samples"):
        raise ValueError(
            "this model keeps no graph rows of its samples, so none can be added: "
            "it was fitted on a cluster or on groups of views apart, has "
            "graph='full', or was saved without updatable=True."
        )
    return model._samples


def samples_to_state(samples):
    """``(arrays, JSON values)`` of kept samples for a model file."""
    arrays = {
        f"rows{i}.{j}": array
        for i in range(len(samples.starts) - 1)
        for j, array in enumerate(samples.rows[i].to_arrays())
    }
    if samples.keys is not None:
        arrays["keys"] = np.concatenate(
            [samples.keys[i] for i in range(len(samples.starts) - 1)]
        )
    return arrays, {
        "seeds": list(samples.seeds),
        "starts": samples.starts.tolist(),
        "stand_for": samples.stand_for,
    }


def samples_from_state(model, arrays, values):
    """The inverse of `samples_to_state`; a ValueError for what is none of its."""
    if wrong_key({"stand_for": None, **values}, _VALUES) is not None:
        raise ValueError("what it keeps of its samples is not as imvc writes it.")
    starts, rows = np.array(values["starts"], np.int64), {}
    sizes = model._graphs.sizes
    for i, n in enumerate(np.diff(starts).tolist()):
        names = [f"rows{i}.{j}" for j in range(2 + 3 * len(sizes))]
        own = [arrays[name] for name in names if name in arrays]
        if len(own) < len(names) or not _are_rows(own, n, sizes):
            raise ValueError(f"its graph rows of block {i} do not fit its samples.")
        rows[i] = GraphRows.from_arrays(own)
    source = GraphRowsSource(rows, starts, model._schema, model._dtype)
    found = model._statistics(ThreadRunner(source, map), rows)
    keys = arrays.get("keys")
    if keys is not None:
        if keys.shape != starts[-1:] or keys.dtype != np.uint64:
            raise ValueError("its keys are not one for each of its samples.")
        keys = dict(enumerate(np.split(keys, starts[1:-1])))
    return Samples(
        rows,
        starts,
        found,
        tuple(values["seeds"]),
        stand_for=values.get("stand_for"),  # older files have none
        keys=keys,
    )


def _are_rows(arrays, n, sizes):
    """Whether arrays are those of GraphRows of n samples with anchors of some sizes.

    SciPy trusts indices: one out of bounds would crash the process.
    """
    shape, bits, *rest = arrays
    V = len(sizes)
    if shape.tolist() != [n, V] or n < 0 or bits.dtype != np.uint8:
        return False
    if bits.shape != (-(-n * V // 8),):
        return False
    seen = np.unpackbits(bits, count=n * V).reshape(n, V).sum(axis=0)
    return all(
        indices.dtype.kind in "iu"
        and weights.dtype.kind == nearest.dtype.kind == "f"
        and indices.ndim == 2
        and indices.shape == weights.shape
        and len(indices) == seen[v]
        and 0 <= indices.min(initial=0) <= indices.max(initial=0) < sizes[v]
        and nearest.shape == (sizes[v], 2)
        and ((weights >= 0) & (weights < 1.001)).all()  # each row sums to one
        and ((nearest >= 0) & np.isfinite(nearest)).all()
        for v, (indices, weights, nearest) in enumerate(
            zip(rest[: 2 * V : 2], rest[1 : 2 * V : 2], rest[2 * V :])
        )
    )
