"""Estimators that behave badly in known ways, importable by child processes."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin


class Dummy(ClusterMixin, BaseEstimator):
    """Sorts samples into clusters by their first feature; leaves a line per fit."""

    def __init__(self, n_clusters, *, level=0, pause=0.0, trace="", random_state=None):
        self.n_clusters = n_clusters
        self.level = level
        self.pause = pause
        self.trace = trace
        self.random_state = random_state

    def fit(self, Xs, y=None, *, mask=None):
        if self.trace:
            with open(Path(self.trace), "a") as file:
                file.write(f"{self.level} {self.random_state}\n")
        time.sleep(self.pause)
        self.labels_ = np.arange(len(Xs[0])) % self.n_clusters
        self.objective_ = [3.0, 2.0, 1.0]
        self.n_iter_ = 3
        return self


class Raises(Dummy):
    def fit(self, Xs, y=None, *, mask=None):
        raise RuntimeError("no luck today")


class EatsMemory(Dummy):
    def fit(self, Xs, y=None, *, mask=None):
        kept = []
        for _ in range(400):
            kept.append(np.ones(1_000_000))
            time.sleep(0.005)
        return super().fit(Xs, mask=mask)


class KillsItself(Dummy):
    def fit(self, Xs, y=None, *, mask=None):
        os.kill(os.getpid(), signal.SIGKILL)
