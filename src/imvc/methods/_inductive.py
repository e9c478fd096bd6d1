"""The verbs of methods that place new samples: transform, predict, save, load."""

import os
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imvc.methods._base import MultiViewClusterer
from imvc.methods._model_schema import check_feature_names
from imvc.methods._output import as_labels, as_table
from imvc.methods.persistence import naming_model, read_model, write_model
from imvc.scale import CellFill, SafeRange
from imvc.views import ViewSchema


class InductiveMixin(MultiViewClusterer):
    """The verbs of methods whose embedding is a function of the sample alone."""

    @abstractmethod
    def _transform(self, Xs, mask):
        """Embedding of samples by what was learnt in `fit`, and their ids or None."""

    @abstractmethod
    def _predict(self, Xs, mask):
        """Clusters of samples by what was learnt in `fit`, and their ids or None."""

    @abstractmethod
    def _get_state(self):
        """What is needed beside public attributes: (arrays, JSON values)."""

    @abstractmethod
    def _set_state(self, arrays, values, sizes):
        """The inverse of `_get_state`, which a file need not tell the truth about.

        ``sizes`` are the `Sizes` of the attributes, to check arrays against.
        """

    def transform(self, Xs: Any, *, mask: Any = None) -> np.ndarray | Any:
        """Embed samples, new ones or those of the fit.

        Parameters
        ----------
        Xs : as in `fit`
            The views of the fit in their order (or a dict with their names); None for
            a view that no sample has. Any combination of views, seen in training or
            not, will do.
        mask : array-like of bool, shape (n_samples, n_views), optional

        Returns
        -------
        ndarray of shape (n_samples, embedding_dim), or what `set_output` asks for
        """
        check_is_fitted(self)
        Y, ids = self._transform(Xs, mask)
        return as_table(self, Y, ids)

    def predict(self, Xs: Any, *, mask: Any = None) -> np.ndarray | Any:
        """Nearest cluster of samples, new ones or those of the fit.

        Parameters
        ----------
        Xs, mask : as in `transform`

        Returns
        -------
        ndarray of int64, shape (n_samples,), or what `set_output` asks for
        """
        check_is_fitted(self)
        return as_labels(self, *self._predict(Xs, mask))

    def fit_transform(
        self, Xs: Any, y: Any = None, *, mask: Any = None, batch: Any = None
    ) -> np.ndarray | Any:
        """Fit and return ``embedding_``; parameters as in `fit`."""
        self.fit(Xs, mask=mask, batch=batch)
        return as_table(self, self.embedding_, self.sample_ids_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: that of the class and a number.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        name, width = type(self).__name__.lower(), self.cluster_centers_.shape[1]
        return np.array([f"{name}{j}" for j in range(width)], object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (arrays and JSON, no pickle), atomically.

        Parameters
        ----------
        path : str or path-like
            The callback and a ``random_state`` that is not an int are not kept.
        """
        check_is_fitted(self)
        write_model(self, path, *self._whole_state())

    def _whole_state(self):
        """`_get_state`, what brings views into range, and what fills empty cells."""
        arrays, values = self._get_state()
        for rule in (self._range, self._fill):
            arrays = arrays | ({} if rule is None else rule.to_arrays())
        return arrays, values

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote.

        A file that is truncated, altered, of another class or from a newer version is
        refused with an error that says so.
        """
        with naming_model(path):
            model, sizes, arrays, values = read_model(cls, path)
            widths = tuple(model.n_features_in_)
            names = check_feature_names(values.get("feature_names"), widths)
            model._schema = ViewSchema(tuple(model.view_names_), widths, names)
            model._range = SafeRange.from_arrays(arrays, len(widths))
            model._fill = CellFill.from_arrays(arrays, widths)
            model._set_state(arrays, values, sizes)
        return model
