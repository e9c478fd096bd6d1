"""The clusterers of iMML that need neither Octave nor PyTorch, at their defaults."""

import inspect

import numpy as np
from imml import cluster as clusterers


def cluster(method, Xs, mask, n_clusters, random_state):
    """Labels by the class of that name; to iMML a row of NaN is a view not observed."""
    make = getattr(clusterers, method)
    options = {"n_clusters": n_clusters, "random_state": random_state}
    if "engine" in inspect.signature(make).parameters:
        options["engine"] = "python"  # the default of some is Octave
    labels = np.asarray(make(**options).fit_predict(Xs), dtype=float)
    # MONET leaves samples out of all its modules: they are taken as one more cluster.
    return np.where(np.isnan(labels), np.nanmax(labels, initial=-1) + 1, labels)
