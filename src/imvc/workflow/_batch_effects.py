"""BatchEffects: what batches add to the views, kept with a model for new samples."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.metrics._batch_labels import batch_codes
from imvc.views import IncompleteViews, with_observed

_FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class BatchEffects:
    """What the batches of a column add to every view.

    Parameters
    ----------
    column : str
        What the batches are of, such as "site".
    batches : tuple of str
        Their names.
    views : mapping of str to ndarray of shape (n_batches, n_features)
        By view, what is to be subtracted from the rows of a batch; zero on average over
        the samples that it was estimated on.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.views import as_views
    >>> from imvc.workflow import BatchEffects
    >>> effects = BatchEffects("site", ("a", "b"), {"x": np.array([[-1.0], [1.0]])})
    >>> views = as_views({"x": np.array([[4.0], [6.0], [6.0]])})
    >>> effects.apply(views, ["a", "b", None]).observed(0).ravel()
    array([5., 5., 6.])
    """

    column: str
    batches: tuple[str, ...]
    views: Mapping[str, np.ndarray]

    def apply(self, views: IncompleteViews, batch: Any) -> IncompleteViews:
        """A copy of views without the effects of their batches.

        Parameters
        ----------
        views : IncompleteViews
            Those that are not known here stay as they are.
        batch : array-like of shape (n_samples,)
            Samples of an unknown batch, or of one that is not among ``batches``, stay
            as they are; `not_removed` counts them.

        Returns
        -------
        IncompleteViews
        """
        codes, names = batch_codes(batch, views.n_samples, views.sample_ids)
        place = {name: t for t, name in enumerate(self.batches)}
        # The last entry is what code -1 picks.
        known = np.array([*(place.get(name, -1) for name in names), -1])
        return subtract_effects(views, self.views, known[codes])

    def not_removed(self, batch: Any) -> tuple[int, dict[str, int]]:
        """Samples without a known batch; unseen batches, with counts of samples."""
        codes, names = batch_codes(batch, len(batch))
        counts = Counter(codes.tolist())
        new = {
            name: counts[code]
            for code, name in enumerate(names)
            if name not in self.batches
        }
        return counts[-1], new

    def to_dict(self) -> dict[str, Any]:
        """Everything in JSON's types."""
        return {
            "format_version": _FORMAT_VERSION,
            "column": self.column,
            "batches": list(self.batches),
            "views": {name: effects.tolist() for name, effects in self.views.items()},
        }

    @classmethod
    def from_dict(cls, content: Any) -> "BatchEffects":
        """The inverse of `to_dict`; ValueError for anything else."""
        try:
            if content["format_version"] != _FORMAT_VERSION:
                raise ValueError(
                    f"batch effects have format version {content['format_version']!r}, "
                    f"this imvc reads {_FORMAT_VERSION}; upgrade imvc."
                )
            column, batches = content["column"], tuple(content["batches"])
            views = {
                name: np.asarray(effects, np.float64)
                for name, effects in content["views"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"batch effects are not as imvc writes them ({error!r})."
            ) from error
        texts = (column, *batches, *views)
        fits = all(
            effects.ndim == 2
            and len(effects) == len(batches)
            and np.isfinite(effects).all()
            for effects in views.values()
        )
        if not fits or not all(isinstance(text, str) for text in texts):
            raise ValueError(
                "batch effects are not as imvc writes them: one finite row per batch "
                "in every view, all named by text."
            )
        return cls(column, batches, views)


def subtract_effects(
    views: IncompleteViews, effects: Mapping[str, np.ndarray], codes: np.ndarray
) -> IncompleteViews:
    """A copy of views without the effects of numbered batches; -1: as they are."""
    refuse_sparse(views)
    rows = []
    for v, name in enumerate(views.names):
        X, own = views.observed(v), effects.get(name)
        if own is not None:
            X = _without(X, own, codes[views.rows(v)], name)
        rows.append(X)
    return with_observed(views, rows)


def _without(
    X: np.ndarray, effects: np.ndarray, codes: np.ndarray, name: str
) -> np.ndarray:
    if effects.shape[1] != X.shape[1]:
        raise ValueError(
            f"view {name!r} has {X.shape[1]} features, its batch effects have "
            f"{effects.shape[1]}; give the features of the fit."
        )
    X = X.copy()
    for t in np.unique(codes[codes >= 0]):
        X[codes == t] -= effects[t].astype(X.dtype)
    return X


def refuse_sparse(views: IncompleteViews) -> None:
    """Say which view would have to become dense."""
    for name, X in zip(views.names, views.arrays):
        if sp.issparse(X):
            raise ValueError(
                f"view {name!r} is sparse, and without its batch effects it would be "
                f"dense; leave out --adjust (adjust_batches), or give the view as a "
                f"dense table if it fits into memory."
            )
