"""cluster, repeat: from files or views to clusters, and again."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from imvc.insight import (
    FeatureEffect,
    associate,
    check_survival,
    explain,
    inspect,
)
from imvc.io import FittedPreparation, InputError
from imvc.views import IncompleteViews, as_views
from imvc.workflow._batches import BatchColumns, BatchFindings
from imvc.workflow._cluster_run import ClusterRun
from imvc.workflow._fit import (
    caught_warnings,
    check_cost,
    expected_cost,
    fit_model,
    make_model,
)
from imvc.workflow._input_files import BlockFiles, InputFiles, load_views
from imvc.workflow._judge import forecast, judge, seek_structure
from imvc.workflow._run_json import RunRecord, read_record
from imvc.workflow._save import OUT_OF_CORE_NOTE, ResultFolder
from imvc.workflow._stages import Progress, Stages
from imvc.workflow._unfinished import WORK_FOLDER, UnfinishedRun
from imvc.workflow._warnings import run_warnings


def cluster(
    source: Any,
    *,
    n_clusters: int | Sequence[int] | None = None,
    method: str = "bridge",
    parameters: Mapping[str, Any] | None = None,
    random_state: int | None = 0,
    n_refits: int = 4,
    metadata: Mapping[str, Any] | None = None,
    survival: tuple[str, str] | None = None,
    batch: Any = None,
    adjust: Any = None,
    force: bool = False,
    folder: ResultFolder | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ClusterRun:
    """Inspect, cluster, judge and explain: all that ``imvc cluster`` does.

    Files that do not fit into memory (`BlockFiles`) are clustered by the methods that
    read them by blocks. A run that was killed goes on from its finished stages when the
    same is asked for again. What needs all samples in memory is left out: inspection,
    estimate, confidence and explanation.

    Parameters
    ----------
    source : InputFiles, BlockFiles, ViewFiles, or views as in ``fit``
    n_clusters : int, optional
        Without it AnchorBridge suggests a number; other methods need it.
    method : str, default="bridge"
        One of `imvc.list_methods`.
    parameters : mapping, optional
        Parameters of the method beside the defaults.
    random_state : int, default=0
    n_refits : int, default=4
        Fits with other seeds that tell how stable each sample's cluster is, and twice
        as many draws of samples that tell whether there are clusters at all; none for
        `BlockFiles`.
    metadata : mapping of str to array-like, optional
        Columns of what is known of the samples, in their order: to be compared with
        the clusters (`imvc.associate`), and to colour the report.
    survival : (time, event), optional
        Names of two columns of the metadata: survival is compared between the clusters.
        Not for `BlockFiles`.
    batch : str or array-like of shape (n_samples,), optional
        Batch of every sample: the name of a column of the metadata, or the values. The
        result tells whether the clusters follow it. Not for `BlockFiles`.
    adjust : str or array-like of shape (n_samples,), optional
        As ``batch``, which it implies; what the batches explain and the clusters do not
        is removed from the views, see `adjust_batches`.
    force : bool, default=False
        Try it even where the estimate says that memory will not do; there is no
        estimate for `BlockFiles`.
    folder : what `output_folder` gives, optional
        Where the run will be saved; unfinished work on `BlockFiles` is kept there.
    progress : callable, optional
        Called with a `Progress`. What there is to warn of is not told there but in the
        result's ``warnings``, all of it, the worst first.

    Returns
    -------
    ClusterRun

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc.workflow import cluster
    >>> data = make_views(120, (6, 5, 4), 3, separation=8, random_state=0)
    >>> run = cluster(data.Xs, n_clusters=3, n_refits=1)
    >>> sorted(run.columns())[:3]
    ['cluster', 'confidence', 'low_confidence']
    """
    stages = Stages(progress)
    # A wrong request is told before files are read for minutes.
    if isinstance(source, BlockFiles):
        source.check_request(method, parameters or {}, metadata)
        needs_all = {"survival": survival, "batch": batch, "adjust": adjust}
        for name, given in needs_all.items():
            if given is not None:
                raise ValueError(f"{name} needs all samples in memory; leave it out.")
    model = make_model(method, n_clusters, parameters or {}, random_state)
    if isinstance(source, BlockFiles):
        return _cluster_by_blocks(source, model, method, folder, stages)
    loaded = load_views(source, stages)
    views = loaded.views
    known = {**loaded.metadata, **_columns(metadata, views.n_samples)}
    compared = not_features(known, views)
    if survival is not None:
        check_survival(survival, compared)
    asked = BatchColumns.asked(batch, adjust, known, views)
    if adjust is not None:
        as_views(views)  # effects are those of complete cells
    with stages.run("inspect"):
        inspection = inspect(views)
    if loaded.columns:
        inspection = replace(inspection, columns=loaded.columns)
    cost = expected_cost(method, views, model.n_clusters)
    stages.say(forecast(method, views, cost, n_refits))
    check_cost(cost, stages, force=force)
    adjustment = asked.search(model, views, stages)
    if adjustment is not None:
        views = adjustment.views
    warned = fit_model(model, views, stages, cost.seconds, asked.first)
    batches = BatchFindings.of(asked, model, adjustment)
    for text in batches.notes():
        stages.say(text)
    trust = judge(model, method, views, n_refits, stages)
    clustered = seek_structure(model, method, views, n_refits, stages)
    with stages.run("explain"):
        explanation = explain(model, views)
        features = in_units(explanation.features, loaded.preparation)
        explanation = replace(explanation, features=features)
    with stages.run("associate"):
        associations = associate(model.labels_, compared, survival=survival)
    run = ClusterRun(
        model=model,
        method=method,
        views=views,
        seconds=stages.seconds,
        notes=(*loaded.notes, *batches.notes()),
        inputs=source if isinstance(source, InputFiles) else None,
        fingerprints=loaded.fingerprints,
        inspection=inspection,
        confidence=trust,
        structure=clustered,
        explanation=explanation,
        cost=cost,
        n_refits=n_refits,
        preparation=loaded.preparation,
        metadata=known,
        associations=associations,
        batches=batches,
    )
    warned = run_warnings(
        run, reading=loaded.warnings, batches=batches.warnings(), fit=warned
    )
    return replace(run, warnings=warned)


def repeat(
    record: RunRecord | str | os.PathLike[str],
    *,
    paths: Sequence[str | os.PathLike[str]] | None = None,
    n_jobs: int | None = None,
    force: bool = False,
    guard: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ClusterRun:
    """Repeat a run: the same files, options, parameters and seed.

    Parameters
    ----------
    record : RunRecord or path-like
        The ``run.json`` of a run, or its folder.
    paths : sequence of path-like, optional
        The files of the run, in its order, where they are elsewhere now. By default
        they are looked for beside ``run.json`` as they were, then where they were.
    n_jobs : int, optional
        Threads; the result does not depend on them.
    force : bool, default=False
        Go on although files have changed or memory may not do.
    guard : bool, default=False
        As in `InputFiles`.
    progress : callable, optional
        As in `cluster`. Told which packages have other versions now.

    Returns
    -------
    ClusterRun

    Raises
    ------
    ValueError
        If a file is not what it was (and not `force`), or the record cannot be used.
    """
    if not isinstance(record, RunRecord):
        record = read_record(record)
    stages = Stages(progress)
    request = record.checked_request()
    inputs = record.inputs(paths, guard)
    changed = record.check_files(inputs)
    if changed and not force:
        raise ValueError(
            f"{'; '.join(changed)}; bring the old file back, or repeat with "
            f"force=True (--force)."
        )
    other = (*changed, *record.check_versions())
    for text in other:
        stages.say(text)
    parameters = dict(request["parameters"])
    if n_jobs is not None:
        parameters["n_jobs"] = n_jobs
    try:
        run = cluster(
            inputs,
            n_clusters=request["n_clusters"],
            method=request["method"],
            parameters=parameters,
            random_state=request["random_state"],
            n_refits=request["n_refits"],
            survival=request["survival"],
            batch=request["batch"],
            adjust=request["adjust"],
            force=force,
            progress=progress,
        )
    except InputError:  # it names the file of the input that is wrong
        raise
    except (TypeError, ValueError) as error:
        raise ValueError(f"{record.path}: cannot be repeated: {error}") from error
    return replace(run, notes=(*other, *run.notes))


def _cluster_by_blocks(
    files: BlockFiles,
    model: Any,
    method: str,
    folder: ResultFolder | None,
    stages: Stages,
) -> ClusterRun:
    """The same as far as it goes without all samples in memory."""
    own = ("memory_budget", "verbose", "empty_cells")
    model.set_params(**{name: getattr(files, name) for name in own})
    work, resumed = None, []
    if files.work_dir is not None:
        work = UnfinishedRun(Path(files.work_dir))
    elif folder is not None:
        work = UnfinishedRun(
            folder.path / WORK_FOLDER, own=True, overwrite=folder.overwrite
        )
    if work is not None:
        model.set_params(work_dir=str(work.path))
    with nullcontext() if work is None else work.kept(stages):
        with caught_warnings() as reading:
            source = files.open(model, stages)
        if work is not None:
            resumed = work.take(model, source, stages)
        warned = fit_model(model, source, stages)
    run = ClusterRun(
        model=model,
        method=method,
        views=source,
        seconds=stages.seconds,
        notes=(OUT_OF_CORE_NOTE,),
        inputs=files,
        work=work,
        resumed=tuple(resumed),
    )
    return replace(run, warnings=run_warnings(run, reading=reading, fit=warned))


def _columns(metadata: Mapping[str, Any] | None, n: int) -> dict[str, np.ndarray]:
    columns = {name: np.asarray(column) for name, column in (metadata or {}).items()}
    for name, column in columns.items():
        if column.shape != (n,):
            raise ValueError(
                f"metadata {name!r} has shape {column.shape}, but there are {n} "
                f"samples; give one value per sample."
            )
    return columns


def in_units(
    effects: Sequence[FeatureEffect], preparation: FittedPreparation | None
) -> tuple[FeatureEffect, ...]:
    """Effects with means of features as the files have them, not as scaled."""
    if preparation is None:
        return tuple(effects)
    return tuple(
        replace(
            effect,
            mean_inside=preparation.in_units(
                effect.view, effect.feature, effect.mean_inside
            ),
            mean_outside=preparation.in_units(
                effect.view, effect.feature, effect.mean_outside
            ),
        )
        for effect in effects
    )


def not_features(
    metadata: Mapping[str, np.ndarray], views: IncompleteViews
) -> dict[str, np.ndarray]:
    """Columns that no cluster was made from, also not as indicators of their values.

    Clusters differ in their features whether or not they mean anything.
    """
    names = {name for own in views.feature_names for name in own or ()}
    names |= {name[:i] for name in names for i, c in enumerate(name) if c == "="}
    return {name: column for name, column in metadata.items() if name not in names}
