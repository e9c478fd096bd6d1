"""Which view of a fitted model each new file is."""

from collections.abc import Sequence
from typing import Any

from imvc.io._errors import input_error, shown
from imvc.io._file_table import FileTable
from imvc.io._prepare_view import ViewPreparation

_ENOUGH = 0.5  # share of a view's columns by which a file is taken for it


def match_views(
    views: Sequence[ViewPreparation], files: Sequence[Any]
) -> list[tuple[ViewPreparation, str | None]]:
    """The view of the fit that each file is, and a note where that is a guess.

    By name; what is left, by the columns where one free view fits best; what is left
    then, by position if there are as many files as views. `files` are tables, or
    columns that are yet to become one.
    """
    by_name = {view.name: view for view in views}
    _refuse_twins(files)
    found = [by_name.get(file.name) for file in files]
    named = list(found)
    _match_by_columns(views, files, found)
    fitting = list(found)
    if len(files) == len(views):
        taken = {view.name for view in found if view is not None}
        for j, own in enumerate(views):
            if found[j] is None and own.name not in taken:
                found[j] = own
    pairs: list[tuple[ViewPreparation, str | None]] = []
    for j, (file, view) in enumerate(zip(files, found)):
        _refuse_samples_in_columns(file, views if view is None else [view])
        if view is None:
            raise input_error(
                file.source,
                f"is none of the views of the model ({', '.join(by_name)}), neither "
                "by name nor by its columns; give its view with names= (--name).",
            )
        note = None
        if fitting[j] is None:
            note = (
                f"taken for view {view.name!r} by its position; if that is wrong, give "
                "names= (--name)"
            )
        elif named[j] is None:
            note = f"taken for view {view.name!r} by its columns"
        pairs.append((view, note))
    return pairs


def _columns(file: Any) -> Sequence[str]:
    return file.columns if isinstance(file, FileTable) else file.names


def _row_names(file: Any) -> set[str]:
    """All that may name a row of a file."""
    if isinstance(file, FileTable):
        names = {str(cell) for column in file.metadata.values() for cell in column}
        return names | (set() if file.ids is None else set(file.ids.tolist()))
    from imvc.io._arrow_columns import id_candidates

    return {text for column in id_candidates(file) for text in column.values.tolist()}


def _refuse_samples_in_columns(file: Any, views: Sequence[ViewPreparation]) -> None:
    """Rows called like the columns of a view are features, not samples."""
    columns = set(_columns(file))
    for view in views:
        n, n_there = len(view.columns), sum(c in columns for c in view.columns)
        if 2 * n_there >= n:
            continue
        rows = _row_names(file)
        turned = [column for column in view.columns if column in rows]
        if len(turned) > 2 * n_there and len(turned) >= max(2, n / 2):
            raise input_error(
                file.source,
                f"{len(turned)} of its rows are called like columns of view "
                f"{view.name!r} of the model, e.g. {shown(turned[:1])}, and {n_there} "
                "of its columns: the samples seem to be in columns; pass "
                f"transpose={file.name!r} (--transpose {file.name}).",
            )


def _refuse_twins(files: Sequence[Any]) -> None:
    seen: dict[str, str] = {}
    for file in files:
        if file.name in seen:
            raise input_error(
                file.source,
                f"is called {file.name!r} like {seen[file.name]}; give names= "
                "(--name).",
            )
        seen[file.name] = file.source


def _match_by_columns(
    views: Sequence[ViewPreparation], files: Sequence[Any], found: list[Any]
) -> None:
    """Fill in `found` where the columns of a file fit one free view best."""
    for j, file in enumerate(files):
        if found[j] is not None:
            continue
        taken = {view.name for view in found if view is not None}
        has = set(_columns(file))
        fit = {
            v: (
                sum(c in has for c in v.columns) / len(v.columns),
                len(v.columns) == len(has),
            )
            for v in views
            if v.name not in taken
        }
        # Numbered columns fit every narrower view: then the width must be the same.
        best = max(fit.values(), default=(0.0, False))
        chosen = [v for v, share in fit.items() if share == best]
        if len(chosen) == 1 and best[0] >= _ENOUGH:
            found[j] = chosen[0]
