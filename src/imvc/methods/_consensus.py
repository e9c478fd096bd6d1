"""A consensus embedding as a linear function of graph rows, one per pattern."""

from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class Consensus:
    """What a solver learnt: y = b C_p for a sample of pattern p with graph row b.

    Parameters
    ----------
    coefficients : dict
        Pattern -> C_p (M_p, d) for the patterns of the fit.
    feedback, inputs : lists of (d, d) and (m_v, d)
        The last iteration as a map on a single sample, y <- y A_p + b J_p, with A_p
        and J_p collected from the views of p: its fixed point serves every pattern.
    averaged : bool
        Whether views enter by their mean (first order) or their sum (second order).
    objective : list of float
    converged : bool
    rank : int
        Number of informative columns.
    """

    coefficients: dict
    feedback: list
    inputs: list
    averaged: bool
    objective: list = field(default_factory=list)
    converged: bool = True
    rank: int = 0

    def __call__(self, p):
        """C_p, of the fit where the pattern occurred in it."""
        if p in self.coefficients:
            return self.coefficients[p]
        A, J = sum(self.feedback[v] for v in p), np.vstack([self.inputs[v] for v in p])
        if self.averaged:
            A, J = A / len(p), J / len(p)
        return np.linalg.lstsq((np.eye(len(A)) - A).T, J.T)[0].T

    def in_terms_of(self, scales):
        """The same function of graph rows whose columns were not yet scaled."""
        return replace(
            self,
            coefficients={
                p: np.concatenate([scales[v] for v in p])[:, None] * C
                for p, C in self.coefficients.items()
            },
            inputs=[s[:, None] * J for s, J in zip(scales, self.inputs)],
        )

    def without_start(self, n_views):
        """Drop the columns of an injected start, which only training samples have."""
        kept = {}
        for p, C in self.coefficients.items():
            views = tuple(v for v in p if v < n_views)
            kept[views] = C[: sum(len(self.inputs[v]) for v in views)]
        return replace(self, coefficients=kept)

    def to_state(self):
        """``(arrays, JSON values)`` for a model file; `from_state` is the inverse."""
        patterns = sorted(self.coefficients)
        arrays = {f"C{i}": self.coefficients[p] for i, p in enumerate(patterns)}
        arrays |= {f"A{v}": A for v, A in enumerate(self.feedback)}
        arrays |= {f"J{v}": J for v, J in enumerate(self.inputs)}
        return arrays, {
            "patterns": [list(p) for p in patterns],
            "averaged": self.averaged,
            "n_views": len(self.inputs),
        }

    @classmethod
    def from_state(cls, arrays, values):
        """The inverse of `to_state`, without the history of the fit."""
        views = range(values["n_views"])
        return cls(
            {tuple(p): arrays[f"C{i}"] for i, p in enumerate(values["patterns"])},
            [arrays[f"A{v}"] for v in views],
            [arrays[f"J{v}"] for v in views],
            values["averaged"],
        )
