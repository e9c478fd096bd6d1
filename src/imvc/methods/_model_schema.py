"""What a model file must hold: types and shapes of its values and arrays.

A shape is written as ``"float n d"``: the kind of numbers, then a letter for each size.
A letter means the same size wherever it stands; ``*`` is any size. Kinds: ``float``
(finite, and its square too), ``positive`` (that, and above zero), ``any`` (NaN and
infinity as well), ``int``, ``bool``, ``ids`` (text or numbers).
"""

from typing import Any

import numpy as np

from imvc._plain import fits, wrong_key

HEADER = {
    "format": str,
    "format_version": int,
    "imvc_version": str,
    "class": str,
    "params": dict[str, dict],
    "attributes": dict[str, dict],
    "values": dict[str, Any],
    "arrays": dict[str, str],
}
# How a parameter or attribute is kept: one of these, of these kinds.
ENTRY = {"array": str, "list": list[str], "objects": list, "value": Any}
# Public attributes that every model has, and those that only some have.
_NEEDED = {
    "n_views_in_": int,
    "n_features_in_": tuple,
    "view_names_": tuple,
    "cluster_centers_": np.ndarray,
}
_VALUES = {
    "n_iter_": int,
    "converged_": bool,
    "n_clusters_": int,
    "inertia_": float,
    "pattern_leakage_": float,
    "batch_leakage_": float,
    "diffusion_time_": float,
    "stability_": float | None,
    "stage_seconds_": dict[str, float],
    "evidence_": str | None,
    "evidence_reason_": str | None,
    "no_structure_": str | None,
    "component_views_": list[list[int]],
    "weak_links_": list[list],
    "candidates_": list[list] | None,
}
_ARRAYS = {
    "cluster_centers_": "float c d",
    "labels_": "int n",
    "embedding_": "float n d",
    "sample_ids_": "ids n",
    "mask_": "bool n V",
    "confidence_": "any n",
    "objective_": "any *",
    "anchor_distance_": "any V",
    "drift_": "any V",
    "view_weights_": "any V",
    "view_agreement_": "any V V",
    "missingness_": "any V V",
    "overlap_": "int V V",
    "cluster_stability_": "any c",
    "stability_curve_": "any * 3",
    "singular_values_": "float *",
}
# Lists with an array for each view; p are its features.
_BY_VIEW = {"anchors_": "float * p", "means_": "float p"}
_KINDS = {
    "float": "f",
    "positive": "f",
    "any": "f",
    "int": "iu",
    "bool": "b",
    "ids": "OUSiu",
}
_MAY_BE_NONE = {"sample_ids_", "mask_", "cluster_stability_", "stability_curve_"}


class OtherModel(ValueError):
    """A file that is no model, or not for this class or this version."""


class Sizes:
    """The sizes that letters stand for, bound where they are first met."""

    def __init__(self, **known: int) -> None:
        self._known = dict(known)

    def check(self, name: str, array: Any, shape: str, **own: int) -> None:
        """Refuse an array of another type or shape; `own` are letters of this array."""
        kind, *letters = shape.split()
        found = np.shape(array) if isinstance(array, np.ndarray) else None
        if found is None or array.dtype.kind not in _KINDS[kind]:
            what = type(array).__name__ if found is None else f"of type {array.dtype}"
            raise ValueError(f"its {name} is {what}, where {shape!r} should be.")
        sizes = own if len(found) != len(letters) else self._bound(letters, found, own)
        wanted = [sizes.get(letter, letter) for letter in letters]
        if len(found) != len(wanted) or any(
            size != want for size, want in zip(found, wanted) if want != "*"
        ):
            raise ValueError(
                f"its {name} has shape {found}, where ({', '.join(map(str, wanted))}) "
                "should be."
            )
        if kind == "positive" and not (array > 0).all():
            raise ValueError(f"its {name} has numbers that are not positive.")
        if kind in ("float", "positive") and not _has_squares(array):
            raise ValueError(
                f"its {name} has numbers that are not finite or too large."
            )

    def _bound(self, letters: Any, found: Any, own: dict[str, int]) -> dict[str, int]:
        for letter, size in zip(letters, found):
            if letter.isalpha() and letter not in own:
                self._known.setdefault(letter, size)
        digits = {letter: int(letter) for letter in letters if letter.isdigit()}
        return {**self._known, **own, **digits}

    def __getitem__(self, letter: str) -> int:
        return self._known[letter]


def _has_squares(array: np.ndarray) -> bool:
    """Whether all numbers and their squares, which distances need, are finite."""
    largest = np.sqrt(np.finfo(array.dtype).max)
    return bool((np.abs(array) < largest).all())


def check_header(header: Any) -> None:
    """Refuse a header that lacks something, or has what no header has."""
    key = wrong_key(header, HEADER)
    odd = sorted(set(header) - set(HEADER))
    if key is not None or odd:
        what = f"no {key!r} as it should be" if key else f"an unknown {odd[0]!r}"
        raise ValueError(f"its header has {what}.")
    for entries in (header["params"], header["attributes"]):
        for name, entry in entries.items():
            how = [key for key in ENTRY if key in entry]
            if len(how) != 1 or not fits(entry[how[0]], ENTRY[how[0]]):
                raise ValueError(f"its {name!r} is kept in an unknown way.")


def check_attributes(model: Any, attributes: dict[str, Any]) -> Sizes:
    """Refuse attributes that do not belong together; the sizes that they have."""
    key = wrong_key(attributes, _NEEDED)
    if key is not None:
        raise ValueError(f"its {key} is missing or not as imvc writes it.")
    widths, names = attributes["n_features_in_"], attributes["view_names_"]
    n_views = attributes["n_views_in_"]
    if not (
        len(widths) == len(names) == n_views == len(set(map(str, names))) > 0
        and all(fits(width, int) and width > 0 for width in widths)
        and all(fits(name, str) for name in names)
    ):
        raise ValueError("its views do not fit their names and numbers of features.")
    sizes = Sizes(V=n_views)
    for name, value in attributes.items():
        if name[:1] == "_" or name[-1:] != "_" or hasattr(type(model), name):
            raise ValueError(f"it has an attribute {name!r}, which no model has.")
        if value is None and name in _MAY_BE_NONE:
            continue
        if name in _ARRAYS:
            sizes.check(name, value, _ARRAYS[name])
        elif name in _BY_VIEW:
            check_by_view(sizes, name, value, _BY_VIEW[name], widths)
        elif name in _VALUES and not fits(value, _VALUES[name]):
            raise ValueError(f"its {name} is {value!r:.60}, which cannot be.")
    labels = attributes.get("labels_", np.zeros(1))
    if not 0 <= labels.min(initial=0) <= labels.max(initial=0) < sizes["c"]:
        raise ValueError(f"its labels_ are not numbers of its {sizes['c']} clusters.")
    return sizes


def check_by_view(
    sizes: Sizes, name: str, arrays: Any, shape: str, widths: tuple[int, ...]
) -> None:
    """Refuse anything but a list with an array for each view."""
    if not isinstance(arrays, list) or len(arrays) != len(widths):
        raise ValueError(f"its {name} are not one for each of {len(widths)} views.")
    for v, (array, width) in enumerate(zip(arrays, widths)):
        sizes.check(f"{name} of view {v}", array, shape, p=width)


def check_feature_names(names: Any, widths: tuple[int, ...]) -> tuple[Any, ...]:
    """Names of the features of every view, or None; refuses other numbers of them."""
    known = fits(names, list[list[str] | None]) and len(names) == len(widths)
    if not known or any(
        own is not None and len(own) != d for own, d in zip(names, widths)
    ):
        raise ValueError("its names of features do not fit the features.")
    return tuple(None if own is None else tuple(own) for own in names)
