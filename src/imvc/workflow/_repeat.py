"""repeat: a run again, from its run.json."""

import os
from collections.abc import Callable, Sequence

from imvc.workflow._cluster import ClusterRun, cluster
from imvc.workflow._record import RunRecord, read_record
from imvc.workflow._stages import Progress, Stages

__all__ = ["repeat"]


def repeat(
    record: RunRecord | str | os.PathLike[str],
    *,
    paths: Sequence[str | os.PathLike[str]] | None = None,
    n_jobs: int | None = None,
    force: bool = False,
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
    inputs = record.inputs(paths)
    changed = record.check_files(inputs)
    if changed and not force:
        raise ValueError(
            f"{'; '.join(changed)}; bring the old file back, or repeat with "
            f"force=True (--force)."
        )
    for text in (*changed, *record.check_versions()):
        stages.say(f"warning: {text}")
    parameters = dict(request["parameters"])
    if n_jobs is not None:
        parameters["n_jobs"] = n_jobs
    return cluster(
        inputs,
        n_clusters=request["n_clusters"],
        method=request["method"],
        parameters=parameters,
        random_state=request["random_state"],
        n_refits=request["n_refits"],
        force=force,
        progress=progress,
    )
