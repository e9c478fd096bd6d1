"""split_selection: some samples of a saved run clustered anew, among themselves."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from imvc.report.cluster_page._cluster_words import number_in_words
from imvc.views import IncompleteViews
from imvc.workflow._fit import check_cost, expected_cost, fit_model, make_model
from imvc.workflow._label_edits import checked_rows
from imvc.workflow._saved_run import SavedRun
from imvc.workflow._stages import Progress, Stages

_FEWEST = 4  # samples that can be two clusters of two


def split_selection(
    run: SavedRun | str | os.PathLike[str],
    rows: Sequence[int] | np.ndarray,
    *,
    n_clusters: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> np.ndarray:
    """Cluster a selection of the samples of a run, as the run did with all of them.

    Method, parameters, random state and preparation are those of the run; the views
    are read from its files. Views that fewer than two of the samples have are left out.

    Parameters
    ----------
    run : SavedRun or path-like
        The run or its folder.
    rows : sequence of int
        Numbers of the samples, as in the run's labels; none twice.
    n_clusters : int, optional
        Without it AnchorBridge suggests a number; other methods need it.
    progress : callable, optional
        Called with a `Progress`.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        Cluster of every sample of the selection, numbered from 0; for
        `LabelEdits.split`.

    Raises
    ------
    ValueError
        There are too few samples, or no view of them; or the files of the run are gone.
    """
    run = run if isinstance(run, SavedRun) else SavedRun(run)
    stages = Stages(progress)
    chosen = checked_rows(rows, len(run.labels))
    least = max(_FEWEST, n_clusters or 0)
    if len(chosen) < least:
        raise ValueError(
            f"{len(chosen)} samples are selected, too few to be split; select at least "
            f"{least}."
        )
    request = run.record.checked_request()
    model = make_model(
        request["method"], n_clusters, request["parameters"], request["random_state"]
    )
    with stages.run("read"):
        views = _with_samples(run.views().select(chosen))
    cost = expected_cost(request["method"], views, n_clusters)
    check_cost(cost, stages, force=False)
    for text in fit_model(model, views, stages, cost.seconds):
        stages.say(text)
    if n_clusters is None:
        stages.say(_words(model))
    found, labels = np.unique(model.labels_, return_inverse=True)
    if len(found) < 2:
        raise ValueError(
            "the selected samples did not fall into parts; give a number of clusters."
        )
    return labels.astype(np.int64)


def _with_samples(views: IncompleteViews) -> IncompleteViews:
    """Views that at least two samples have; every sample must have one of them."""
    counts = views.mask.sum(axis=0)
    kept = np.flatnonzero(counts >= 2)
    if len(kept) == 0:
        raise ValueError(
            "no view has two of the selected samples, so they cannot be compared; "
            "select more samples."
        )
    found = views.select_views(kept.tolist())
    alone = np.flatnonzero(~found.mask.any(axis=1))
    if len(alone):
        name = "" if views.sample_ids is None else f", {views.sample_ids[alone[0]]!r}"
        raise ValueError(
            f"{len(alone)} of the selected samples (the first is number {alone[0]}"
            f"{name}) are in no view with any other of them; leave them out."
        )
    return found


def _words(model: Any) -> str:
    return number_in_words(
        getattr(model, "n_clusters_", None) or len(model.cluster_centers_),
        getattr(model, "evidence_", None),
        getattr(model, "evidence_reason_", None),
    )
