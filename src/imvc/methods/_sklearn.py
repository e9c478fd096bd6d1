"""What we take from scikit-learn that it keeps to itself or leaves without types.

Nothing else of ours imports its private modules. tests/methods/test_sklearn.py tells
when what is relied on here has changed.
"""

from typing import Any, Self

from sklearn.utils._param_validation import Interval, StrOptions

MYPY = False  # mypy takes this name for true, whatever it is
if MYPY:
    # scikit-learn has no types, and below bases of unknown type mypy would let every
    # attribute and every keyword of an estimator pass.
    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClusterMixin: ...

else:
    from sklearn.base import BaseEstimator, ClusterMixin

__all__ = ["BaseEstimator", "ClusterMixin", "Interval", "StrOptions"]
