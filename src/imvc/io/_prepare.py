"""Preparation: what is done to the numbers of a file before they are clustered.

What is learnt (which columns, which means and scales) is learnt from the observed
cells of the training tables and kept, so that new samples get the same treatment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from imvc.io._file_table import FileTable
from imvc.io._match_views import match_views
from imvc.io._prepare_view import (
    Learn,
    ViewPreparation,
    apply_view,
    fit_view,
    view_from_dict,
    view_to_dict,
)
from imvc.kernels._low_rank import fit_low_rank

_FORMAT = 2


@dataclass(frozen=True)
class Preparation:
    """What to do to the views of files; per view where a mapping is given.

    Parameters
    ----------
    empty_cells : {"fill", "mean", "error"}, default "fill"
        What to do about cells that are empty in a row that is not: fill them from the
        rest of their row by a low-rank model of the view, fill in the mean of their
        column, or raise. A sparse view gets means. A row without any value is no error:
        the sample lacks this view.
    log1p : tuple of str or bool, default ()
        Views of counts to take log(1 + x) of; True for all. Of a mixed table only its
        columns of numbers.
    scale : {"standard", "none"} or mapping of view to these, optional
        "standard": mean 0 and standard deviation 1 over the observed rows. A constant
        column becomes 0. A sparse view is divided by its deviation and not centred. A
        mixed table is always balanced: numbers, ranks and days as here, the indicator
        of a category divided by the square root of its frequency.
    top_variance : int or mapping of view to int, optional
        Keep so many columns of largest variance (after log1p), in their order; not of
        a mixed table.

    Examples
    --------
    ``Preparation(log1p=("rna",), top_variance={"rna": 2000}, scale="standard")``
    """

    empty_cells: str = "fill"
    log1p: tuple[str, ...] | bool = ()
    scale: str | Mapping[str, str] | None = None
    top_variance: int | Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if self.empty_cells not in ("fill", "mean", "error"):
            raise ValueError(
                f"empty_cells={self.empty_cells!r} is unknown; pass 'fill', 'mean' or "
                "'error' (--empty-cells)."
            )
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
            "empty_cells": self.empty_cells,
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
                option = step.replace("_", "-")
                raise ValueError(
                    f"{step} (--{option}) names the views {unknown}, which are "
                    f"unknown; the views are {list(names)}."
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
    notes : dict of str to list of str
        What the fit decided, by the name of the view; not kept in files.
    """

    views: tuple[ViewPreparation, ...]
    notes: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        tables: Sequence[FileTable],
        preparation: Preparation | None = None,
        learn: Learn = fit_low_rank,
    ) -> "FittedPreparation":
        """Learn columns, means and scales from the observed cells of `tables`.

        `learn` learns how empty cells are filled.
        """
        preparation = preparation or Preparation()
        preparation.check_names([table.name for table in tables])
        notes: dict[str, list[str]] = {table.name: [] for table in tables}
        views = tuple(
            fit_view(t, notes[t.name], **preparation.for_view(t.name), learn=learn)
            for t in tables
        )
        return cls(views, notes)

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
        found = match_views(self.views, tables)
        return [
            apply_view(view, table if note is None else table.with_notes(note))
            for (view, note), table in zip(found, tables)
        ]

    def apply_to_training(self, tables: Sequence[FileTable]) -> list[FileTable]:
        """`apply` for the tables of the fit, with the notes of the fit.

        Columns that were not kept are no news there.
        """
        noted = [t.with_notes(*self.notes.get(t.name, ())) for t in tables]
        return [apply_view(v, t, training=True) for v, t in zip(self.views, noted)]

    def in_units(self, view: str, feature: str, value: Any) -> Any:
        """A prepared feature (one value or many) in units of its file, but for logs."""
        own = next(v for v in self.views if v.name == view)
        if own.scale is None:
            return value
        j = own.features.index(feature)
        center = 0.0 if own.center is None else own.center[j]
        return value * own.scale[j] + center

    def to_dict(self) -> dict[str, Any]:
        """Everything in JSON's types."""
        return {
            "format": _FORMAT,
            "views": [view_to_dict(view) for view in self.views],
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> "FittedPreparation":
        """The inverse of `to_dict`; a ValueError if `d` is something else."""
        try:
            if d["format"] > _FORMAT:
                raise ValueError("it is of a newer version; upgrade imvc")
            if d["format"] < _FORMAT:
                raise ValueError("it is of an earlier version")
            return cls(
                views=tuple(view_from_dict(view) for view in d["views"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"the preparation of the model cannot be read ({error})."
            ) from error
