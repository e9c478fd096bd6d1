"""workflow.predict: new files into the clusters of a saved model."""

import csv

import numpy as np
import pytest

from imvc import RISE, load_model
from imvc.datasets import make_views
from imvc.io import InputError, Preparation
from imvc.workflow import InputFiles, cluster, predict
from study_files import read_table, write_study


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Paths of a study and a model of it, prepared in every way."""
    folder = tmp_path_factory.mktemp("study")
    paths, _ = write_study(folder)
    preparation = Preparation(
        empty_cells="mean", scale={"rna": "standard"}, top_variance={"protein": 4}
    )
    run = cluster(InputFiles(paths, preparation=preparation), n_clusters=3, n_refits=0)
    return paths, run, run.save(folder / "out", report=False)["model.imvc"]


def test_the_training_files_get_the_training_labels(saved):
    paths, run, model = saved
    found = predict(model, paths)
    assert found.ids.tolist() == run.sample_ids.tolist()
    assert found.labels.tolist() == run.labels.tolist()
    np.testing.assert_allclose(found.margin, run.confidence.margin, atol=1e-8)


def test_the_folder_of_a_run_stands_for_its_model(saved):
    paths, _, model = saved
    found = predict(model.parent, paths)
    assert found.labels.tolist() == predict(model, paths).labels.tolist()


def test_one_file_alone_will_do(saved):
    paths, run, model = saved
    found = predict(model, [paths[0]])
    assert set(found.n_views) == {1}
    label = dict(zip(run.sample_ids, run.labels))
    same = np.mean([label[i] == c for i, c in zip(found.ids, found.labels)])
    assert same > 0.9


def test_columns_in_another_order_make_no_difference(saved, tmp_path):
    paths, _, model = saved
    rows = read_table(paths[0])
    names = [*rows[0]][::-1]
    turned = tmp_path / "rna.csv"
    with open(turned, "w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    found = predict(model, [turned], id_columns="patient")
    assert found.labels.tolist() == predict(model, [paths[0]]).labels.tolist()


def test_a_file_of_another_name_is_matched_by_names(saved, tmp_path):
    paths, _, model = saved
    other = tmp_path / "batch7.csv"
    other.write_bytes(paths[2].read_bytes())
    found = predict(model, [other], names=["clinical"])
    assert found.labels.tolist() == predict(model, [paths[2]]).labels.tolist()


def test_a_file_without_the_columns_of_the_model_is_named(saved, tmp_path):
    other = tmp_path / "rna.csv"
    other.write_text("patient,gene0\nq1,0.5\nq2,0.7\n")
    with pytest.raises(InputError, match=r"rna.csv: lacks 5 of the 6 columns"):
        predict(saved[2], [other])


def test_a_model_saved_in_python_predicts_files_too(tmp_path):
    data = make_views(60, (5, 4), 3, separation=8, random_state=0)
    model = RISE(3, random_state=0).fit({"a": data.Xs[0], "b": data.Xs[1]})
    model.save(tmp_path / "model.imvc")
    np.save(tmp_path / "a.npy", data.Xs[0])
    np.save(tmp_path / "b.npy", data.Xs[1])
    found = predict(tmp_path / "model.imvc", [tmp_path / "a.npy", tmp_path / "b.npy"])
    assert found.labels.tolist() == model.labels_.tolist()


def test_csv_text_and_csv_file_are_the_same(saved, tmp_path):
    found = predict(saved[2], saved[0])
    path = found.save(tmp_path / "new.csv")
    assert found.to_csv() == path.read_text()
    assert [*read_table(path)[0]] == [
        "id",
        "cluster",
        "margin",
        "low_confidence",
        "n_views",
    ]


def test_a_damaged_model_is_refused_by_name(saved, tmp_path):
    damaged = tmp_path / "broken.imvc"
    damaged.write_bytes(saved[2].read_bytes()[:-500])
    with pytest.raises(ValueError, match=r"broken.imvc"):
        predict(damaged, saved[0])


def test_a_name_that_is_no_view_of_the_model_is_refused_with_the_nearest(saved):
    paths, _, model = saved
    problem = r"--name\) has 'protien', .* rna, protein, clinical\. Did you mean 'prot"
    with pytest.raises(ValueError, match=problem):
        predict(model, [paths[0]], names=["protien"])


def test_a_name_like_no_view_is_refused_before_the_file_is_read(saved):
    with pytest.raises(ValueError, match=r"are: rna, protein, clinical\.$"):
        predict(saved[2], ["not-there.csv"], names=["x"])


def test_names_are_those_of_a_model_saved_in_python_too(tmp_path):
    data = make_views(60, (5, 4), 3, separation=8, random_state=0)
    RISE(3, random_state=0).fit(data.Xs).save(tmp_path / "model.imvc")
    np.save(tmp_path / "a.npy", data.Xs[0])
    with pytest.raises(ValueError, match=r"has 'view', .* view0, view1"):
        predict(tmp_path / "model.imvc", [tmp_path / "a.npy"], names=["view"])


def test_a_match_by_columns_is_told(saved, tmp_path):
    other = tmp_path / "new.csv"
    other.write_bytes(saved[0][0].read_bytes())
    found = predict(saved[2], [other])
    assert f"{other}: taken for view 'rna' by its columns" in found.notes
    assert not any("taken for" in n for n in predict(saved[2], saved[0]).notes)


def test_a_match_by_position_is_told_with_what_to_give_instead(tmp_path):
    data = make_views(60, (5, 5), 3, separation=8, random_state=0)
    paths = [tmp_path / f"{name}.npy" for name in "abxy"]
    for path, X in zip(paths, [*data.Xs, *data.Xs]):
        np.save(path, X)
    run = cluster(InputFiles(paths[:2]), n_clusters=3, n_refits=0)
    model = run.save(tmp_path / "out", report=False)["model.imvc"]
    told = predict(model, paths[2:]).notes
    for path, view in zip(paths[2:], "ab"):
        note = f"{path}: taken for view '{view}' by its position; if that is wrong, "
        assert note + "give names= (--name)" in told


@pytest.mark.parametrize("name", [None, "rna"])
def test_a_file_with_samples_in_columns_gets_the_hint_to_turn_it(saved, tmp_path, name):
    rows = list(csv.reader(open(saved[0][0], newline="")))
    turned = tmp_path / "turned.csv"
    with open(turned, "w", newline="") as file:
        csv.writer(file).writerows(zip(*rows))
    option = name or "turned"
    names = None if name is None else [name]
    problem = rf"6 of its rows are called like columns .*\(--transpose {option}\)"
    with pytest.raises(InputError, match=problem):
        predict(saved[2], [turned], names=names)
    found = predict(saved[2], [turned], names=names, transpose=[option])
    assert found.labels.tolist() == predict(saved[2], saved[0][:1]).labels.tolist()


def test_a_preparation_of_other_features_than_the_model_is_refused(saved, tmp_path):
    model = load_model(saved[2])
    model.preparation_["views"][0]["features"][0] = "other"
    model.save(tmp_path / "bad.imvc")
    with pytest.raises(ValueError, match=r"bad\.imvc: the preparation .* other feat"):
        predict(tmp_path / "bad.imvc", saved[0])
