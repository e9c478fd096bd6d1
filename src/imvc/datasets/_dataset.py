"""The record in which datasets are handed over."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class MultiViewDataset:
    """Several views of the same samples, their classes, and what was observed.

    Parameters
    ----------
    Xs : list of ndarray or CSR array, each (n_samples, n_features_v)
        One array per view, in the dtype of its source. Rows the mask calls unobserved
        may hold anything.
    y : ndarray of int64, shape (n_samples,)
        Known classes 0..n_clusters-1, for evaluation only.
    mask : ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed.
    names : tuple of str
        One name per view.
    name : str
        Name of the dataset.
    description : str
        What it is and where it comes from.

    Examples
    --------
    >>> from imvc.datasets import make_views, random_mask
    >>> data = make_views(100, (5, 8), n_clusters=2, random_state=0)
    >>> data
    MultiViewDataset('planted': 100 samples, 2 clusters, views view0 (5), view1 (8); \
0% incomplete)
    >>> half = data.with_mask(random_mask(100, 2, 0.5, random_state=0))
    >>> sum(int(np.isnan(X).all(axis=1).sum()) for X in half.incomplete())
    50
    """

    Xs: list[Any]
    y: NDArray[np.int64]
    mask: NDArray[np.bool_]
    names: tuple[str, ...]
    name: str = "unnamed"
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        shape = (len(self.y), len(self.Xs))
        if self.mask.shape != shape or len(self.names) != len(self.Xs):
            raise ValueError(
                f"dataset {self.name!r}: mask of shape {self.mask.shape} and "
                f"{len(self.names)} names do not fit {shape[0]} labels and "
                f"{shape[1]} views."
            )
        for X, view in zip(self.Xs, self.names):
            if X.ndim != 2 or X.shape[0] != shape[0]:
                raise ValueError(
                    f"dataset {self.name!r}: view {view!r} has shape {X.shape}; "
                    f"expected {shape[0]} samples in rows."
                )

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.y)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.Xs)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(X.shape[1]) for X in self.Xs)

    @property
    def n_clusters(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))

    def with_mask(self, mask: ArrayLike) -> "MultiViewDataset":
        """Return the dataset with fewer observations; the arrays are shared.

        Parameters
        ----------
        mask : array-like of bool, shape (n_samples, n_views)
            True where a sample stays observed. What is already missing stays missing.

        Returns
        -------
        MultiViewDataset
        """
        keep = np.asarray(mask)
        if keep.shape != self.mask.shape:
            raise ValueError(
                f"mask has shape {keep.shape}; this dataset needs {self.mask.shape} "
                "(n_samples, n_views)."
            )
        if keep.dtype != bool and not np.isin(keep, (0, 1)).all():
            raise ValueError("mask must hold True/False or 1/0 only, 1 = observed.")
        keep = self.mask & keep.astype(bool)
        lost = np.flatnonzero(~keep.any(axis=1))
        if lost.size:
            raise ValueError(
                f"mask leaves {lost.size} samples without any view, first at row "
                f"{lost[0]}; keep one view of each that this dataset has."
            )
        return replace(self, mask=keep)

    def incomplete(self) -> list[Any]:
        """Return copies of the views as floats, with a row of NaN where unobserved.

        Integers become float64; floats keep their dtype. A sparse view stays sparse and
        must be observed throughout: pass `Xs` and `mask` apart otherwise.
        """
        return [
            _with_nan_rows(X, observed, name)
            for X, observed, name in zip(self.Xs, self.mask.T, self.names)
        ]

    def __repr__(self) -> str:
        """One line: name, sizes, views and share of incomplete samples."""
        views = ", ".join(f"{v} ({d})" for v, d in zip(self.names, self.n_features))
        share = 1 - self.mask.all(axis=1).mean()
        return (
            f"MultiViewDataset({self.name!r}: {self.n_samples} samples, "
            f"{self.n_clusters} clusters, views {views}; {share:.0%} incomplete)"
        )


def default_view_names(n_views: int) -> tuple[str, ...]:
    """view0, view1, ... for sources that do not name their views."""
    return tuple(f"view{v}" for v in range(n_views))


def _with_nan_rows(X: Any, observed: NDArray[np.bool_], name: str) -> Any:
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    if sparse.issparse(X):
        if not observed.all():
            raise ValueError(
                f"view {name!r} is sparse and lacks {(~observed).sum()} samples: a "
                "sparse row cannot be NaN; pass Xs and mask to fit instead."
            )
        return X.astype(dtype, copy=True)
    X = np.array(X, dtype=dtype)
    X[~observed] = np.nan
    return X
