"""Preparation: what is done to the numbers of a file before they are clustered.

What is learnt (which columns, which means and scales) is learnt from the observed
cells of the training tables and kept, so that new samples get the same treatment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from imvc.io._errors import input_error, shown
from imvc.io._file_table import FileTable
from imvc.io._prepare_view import (
    ViewPreparation,
    apply_view,
    fit_view,
    view_from_dict,
    view_to_dict,
)

_FORMAT = 1


@dataclass(frozen=True)
class Preparation:
    """What to do to the views of files; per view where a mapping is given.

    Parameters
    ----------
    impute : bool, default False
        Fill cells that are empty inside a row that is not by the mean of their column.
        Without it such cells are an error. A row without any number is no error: the
        sample lacks this view.
    log1p : tuple of str or bool, default ()
        Views of counts to take log(1 + x) of; True for all.
    scale : {"standard", "none"} or mapping of view to these, optional
        "standard": mean 0 and standard deviation 1 over the observed rows. A constant
        column becomes 0. A sparse view is divided by its deviation and not centred.
    top_variance : int or mapping of view to int, optional
        Keep so many columns of largest variance (after log1p), in their order.

    Examples
    --------
    ``Preparation(log1p=("rna",), top_variance={"rna": 2000}, scale="standard")``
    """

    impute: bool = False
    log1p: tuple[str, ...] | bool = ()
    scale: str | Mapping[str, str] | None = None
    top_variance: int | Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        for scale in _values(self.scale):
            if scale not in ("standard", "none", None):
                raise ValueError(
                    f"scale={scale!r} is unknown; pass 'standard' or 'none'."
                )
        for top in _values(self.top_variance):
            if top is not None and (not isinstance(top, Integral) or top < 1):
                raise ValueError(
                    f"top_variance={top!r} must be an integer of at least 1."
                )
        if not isinstance(self.log1p, bool):
            names = (self.log1p,) if isinstance(self.log1p, str) else self.log1p
            object.__setattr__(self, "log1p", tuple(names))

    def for_view(self, name: str) -> dict[str, Any]:
        """What is asked for one view, as arguments of `fit_view`."""
        logged = self.log1p if isinstance(self.log1p, bool) else name in self.log1p
        return {
            "impute": self.impute,
            "log1p": logged,
            "standard": _of_view(self.scale, name) == "standard",
            "top_variance": _of_view(self.top_variance, name),
        }

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse steps for views that are not there."""
        for step in ("log1p", "scale", "top_variance"):
            asked = getattr(self, step)
            views = asked if isinstance(asked, tuple | Mapping) else ()
            unknown = [view for view in views if view not in names]
            if unknown:
                raise ValueError(
                    f"{step} names the views {unknown}, which are unknown; the views "
                    f"are {list(names)}."
                )


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else [value]


def _of_view(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else value


@dataclass(frozen=True, eq=False)
class FittedPreparation:
    """A preparation with what it learnt from the training tables; JSON-able.

    Made by `FittedPreparation.fit` or `from_dict`.

    Attributes
    ----------
    views : tuple of ViewPreparation
        What was learnt, per view of the fit.
    impute : bool
        Whether empty cells are filled.
    non_numeric : str
        How text columns were read.
    notes : dict of str to list of str
        What the fit decided, by the name of the view; not kept in files.
    """

    views: tuple[ViewPreparation, ...]
    impute: bool
    non_numeric: str = "drop"
    notes: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        tables: Sequence[FileTable],
        preparation: Preparation | None = None,
        *,
        non_numeric: str = "drop",
    ) -> "FittedPreparation":
        """Learn columns, means and scales from the observed cells of `tables`."""
        preparation = preparation or Preparation()
        preparation.check_names([table.name for table in tables])
        notes: dict[str, list[str]] = {table.name: [] for table in tables}
        views = tuple(
            fit_view(t, notes[t.name], **preparation.for_view(t.name)) for t in tables
        )
        return cls(views, preparation.impute, non_numeric, notes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the views of the fit."""
        return tuple(view.name for view in self.views)

    def apply(self, tables: Sequence[FileTable]) -> list[FileTable]:
        """Give tables the treatment of the fit.

        Parameters
        ----------
        tables : sequence of FileTable
            Views of the fit, matched by name, else by their features, else by position.
            Some may be absent.

        Returns
        -------
        list of FileTable
            With the names and the columns of the fit.
        """
        pairs = _match_views(self.views, tables)
        return [apply_view(view, table, self.impute) for view, table in pairs]

    def apply_to_training(self, tables: Sequence[FileTable]) -> list[FileTable]:
        """`apply` for the tables of the fit, with the notes of the fit.

        Columns that were not kept are no news there.
        """
        noted = [t.with_notes(*self.notes.get(t.name, ())) for t in tables]
        return [
            apply_view(v, t, self.impute, tell_extra=False)
            for v, t in zip(self.views, noted)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything in JSON's types."""
        return {
            "format": _FORMAT,
            "impute": self.impute,
            "non_numeric": self.non_numeric,
            "views": [view_to_dict(view) for view in self.views],
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> "FittedPreparation":
        """The inverse of `to_dict`; a ValueError if `d` is something else."""
        try:
            if d["format"] > _FORMAT:
                raise ValueError("it is of a newer version; upgrade imvc")
            return cls(
                views=tuple(view_from_dict(view) for view in d["views"]),
                impute=bool(d["impute"]),
                non_numeric=str(d["non_numeric"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"the preparation of the model cannot be read ({error})."
            ) from error


def _match_views(
    views: Sequence[ViewPreparation], tables: Sequence[FileTable]
) -> list[tuple[ViewPreparation, FileTable]]:
    """Every table with the view of the fit that it is; a note where that is a guess.

    By name; what is left, by the features where exactly one free view has them; what
    is left then, by position if there are as many tables as views.
    """
    by_name = {view.name: view for view in views}
    _refuse_twins(tables)
    found = [by_name.get(table.name) for table in tables]
    named = list(found)
    _match_by_features(views, tables, found)
    fitting = list(found)
    if len(tables) == len(views):
        taken = {view.name for view in found if view is not None}
        for j, own in enumerate(views):
            if found[j] is None and own.name not in taken:
                found[j] = own
    pairs = []
    for j, (table, view) in enumerate(zip(tables, found)):
        _refuse_samples_in_columns(table, views if view is None else [view])
        if view is None:
            raise input_error(
                table.source,
                f"is none of the views of the model ({', '.join(by_name)}), neither "
                "by name nor by its columns; give its view with names= (--name).",
            )
        if fitting[j] is None:
            table = table.with_notes(
                f"taken for view {view.name!r} by its position; if that is wrong, "
                "give names= (--name)"
            )
        elif named[j] is None:
            table = table.with_notes(f"taken for view {view.name!r} by its columns")
        pairs.append((view, table))
    return pairs


def _refuse_samples_in_columns(
    table: FileTable, views: Sequence[ViewPreparation]
) -> None:
    """Rows called like the columns of a view are features, not samples."""
    columns = set(table.features)
    for view in views:
        n, n_there = len(view.features), sum(f in columns for f in view.features)
        if 2 * n_there >= n:
            continue
        rows = {str(cell) for column in table.metadata.values() for cell in column}
        rows.update(() if table.ids is None else table.ids.tolist())
        turned = [feature for feature in view.features if feature in rows]
        if len(turned) > 2 * n_there and len(turned) >= max(2, n / 2):
            raise input_error(
                table.source,
                f"{len(turned)} of its rows are called like columns of view "
                f"{view.name!r} of the model, e.g. {shown(turned[:1])}, and {n_there} "
                "of its columns: the samples seem to be in columns; pass "
                f"transpose={table.name!r} (--transpose {table.name}).",
            )


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
