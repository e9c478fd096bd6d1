"""Views whose numbers are too large or too small to be squared, brought into range."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.views import IncompleteViews, float_dtype

_LARGEST_EXPONENT = 1100  # a little more than that of any float64


@dataclass(frozen=True)
class SafeRange:
    """Multiplies views by powers of two: exact, and the same for any cutting."""

    exponents: tuple[int, ...]  # view v is multiplied by 2**exponents[v]

    def __call__(self, views: IncompleteViews, map: Any = map) -> IncompleteViews:
        """Views in range; those that were are not copied."""
        arrays = tuple(self.rows(v, X) for v, X in enumerate(views.arrays))
        return replace(views, arrays=arrays)

    def rows(self, v: int, X: Any) -> Any:
        """Rows of view `v` in range."""
        if not self.exponents[v]:
            return X
        scaled = X.astype(float_dtype(X.dtype))
        values = scaled.data if sp.issparse(X) else scaled
        with np.errstate(all="ignore"):  # rows that are not observed may hold anything
            np.ldexp(values, self.exponents[v], out=values)
        return scaled

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What a model file keeps."""
        return {"range": np.array(self.exponents, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: Any, n_views: int) -> "SafeRange | None":
        """The inverse of `to_arrays`; None where all views were in range."""
        if "range" not in arrays:
            return None
        found = arrays["range"]
        if found.shape != (n_views,) or found.dtype != np.int64:
            raise ValueError("its range is not one power of two for each view.")
        if np.abs(found).max(initial=0) > _LARGEST_EXPONENT:
            raise ValueError("its range has powers of two that no number needs.")
        return cls(tuple(found.tolist()))

    def undo(self, views: IncompleteViews) -> IncompleteViews:
        """The views as they were given."""
        return SafeRange(tuple(-e for e in self.exponents))(views)
