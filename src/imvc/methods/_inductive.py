"""Methods that place new samples: transform, predict, and files."""

from abc import abstractmethod

from sklearn.utils.validation import check_is_fitted

from imvc.kernels._kmeans import assign
from imvc.methods._base import MultiViewClusterer
from imvc.methods._persistence import read_model, write_model
from imvc.scale import threaded_map
from imvc.views import ViewSchema, as_views


class InductiveClusterer(MultiViewClusterer):
    """Base of the methods whose embedding is a function of the sample alone."""

    @abstractmethod
    def _embed_new(self, views, map):
        """Embedding (n, d) of samples by what was learnt in `fit`."""

    @abstractmethod
    def _get_state(self):
        """What `_embed_new` needs beside public attributes: (arrays, JSON values)."""

    @abstractmethod
    def _set_state(self, arrays, values):
        """The inverse of `_get_state`."""

    def _set_samples(self, arrays, values):
        """Take back what a file keeps of the samples; most methods keep nothing."""

    def transform(self, Xs, *, mask=None):
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
        ndarray of shape (n_samples, embedding_dim)
        """
        check_is_fitted(self)
        views = as_views(Xs, mask, like=self._schema)
        with threaded_map(getattr(self, "n_jobs", None)) as map:
            return self._embed_new(views, map)

    def predict(self, Xs, *, mask=None):
        """Nearest cluster of samples, new ones or those of the fit.

        Parameters
        ----------
        Xs, mask : as in `transform`

        Returns
        -------
        ndarray of int64, shape (n_samples,)
        """
        Y = self.transform(Xs, mask=mask)
        return assign(self._clustering_space(Y), self.cluster_centers_)[0]

    def fit_transform(self, Xs, y=None, *, mask=None):
        """Fit and return ``embedding_``; parameters as in `fit`."""
        return self.fit(Xs, mask=mask).embedding_

    def save(self, path):
        """Write the fitted model to one file (arrays and JSON, no pickle), atomically.

        Parameters
        ----------
        path : str or path-like
            The callback and a ``random_state`` that is not an int are not kept.
        """
        check_is_fitted(self)
        arrays, values = self._get_state()
        write_model(self, path, arrays, values)

    @classmethod
    def load(cls, path):
        """Read a model that `save` wrote.

        A file that is truncated, altered, of another class or from a newer version is
        refused with an error that says so.
        """
        model, arrays, values = read_model(cls, path)
        model._schema = ViewSchema(
            tuple(model.view_names_),
            tuple(int(d) for d in model.n_features_in_),
            tuple(None if f is None else tuple(f) for f in values["feature_names"]),
        )
        model._set_state(arrays, values)
        model._set_samples(arrays, values)
        return model
