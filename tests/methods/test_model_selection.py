"""Searches, cross-validation and pipelines of scikit-learn split by samples."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import imvc
from imvc import RISE, ImputeKMeans
from imvc.datasets import make_views


@pytest.fixture(scope="module")
def data():
    return make_views(90, (6, 5, 4), 3, separation=8, incomplete=0.3, random_state=0)


@pytest.fixture(scope="module")
def views(data):
    return imvc.as_views(data.Xs, data.mask)


def test_a_list_that_was_split_by_views_is_refused(data):
    model = ImputeKMeans(3, random_state=0)
    labels = [0, 1, 2]  # as long as the list of views
    rule = {"scoring": "adjusted_rand_score", "cv": 3}
    search = GridSearchCV(RISE(3), {"beta": [1.0, 10.0]}, **rule)
    told = r"split by views instead of samples; pass imvc.as_views\(Xs, mask\)"
    # scikit-learn catches errors of fits and tells them when all have failed.
    with pytest.raises(ValueError, match=told):
        search.fit(data.Xs, labels)
    with pytest.raises(TypeError, match=told):
        cross_val_score(model, data.Xs, labels, error_score="raise", **rule)
    with pytest.raises(TypeError, match=told):
        cross_val_predict(make_pipeline(model), data.Xs, cv=3)


def test_the_container_is_split_by_samples(data, views):
    scores = cross_val_score(
        RISE(3, random_state=0), views, data.y, scoring="adjusted_rand_score", cv=3
    )
    assert scores.shape == (3,)
    assert scores.min() > 0.9
    grid = {"n_clusters": [2, 3]}
    search = GridSearchCV(
        RISE(3, random_state=0), grid, scoring="adjusted_rand_score", cv=3, n_jobs=2
    ).fit(views, data.y)
    assert search.best_params_ == {"n_clusters": 3}
    np.testing.assert_array_equal(search.predict(views), search.best_estimator_.labels_)


def test_train_test_split_keeps_rows_together(data, views):
    train, test, y_train, y_test = train_test_split(views, data.y, random_state=0)
    assert isinstance(train, imvc.IncompleteViews)
    rows, _ = train_test_split(np.arange(90), random_state=0)
    np.testing.assert_array_equal(train.mask, data.mask[rows])
    np.testing.assert_array_equal(y_train, data.y[rows])
    model = RISE(3, random_state=0).fit(train)
    assert imvc.metrics.nmi(y_test, model.predict(test)) > 0.8


def test_a_pipeline_may_make_the_list_of_a_matrix(data):
    X = np.hstack(data.Xs[:2])

    def columns(X):
        return [X[:, :6], X[:, 6:]]

    line = make_pipeline(
        StandardScaler(), FunctionTransformer(columns), ImputeKMeans(3, random_state=0)
    )
    scores = cross_val_score(line, X, data.y, scoring="adjusted_rand_score", cv=3)
    assert scores.min() > 0.9


def test_a_step_for_one_matrix_says_what_to_do(views):
    for step in (PCA(2), StandardScaler()):
        with pytest.raises(TypeError, match="3 tables, not one matrix"):
            make_pipeline(step, RISE(3)).fit(views)


def test_indexing(data, views):
    assert views.shape == (90, 3)
    np.testing.assert_array_equal(views[10:20].mask, data.mask[10:20])
    np.testing.assert_array_equal(views[data.y == 1].mask, data.mask[data.y == 1])
    np.testing.assert_array_equal(views[[3, 1], ...].mask, data.mask[[3, 1]])
    assert len(views[5]) == 1
    assert sum(len(one) for one in views) == 90
    with pytest.raises(TypeError, match="select_views"):
        views[3, 1]
