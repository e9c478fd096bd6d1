"""Several files of one view: batches of patients, one below the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._checked_table import check_table
from imvc.io._errors import input_error
from imvc.io._file_table import FileTable


def stack_files(found: list[list[Any]], name: str) -> Any:
    """What was read from several files as one view.

    `found` has what `read_raw` gave for every file. Tables may lack some of the columns
    of the others, whose cells are empty then; matrices must have the same columns.
    """
    several = next((raws for raws in found if len(raws) > 1), None)
    if several is not None:
        raise input_error(
            several[0].source,
            "holds several views, so its rows cannot be added to those of one view; "
            "give it by itself.",
        )
    parts = [raws[0] for raws in found]
    source = " + ".join(part.source for part in parts)
    matrices = [part for part in parts if isinstance(part, FileTable)]
    name = name or _common_name([part.name for part in parts])
    if not matrices:
        from imvc.io._arrow_columns import stack_parts

        return stack_parts(parts, name, source)
    if len(matrices) < len(parts):
        raise input_error(
            source, "some are tables and some matrices; give files of one kind."
        )
    return _stack_matrices(matrices, name, source)


def _stack_matrices(parts: list[FileTable], name: str, source: str) -> FileTable:
    first = parts[0]
    for part in parts[1:]:
        if part.features != first.features:
            raise input_error(
                part.source,
                f"has {len(part.features)} columns that are not those of "
                f"{first.source}, {len(first.features)}; give files with the same "
                "columns in the same order.",
            )
    without = [part for part in parts if part.ids is None]
    if without and len(without) < len(parts):
        raise input_error(without[0].source, "has no ids while other parts have.")
    values = [part.values for part in parts]
    sparse = any(map(sp.issparse, values))
    stacked = sp.vstack(values, format="csr") if sparse else np.vstack(values)
    shared = [c for c in first.metadata if all(c in part.metadata for part in parts)]
    return check_table(
        replace(
            first,
            name=name,
            source=source,
            values=stacked,
            ids=None if without else np.concatenate([part.ids for part in parts]),
            notes=(
                *(n for part in parts for n in part.notes),
                f"rows of {len(parts)} files",
            ),
            metadata={
                c: np.concatenate([p.metadata[c] for p in parts]) for c in shared
            },
        )
    )


def _common_name(names: list[str]) -> str:
    """What the names of all files start with, or the first of them."""
    same = [len(set(letters)) == 1 for letters in zip(*names)]
    common = names[0][: same.index(False) if False in same else len(same)]
    return common.rstrip("_-. 0123456789") or names[0]
