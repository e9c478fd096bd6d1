"""
What does a method of one's own have to get right?
==================================================

A method for incomplete views is quickly written: fill the gaps with zeros, put the
views side by side, run k-means. ``imvc.testing`` feeds any such estimator with views
that lack samples. Which of its promises does the quick one break?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

import imvc
from imvc.testing import multiview_checks


class Quick(ClusterMixin, BaseEstimator):
    """Zeros for what is missing, the views side by side, k-means."""

    def __init__(self, n_clusters=3, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, Xs, y=None, *, mask=None):
        self.n_features_in_ = tuple(X.shape[1] for X in Xs)
        return self._cluster(np.nan_to_num(np.hstack(Xs)))

    def _cluster(self, embedding):
        kmeans = KMeans(self.n_clusters, n_init=10, random_state=self.random_state)
        self.embedding_ = embedding
        self.labels_ = kmeans.fit_predict(embedding)
        self.objective_ = np.array([kmeans.inertia_])
        self.n_iter_ = 1
        return self


# %%
# ``as_views`` reads lists, dicts and tables, the mask and rows of NaN, and refuses what
# makes no sense. With it only the method itself is left to write.


class Careful(Quick):
    """Centre the observed rows of every view; zeros, the mean, for the others."""

    def fit(self, Xs, y=None, *, mask=None):
        views = imvc.as_views(Xs, mask)
        self.n_features_in_ = views.n_features
        sizes = np.cumsum([0, *views.n_features])
        filled = np.zeros((views.n_samples, sizes[-1]), dtype=views.dtype)
        for v in range(views.n_views):
            X = views.observed(v)
            filled[views.mask[:, v], sizes[v] : sizes[v + 1]] = X - X.mean(axis=0)
        return self._cluster(filled)


# %%
# Every check is a function without arguments, which raises an AssertionError if the
# promise is broken. (The last two ask nothing of a method that cannot predict.)


def holds(check):
    try:
        check()
    except AssertionError:
        return False
    return True


methods = [Quick(), Careful(), imvc.RISE(3)]
names = [name for name, _ in multiview_checks(methods[0])]
kept = np.array([[holds(check) for _, check in multiview_checks(m)] for m in methods])

# %%
figure, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
for right, marker, colour in ((True, "o", "tab:blue"), (False, "X", "tab:red")):
    where = np.argwhere(kept.T == right)
    ax.scatter(where[:, 1], where[:, 0], 70, colour, marker=marker)
ax.set_xticks(range(3), [type(method).__name__ for method in methods])
ax.xaxis.tick_top()
words = [name.removeprefix("check_").replace("_", " ") for name in names]
ax.set_yticks(range(len(names)), words)
ax.set(xlim=(-0.5, 2.5), ylim=(len(names) - 0.5, -0.5))
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
for method, own in zip(methods, kept):
    print(type(method).__name__, "keeps", own.sum(), "of", len(own))

# %%
# The quick method finds planted clusters, and would pass on a benchmark. But it never
# looked at the mask: what stands in rows that were not observed changes its clusters,
# NaN and mask mean different things to it, and a sample without any view is clustered
# by nothing. ``check_multiview_estimator`` runs all of this as one test.
