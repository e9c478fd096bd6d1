"""MATLAB files, through the readers of `imvc.datasets`; labels are not needed.

That room is imported when it is needed: it brings scikit-learn, which takes a second.
"""

from pathlib import Path
from typing import Any

import numpy as np

from imvc.io._arrow_types import Options
from imvc.io._errors import InputError, input_error, reading
from imvc.io._mat5 import is_mat5, sound_variables
from imvc.io._numpy import matrix_table
from imvc.io._open import memory_limit
from imvc.io._table import FileTable


def read_matlab(
    path: Path, source: str, name: str, options: Options
) -> list[FileTable]:
    """Read the views of a .mat file; known labels become metadata."""
    from imvc.datasets import _mat

    with reading(source, "a MATLAB file"):
        try:
            variables = _read_variables(path, source)
            labels = _labels(variables, path)
            n = _n_samples(variables, source) if labels is None else len(labels)
            named = _mat._find_views(variables, n, path)
            Xs = _mat._orient(named, n, path)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            message = str(error).removeprefix(f"{path}").lstrip(": ")
            raise input_error(source, message) from error
        metadata = {} if labels is None else {"label": labels}
        several = len(Xs) > 1
        return [
            matrix_table(
                X,
                key if several else name,
                f"{source}::{key}" if several else source,
                metadata=metadata,
            )
            for key, X in zip(named, Xs)
        ]


def _read_variables(path: Path, source: str) -> dict[str, Any]:
    """Variables of a file whose structure was found sound."""
    from imvc.datasets import _mat

    with open(path, "rb") as file:
        head = file.read(128)
        if not is_mat5(head):
            return _mat._read_variables(path)
        data = head + file.read()
    names = sound_variables(data, memory_limit())
    if not names:
        raise input_error(source, "holds no variable that can be read.")
    from scipy.io import loadmat

    content = loadmat(path, variable_names=names)
    return {key: value for key, value in content.items() if not key.startswith("__")}


def _labels(variables: dict[str, Any], path: Path) -> np.ndarray | None:
    from imvc.datasets import _mat

    try:
        found = _mat._find_labels(variables, path)
    except ValueError:
        return None
    labels = np.empty(len(found), dtype=object)
    labels[:] = found.tolist()
    return labels


def _n_samples(variables: dict[str, Any], source: str) -> int:
    """The size that all matrices share: of their rows or, failing that, columns."""
    from imvc.datasets import _mat

    flat = []
    for value in variables.values():
        flat += _mat._cells(value) if _mat._is_cell(value) else [value]
    shapes = [m.shape for m in flat if _mat._is_matrix(m) and min(m.shape) > 1]
    for axis in (0, 1):
        sizes = {shape[axis] for shape in shapes}
        if len(sizes) == 1:
            return int(sizes.pop())
    held = _mat._summary(variables)
    raise input_error(
        source,
        f"its matrices share neither a number of rows nor of columns: {held}; keep "
        "one matrix per view with the samples in rows.",
    )
