"""What RISE does with its consensus: new samples, model files, many betas."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.utils import check_random_state

from imvc._plain import fits
from imvc.kernels._patterns import PatternMap
from imvc.methods import anchor_model
from imvc.methods._base import draw_seed
from imvc.methods.rise.ablations import Ablations
from imvc.scale import embed_rows


class ConsensusMixin(Ablations, anchor_model.AnchorClusterer):
    """The verbs of RISE around its algorithm."""

    # Of RISE, which this is mixed into.
    embedding_dim: Any
    scale: Any
    _dim: Any
    _join_to: Any
    _solve: Any
    _cluster: Any

    _learnt_before_solving: ClassVar[set] = {"anchors_"}

    def _learn_again(self, runner, samples):
        anchor_model.solve_and_label(self, runner, samples, self._solve, self._cluster)

    def _statistics(self, runner, rows):
        return anchor_model.total_statistics(runner, rows, self._graphs.sizes)

    def _embed_views(self):
        if self.graph == "full":
            raise AttributeError(
                "RISE(graph='full') has no rule for new samples; use graph='bipartite'."
            )
        embed = partial(
            embed_block, graphs=self._graphs, consensus=self._consensus, d=self._dim
        )
        return embed, self._dim

    def beta_path(
        self,
        Xs: Any,
        betas: Sequence[float],
        *,
        embedding_dims: Sequence[int | None] | None = None,
        mask: Any = None,
    ) -> list[Self]:
        """Fit many settings of `beta` (and `embedding_dim`) for the price of one.

        Anchors, graphs and their statistics are computed once. Every model equals
        the one that `fit` gives with the same settings and ``random_state``.

        Parameters
        ----------
        Xs, mask : as in `fit`
        betas : sequence of float
        embedding_dims : sequence of int, optional
            By default the estimator's own.

        Returns
        -------
        list of RISE
            Fitted, one per (embedding_dim, beta), betas varying fastest.
        """
        self._validate_params()
        if self.graph == "full":
            raise ValueError("beta_path needs graph='bipartite'; got graph='full'.")
        dims = [self.embedding_dim] if embedding_dims is None else embedding_dims
        models = [
            clone(self).set_params(beta=beta, embedding_dim=d, work_dir=None)
            for d in dims
            for beta in betas
        ]
        for model in models:
            model._validate_params()
        with self._runner(Xs, mask) as runner:
            for model in models:
                model._check_against(runner)
            anchor_model.check_survey(runner)
            rng = check_random_state(self.random_state)
            seeds = draw_seed(rng), draw_seed(rng)
            learning = None
            for model in models:
                model._remember(runner)
                if learning is None:
                    runner = model._ready(runner)
                    learning = model._learning_runner(runner, seeds[0])
                    samples = model._learn_blocks(learning, seeds)
                else:
                    model._go_on_from(models[0], learning, samples)
                model._place_others(learning, runner)
                model._tell(runner)
        return models

    def _go_on_from(self, first, runner, samples):
        """Fit on the graphs and statistics of another model."""
        self._range, self._fill = first._range, first._fill
        self._graphs, self.anchors_ = first._graphs, first.anchors_
        self.anchor_distance_, self.drift_ = first.anchor_distance_, first.drift_
        if runner.keeps_rows_here:
            self._samples = samples
        anchor_model.solve_and_label(self, runner, samples, self._solve, self._cluster)

    def _get_state(self):
        if self.graph == "full":
            raise ValueError(
                "RISE(graph='full') cannot be saved: it has no rule for new samples."
            )
        found = self._consensus
        patterns = sorted(found.coefficients)
        arrays = {f"C{i}": found.coefficients[p] for i, p in enumerate(patterns)}
        arrays |= {f"A{v}": R for v, R in enumerate(found.feedback)}
        arrays |= {f"J{v}": J for v, J in enumerate(found.inputs)}
        for v, deviation in enumerate(self._graphs.deviations):
            if deviation is not None:
                arrays[f"deviation{v}"] = deviation
        return arrays, {
            "patterns": [list(p) for p in patterns],
            "averaged": found.averaged,
            "n_views": len(found.inputs),
        }

    def _set_state(self, arrays, values, sizes):
        patterns, widths = values.get("patterns"), self.n_features_in_
        V, m = len(widths), [len(A) for A in self.anchors_]
        if not fits(patterns, list[list[int]]) or any(
            not p or sorted({*p}) != p or not 0 <= p[0] <= p[-1] < V for p in patterns
        ):
            raise ValueError("its patterns of views are not as imvc writes them.")
        for i, p in enumerate(patterns):
            M = sum(m[v] for v in p)
            sizes.check(f"C of pattern {p}", arrays.get(f"C{i}"), "float M d", M=M)
        for v in range(V):
            sizes.check(f"A of view {v}", arrays.get(f"A{v}"), "float d d")
            sizes.check(f"J of view {v}", arrays.get(f"J{v}"), "float m d", m=m[v])
        deviations = [arrays.get(f"deviation{v}") for v in range(V)]
        for v, own in enumerate(deviations):
            if own is not None or self.scale == "standard":
                sizes.check(f"deviation of view {v}", own, "positive p", p=widths[v])
        self._consensus = PatternMap(
            {tuple(p): arrays[f"C{i}"] for i, p in enumerate(patterns)},
            [arrays[f"A{v}"] for v in range(V)],
            [arrays[f"J{v}"] for v in range(V)],
            bool(values.get("averaged")),
        )
        self._graphs = self._join_to(self.anchors_, deviations)
        self._set_samples(arrays, values)


def embed_block(views, graphs, consensus, d, dtype):
    """Y of new samples."""
    return embed_rows(graphs.by_pattern(views), graphs.sizes, consensus, d, dtype)
