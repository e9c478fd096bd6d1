"""Labels and embeddings as pandas and polars tables, and the table of results."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import imvc
from imvc import RISE, UEAF, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.methods._registry import METHODS

PLACING = [name for name, method in METHODS.items() if method.predicts]


@pytest.fixture(scope="module")
def frames():
    """Two tables of 60 and 50 patients, 40 of them in both."""
    data = make_views(70, (6, 5), 3, separation=8, random_state=0)
    names = [f"p{i:02}" for i in range(70)]
    first = pd.DataFrame(data.Xs[0], names, [f"a{j}" for j in range(6)])
    second = pd.DataFrame(data.Xs[1], names, [f"b{j}" for j in range(5)])
    return {"first": first[:60], "second": second[20:][::-1]}


@pytest.fixture(scope="module")
def joined(frames):
    ids = [*frames["first"].index, *frames["second"].index]
    return list(dict.fromkeys(ids))


@pytest.mark.parametrize("name", PLACING)
def test_pandas_out(name, frames, joined):
    model = imvc.get_method(name)(3, random_state=0).set_output(transform="pandas")
    labels = model.fit_predict(frames)
    assert isinstance(labels, pd.Series)
    assert labels.name == "cluster"
    assert list(labels.index) == joined
    np.testing.assert_array_equal(labels, model.labels_)
    new = {view: table[::-2] for view, table in frames.items()}
    found = model.predict(new)
    pd.testing.assert_series_equal(found, labels[found.index], check_dtype=False)
    Y = model.transform(frames)
    assert list(Y.index) == joined
    assert list(Y.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(Y, model.embedding_, atol=1e-8)
    assert Y.columns[1] == f"{type(model).__name__.lower()}1"
    pd.testing.assert_frame_equal(model.fit_transform(frames), Y, atol=1e-8)
    assert isinstance(model.labels_, np.ndarray)


def test_ids_of_several_levels(frames):
    tables = {
        name: X.set_index(pd.MultiIndex.from_tuples([(i[:2], i) for i in X.index]))
        for name, X in frames.items()
    }
    model = RISE(3, random_state=0).set_output(transform="pandas")
    labels = model.fit_predict(tables)
    assert labels.index.nlevels == 2
    assert labels.loc["p3"].shape == (10,)


def test_polars_out(frames):
    tables = [pl.DataFrame(X[:40].to_numpy()) for X in frames.values()]
    model = RISE(3, random_state=0).set_output(transform="polars")
    labels = model.fit_predict(tables)
    assert isinstance(labels, pl.Series)
    np.testing.assert_array_equal(labels, model.labels_)
    Y = model.transform(tables)
    assert Y.columns == ["rise0", "rise1", "rise2"]
    np.testing.assert_allclose(Y.to_numpy(), model.embedding_, atol=1e-8)
    assert model.results_.columns == ["id", "cluster", "views"]
    assert isinstance(model.results_, pl.DataFrame)


def test_methods_that_place_no_samples_give_series_too(frames, joined):
    labels = UEAF(3, random_state=0).set_output(transform="pandas").fit_predict(frames)
    assert list(labels.index) == joined


def test_the_configuration_of_scikit_learn_counts(frames):
    model = ImputeKMeans(3, random_state=0)
    assert isinstance(model.fit_predict(frames), np.ndarray)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(model.fit_predict(frames), pd.Series)
        assert isinstance(model.transform(frames), pd.DataFrame)
        model.set_output(transform="default")
        assert isinstance(model.predict(frames), np.ndarray)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_nothing_inside_stumbles_over_the_configuration(kind, frames):
    model = AnchorBridge(3, random_state=0, stability=True).fit(frames)
    with sklearn.config_context(transform_output=kind):
        again = AnchorBridge(3, random_state=0, stability=True).fit(frames)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        found = imvc.confidence(again, frames, n_refits=0)
        imvc.explain(again, frames)
        imvc.structure(again, frames, n_draws=4)
        run = imvc.workflow.cluster(frames, n_clusters=3, n_refits=1)
        run.to_report()
        make_views(40, (4, 5), 2, random_state=0)
    score = imvc.confidence(model, frames, n_refits=0).score
    np.testing.assert_allclose(found.score, score, atol=1e-10)


def test_clone_and_pipeline_take_the_choice_along(frames):
    model = RISE(3, random_state=0).set_output(transform="pandas")
    assert isinstance(clone(model).fit_predict(frames), pd.Series)
    line = make_pipeline(RISE(3, random_state=0)).set_output(transform="pandas")
    assert isinstance(line.fit_transform(frames), pd.DataFrame)
    assert model.set_output() is model


def test_unknown_outputs_are_refused():
    with pytest.raises(ValueError, match=r"transform='panda' is unknown.*'pandas'"):
        RISE(3).set_output(transform="panda")


def test_results(frames, joined, tmp_path):
    model = RISE(3, random_state=0).fit(frames)
    table = model.results_
    assert list(table.columns) == ["id", "cluster", "views"]
    assert list(table["id"]) == joined
    np.testing.assert_array_equal(table["cluster"], model.labels_)
    told = table.set_index("id")["views"]
    assert (told["p00"], told["p30"], told["p69"]) == (
        "first", "first + second", "second",
    )  # fmt: skip
    for n_refits in (0, 1):
        score = imvc.confidence(model, frames, n_refits=n_refits).score
        np.testing.assert_array_equal(model.results_["confidence"], score)
    model.save(tmp_path / "m.imvc")
    kept = RISE.load(tmp_path / "m.imvc").results_
    pd.testing.assert_frame_equal(kept, model.results_)
    assert "confidence" not in model.fit(frames).results_


def test_confidence_of_new_samples_is_none_of_the_results(frames):
    model = RISE(3, random_state=0).fit(frames)
    imvc.confidence(model, {k: X[:30] for k, X in frames.items()}, n_refits=0)
    other = {k: -X for k, X in frames.items()}
    imvc.confidence(model, other, n_refits=0)
    assert "confidence" not in model.results_


def test_results_follow_an_update(frames):
    first = {k: X[X.index < "p40"] for k, X in frames.items()}
    second = {k: X[X.index >= "p40"] for k, X in frames.items()}
    table = RISE(3, random_state=0).fit(first).update(second).results_
    seen = {k: set(X.index) for k, X in frames.items()}
    for row in table.itertuples():
        assert row.views == " + ".join(k for k in frames if row.id in seen[k])
    assert len(table) == 70


def test_results_without_ids_and_without_memory(tmp_path):
    data = make_views(60, (6, 5), 3, separation=8, random_state=0)
    table = ImputeKMeans(3, random_state=0).fit(data.Xs).results_
    assert list(table["id"]) == list(range(60))
    np.save(tmp_path / "a.npy", data.Xs[0])
    np.save(tmp_path / "b.npy", data.Xs[1])
    model = RISE(3, random_state=0).fit([tmp_path / "a.npy", tmp_path / "b.npy"])
    assert model.mask_ is None
    assert list(model.results_.columns) == ["id", "cluster"]


def test_results_need_a_fit():
    with pytest.raises(sklearn.exceptions.NotFittedError, match="not fitted"):
        RISE(3).results_  # noqa: B018


def test_a_missing_library_is_named(frames, monkeypatch):
    model = RISE(3, random_state=0).fit(frames).set_output(transform="pandas")
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'imvc\[io\]'"):
        model.results_  # noqa: B018


@pytest.mark.parametrize("name", PLACING)
def test_columns_in_another_order_are_found_by_name(name, frames):
    model = imvc.get_method(name)(3, random_state=0).fit(frames)
    shuffled = {k: X[X.columns[::-1]] for k, X in frames.items()}
    np.testing.assert_array_equal(model.predict(shuffled), model.labels_)


def test_other_columns_are_refused(frames):
    model = RISE(3, random_state=0).fit(frames)
    other = {**frames, "first": frames["first"].rename(columns={"a3": "a9"})}
    with pytest.raises(ValueError, match=r"'first' has feature 'a9' at column 3"):
        model.predict(other)
    twice = frames["first"].set_axis(["a0", "a1", "a2", "a3", "a4", "a4"], axis=1)
    with pytest.raises(ValueError, match="'a5'"):
        model.predict({**frames, "first": twice})
