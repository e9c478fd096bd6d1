import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hard_views import hard_views
from imvc.datasets import make_views
from imvc.kernels._patterns import fix_signs
from imvc.methods.psimvc_pg import PSIMVCPG
from imvc.metrics import adjusted_rand

HARD = hard_views()


@pytest.fixture(scope="module")
def data():
    return make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)


def test_the_authors_program_is_reproduced(reference_data):
    case = np.load(reference_data / "small_case.npz")
    expected = np.load(reference_data / "psimvc_pg" / "small.npz")
    model = PSIMVCPG(3, random_state=0)
    model.fit([case[f"X{v}"] for v in range(3)], mask=case["mask"])
    assert model.converged_
    np.testing.assert_allclose(model.objective_, expected["objective"], rtol=1e-12)
    np.testing.assert_allclose(model.graph_, expected["Z"].T, atol=1e-12)
    np.testing.assert_allclose(model.view_weights_, expected["alpha"], atol=1e-12)
    np.testing.assert_allclose(model.embedding_, fix_signs(expected["U"]), atol=1e-10)
    # Both clusterings come from 20 starts of k-means on the same rows.
    assert adjusted_rand(model.labels_, expected["labels_first_run"]) > 0.95


@pytest.mark.parametrize("name", HARD)
def test_exact_weights_bear_hard_views_without_a_complaint(name):
    Xs, mask, k = HARD[name]
    model = PSIMVCPG(k, weight_update="exact", n_init=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "only . of n_clusters")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Xs, mask=mask)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_).all()
    np.testing.assert_allclose(model.graph_.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("seeds", ["first", "complete", "random"])
def test_planted_clusters_are_found_from_all_seeds(seeds, data, seed):
    labels = PSIMVCPG(3, seeds=seeds, random_state=seed).fit_predict(
        data.Xs, mask=data.mask
    )
    assert adjusted_rand(data.y, labels) > 0.85


def test_exact_weights_give_a_falling_objective(data):
    model = PSIMVCPG(3, weight_update="exact", tol=1e-8, max_iter=500)
    model.fit(data.Xs, mask=data.mask)
    assert np.all(np.diff(model.objective_) <= 1e-12 * model.objective_[0])


def test_k_means_sees_directions(data):
    model = PSIMVCPG(3, random_state=0).fit(data.Xs, mask=data.mask)
    np.testing.assert_allclose(
        model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-8
    )
    assert np.linalg.norm(model.embedding_, axis=1).max() < 0.5
    # Means of unit rows of tight clusters are nearly of length one.
    assert np.linalg.norm(model.cluster_centers_, axis=1).min() > 0.8


def test_a_sample_without_a_feature_gets_even_weights(data):
    Xs = [X.copy() for X in data.Xs]
    for X in Xs:
        X[40] = 0
    model = PSIMVCPG(3).fit(Xs, mask=data.mask)
    np.testing.assert_allclose(model.graph_[40], 1 / 3, atol=1e-12)


def test_wrong_seeds_are_named(data):
    with pytest.raises(ValueError, match=r"seeds=\[1, 2\] must be 3 sample numbers"):
        PSIMVCPG(3, seeds=[1, 2]).fit(data.Xs, mask=data.mask)
