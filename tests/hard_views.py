"""Inputs on which published programs of this field stop or return NaN."""

import numpy as np
import scipy.sparse as sp

from imvc.datasets import make_views, random_mask


def hard_views():
    """Name -> (views, mask, n_clusters)."""
    rng = np.random.default_rng(0)
    easy = make_views(61, (6, 5, 7), 3, incomplete=0.5, random_state=0)
    Xs, mask = easy.Xs, easy.mask
    cases = {
        "two views": (Xs[:2], random_mask(61, 2, 0.5, random_state=0), 3),
        "six views": (Xs + Xs, random_mask(61, 6, 0.5, random_state=0), 3),
        "one feature": ([Xs[0][:, :1], *Xs[1:]], mask, 3),
        "fewer features than clusters": ([Xs[0][:, :3], *Xs[1:]], mask, 5),
        "95 % incomplete": (Xs, random_mask(61, 3, 0.95, random_state=0), 3),
        "two clusters": (Xs, mask, 2),
        "one cluster": (Xs, mask, 1),
        "single precision": ([X.astype(np.float32) for X in Xs], mask, 3),
        "sparse": ([sp.csr_matrix(np.maximum(X, 0)) for X in Xs], mask, 3),
        "20 samples": ([X[:20] for X in Xs], mask[:20], 3),
    }
    constant = [X.copy() for X in Xs]
    for X in constant:
        X[:, 1:3] = 1
    cases["constant columns"] = (constant, mask, 3)
    cases["all rows equal"] = ([np.ones_like(X) for X in Xs], mask, 3)
    cases["duplicate rows"] = ([X[np.arange(61) // 5] for X in Xs], mask, 3)
    zeros = [X.copy() for X in Xs]
    for X in zeros:
        X[rng.random(61) < 0.3] = 0
    cases["zero rows"] = (zeros, mask, 3)
    cases["nothing but zeros"] = ([np.zeros_like(X) for X in Xs], mask, 3)
    cases["a view of zeros"] = ([np.zeros_like(Xs[0]), *Xs[1:]], mask, 3)
    scales = (1e150, 1e-150, 1.0)
    cases["huge and tiny"] = ([X * a for X, a in zip(Xs, scales)], mask, 3)
    rare = np.ones((61, 3), bool)
    rare[3:, 1] = False
    cases["a view of three samples"] = (Xs, rare, 4)
    return cases
