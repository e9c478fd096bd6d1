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
)
from imvc.methods.bridge.joint import JointGraph
from imvc.methods.bridge.maps import predict_consensus
from imvc.methods.bridge.spectrum import Spectrum, diffused, joint_spectrum
from imvc.scale import GraphRows

_SHARES = (1 / 6, 1 / 6, 2 / 3)  # of the kinds in the joint graph of pass 2
_USEFUL = 0.01  # R^2 below which a view's prediction counts for less


@dataclass(frozen=True)
class Evidence:
    """Steps 3 and 4 for the kinds of features seen so far.

    Parameters
    ----------
    bridges : list of Bridge, one per kind
    agreement : list of ndarrays (V, V), one per kind
    cuts : list of float
        Relaxed normalised cut of each kind's views, weighted.
    missingness : ndarray of shape (V, V)
    gate : ndarray of shape (V,)
        Factor of the view weights where no pair of views agrees.
    """

    bridges: list
    agreement: list
    cuts: list
    missingness: np.ndarray
    gate: np.ndarray

    @property
    def weights(self):
        """View weights, mean of plain and rooted features."""
        return (self.bridges[PLAIN].weights + self.bridges[ROOTED].weights) / 2


@dataclass(frozen=True)
class Pass:
    """What one pass leaves: the joint graph, its spectrum, the learning samples in it."""

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
    """

    rows: GraphRows
    r_squared: np.ndarray
    evidence: Evidence
    first: Pass
    second: Pass


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
        Of the estimator: a context that names what is done; ``report(step, cut)``.
    """

    rule: Any
    mask_as_view: bool
    map: Any
    stage: Any = nullcontext
    report: Any = None

    @property
    def c(self):
        return self.rule.n_clusters

    def learn(self, views, seed):
        """Graphs and both passes from the views of the learning samples."""
        with self.stage("features"):
            coordinates, F = zip(*learn_features(views, self.rule, seed, self.map))
        return self.learn_from(views.mask, coordinates, F, seed)

    def learn_from(self, mask, coordinates, F, seed):
        """`learn` from features; ``F[v]`` holds both kinds of view v."""
        with self.stage("graphs"):
            anchors, kinds = [], []
            for kind, own in enumerate(zip(*F)):
                chosen, graphs = zip(
                    *choose_anchors(own, kind, self.rule, seed, self.map)
                )
                anchors.append(chosen)
                kinds.append(graphs)
            rows = stack_kinds(mask, kinds)
        evidence, first = self.first_pass(rows, [_sizes(kind) for kind in anchors])
        with self.stage("learnt features"):
            Y = diffused(first.U, first.spectrum.values, self.c).astype(F[0][0].dtype)
            omega = mask @ evidence.weights

            def predict(v):
                seen = np.flatnonzero(mask[:, v])
                return predict_consensus(F[v], Y[seen], omega[seen])

            found = list(self.map(predict, range(len(F))))
            learnt = [own.features for own in found]
            chosen, graphs = zip(
                *choose_anchors(learnt, LEARNT, self.rule, seed, self.map)
            )
            rows = add_kind(rows, graphs)
        r_squared = np.array([own.r_squared for own in found])
        passes = self.second_pass(rows, _sizes(chosen), r_squared, evidence, first)
        views = [
            ViewGraphs(tuple(own), tuple(joined), prediction.map)
            for own, *joined, prediction in zip(coordinates, *anchors, chosen, found)
        ]
        return BridgeGraphs(views, self.c), passes

    def solve(self, rows, sizes, r_squared):
        """Both passes from the graph rows of all kinds; anchors and maps are given."""
        V = len(r_squared)
        kinds = [sizes[g * V : (g + 1) * V] for g in (PLAIN, ROOTED, LEARNT)]
        evidence, first = self.first_pass(rows, kinds[:LEARNT])
        return self.second_pass(rows, kinds[LEARNT], r_squared, evidence, first)

    def first_pass(self, rows, sizes):
        """Steps 3 to 6 on plain and rooted features."""
        with self.stage("first pass"):
            V, n, c = len(sizes[0]), rows.n_samples, self.c
            mask = rows.mask[:, :V]
            overlap = mask.T.astype(np.int64) @ mask
            kinds = [
                KindGraphs.of(rows, kind, own, c, self.map)
                for kind, own in enumerate(sizes)
            ]
            a = [agreement(graphs, c) for graphs in kinds]
            evidence = Evidence(
                *([], a, []),
                np.mean([missingness(graphs, mask, c) for graphs in kinds], axis=0),
                junk_gate(kinds, a, overlap, c),
            )
            for graphs, own, a_kind in zip(kinds, sizes, a):
                self._weigh(evidence, graphs, own, a_kind, evidence.gate, n)
            found = self._joint(rows.select(range(2 * V)), evidence, (0.5, 0.5))
        return evidence, found

    def second_pass(self, rows, sizes, r_squared, evidence, first):
        """Steps 3 to 6 on all three kinds."""
        with self.stage("second pass"):
            n, c = rows.n_samples, self.c
            graphs = KindGraphs.of(rows, LEARNT, sizes, c, self.map)
            a = agreement(graphs, c)
            evidence = replace(
                evidence,
                bridges=list(evidence.bridges),
                agreement=[*evidence.agreement, a],
                cuts=list(evidence.cuts),
            )
            quality = evidence.gate * np.clip(r_squared / _USEFUL, 0.01, 1)
            self._weigh(evidence, graphs, sizes, a, quality, n)
            second = self._joint(rows, evidence, _SHARES)
        return Passes(rows, r_squared, evidence, first, second)

    def _weigh(self, evidence, graphs, sizes, a, quality, n):
        """Add the weights and bridges of one kind."""
        w = view_weights(a, graphs.sharpness(self.c), quality)
        evidence.bridges.append(build_bridge(graphs, sizes, a, w, n))
        cuts = [self.c - 1 - s[: self.c - 1].sum() for s in graphs.values]
        evidence.cuts.append(float(w @ cuts))
        self._tell(evidence.cuts[-1])

    def _joint(self, rows, evidence, shares):
        omega = mask_share(evidence.missingness) if self.mask_as_view else 0.0
        joint = JointGraph(list(evidence.bridges), shares, omega)
        spectrum = joint_spectrum(joint, rows, 4 * self.c)
        U = joint.embed(rows, spectrum.W, 1 / np.sqrt(rows.n_samples), np.float64)
        self._tell(spectrum.cut(self.c))
        return Pass(joint, spectrum, U)

    def _tell(self, cut):
        if self.report is not None:
            self.report(cut)


def mask_share(missing):
    """omega: how well a view's absence is predicted by another, mean over views."""
    return float(np.maximum(missing.max(axis=0), 0).mean())


def _sizes(anchors):
    return tuple(len(own) for own in anchors)
