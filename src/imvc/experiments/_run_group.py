"""One run, or one group of runs that share their statistics, to records.

Samples are shuffled (`prepared_data`), because some of the compared methods depend on
the order of the rows. The mask is drawn first, on the rows in the order of the file, so
``protocol_mask(data, protocol, rate, mask_seed)`` gives the same one elsewhere.
"""

import gc
import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any

import numpy as np

from imvc._machine import PeakMemory, machine_info
from imvc.datasets import MultiViewDataset, protocol_mask
from imvc.experiments._outsiders import Outsider, hidden_views
from imvc.experiments._rival_process import RivalError, leave_rivals
from imvc.experiments._rivals import Rival
from imvc.experiments._run_record import Record
from imvc.experiments._suite import RunSpec
from imvc.experiments._suite_plan import PATH_PARAMETERS, estimator_class
from imvc.metrics import pattern_leakage, score_all

_SHUFFLE = 1  # keeps the draws of the shuffle apart from those of the mask


def prepared_data(data: MultiViewDataset, spec: RunSpec) -> MultiViewDataset:
    """The dataset with views taken away, its samples in the order of the run.

    Rate 0 leaves a naturally incomplete set as it is. The mask seed is that of the mask
    and, by a stream of its own, of the order; sorting by class keeps that order within
    the classes.
    """
    if spec.rate > 0:
        mask = protocol_mask(data, spec.protocol, spec.rate, spec.mask_seed)
        data = data.with_mask(mask)
    rng = np.random.default_rng([spec.mask_seed, _SHUFFLE])
    order = rng.permutation(data.n_samples)
    if spec.row_order == "by-class":
        order = order[np.argsort(data.y[order], kind="stable")]
    shuffled = (X[order] for X in data.Xs)
    return MultiViewDataset(
        # Half precision is how features are stored, not how they are computed with.
        Xs=[X.astype(np.float32) if X.dtype == np.float16 else X for X in shuffled],
        y=data.y[order],
        mask=data.mask[order],
        names=data.names,
        name=data.name,
    )


def run_group(
    specs: Sequence[RunSpec],
    data: MultiViewDataset,
    n_jobs: int = 1,
    outsiders: Mapping[str, Outsider] | None = None,
) -> list[Record]:
    """Do the runs of a group, all on the same mask; never raises on a bad run.

    Parameters
    ----------
    specs : sequence of RunSpec
        One group of `group_runs`.
    data : MultiViewDataset
        Complete, in the order of its file.
    n_jobs : int, default=1
        Threads of methods that take them.
    outsiders : mapping of str to Rival or OwnMethod, optional
        Methods from outside the library, by their names in the runs.

    Returns
    -------
    list of Record
        In the order of ``specs``.
    """
    prepared = prepared_data(data, specs[0])
    if len(specs) > 1:
        try:
            return _run_path(specs, prepared, n_jobs)
        except MemoryError:
            gc.collect()
        except Exception:
            # One bad setting must not take the others with it: each by itself below.
            pass
    outside = outsiders or {}
    return [run_one(spec, prepared, n_jobs, outside.get(spec.method)) for spec in specs]


def run_one(
    spec: RunSpec,
    data: MultiViewDataset,
    n_jobs: int = 1,
    outsider: Outsider | None = None,
) -> Record:
    """Fit once and score; an exception becomes the reason of a failed record."""
    if not isinstance(outsider, Rival):
        leave_rivals()  # one that waits would count as memory of this run
    try:
        model = _estimator(spec, data, n_jobs, outsider)
        Xs = data.Xs if outsider is None else hidden_views(data)
        with PeakMemory() as memory, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start, cpu = perf_counter(), process_time()
            model.fit(Xs, mask=data.mask.copy())  # a stranger may write into it
            seconds = {
                "total": perf_counter() - start,
                "processor": process_time() - cpu,
            }
        return _record(spec, data, model, seconds, memory.above)
    except RivalError as error:
        return replace(
            failure(spec, error.status, str(error)), resolved=model.get_params()
        )
    except MemoryError as error:
        return failure(spec, "memory", f"MemoryError: {error}".rstrip(": "))
    except Exception as error:
        return failure(spec, "failed", f"{type(error).__name__}: {error}")


def failure(spec: RunSpec, status: str, reason: str) -> Record:
    """The record of a run that has no result."""
    return Record(
        spec, status, reason, machine=machine_info(), finished=_now(), grouped=1
    )


def _run_path(specs, data, n_jobs) -> list[Record]:
    model = _estimator(specs[0], data, n_jobs)
    defaults = {name: model.get_params()[name] for name in PATH_PARAMETERS}
    wanted = [
        tuple(spec.parameters.get(name, defaults[name]) for name in PATH_PARAMETERS)
        for spec in specs
    ]
    betas = list(dict.fromkeys(beta for beta, _ in wanted))
    dims = list(dict.fromkeys(dim for _, dim in wanted))
    with PeakMemory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = perf_counter()
        models = model.beta_path(data.Xs, betas, embedding_dims=dims, mask=data.mask)
        seconds = {"total": (perf_counter() - start) / len(models)}
    found = dict(zip(((beta, dim) for dim in dims for beta in betas), models))
    return [
        _record(spec, data, found[pair], seconds, memory.above, len(specs))
        for spec, pair in zip(specs, wanted)
    ]


def _estimator(
    spec: RunSpec, data: MultiViewDataset, n_jobs: int, outsider: Outsider | None = None
) -> Any:
    make = outsider.estimator() if outsider else estimator_class(spec.method)
    extra = {"random_state": spec.seed, "n_jobs": n_jobs}
    known = inspect.signature(make).parameters
    given = {name: value for name, value in extra.items() if name in known}
    return make(n_clusters=data.n_clusters, **(given | dict(spec.parameters)))


def _record(spec, data, model, seconds, memory, grouped=1) -> Record:
    scores = score_all(data.y, model.labels_)
    scores["pattern_leakage"] = pattern_leakage(model.labels_, data.mask)
    return Record(
        spec,
        scores=scores,
        seconds={
            **getattr(model, "stage_seconds_", {}),
            **getattr(model, "rival_seconds_", seconds),
        },
        peak_memory=getattr(model, "rival_memory_", memory),
        objective=tuple(float(v) for v in getattr(model, "objective_", ())),
        n_iter=int(getattr(model, "n_iter_", 0)),
        converged=bool(getattr(model, "converged_", True)),
        grouped=grouped,
        resolved=model.get_params() if hasattr(model, "get_params") else {},
        shape={
            "n_samples": data.n_samples,
            "n_views": data.n_views,
            "n_clusters": data.n_clusters,
            "n_incomplete": int((~data.mask.all(axis=1)).sum()),
            "n_missing": int((~data.mask).sum()),
            "shuffle_seed": spec.mask_seed,
        },
        machine=machine_info(),
        finished=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
