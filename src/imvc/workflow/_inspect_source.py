"""inspect_source: what is missing where, before anything is clustered."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from imvc.insight import Inspection, inspect
from imvc.workflow._input_files import InputFiles, load_views
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
        The warnings of the inspection begin with those of the reading.

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
    if isinstance(source, InputFiles):  # an empty cell is counted, not refused
        prepared = replace(source.preparation, empty_cells="fill")
        source = replace(source, preparation=prepared)
    loaded = load_views(source, stages, fingerprint=False)
    with stages.run("inspect"):
        found = inspect(loaded.views)
    warned = dict.fromkeys((*loaded.warnings, *found.warnings))
    columns = loaded.columns or found.columns
    found = replace(found, warnings=tuple(warned), columns=columns)
    return found, loaded.notes
