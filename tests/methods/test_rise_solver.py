"""The solver on pattern statistics against the paper's iteration on samples."""

from dataclasses import replace

import numpy as np
import pytest

from imvc.datasets import random_mask
from imvc.kernels._patterns import group_rows, inverse_sqrt
from imvc.methods.rise.ablations import solve_joint, solve_two_stage
from imvc.methods.rise.rise import solve
from imvc.scale import GraphRows, row_statistics
from imvc.views import as_views
from rise_oracle import leading_left, rise, rise_first_order, smallest_cosine

CASES = {
    "three views": dict(n=90, sizes=(12, 9, 14), ratio=0.5, d=3, beta=10.0),
    "small beta": dict(n=90, sizes=(12, 9, 14), ratio=0.5, d=3, beta=0.05),
    "large beta": dict(n=90, sizes=(12, 9, 14), ratio=0.5, d=3, beta=1e4),
    "wide embedding": dict(n=90, sizes=(12, 9, 14), ratio=0.7, d=8, beta=10.0),
    "one view": dict(n=60, sizes=(12,), ratio=0.0, d=3, beta=10.0),
    "two views": dict(n=60, sizes=(8, 8), ratio=0.9, d=2, beta=1.0),
    "six views, many small groups": dict(
        n=80, sizes=(7,) * 6, ratio=0.9, d=3, beta=5.0
    ),
    "dim above the anchors of a view": dict(
        n=90, sizes=(12, 4, 14), ratio=0.5, d=6, beta=10.0
    ),
    "complete data": dict(n=60, sizes=(8, 9, 10), ratio=0.0, d=4, beta=100.0),
    "one dimension": dict(n=60, sizes=(8, 9), ratio=0.4, d=1, beta=10.0),
}


class Problem:
    """Random graphs over a random mask, as statistics and as dense matrices."""

    def __init__(self, seed, n, sizes, ratio, k=3):
        rng = np.random.default_rng(seed)
        self.mask = (
            random_mask(n, len(sizes), ratio, random_state=seed)
            if len(sizes) > 1
            else np.ones((n, 1), bool)
        )
        self.views = as_views([np.zeros((n, 1))] * len(sizes), self.mask)
        self.n, self.sizes = n, sizes
        self.h = [np.flatnonzero(self.mask[:, v]) for v in range(len(sizes))]
        y = rng.integers(0, 3, n)
        self.rows = [self.graph(rng, y[h], m, k) for h, m in zip(self.h, sizes)]
        rows = GraphRows(self.mask, tuple(self.rows), ())
        grams = row_statistics(rows, sizes)
        scales = [inverse_sqrt(grams.column_sums(v)) for v in range(len(sizes))]
        self.grams = grams.scaled(scales)
        self.B = [
            group_rows([r], [m]).toarray() * s
            for r, m, s in zip(self.rows, sizes, scales)
        ]

    @staticmethod
    def graph(rng, y, m, k):
        """Samples of one class prefer some anchors, so that there is structure."""
        preference = rng.random((3, m)) ** 4 + 1e-3
        indices = np.array(
            [rng.choice(m, k, replace=False, p=q / q.sum()) for q in preference[y]],
            dtype=np.int32,
        )
        weights = rng.random(indices.shape) + 0.05
        return indices, weights / weights.sum(axis=1, keepdims=True)

    def rows_of(self, coefficients):
        """n-row matrix of the coefficients of every pattern."""
        Y = np.zeros((self.n, next(iter(coefficients.values())).shape[1]))
        for p, rows in self.views.patterns():
            local = [np.searchsorted(self.h[v], rows) for v in p]
            B = np.hstack([self.B[v][at] for v, at in zip(p, local)])
            Y[rows] = B @ coefficients[p]
        return Y

    def solve(self, solver, d, beta, n_iter, tol=0.0):
        """``(PatternMap, objective of every iteration)``."""
        rule = beta, n_iter, tol, lambda iteration, objective: None
        return solver(self.grams, len(self.sizes), d, *rule)[:2]


def problem_of(name, seed):
    options = dict(CASES[name])
    d, beta = options.pop("d"), options.pop("beta")
    return Problem(seed, **options), d, beta


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request, seed):
    return problem_of(request.param, seed)


@pytest.mark.parametrize("n_iter", [1, 2, 25])
def test_iterates_equal_those_on_samples(case, n_iter):
    problem, d, beta = case
    Y, _, objective = rise(problem.B, problem.h, problem.n, d, beta, n_iter)
    solution, found = problem.solve(solve, d, beta, n_iter)
    # With tol=0 the solver may stop early, where nothing moves any more at all.
    objective = objective[: len(found)]
    np.testing.assert_allclose(found, objective, rtol=1e-9, atol=1e-9)
    ours = problem.rows_of(solution.coefficients)
    assert 1 - smallest_cosine(ours, Y) < 1e-9


def test_the_consensus_is_orthonormal(case):
    problem, d, beta = case
    Y = problem.rows_of(problem.solve(solve, d, beta, 10)[0].coefficients)
    np.testing.assert_allclose(Y.T @ Y, np.eye(d), atol=1e-9)


def test_the_objective_never_rises(case):
    problem, d, beta = case
    objective = problem.solve(solve, d, beta, 40)[1]
    assert np.diff(objective).max() <= 1e-10 * np.abs(objective).max()


def test_one_complete_view_is_its_own_spectral_embedding(seed):
    problem = Problem(seed, n=60, sizes=(12,), ratio=0.0)
    Y = problem.rows_of(problem.solve(solve, 3, 10.0, 50)[0].coefficients)
    assert smallest_cosine(Y, leading_left(problem.B[0], 3)) > 1 - 1e-9


def test_the_fixed_point_serves_patterns_of_the_fit_too(seed):
    """At convergence the rule for unseen patterns gives the rows of the fit."""
    problem = Problem(seed, n=90, sizes=(12, 9, 14), ratio=0.5)
    solution, _ = problem.solve(solve, 3, 10.0, 500, tol=1e-15)
    unseen = replace(solution, coefficients={})
    fitted = problem.rows_of(solution.coefficients)
    by_rule = problem.rows_of({p: unseen(p) for p in solution.coefficients})
    np.testing.assert_allclose(by_rule, fitted, atol=1e-6)


@pytest.mark.parametrize(
    # The iteration on samples needs as many anchors as dimensions.
    "name",
    [name for name, options in CASES.items() if options["d"] <= min(options["sizes"])],
)
def test_first_order_equals_the_iteration_on_samples(name, seed):
    problem, d, beta = problem_of(name, seed)
    # The outcome depends on the signs of the start, so both need the same.
    start, _ = problem.solve(solve_two_stage, d, beta, 1)
    F = [B_v @ W_v for B_v, W_v in zip(problem.B, start.inputs)]
    Y, objective = rise_first_order(F, problem.B, problem.h, problem.n, beta, 5)
    solution, found = problem.solve(solve_joint, d, beta, 5)
    np.testing.assert_allclose(found, objective[: len(found)], rtol=1e-7, atol=1e-7)
    ours = problem.rows_of(solution.coefficients)
    assert 1 - smallest_cosine(ours, Y) < 1e-7


def test_first_order_never_rises(case):
    problem, d, beta = case
    objective = problem.solve(solve_joint, d, beta, 20)[1]
    assert np.diff(objective).max() <= 1e-9 * max(1, np.abs(objective).max())


def test_two_stage_is_the_mean_of_the_views_own_embeddings(seed):
    problem = Problem(seed, n=90, sizes=(12, 9, 14), ratio=0.5)
    solution, _ = problem.solve(solve_two_stage, 3, 1.0, 1)
    total, count = np.zeros((90, 3)), np.zeros((90, 1))
    for v, h in enumerate(problem.h):
        total[h] += problem.B[v] @ solution.inputs[v]
        count[h] += 1
        F = problem.B[v] @ solution.inputs[v]
        assert smallest_cosine(F, leading_left(problem.B[v], 3)) > 1 - 1e-9
    np.testing.assert_allclose(
        problem.rows_of(solution.coefficients), total / count, atol=1e-12
    )
