"""The two passes of AnchorBridge over the kinds of features, steps 1 to 7.

    pass 1   graphs of plain and rooted features -> joint graph -> consensus Y
    between  every view learns to predict Y, which gives it learnt features
    pass 2   graphs of all three kinds -> joint graph

Everything happens on the learning samples in memory. What comes out places any sample.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from imvc.methods.bridge.agreement import KindGraphs, agreement, missingness
from imvc.methods.bridge.components import scattered_views
from imvc.methods.bridge.evidence import build_bridge, junk_gate, view_weights
from imvc.methods.bridge.graphs import (
    LEARNT,
    PLAIN,
    ROOTED,
    BridgeGraphs,
    ViewGraphs,
    add_kind,
    choose_anchors,
    learn_features,
    stack_kinds,
    view_seeds,
)
from imvc.methods.bridge.joint import JointGraph, many_patterns
from imvc.methods.bridge.maps import predict_consensus
from imvc.methods.bridge.spectrum import Spectrum, diffused, joint_spectrum
from imvc.scale import GraphRows, row_statistics

_SHARES = (1 / 6, 1 / 6, 2 / 3)  # of the kinds in the joint graph of pass 2
_MANY_PATTERNS = 64  # beyond, samples are embedded one by one
_USEFUL = 0.01  # R^2 below which a view's prediction counts for less
_FINE = 10  # anchors for each cluster where every shared sample counts


@dataclass(frozen=True)
class Evidence:
    """Steps 3 and 4 for the kinds of features seen so far.

    Parameters
    ----------
    bridges : list of Bridge, one per kind
    agreement : list of ndarrays (V, V), one per kind
    missingness : ndarray of shape (V, V)
    gate : ndarray of shape (V,)
        Factor of the view weights where no pair of views agrees.
    """

    bridges: list
    agreement: list
    missingness: np.ndarray
    gate: np.ndarray

    @property
    def weights(self):
        """View weights, mean of plain and rooted features."""
        return (self.bridges[PLAIN].weights + self.bridges[ROOTED].weights) / 2


@dataclass(frozen=True)
class Pass:
    """What one pass leaves of the learning samples."""

    joint: JointGraph
    spectrum: Spectrum
    U: np.ndarray  # u_0, u_1, ... of the learning samples


@dataclass(frozen=True)
class Passes:
    """Both passes.

    Parameters
    ----------
    rows : GraphRows
        Of the learning samples, three kinds; those of the learnt kind are left out of
        their own prediction.
    r_squared : ndarray of shape (V,)
        How well every view predicts the consensus.
    placed : list
        By view (indices, weights, nearest) of the learnt kind, as new samples have it.
    """

    rows: GraphRows
    r_squared: np.ndarray
    evidence: Evidence
    first: Pass
    second: Pass
    placed: list | None = None


@dataclass(frozen=True)
class Learner:
    """The settings of both passes.

    Parameters
    ----------
    rule : GraphRule
    mask_as_view : bool
    map : callable
        Like the built-in; a threaded one does views side by side.
    stage, report : callable
        A context that names what is done, and what is told the relaxed normalised cuts
        of plain and rooted features, their joint graph, learnt features, and all.
    """

    rule: Any
    mask_as_view: bool
    map: Any
    stage: Any = nullcontext
    report: Any = float

    @property
    def c(self):
        return self.rule.n_clusters

    def consensus(self, views, seed, both_passes):
        """The last Pass that is asked for, from the views of some samples."""
        if both_passes:
            return self.learn(views, seed)[1].second
        _, _, rows, anchors = self._begin(
            views, view_seeds(views, seed), self._rule(views.mask)
        )
        return self.first_pass(rows, _sizes(*anchors))[1]

    def learn(self, views, seed):
        """Graphs and both passes from the views of the learning samples."""
        mask, seeds = views.mask, view_seeds(views, seed)
        rule = self._rule(mask)
        coordinates, F, rows, anchors = self._begin(views, seeds, rule)
        evidence, first, grams = self.first_pass(rows, _sizes(*anchors))
        with self.stage("learnt features"):
            Y = diffused(first.U, first.spectrum.values, self.c).astype(F[0][0].dtype)
            found = self._predictions(F, Y, mask, mask @ evidence.weights)
            features = [prediction.features for prediction in found]
            learnt, graphs = self._join_kind(features, LEARNT, seeds, rule)
            placed = [join(own.map(F_v)) for join, own, F_v in zip(learnt, found, F)]
            del F, Y  # the second pass needs the memory
            rows, sizes = add_kind(rows, graphs), _sizes(*anchors, learnt)
            grams = _statistics(rows, sizes, grams)
        r_squared = np.array([prediction.r_squared for prediction in found])
        passes = self.second_pass(rows, grams, sizes, r_squared, evidence, first)
        passes = replace(passes, placed=placed)
        views = [
            ViewGraphs(own, tuple(joined), prediction.map)
            for own, *joined, prediction in zip(coordinates, *anchors, learnt, found)
        ]
        return BridgeGraphs(views, self.c), passes

    def _rule(self, mask):
        """The rule of the graphs: finer ones where links of views are scattered."""
        if len(scattered_views(mask, self.c)) < 2:
            return self.rule
        return replace(self.rule, least=_FINE)

    def _predictions(self, F, Y, mask, omega):
        """Step 7: what every view predicts of the consensus ``Y``."""
        seen = (np.flatnonzero(own) for own in mask.T)
        tasks = ((F_v, Y[rows], omega[rows]) for F_v, rows in zip(F, seen))
        return list(self.map(lambda task: predict_consensus(*task), tasks))

    def _begin(self, views, seeds, rule):
        """Steps 1 and 2: coordinates and features by view, graphs, anchors by kind."""
        with self.stage("features"):
            coordinates, F = zip(*learn_features(views, rule, seeds, self.map))
        with self.stage("graphs"):
            found = [
                self._join_kind(own, kind, seeds, rule)
                for kind, own in enumerate(zip(*F))
            ]
            anchors, kinds = zip(*found)
            return coordinates, F, stack_kinds(views.mask, kinds), anchors

    def _join_kind(self, F, kind, seeds, rule):
        return zip(*choose_anchors(F, kind, rule, seeds, self.map))

    def solve(self, rows, sizes, r_squared):
        """Both passes from the graph rows of all kinds; anchors and maps are given."""
        V = len(r_squared)
        first = rows.select(range(2 * V))
        evidence, found, grams = self.first_pass(first, sizes[: 2 * V])
        grams = _statistics(rows, sizes, grams)
        return self.second_pass(rows, grams, sizes, r_squared, evidence, found)

    def first_pass(self, rows, sizes):
        """Steps 3 to 6 on plain and rooted features: Evidence, Pass, statistics."""
        with self.stage("first pass"):
            V, c = len(sizes) // 2, self.c
            mask = rows.mask[:, :V]
            grams = _statistics(rows, sizes)
            kinds = [
                KindGraphs.of(rows, grams, own, kind, c, self.map)
                for kind, own in ((PLAIN, sizes[:V]), (ROOTED, sizes[V:]))
            ]
            a = [agreement(graphs, c) for graphs in kinds]
            overlap = mask.T.astype(np.int64) @ mask
            gate = junk_gate(kinds, a, overlap, c)
            bridges = [self._bridge(*both, gate, mask) for both in zip(kinds, a)]
            absent = np.mean([missingness(own, mask, c) for own in kinds], axis=0)
            evidence = Evidence(bridges, a, absent, gate)
            found = self._joint(rows, grams, evidence, (1 / 2, 1 / 2))
        return evidence, found, grams

    def second_pass(self, rows, grams, sizes, r_squared, evidence, first):
        """Steps 3 to 6 on all three kinds, of which there are statistics."""
        with self.stage("second pass"):
            own = sizes[-len(r_squared) :]
            graphs = KindGraphs.of(rows, grams, own, LEARNT, self.c, self.map)
            a = agreement(graphs, self.c)
            quality = evidence.gate * np.clip(r_squared / _USEFUL, 0.01, 1)
            mask = rows.mask[:, : len(r_squared)]
            bridge = self._bridge(graphs, a, quality, mask)
            evidence = replace(
                evidence,
                bridges=[*evidence.bridges, bridge],
                agreement=[*evidence.agreement, a],
            )
            second = self._joint(rows, grams, evidence, _SHARES)
        return Passes(rows, r_squared, evidence, first, second)

    def _bridge(self, graphs, a, quality, mask):
        """Steps 3 and 4 for one kind: weights and bridges."""
        w = view_weights(a, graphs.sharpness(self.c), quality)
        cuts = [self.c - 1 - s[: self.c - 1].sum() for s in graphs.values]
        self.report(float(w @ cuts))
        scattered = scattered_views(mask, self.c).tolist()
        return build_bridge(graphs, a, w, len(mask), scattered)

    def _joint(self, rows, grams, evidence, shares):
        """Steps 5 and 6."""
        omega = mask_share(evidence.missingness) if self.mask_as_view else 0.0
        few = len(rows.patterns) <= _MANY_PATTERNS
        joint = JointGraph(evidence.bridges, shares, few, omega)
        spectrum, U = joint_spectrum(joint, rows, grams, 4 * self.c, self.map)
        self.report(spectrum.cut(self.c))
        return Pass(joint, spectrum, U)


def mask_share(missing):
    """omega: how well a view's absence is predicted by another, mean over views."""
    return float(np.maximum(missing.max(axis=0), 0).mean())


def _statistics(rows, sizes, known=None):
    """PatternGrams of GraphRows, or None where the rows are fewer numbers."""
    if many_patterns(rows.patterns, sizes, rows.n_samples):
        return None
    return row_statistics(rows, sizes, dense=True, known=known)


def _sizes(*kinds):
    return tuple(len(anchors) for kind in kinds for anchors in kind)
