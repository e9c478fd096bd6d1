"""inspect_source: files or views, looked at before anything is clustered."""

from collections.abc import Callable
from typing import Any

from imvc.insight import Inspection, inspect
from imvc.workflow._input_files import load_views
from imvc.workflow._stages import Progress, Stages


def inspect_source(
    source: Any, *, progress: Callable[[Progress], None] | None = None
) -> tuple[Inspection, tuple[str, ...]]:
    """What is missing where, and what was decided about the files.

    Parameters
    ----------
    source : InputFiles, ViewFiles, or views as in the ``fit`` of every method
    progress : callable, optional
        Called with a `Progress`.

    Returns
    -------
    Inspection, tuple of str

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc.workflow import inspect_source
    >>> data = make_views(60, (5, 6), 3, random_state=0)
    >>> found, notes = inspect_source(data.Xs)
    >>> found.n_samples
    60
    """
    stages = Stages(progress)
    loaded = load_views(source, stages, fingerprint=False)
    with stages.run("inspect"):
        return inspect(loaded.views), loaded.notes
