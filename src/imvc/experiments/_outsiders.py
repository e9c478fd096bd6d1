"""Methods from outside the library among those of a suite.

What comes from a file of the user's carries a digest of it in its name, so that an
edited method is another one: it is run anew, under the same label.
"""

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from imvc.datasets import MultiViewDataset
from imvc.experiments._own_method import OwnMethod
from imvc.experiments._rivals import Rival
from imvc.experiments._suite import MethodSpec, SuiteError

Outsider = Rival | OwnMethod


def joined(
    methods: tuple[MethodSpec, ...], outsiders: Iterable[Outsider]
) -> tuple[MethodSpec, ...]:
    """The methods of a suite and, at their defaults, those from outside."""
    found = list(methods)
    for outsider in outsiders:
        taken = {text for spec in found for text in (spec.label, spec.name)}
        long = outsider.name.partition("#")[0]
        label = long if outsider.label in taken else outsider.label
        if label in taken or outsider.name in taken:
            raise SuiteError(f"the method {long!r} is given twice; leave one out.")
        found.append(MethodSpec(outsider.name, label))
    return tuple(found)


def hidden_views(data: MultiViewDataset) -> list[np.ndarray]:
    """The views as dense arrays, NaN where a sample lacks a view.

    Our own methods are tested not to look there; others have to be kept from it.
    """
    views = []
    for X, seen in zip(data.Xs, data.mask.T):
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        kind = X.dtype if X.dtype.kind == "f" else np.float64
        views.append(np.where(seen[:, None], X, np.nan).astype(kind, copy=False))
    return views
