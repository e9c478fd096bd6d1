from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.cluster import KMeans

from imvc.methods.bridge.number import (
    Choice,
    Space,
    cluster_stability,
    kmeans_runs,
    partitions_of,
    sweep,
    valley,
    worst_cluster,
)
from imvc.metrics import adjusted_rand


def spaces_of(y, *, noise=0.3, n_vectors=40, seed=0):
    """Spectra of planted clusters: new noise for every anchor seed."""
    rng = np.random.RandomState(seed)
    n, k = len(y), int(y.max()) + 1
    centres = rng.randn(k, n_vectors)
    return [spectrum_of(centres[y] + noise * rng.randn(n, n_vectors)) for _ in range(3)]


def spectrum_of(X):
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    constant = np.full((len(X), 1), len(X) ** -0.5)
    return Space(np.hstack([constant, U]), np.square(0.99 * s / s[0]))


def noise_spaces(n, seed, d=40):
    rng = np.random.RandomState(seed)
    return [spectrum_of(rng.randn(n, d)) for _ in range(3)]


def curve_of(*rows):
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("largest", [30, 120])
@pytest.mark.parametrize("k", [2, 6])
def test_planted_number_is_found_with_strong_evidence(k, largest, seed):
    sizes = np.geomspace(30, largest, k).astype(int)
    y = np.repeat(np.arange(k), sizes)
    found = sweep(spaces_of(y, seed=seed), range(2, 9), 0)
    assert found.n_clusters == found.candidates[0].k == k
    assert found.evidence == "strong"
    assert found.reason.startswith("every cluster comes back")


def test_noise_has_no_clusters(seed):
    found = sweep(noise_spaces(300, seed), range(2, 11), 0)
    assert found.evidence == "none"


def test_a_continuum_is_graded_though_its_clusters_come_back(seed):
    rng = np.random.RandomState(seed)
    factors = rng.randn(400, 2) @ rng.randn(2, 6)
    spaces = [spectrum_of(factors + 0.05 * rng.randn(400, 6)) for _ in range(3)]
    found = sweep(spaces, range(2, 7), 0)
    assert found.curve[1, 1] > 0.75
    assert found.evidence == "none"
    assert "graded structure" in found.reason


def test_partitions_are_those_that_were_compared(seed):
    y = np.repeat(np.arange(4), 40)
    spaces = spaces_of(y, seed=seed)
    found = sweep(spaces, range(2, 8), seed)
    assert found.partitions.shape == (9, 160)
    np.testing.assert_array_equal(found.partitions, partitions_of(spaces, 4, seed))
    runs = list(found.partitions.reshape(3, 3, -1))
    assert worst_cluster(runs, 4) == found.curve[2, 1]


def test_threads_change_nothing():
    spaces = noise_spaces(200, 3)
    alone = sweep(spaces, range(2, 9), 5)
    with ThreadPoolExecutor(3) as pool:
        threaded = sweep(spaces, range(2, 9), 5, map=pool.map)
    np.testing.assert_array_equal(alone.curve, threaded.curve)
    np.testing.assert_array_equal(alone.partitions, threaded.partitions)
    assert alone.reason == threaded.reason


def test_runs_share_no_starts(seed):
    X = noise_spaces(300, seed)[0].rows(8)
    labels, _ = kmeans_runs(X, 8, 3, 4, np.random.RandomState(seed))
    assert adjusted_rand(labels[0], labels[1]) < 0.9


def test_a_run_is_as_good_as_scikit_learns():
    y = np.repeat(np.arange(5), 60)
    X = spaces_of(y, noise=1.0)[0].rows(5)
    _, centers = kmeans_runs(X, 5, 3, 10, np.random.RandomState(0))
    D = np.square(X[:, None, None] - centers).sum(axis=3)
    best = KMeans(5, n_init=10, random_state=0).fit(X).inertia_
    np.testing.assert_allclose(D.min(axis=2).sum(axis=0), best, rtol=1e-3)


def test_labels_are_those_of_the_nearest_centre():
    X = noise_spaces(200, 0)[0].rows(6)
    labels, centers = kmeans_runs(X, 6, 3, 4, np.random.RandomState(0))
    D = np.square(X[:, None, None] - centers).sum(axis=3)
    np.testing.assert_array_equal(labels, D.argmin(axis=2).T)


def test_rows_have_length_one_and_use_four_vectors_a_cluster():
    space = noise_spaces(100, 0)[0]
    for k in (2, 5, 30):
        X = space.rows(k)
        assert X.shape == (100, 1 + min(4 * k, 40))
        np.testing.assert_allclose(np.square(X).sum(axis=1), 1)


def jaccard_oracle(labels, partitions):
    def best(cluster, other):
        return max(
            len(cluster & set(np.flatnonzero(other == c)))
            / len(cluster | set(np.flatnonzero(other == c)))
            for c in np.unique(other)
        )

    return [
        np.mean([best(set(np.flatnonzero(labels == c)), p) for p in partitions])
        for c in np.unique(labels)
    ]


def test_cluster_stability_is_the_mean_of_the_best_jaccard_indices(seed):
    rng = np.random.RandomState(seed)
    labels, partitions = rng.randint(4, size=50), rng.randint(6, size=(5, 50))
    found = cluster_stability(labels, partitions)
    np.testing.assert_allclose(found, jaccard_oracle(labels, partitions))


def test_stability_of_a_cluster_without_rows_is_unknown():
    labels = np.array([0, 0, 2, 2])
    found = cluster_stability(labels, labels[None], n_clusters=4)
    np.testing.assert_array_equal(found, [1, np.nan, 1, np.nan])


def test_worst_cluster_is_that_of_the_best_partition_against_other_seeds():
    same = np.repeat([0, 1, 2], 10)
    bad = np.roll(same, 5)
    # Both runs of the first seed agree, but not with the other seed's.
    assert worst_cluster([np.array([same, same]), np.array([bad, bad])], 3) < 0.5
    assert worst_cluster([np.array([same, bad]), np.array([same, same])], 3) == 1
    assert worst_cluster([same[None], same[None]], 4) == 0  # one of four is empty


def test_valley_counts_borders_against_centres():
    centers = np.array([[0.0, 0.0], [1.0, 0.0]])
    at = np.array([-0.1, 0.1, 0.9, 0.2, 0.4, 0.6])
    X = np.column_stack([at, np.linspace(-3, 3, 6)])
    assert valley(X, centers) == pytest.approx((2 / 0.15) / (3 / 0.30))
    assert valley(np.repeat(centers, 5, axis=0), centers) == 0


def test_a_continuum_has_no_valley():
    X = np.random.RandomState(0).uniform(size=(4000, 1))
    assert valley(X, np.array([[0.25], [0.75]])) == pytest.approx(1, abs=0.15)


def test_the_largest_number_that_comes_back_is_taken():
    curve = curve_of((2, 0.9, 0.1), (3, 0.6, 0.1), (4, 0.8, 0.1), (5, 0.7, 0.1))
    choice = Choice(curve, dense=4)
    assert (choice.n_clusters, choice.evidence) == (4, "strong")
    assert [c.k for c in choice.candidates] == [4, 5]


@pytest.mark.parametrize(
    ("r", "v", "dense", "evidence", "reason"),
    [
        (0.74, 0.1, 5, "weak", "of the worst cluster only 74% comes back"),
        (0.80, 0.6, 5, "weak", "the clusters are not clearly apart"),
        (0.80, 0.1, 7, "weak", "a count of dense regions finds 7 clusters"),
        (0.80, 0.1, 0, "weak", "a count of dense regions finds no clusters"),
        (0.80, 0.1, 6, "strong", "every cluster comes back"),
        (0.80, 1.0, 5, "none", "graded structure"),
        (0.59, 0.1, 5, "none", "does not come back"),
    ],
)
def test_evidence_names_what_failed(r, v, dense, evidence, reason):
    curve = curve_of((4, 0.2, 0.1), (5, r, v), (6, 0.1, 0.1))
    choice = Choice(curve, dense)
    assert choice.n_clusters == 5
    assert choice.evidence == evidence
    assert reason in choice.reason


def test_several_doubts_are_listed_in_one_sentence():
    choice = Choice(curve_of((2, 0.6, 0.7), (3, 0.5, 0.5)), dense=0)
    assert choice.reason == (
        "of the worst cluster only 60% comes back, the clusters are not clearly apart "
        "and a count of dense regions finds no clusters"
    )


@pytest.mark.parametrize(("top", "dense"), [(6, 5), (5, 7)])
def test_candidates_that_end_too_early_are_named(top, dense):
    curve = curve_of(*((k, 0.8 if k == top else 0.6, 0.1) for k in (4, 5, 6)))
    assert "; the candidates end at 6: try more" in Choice(curve, dense).reason


def test_the_third_candidate_is_the_best_coarser_level():
    r = {2: 1.0, 3: 0.8, 4: 0.95, 5: 0.7, 6: 0.76, 7: 0.7, 8: 0.9, 9: 0.5}
    choice = Choice(curve_of(*((k, x, 0.1) for k, x in r.items())), dense=8)
    assert [c.k for c in choice.candidates] == [8, 7, 4]
    assert "coarser" in choice.candidates[2].reason


@pytest.mark.parametrize(("dense", "r"), [(2, 0.7), (30, np.nan)])
def test_without_a_coarser_level_the_count_of_dense_regions_is_shown(dense, r):
    curve = curve_of(*((k, 0.9 if k == 5 else 0.7, 0.1) for k in range(2, 8)))
    third = Choice(curve, dense).candidates[2]
    assert (third.k, third.reason) == (dense, "the number of dense regions")
    np.testing.assert_equal(third.r, r)


@pytest.mark.parametrize("candidates", [[4], [2, 4], [2, 4, 20]])
def test_few_candidates_with_gaps_are_enough(candidates):
    found = sweep(spaces_of(np.repeat(np.arange(4), 40)), candidates, 0)
    assert found.n_clusters == 4
    np.testing.assert_array_equal(found.curve[:, 0], candidates)
    assert {c.k for c in found.candidates} <= set(candidates)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((50, 3)),  # constant features: no vectors at all
        np.repeat(np.eye(3), 20, axis=0),  # three different rows
        np.eye(4),  # fewer rows than clusters
        np.random.RandomState(0).randn(30, 1),  # rank 1
    ],
)
def test_numbers_that_the_rows_cannot_fill_are_never_taken(X):
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = s > 1e-9
    U = np.hstack([np.full((len(X), 1), len(X) ** -0.5), U[:, kept]])
    spaces = [Space(U, np.square(s[kept]) / max(s[0], 1) ** 2)] * 3
    found = sweep(spaces, range(2, 8), 0)
    distinct = len(np.unique(X, axis=0))
    assert (found.curve[found.curve[:, 0] > distinct, 1] == 0).all()
    assert np.isfinite(found.curve).all()
    if distinct == 1:
        assert found.evidence == "none"
    elif distinct == 3:
        assert found.n_clusters == 3
