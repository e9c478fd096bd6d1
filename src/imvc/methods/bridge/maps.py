"""Step 7 of AnchorBridge: every view learns to predict the consensus of pass 1.

x_i  plain and rooted coordinates of a sample in the view, side by side
y_i  its unit row of step 6       om_i  share of the evidence that it was seen in
l_i  leave-one-out prediction of y_i by ridge regression: the learnt features
"""

from dataclasses import dataclass

import numpy as np

from imvc.methods.bridge.graphs import LearntMap

_PENALTIES = 10.0 ** np.arange(-4, 3.25, 0.5)  # times the mean eigenvalue
_LARGEST_LEVERAGE = 0.999
_COMPARED_ROWS = 10_000  # that penalties are compared on


@dataclass(frozen=True)
class Prediction:
    """How one view predicts the consensus."""

    map: LearntMap  # for new samples
    features: np.ndarray  # leave-one-out, of the samples of the view
    r_squared: float


def predict_consensus(F, Y, omega):
    """Ridge regression of ``Y`` on the features ``F`` of one view.

    Parameters
    ----------
    F : list of ndarrays (n_v, r)
        Plain and rooted coordinates.
    Y : ndarray of shape (n_v, D)
    omega : ndarray of shape (n_v,)

    Notes
    -----
    Leverages leave the intercept out. With it a useless view would predict -y_i / n_v,
    and since graphs know no scale its graph would copy the consensus.
    """
    X, n = np.hstack(F), len(Y)
    om = omega / omega.mean() if omega.any() else np.ones_like(omega)
    x_mean, y_mean = om @ X / n, om @ Y / n
    X -= x_mean.astype(X.dtype)
    Y = Y - y_mean.astype(Y.dtype)
    weighted = X * om.astype(X.dtype)[:, None]
    e, Q = np.linalg.eigh((weighted.T @ X).astype(np.float64))
    e = np.maximum(e, 0)
    A = Q.T @ (weighted.T @ Y)
    del weighted  # all views may be at it at the same time
    XQ = X @ Q.astype(X.dtype)
    del X
    unit = e.mean() or 1.0  # a view whose rows are all the same has nothing to say
    every = -(-n // _COMPARED_ROWS)
    few = XQ[::every], Y[::every], om[::every]
    losses = [_left_out(*few, e, A, unit * p)[1] for p in _PENALTIES]
    best = int(np.argmin(losses))
    penalty = unit * _PENALTIES[best]
    out, _ = _left_out(XQ, Y, om, e, A, penalty)
    mean = out.mean(axis=0, dtype=np.float64)
    W = Q @ (A / (e + penalty)[:, None])
    total = float(few[2] @ np.square(few[1]).sum(axis=1))
    return Prediction(
        LearntMap(W, x_mean @ W + mean),
        out - mean.astype(out.dtype),
        1 - losses[best] / total if total > 0 else 0.0,
    )


def _left_out(XQ, Y, om, e, A, penalty):
    """Leave-one-out predictions, and their weighted sum of squared errors."""
    shrink = 1 / (e + penalty)
    predicted = XQ @ (A * shrink[:, None]).astype(XQ.dtype)
    leverage = om * (np.square(XQ) @ shrink.astype(XQ.dtype))
    rest = 1 - np.minimum(leverage, _LARGEST_LEVERAGE)
    error = (Y - predicted) / rest.astype(Y.dtype)[:, None]
    return Y - error, float(om @ np.square(error).sum(axis=1))
