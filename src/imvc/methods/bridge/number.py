"""The number of clusters: the largest k whose worst cluster still comes back.

The joint graph is made with several anchor seeds, and k-means cuts each of the
embeddings a few times. With k too large there are many equally good ways to cut a true
cluster in two, so at least one cluster changes from run to run: a mean over all
clusters hardly notices, the worst of them does.

    r(k)   how much of the worst cluster comes back under other anchors, 0 to 1
    v(k)   how many samples lie on borders against centres; about 1: a continuum
    h      number of clusters that HDBSCAN counts in the embedding
    J      per cluster: mean over partitions of its best Jaccard index
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from imvc.kernels._kmeans import random_rows
from imvc.methods.bridge.spectrum import diffused
from imvc.views import IncompleteViews

# The ruggedness of k-means is the signal: with more starts, or shared ones, fine
# partitions come back too. Four starts and COMES_BACK belong together.
_RUNS, _STARTS = 3, 4
_MAX_ITER, _TOL = 300, 1e-4  # of k-means, as everywhere else

_ANCHOR_SEEDS = 3
_SAMPLES, _COMPARED = 10_000, 1_000  # rows that graphs are made of, and compared on

COMES_BACK = 0.75  # Jaccard index above which a cluster counts as the same again
_LOST = 0.6  # below, much of the worst cluster went elsewhere, as in noise
_VALLEY = 0.5  # borders half as dense as centres
_DENSITY_K = 10  # HDBSCAN counts in the embedding for this many clusters
_SMALLEST_DENSE = 8  # samples of a cluster of HDBSCAN, or a fiftieth of all


@dataclass(frozen=True)
class Space:
    """The joint graph's spectrum for one anchor seed, on some rows.

    Parameters
    ----------
    U : ndarray of shape (n_rows, 1 + n_vectors)
        Left singular vectors, the constant one first.
    values : ndarray of shape (n_vectors,)
        Squared singular values without the constant's, descending.
    """

    U: np.ndarray
    values: np.ndarray

    def rows(self, k):
        """Unit rows of [u_0 / (k - 1), u_j s_j^t] with the 4k leading vectors."""
        values = self.values[: 4 * k]
        return diffused(self.U[:, : 1 + len(values)], values, k)


@dataclass(frozen=True)
class Reruns:
    """The joint graph of some samples under several anchor seeds.

    Numbers of clusters are compared on that of pass 1, since learnt features make more
    come back; how well the clusters of a fit come back is told by pass 2, as they are.
    """

    views: IncompleteViews  # of the rows that are compared
    spaces: list

    @classmethod
    def of(cls, learner, views, seed, both_passes):
        """From at most 10 000 of the views' samples, compared on 1000 of these."""
        rng = np.random.RandomState(seed)
        if views.n_samples > _SAMPLES:
            views = views.select(random_rows(views.n_samples, _SAMPLES, rng))
        few = random_rows(views.n_samples, min(views.n_samples, _COMPARED), rng)
        spaces = []
        for a in range(_ANCHOR_SEEDS):
            own = learner.consensus(views, (*seed, a), both_passes)
            spaces.append(Space(own.U[few], own.spectrum.values))
        return cls(views.select(few), spaces)


class Candidate(NamedTuple):
    """A number of clusters worth looking at; r and v are NaN where not measured."""

    k: int
    r: float
    v: float
    reason: str


@dataclass(frozen=True)
class Suggestion:
    """What the sweep says about the number of clusters.

    Parameters
    ----------
    n_clusters : int
    evidence : {"strong", "weak", "none"}
    reason : str
        Why, without capital and full stop.
    candidates : list of Candidate
        At most three, ``n_clusters`` first.
    curve : ndarray of shape (n_candidates, 3)
        Rows k, r(k), v(k).
    partitions : ndarray of shape (n_partitions, n_rows)
        Labels of the rows for ``n_clusters``.
    """

    n_clusters: int
    evidence: str
    reason: str
    candidates: list[Candidate]
    curve: np.ndarray
    partitions: np.ndarray


def sweep(spaces, candidates, seed, map=map):
    """Compare numbers of clusters.

    Parameters
    ----------
    spaces : sequence of Space
        One per anchor seed, at least two, on the same rows.
    candidates : sequence of int
        Distinct, ascending, all at least 2.
    seed : int
    map : callable
        Like the built-in; a threaded one uses several cores with the same result.

    Returns
    -------
    Suggestion
    """
    spaces, candidates = list(spaces), [int(k) for k in candidates]
    tasks = [(k, a) for k in candidates for a in range(len(spaces))]
    cuts = list(map(partial(_cut_task, spaces=spaces, seed=seed), tasks))
    dense = int(np.median(list(map(_count_dense, spaces))))
    per_k = [cuts[i : i + len(spaces)] for i in range(0, len(cuts), len(spaces))]
    curve = np.array(
        [
            (k, worst_cluster([labels for labels, _ in cut], k), _median_valley(cut))
            for k, cut in zip(candidates, per_k)
        ]
    )
    choice = Choice(curve, dense)
    return Suggestion(
        choice.n_clusters,
        choice.evidence,
        choice.reason,
        choice.candidates,
        curve,
        np.concatenate([labels for labels, _ in per_k[choice.top]]),
    )


def partitions_of(spaces, k, seed, map=map):
    """Partitions of the rows into ``k`` clusters, as `sweep` makes them.

    Returns
    -------
    ndarray of int64, shape (3 * n_spaces, n_rows)
    """
    spaces = list(spaces)
    tasks = [(k, a) for a in range(len(spaces))]
    cuts = map(partial(_cut_task, spaces=spaces, seed=seed), tasks)
    return np.concatenate([labels for labels, _ in cuts])


def cluster_stability(labels, partitions, n_clusters=None):
    """J of every cluster: mean over partitions of its best Jaccard index.

    Parameters
    ----------
    labels : ndarray of int, shape (n_rows,)
    partitions : ndarray of int, shape (n_partitions, n_rows)
    n_clusters : int, optional
        By default the largest label plus one.

    Returns
    -------
    ndarray of shape (n_clusters,)
        NaN for a cluster without rows.
    """
    k = int(labels.max()) + 1 if n_clusters is None else n_clusters
    others = int(partitions.max()) + 1
    best = _best_jaccard(labels[None], partitions, k, others)[0].mean(axis=1)
    return np.where(np.bincount(labels, minlength=k) > 0, best, np.nan)


def worst_cluster(partitions, k):
    """r(k): J of the worst cluster of the most reproducible partition.

    Parameters
    ----------
    partitions : list of ndarray of int, shape (n_runs, n_rows)
        Per anchor seed. A cluster is compared with partitions of other seeds only; one
        that stayed empty has not come back.
    """
    worst = []
    for a, own in enumerate(partitions):
        others = np.concatenate([p for b, p in enumerate(partitions) if b != a])
        J = _best_jaccard(own, others, k, k).mean(axis=2)
        worst.append(J.min(axis=1).max())
    return float(max(worst))


def _best_jaccard(labels, others, k, k_others):
    """Largest |c & c'| / |c | c'| over the clusters c' of each other partition.

    Returns
    -------
    ndarray of shape (len(labels), k, len(others))
        Zero for an empty cluster c.
    """
    A, B = _indicators(labels, k), _indicators(others, k_others)
    shared = (A @ B.T).toarray().astype(np.float64)
    sizes = np.asarray(A.sum(axis=1)) + np.asarray(B.sum(axis=1)).T
    jaccard = shared / np.maximum(sizes - shared, 1)
    return jaccard.reshape(len(labels), k, len(others), k_others).max(axis=3)


def _indicators(labels, k, dtype=np.float64):
    """Rows of zeros and ones, one per partition and cluster; (len(labels) k, n)."""
    count, n = labels.shape
    rows = (labels.T + k * np.arange(count)).astype(np.int32).ravel()
    ends = np.arange(0, count * n + 1, count, dtype=np.int32)
    return sp.csc_matrix((np.ones(len(rows), dtype), rows, ends), (count * k, n))


def _cut_task(task, spaces, seed):
    """Three runs of k-means in one space: labels (3, n) and their valleys (3,)."""
    k, a = task
    X = spaces[a].rows(k)
    rng = np.random.RandomState([seed, k, a])
    labels, centers = kmeans_runs(X, k, _RUNS, _STARTS, rng)
    return labels, [valley(X, C) for C in centers]


def kmeans_runs(X, k, n_runs, n_init, rng):
    """Independent runs of k-means, each the best of its own starts.

    All starts advance together, so that a step is one product of ``X`` with the
    centres of those that still move. A cluster that runs empty stays empty: its start
    is hardly the best.

    Returns
    -------
    labels : ndarray of int64, shape (n_runs, n)
    centers : ndarray of shape (n_runs, k, p)
    """
    n, count = len(X), n_runs * n_init
    limit = _TOL * X.var(axis=0).mean()
    centers = X[_start_rows(X, k, count, rng)]
    moving = np.arange(count)
    for _ in range(_MAX_ITER):
        labels = _scores(X, centers[moving]).argmax(axis=2).T
        members = _indicators(labels, k, X.dtype)
        counts = np.bincount(members.indices, minlength=len(moving) * k)
        counts = counts.reshape(-1, k, 1).astype(X.dtype)
        moved = (members @ X).reshape(-1, k, X.shape[1]) / np.maximum(counts, 1)
        moved = np.where(counts > 0, moved, centers[moving])
        shift = np.square(moved - centers[moving]).sum(axis=(1, 2))
        centers[moving] = moved
        moving = moving[shift > limit]
        if not moving.size:
            break
    scores = _scores(X, centers)
    gain = scores.max(axis=2).sum(axis=0, dtype=np.float64)  # inertia is |X|^2 - 2 gain
    best = gain.reshape(n_runs, n_init).argmax(axis=1) + n_init * np.arange(n_runs)
    return scores[:, best].argmax(axis=2).T.reshape(n_runs, n), centers[best]


def _scores(X, centers):
    """x'c - |c|^2 / 2, largest for the nearest centre; (n, starts, k)."""
    count, k, p = centers.shape
    scores = X @ centers.reshape(-1, p).T
    scores -= np.einsum("skp,skp->sk", centers, centers).ravel() / 2
    return scores.reshape(len(X), count, k)


def _start_rows(X, k, count, rng):
    """`kmeans_plusplus` for several starts together: row numbers (count, k)."""
    n, trials = len(X), 2 + int(np.log(k))
    norms = np.einsum("ij,ij->i", X, X)

    def distances(rows):
        D = norms[rows.ravel(), None] + norms - 2 * (X[rows.ravel()] @ X.T)
        return np.maximum(D, 0, out=D).reshape(*rows.shape, n)

    chosen = np.empty((count, k), np.int64)
    chosen[:, 0] = rng.randint(n, size=count)
    nearest = distances(chosen[:, 0])
    each = np.arange(count)
    for j in range(1, k):
        cumulated = np.cumsum(nearest, axis=1, dtype=np.float64)
        aims = rng.uniform(size=(count, trials)) * cumulated[:, -1:]
        drawn = np.array([np.searchsorted(*pair) for pair in zip(cumulated, aims)])
        drawn = np.minimum(drawn, n - 1)
        D = np.minimum(distances(drawn), nearest[:, None])
        best = D.sum(axis=2).argmin(axis=1)
        nearest = D[each, best]
        chosen[:, j] = drawn[each, best]
    return chosen


def valley(X, centers):
    """Density of rows at the borders between clusters over that at their centres.

    A row is at t = 0 at its centre and at t = 0.5 half way to the second nearest:
    #(t > 0.35) / 0.15 over #(|t| < 0.15) / 0.30.
    """
    D = np.square(X).sum(axis=1)[:, None] - 2 * _scores(X, centers[None])[:, 0]
    each = np.arange(len(X))
    first = D.argmin(axis=1)
    nearest = D[each, first]
    D[each, first] = np.inf
    second = D.argmin(axis=1)
    apart = np.square(centers[second] - centers[first]).sum(axis=1)
    lead = D[each, second] - nearest
    # Centres that coincide cut a cluster in the middle.
    t = 0.5 - np.divide(lead, 2 * apart, out=np.zeros_like(lead), where=apart > 0)
    border, centre = np.sum(t > 0.35), np.sum(np.abs(t) < 0.15)
    return float(2 * border / max(centre, 1))


def _median_valley(cuts):
    return float(np.median([v for _, valleys in cuts for v in valleys]))


def _count_dense(space):
    """Clusters that HDBSCAN finds; 0 where there are too few rows."""
    from sklearn.cluster import HDBSCAN  # not needed otherwise, and slow to load

    n = len(space.U)
    smallest = max(_SMALLEST_DENSE, n // 50)
    if n <= smallest:
        return 0
    labels = HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(
        space.rows(_DENSITY_K)
    )
    return int(labels.max()) + 1


@dataclass(frozen=True)
class Choice:
    """The rule: k*, how strong the evidence is, and what else to look at.

    Parameters
    ----------
    curve : ndarray of shape (n_candidates, 3)
        Rows k, r(k), v(k).
    dense : int
        h.
    """

    curve: np.ndarray
    dense: int

    @property
    def _k(self):
        return self.curve[:, 0].astype(int)

    @property
    def _r(self):
        return self.curve[:, 1]

    @cached_property
    def top(self):
        """Place of k*: the last with r(k) >= 0.75, or else that of the largest r."""
        back = np.flatnonzero(self._r >= COMES_BACK)
        return int(back[-1] if back.size else self._r.argmax())

    @property
    def n_clusters(self):
        return int(self._k[self.top])

    @property
    def evidence(self):
        if self._missing:
            return "none"
        return "weak" if self._doubts else "strong"

    @property
    def _missing(self):
        """Why there may be no clusters; empty where nothing says so."""
        _, r, v = self.curve[self.top]
        if r < _LOST:
            return (
                "whatever their number, some cluster does not come back when anchors "
                "and starts are drawn anew"
            )
        if v >= 1:
            return (
                "samples lie as densely between the clusters as within them, and any "
                "number cuts such graded structure"
            )
        return ""

    @property
    def _doubts(self):
        """The conditions of strong evidence that do not hold."""
        k, r, v = self.curve[self.top]
        doubts = []
        if r < COMES_BACK:
            doubts.append(f"of the worst cluster only {r:.0%} comes back")
        if v > _VALLEY:
            doubts.append("the clusters are not clearly apart")
        if abs(self.dense - k) > max(1, 0.25 * k):
            count = self.dense or "no"
            doubts.append(f"a count of dense regions finds {count} clusters")
        return doubts

    @property
    def reason(self):
        """Why the evidence is what it is; goes on after "the evidence is weak:"."""
        if self._missing:
            return self._missing
        if self._doubts:
            text = listed(self._doubts)
        else:
            text = (
                f"every cluster comes back when anchors and starts are drawn anew, few "
                f"samples lie between clusters, and a count of dense regions finds "
                f"{self.dense}"
            )
        last = self._k[-1]
        if self.n_clusters == last or self.dense > last:
            text += f"; the candidates end at {last}: try more"
        return text

    @property
    def candidates(self):
        """k*, the better of its neighbours, and a coarser level or else h."""
        top, r = self.top, self._r
        own = (
            "the largest number whose clusters all come back"
            if r[top] >= COMES_BACK
            else "no number has clusters that all come back; this one is nearest to it"
        )
        found = [self._candidate(top, own)]
        neighbours = [i for i in (top - 1, top + 1) if 0 <= i < len(r)]
        if neighbours:
            better = max(neighbours, key=lambda i: r[i])
            found.append(self._candidate(better, "the better of its neighbours"))
        coarser = self._coarser()
        if coarser is not None:
            text = "the best coarser level: all of its clusters come back"
            found.append(self._candidate(coarser, text))
        elif self.dense >= 2 and self.dense not in [c.k for c in found]:
            text = "the number of dense regions"
            at = np.flatnonzero(self._k == self.dense)
            found.append(
                self._candidate(int(at[0]), text)
                if at.size
                else Candidate(self.dense, np.nan, np.nan, text)
            )
        return found

    def _candidate(self, place, reason):
        k, r, v = self.curve[place]
        return Candidate(int(k), float(r), float(v), reason)

    def _coarser(self):
        """Place of the best local maximum of r with 2 < k < k* - 1, or None.

        Two clusters come back by half even at random, three by two thirds of that:
        (r - 2/k) / (1 - 2/k) makes levels comparable.
        """
        k, r = self._k, np.pad(self._r, 1, constant_values=-np.inf)
        summit = (r[1:-1] >= r[:-2]) & (r[1:-1] >= r[2:]) & (self._r >= COMES_BACK)
        places = np.flatnonzero(summit & (k > 2) & (k < self.n_clusters - 1))
        if not places.size:
            return None
        score = (self._r - 2 / k) / np.maximum(1 - 2 / k, 1e-12)
        return int(max(places, key=lambda i: (score[i], k[i])))


def listed(parts):
    """Parts of a sentence joined by commas and "and"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
