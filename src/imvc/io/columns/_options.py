"""ColumnOptions: which columns of files are used, and as what."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = ("number", "category", "ordinal", "date", "metadata")
_TEXT = ("use", "drop", "error")


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of files are used, and as what; by default all that can be.

    Parameters
    ----------
    kinds : mapping of str to str
        Column -> "number", "category", "ordinal", "date" or "metadata". A column of one
        view only is written ``VIEW=COLUMN``.
    ordinals : mapping of str to sequence of str
        Column (or ``VIEW=COLUMN``) -> its values from low to high.
    drop : mapping of str to sequence of str
        View -> columns that are left out.
    keep : mapping of str to sequence of str
        View -> the only columns of it that are used.
    metadata : sequence of str
        Columns that describe samples, such as batches, wherever they are found: as
        ``kinds`` "metadata", but they may be in no file of views at all.
    text : {"use", "drop", "error"}
        What to do about text columns: use them as categories, ranks or dates, keep them
        as metadata only, or raise.

    Examples
    --------
    ``ColumnOptions(kinds={"grade": "category"}, drop={"clinical": ["row"]})``
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    ordinals: Mapping[str, Sequence[str]] = field(default_factory=dict)
    drop: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metadata: Sequence[str] = ()
    text: str = "use"

    def __post_init__(self) -> None:
        for column, kind in self.kinds.items():
            if kind not in KINDS:
                raise ValueError(
                    f"column {column!r} is to be read as {kind!r}; give one of "
                    f"{', '.join(KINDS)} (--as {column}=KIND)."
                )
        if self.text not in _TEXT:
            raise ValueError(
                f"text={self.text!r} is unknown; give 'use', 'drop' or 'error' "
                "(--non-numeric)."
            )
        for option in ("drop", "keep"):
            if any(isinstance(names, str) for names in getattr(self, option).values()):
                raise ValueError(f"{option} must give a list of columns for each view.")
        for view, names in self.keep.items():
            both = sorted({*names} & {*self.drop.get(view, ())})
            if both:
                raise ValueError(
                    f"column {both[0]!r} of view {view!r} is both to be kept and left "
                    "out; give it with --keep or with --drop."
                )

    def for_view(self, view: str, columns: Iterable[str]) -> dict[str, Any]:
        """What is asked of the columns of one view, as arguments of `classify`."""
        own = set(columns)
        kinds = {c: "metadata" for c in self.metadata if c in own}
        keep = self.keep.get(view)
        return {
            "kinds": {**kinds, **_of_view(self.kinds, view, own)},
            "ordinals": _of_view(self.ordinals, view, own),
            "drop": set(self.drop.get(view, ())),
            "keep": None if keep is None else set(keep),
            "text": self.text,
        }

    def check_names(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Refuse names that no view has; `columns` are those of every view."""
        everywhere = list(dict.fromkeys(c for own in columns.values() for c in own))
        for option, asked in (("--as", self.kinds), ("--ordinal", self.ordinals)):
            for name in asked:
                view, sign, column = name.partition("=")
                known = sign and column in columns.get(view, ())
                if name not in everywhere and not known:
                    raise ValueError(
                        f"{option} names the column {name!r}, which no view has; "
                        f"{_nearest(name, everywhere)}"
                    )
        for option, by_view in (("--drop", self.drop), ("--keep", self.keep)):
            for view, names in by_view.items():
                if view not in columns:
                    raise ValueError(
                        f"{option} names the view {view!r}, which is unknown; the "
                        f"views are {', '.join(columns)}."
                    )
                for name in names:
                    if name not in columns[view]:
                        raise ValueError(
                            f"{option} names the column {name!r}, which view {view!r} "
                            f"has not; {_nearest(name, columns[view])}"
                        )


def _of_view(asked: Mapping[str, Any], view: str, columns: set[str]) -> dict[str, Any]:
    """What is asked of columns by name; what names the view comes first."""
    found = {name: value for name, value in asked.items() if name in columns}
    for name, value in asked.items():
        named, sign, column = name.partition("=")
        if sign and named == view and column in columns and name not in columns:
            found[column] = value
    return found


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.rpartition("=")[2], known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(map(repr, known[:5]))
    return f"there are {shown}{' and more' if len(known) > 5 else ''}."
