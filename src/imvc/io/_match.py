"""Which new table is which view of a fit."""

from collections.abc import Sequence
from typing import Any

from imvc.io._errors import input_error
from imvc.io._file_table import FileTable


def match_views(views: Sequence[Any], tables: Sequence[FileTable]) -> list[Any]:
    """The view of the fit that each table is.

    By name; what is left, by the features where exactly one free view has them; what
    is left then, by position if there are as many tables as views.
    """
    by_name = {view.name: view for view in views}
    found = [by_name.get(table.name) for table in tables]
    _refuse_twins(tables)
    _match_by_features(views, tables, found)
    if None in found and len(tables) == len(views):
        free = {view.name for view in views} - {v.name for v in found if v is not None}
        for j, view in enumerate(views):
            if found[j] is None and view.name in free:
                found[j] = view
    for table, view in zip(tables, found):
        if view is None:
            raise input_error(
                table.source,
                f"is none of the views of the model ({', '.join(by_name)}), neither "
                "by name nor by its columns; give its view with names= (--name).",
            )
    return found


def _refuse_twins(tables: Sequence[FileTable]) -> None:
    seen: dict[str, str] = {}
    for table in tables:
        if table.name in seen:
            raise input_error(
                table.source,
                f"is called {table.name!r} like {seen[table.name]}; give names= "
                "(--name).",
            )
        seen[table.name] = table.source


def _match_by_features(
    views: Sequence[Any], tables: Sequence[FileTable], found: list[Any]
) -> None:
    """Fill in `found` where the columns of a table fit one free view only."""
    for j, table in enumerate(tables):
        if found[j] is not None:
            continue
        taken = {view.name for view in found if view is not None}
        has = set(table.features)
        fits = [v for v in views if v.name not in taken and has.issuperset(v.features)]
        # Numbered columns fit every narrower view: then the width must be the same.
        exact = [v for v in fits if len(v.features) == len(table.features)]
        chosen = exact or fits
        if len(chosen) == 1:
            found[j] = chosen[0]
