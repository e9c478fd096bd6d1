import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._patterns import (
    PatternGrams,
    dense_eigh,
    group_rows,
    leading_eigh,
    pattern_grams,
)

SIZES = (4, 3, 5)


def graph_rows(rng, n, m, k=2):
    indices = np.array([rng.choice(m, k, replace=False) for _ in range(n)], np.int32)
    return indices.reshape(n, k), rng.random((n, k))


def dense(graphs, sizes):
    n = len(graphs[0][0])
    blocks = []
    for (indices, weights), m in zip(graphs, sizes):
        Z = np.zeros((n, m))
        for i in range(n):
            Z[i, indices[i]] = weights[i]
        blocks.append(Z)
    return np.hstack(blocks)


def random_groups(seed, largest=40):
    rng = np.random.default_rng(seed)
    groups = []
    for size in range(1, 4):
        for p in itertools.combinations(range(3), size):
            n = int(rng.integers(1, largest))
            groups.append((p, [graph_rows(rng, n, SIZES[v]) for v in p]))
    return groups


@given(st.integers(0, 99))
def test_statistics_equal_dense_gram_matrices(seed):
    groups = random_groups(seed)
    grams = pattern_grams(groups, SIZES)
    rng = np.random.default_rng(seed)
    for p, graphs in groups:
        Z = dense(graphs, [SIZES[v] for v in p])
        C = rng.standard_normal((Z.shape[1], 2))
        np.testing.assert_allclose(grams.apply(p, C), Z.T @ Z @ C, atol=1e-12)
        assert grams.count(p) == len(Z)


@given(st.integers(0, 99), st.integers(1, 7))
def test_blocks_of_any_size_add_up_to_the_same(seed, step):
    groups = random_groups(seed)
    blocks = [
        (p, [(i[a : a + step], w[a : a + step]) for i, w in graphs])
        for p, graphs in groups
        for a in range(0, len(graphs[0][0]), step)
    ]
    whole, added = pattern_grams(groups, SIZES), pattern_grams(blocks, SIZES)
    assert whole.patterns == added.patterns
    np.testing.assert_allclose(added.total, whole.total, atol=1e-10)
    for v in range(3):
        np.testing.assert_allclose(added.column_sums(v), whole.column_sums(v))


def test_cross_sums_over_the_samples_of_both_views(rng):
    groups = random_groups(int(rng.integers(1000)))
    grams = pattern_grams(groups, SIZES)
    expected = sum(
        dense([g[p.index(0)]], [SIZES[0]]).T @ dense([g[p.index(2)]], [SIZES[2]])
        for p, g in groups
        if 0 in p and 2 in p
    )
    np.testing.assert_allclose(grams.cross(0, 2), expected, atol=1e-12)


def test_small_groups_keep_rows_and_large_ones_a_gram_matrix(rng):
    few = pattern_grams([((0,), [graph_rows(rng, 3, 4)])], SIZES)
    many = pattern_grams([((0,), [graph_rows(rng, 50, 4)])], SIZES)
    assert hasattr(few.groups[(0,)], "rows")
    assert hasattr(many.groups[(0,)], "gram")
    both = few + many
    np.testing.assert_allclose(both.total, few.total + many.total)
    assert both.count((0,)) == 53


def test_scaling_columns_scales_the_statistics(rng):
    groups = random_groups(5)
    scales = [rng.random(m) for m in SIZES]
    scaled = pattern_grams(groups, SIZES).scaled(scales)
    flat = np.concatenate(scales)
    expected = pattern_grams(groups, SIZES).total * np.outer(flat, flat)
    np.testing.assert_allclose(scaled.total, expected)


def test_statistics_of_other_anchors_cannot_be_added():
    with pytest.raises(ValueError, match="different anchors"):
        PatternGrams((3,), {}) + PatternGrams((4,), {})


@pytest.mark.parametrize("n", [2, 60, 400])
def test_added_rows_give_the_gram_matrix_of_all_rows(n, rng):
    sizes, p = (12, 9), (0, 1)
    graphs = [graph_rows(rng, n, m, k=3) for m in sizes]
    blocks = [[(i[a::7], w[a::7]) for i, w in graphs] for a in range(min(n, 7))]
    grams = pattern_grams([(p, block) for block in blocks], sizes)
    Z = dense(graphs, sizes)
    np.testing.assert_allclose(grams.groups[p].dense(), Z.T @ Z, atol=1e-12)
    np.testing.assert_allclose(grams.total, Z.T @ Z, atol=1e-12)
    np.testing.assert_allclose(grams.column_sums(1), Z[:, 12:].sum(axis=0))


def test_small_unsigned_indices_are_shifted_without_overflow(rng):
    graphs = [(rng.integers(200, size=(5, 3), dtype=np.uint8), rng.random((5, 3)))] * 2
    rows = group_rows(graphs, [200, 200])
    np.testing.assert_array_equal(rows.indices.reshape(5, 6)[:, :3], graphs[0][0])
    np.testing.assert_array_equal(
        rows.indices.reshape(5, 6)[:, 3:], graphs[0][0].astype(int) + 200
    )


def test_small_unsigned_indices_and_float32_weights_do_not_spoil_sums(rng):
    sizes = (200, 250)
    n, k = 30_000, 4
    small = [
        (rng.integers(m, size=(n, k), dtype=np.uint8), rng.random((n, k), np.float32))
        for m in sizes
    ]
    wide = [(i.astype(np.int32), w.astype(np.float64)) for i, w in small]
    a, b = (pattern_grams([((0, 1), g)], sizes).total for g in (small, wide))
    np.testing.assert_array_equal(a, b)
    sums = [w.sum(axis=1, dtype=np.float64) for _, w in small]
    assert a[:200, 200:].sum() == pytest.approx(sums[0] @ sums[1])


def test_leading_eigh_is_descending_with_fixed_signs(rng):
    M = rng.standard_normal((6, 6))
    values, vectors = leading_eigh(M @ M.T, 4)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(M @ M.T @ vectors, vectors * values, atol=1e-10)
    largest = vectors[np.abs(vectors).argmax(axis=0), range(4)]
    assert (largest > 0).all()


def test_leading_eigh_of_zero_is_zero():
    values, vectors = leading_eigh(np.zeros((3, 3)), 2)
    assert not values.any()
    assert not vectors.any()


def orthonormal_blocks(seed, repeats, d):
    """The Gram matrix of ``repeats`` orthonormal bases: the identity up to rounding."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.standard_normal((9, d)))[0] for _ in range(repeats)]
    return scipy.linalg.block_diag(*(Q.T @ Q for Q in bases))


def few_values(seed, repeats, d):
    """A full matrix with d + 1 different eigenvalues, each of them repeated."""
    rng = np.random.default_rng(seed)
    values = np.repeat(np.arange(d + 1.0), repeats)
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


@given(
    make=st.sampled_from([orthonormal_blocks, few_values]),
    seed=st.integers(0, 10_000),
    repeats=st.integers(6, 12),
    d=st.integers(1, 3),
)
def test_repeated_eigenvalues_are_all_found(make, seed, repeats, d):
    S = make(seed, repeats, d)
    q = len(S)
    everything = np.linalg.eigvalsh(S)
    for start, stop in ((0, d), (q // 2, q // 2 + 1), (q - d, q)):
        values, vectors = dense_eigh(S, start, stop)
        np.testing.assert_allclose(values, everything[start:stop], atol=1e-12)
        np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(stop - start), atol=1e-9)


@pytest.mark.parametrize("result", ["fewer", "none", "not finite", "an error"])
def test_all_eigenvalues_are_sought_where_some_are_lost(monkeypatch, rng, result):
    """Whatever the solver for some eigenvalues gives, on any machine."""
    M = rng.standard_normal((20, 20))
    S, real = M @ M.T, scipy.linalg.eigh

    def spoiled(S, subset_by_index=None, **options):
        values, vectors = real(S, subset_by_index=subset_by_index, **options)
        if subset_by_index is None:
            return values, vectors
        if result == "an error":
            raise scipy.linalg.LinAlgError("no convergence")
        if result == "not finite":
            return values, vectors * np.nan
        kept = 1 if result == "fewer" else 0
        return values[:kept], vectors[:, :kept]

    monkeypatch.setattr(scipy.linalg, "eigh", spoiled)
    values, vectors = leading_eigh(S, 2)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(S)[:-3:-1])
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-10)
