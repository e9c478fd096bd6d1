"""Batches: told where clusters follow them, and removed where that is asked for."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from imvc import IMVCCBG, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.io import read_views
from imvc.methods import load_model
from imvc.metrics import adjusted_rand
from imvc.views import as_views
from imvc.workflow import (
    BatchEffects,
    BlockFiles,
    InputFiles,
    adjust_batches,
    cluster,
    predict,
    repeat,
)
from imvc.workflow._batches import (
    adjustment_notes,
    effect_warnings,
    leakage_warning,
)


def shifted(seed=0, n=300, shift=3.0, incomplete=0.0, odds=(0.5, 0.5, 0.5), k=3):
    """Three clusters and two sites that shift every view; odds of site b by cluster."""
    rng = np.random.default_rng(seed)
    data = make_views(n, (8, 9, 7), k, incomplete=incomplete, random_state=seed)
    site = np.where(rng.random(n) < np.array(odds)[data.y], "b", "a")
    effects = [shift * rng.normal(size=(2, X.shape[1])) for X in data.Xs]
    codes = (site == "b").astype(int)
    Xs = [X + own[codes] for X, own in zip(data.Xs, effects)]
    return Xs, data.mask, data.y, site, effects


def kmeans(k=3):
    return ImputeKMeans(k, random_state=0)


@pytest.mark.parametrize("odds", [(0.5, 0.5, 0.5), (0.2, 0.8, 0.5), (0.0, 0.5, 0.5)])
def test_clusters_that_follow_the_batch_are_found_again(odds, seed):
    Xs, mask, y, site, _ = shifted(seed, incomplete=0.3, odds=odds)
    found = adjust_batches(kmeans(), Xs, site, mask=mask)
    assert found.reason is None
    # Planted clusters six deviations apart are found nearly without error.
    assert adjusted_rand(y, found.model.labels_) > 0.95


def test_estimated_effects_are_the_planted_ones(seed):
    Xs, _, _, site, effects = shifted(seed, odds=(0.2, 0.8, 0.5))
    found = adjust_batches(kmeans(), Xs, site)
    for own, planted in zip(found.effects.views.values(), effects):
        # Means of 30 samples and more: a standard error of a fifth, at most.
        np.testing.assert_allclose(own[1] - own[0], planted[1] - planted[0], atol=0.8)
    assert found.leakage_before > 0.3
    assert all(0 < share < 1 for share in found.removed.values())
    assert found.apart == {}


def test_without_a_batch_effect_plain_clusters_come_back(seed):
    Xs, _, _, site, _ = shifted(seed, shift=0.0, odds=(0.1, 0.9, 0.5))
    found = adjust_batches(kmeans(), Xs, site)
    plain = kmeans().fit(Xs).labels_
    assert adjusted_rand(plain, found.model.labels_) > 0.98
    assert not found.confounded


def test_clusters_that_do_not_follow_the_batch_are_never_in_doubt(seed):
    # Noise: two fits have little in common, but not because of the batches.
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(size=(150, 6)), rng.normal(size=(150, 5))]
    found = adjust_batches(kmeans(), Xs, np.arange(150) % 2)
    assert abs(found.leakage_before) < 0.1
    assert not found.confounded


def test_a_view_without_batch_effects_is_left_nearly_alone(seed):
    Xs, _, y, site, _ = shifted(seed)
    clean = shifted(seed, shift=0.0)[0]
    found = adjust_batches(kmeans(), [Xs[0], Xs[1], clean[2]], site)
    assert adjusted_rand(y, found.model.labels_) > 0.95
    assert found.removed["view2"] < 0.01 < found.removed["view0"]


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_clusters_that_are_batches_stay_and_are_told(shift, seed):
    Xs, _, y, site, _ = shifted(seed, shift=shift, odds=(0.0, 1.0), k=2)
    found = adjust_batches(kmeans(2), Xs, site)
    assert adjusted_rand(y, found.model.labels_) > 0.95
    assert found.confounded
    assert "no clusters are left" in found.reason
    run = cluster(Xs, n_clusters=2, method="impute-kmeans", adjust=site, n_refits=0)
    assert [text for text in run.warnings if "adjust" in text] == [
        f"Clusters and effects of adjust cannot be told apart (adjusted mutual "
        f"information {found.leakage_after:.2f}), and --adjust adjust (adjust=) "
        "removed nothing: "
        "no clusters are left without what adjust explains."
    ]


def test_a_number_that_is_not_given_is_that_of_the_adjusted_views():
    Xs, _, y, site, _ = shifted()
    found = adjust_batches(AnchorBridge(random_state=0), Xs, site)
    assert found.model.n_clusters is None
    assert found.model.n_clusters_ == 3
    assert adjusted_rand(y, found.model.labels_) > 0.95


def test_a_number_that_batch_means_mislead_is_decided_again():
    # Without the means of the batches 4 clusters are suggested, and 12 of plain views.
    rng = np.random.default_rng(7)
    y, site = np.arange(240) % 3, rng.integers(0, 4, 240)
    Xs = []
    for d in (10, 8):
        X = rng.normal(size=(240, d)) + 3 * rng.normal(size=(3, d))[y]
        X += 1.5 * rng.normal(size=(4, d))[site]
        X[rng.random(240) >= 0.85] = np.nan
        Xs.append(X)
    seen = ~np.isnan(np.hstack(Xs)).all(axis=1)
    Xs, y, site = [X[seen] for X in Xs], y[seen], site[seen]
    found = adjust_batches(AnchorBridge(random_state=0), Xs, site)
    assert adjusted_rand(y, found.model.labels_) > 0.9


def test_where_nothing_is_removed_the_leakage_told_is_that_of_the_clusters():
    Xs, _, _, site, _ = shifted(odds=(0.0, 1.0), k=2)
    found = adjust_batches(kmeans(2), Xs, site)
    other = replace(found, leakage_before=0.0)  # of another number of clusters
    (note,) = adjustment_notes(other)
    assert f"follow it by {found.leakage_after:.2f} (adjusted" in note


def test_samples_of_unknown_batch_stay_as_they_are():
    Xs, _, _, site, _ = shifted()
    site = site.astype(object)
    site[:20] = None
    found = adjust_batches(kmeans(), Xs, site)
    np.testing.assert_array_equal(found.views.observed(0)[:20], Xs[0][:20])
    assert (found.views.observed(0)[20:] != Xs[0][20:]).any()


def test_the_views_that_were_given_are_not_changed():
    Xs, _, _, site, _ = shifted()
    before = [X.copy() for X in Xs]
    adjust_batches(kmeans(), Xs, site)
    for X, own in zip(Xs, before):
        np.testing.assert_array_equal(X, own)


def test_float32_stays_float32():
    Xs, _, _, site, _ = shifted()
    found = adjust_batches(kmeans(), [X.astype(np.float32) for X in Xs], site)
    assert found.views.dtype == np.float32


def test_sparse_views_are_refused_by_name():
    Xs, _, _, site, _ = shifted()
    views = {"a": sp.csr_array(Xs[0]), "b": Xs[1]}
    with pytest.raises(ValueError, match=r"view 'a' is sparse.*--adjust"):
        adjust_batches(kmeans(), views, site)


def test_one_batch_cannot_be_adjusted_for():
    Xs, *_ = shifted()
    with pytest.raises(ValueError, match="site has 1 known batches; two are needed"):
        adjust_batches(kmeans(), Xs, ["a"] * len(Xs[0]), column="site")
    with pytest.raises(ValueError, match="n_rounds=0 must be a whole number"):
        adjust_batches(kmeans(), Xs, ["a", "b"] * 150, n_rounds=0)


def test_effects_go_through_json_and_back():
    effects = BatchEffects("site", ("a", "b"), {"x": np.array([[0.1, -1], [2, 1 / 3]])})
    again = BatchEffects.from_dict(json.loads(json.dumps(effects.to_dict())))
    assert (again.column, again.batches) == ("site", ("a", "b"))
    np.testing.assert_array_equal(again.views["x"], effects.views["x"])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format_version": 9}, "format version 9, this imvc reads 1"),
        ({"batches": ["a"]}, "one finite row per batch"),
        ({"batches": [1, 2]}, "named by text"),
        ({"views": {"x": [[1.0], [float("nan")]]}}, "one finite row per batch"),
        ({"views": None}, "not as imvc writes them"),
        ({"column": None}, "named by text"),
    ],
)
def test_altered_effects_are_refused(change, text):
    content = BatchEffects("site", ("a", "b"), {"x": np.zeros((2, 1))}).to_dict()
    with pytest.raises(ValueError, match=text):
        BatchEffects.from_dict(content | change)


def test_effects_of_other_features_are_refused():
    effects = BatchEffects("site", ("a", "b"), {"x": np.zeros((2, 3))})
    with pytest.raises(
        ValueError, match="'x' has 2 features, its batch effects have 3"
    ):
        effects.apply(as_views({"x": np.ones((2, 2))}), ["a", "b"])


def test_unseen_and_unknown_batches_are_counted_and_told():
    effects = BatchEffects("site", ("1", "2"), {"x": np.array([[-1.0], [1.0]])})
    batch = [1.0, 2, None, "lab", "lab"]
    views = as_views({"x": np.zeros((5, 1))})
    assert effects.apply(views, batch).observed(0).ravel().tolist() == [1, -1, 0, 0, 0]
    assert effects.not_removed(batch) == (1, {"lab": 2})
    unknown, unseen = effect_warnings(effects, batch)
    assert "not known of 1 of 5 samples" in unknown
    assert "--metadata" in unknown
    assert "not seen these values of site: lab (2 samples)" in unseen


def test_the_warning_names_the_remedy_and_needs_more_than_chance():
    text = leakage_warning("site", 0.5, 0.001, False)
    assert text == (
        "the clusters follow site (adjusted mutual information 0.50, p = 0.001): they "
        "may be differences between batches; --adjust site (adjust='site') removes "
        "what these explain."
    )
    assert "different kinds of samples" in leakage_warning("site", 0.5, 0.001, True)
    assert leakage_warning("site", 0.05, 0.001, False) is None
    assert leakage_warning("site", 0.5, 0.2, False) is None


def write_sites(folder, seed=0, odds=(0.3, 0.7, 0.5)):
    """Files of three shifted views, and a table of sites; the classes."""
    Xs, mask, y, site, _ = shifted(seed, n=150, incomplete=0.3, odds=odds)
    paths = [folder / f"{name}.csv" for name in ("rna", "protein", "clinical")]
    for path, X, seen in zip(paths, Xs, mask.T):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                ["patient", *(f"{path.stem}{j}" for j in range(X.shape[1]))]
            )
            for i in np.flatnonzero(seen):
                writer.writerow([f"p{i:03d}", *X[i].tolist()])
    with open(folder / "known.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "site", "age"])
        writer.writerows([f"p{i:03d}", s, 20.5 + i] for i, s in enumerate(site))
    return paths, folder / "known.csv", y


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Files, a run adjusted for the site, and what it wrote."""
    folder = tmp_path_factory.mktemp("sites")
    paths, known, y = write_sites(folder)
    source = InputFiles(paths, metadata=known)
    run = cluster(source, n_clusters=3, adjust="site", n_refits=0)
    return folder, source, run, run.save(folder / "out"), y


def classes(run, y):
    return y[[int(i[1:]) for i in run.sample_ids]]


def test_a_run_tells_that_clusters_follow_a_column(study):
    _, source, _, _, _ = study
    run = cluster(source, n_clusters=3, batch="site", n_refits=0)
    leakage = run.summary()["batch_leakage"]["site"]
    assert leakage["ami"] == pytest.approx(run.model.batch_leakage_)
    assert leakage["ami"] > 0.3
    assert leakage["p"] == 0.001
    assert any("--adjust site" in text for text in run.warnings)


def test_an_adjusted_run_finds_the_classes_and_says_what_it_did(study):
    _, _, run, written, y = study
    assert adjusted_rand(classes(run, y), run.labels) > 0.95
    found = run.summary()["batch_leakage"]["site"]
    assert found["before"] > found["ami"] + 0.2
    note = next(text for text in run.notes if text.startswith("adjusted for site"))
    assert "removed of the variance: rna " in note
    assert "-0.00" not in note
    page = written["report.html"].read_text()
    assert "adjusted for site" in page
    record = json.loads(written["run.json"].read_text())
    assert record["request"]["adjust"] == "site"


def test_predict_removes_the_effects_of_the_batches(study):
    folder, source, run, written, _ = study
    found = predict(written["model.imvc"], source.paths, metadata=folder / "known.csv")
    label = dict(zip(run.sample_ids, run.labels))
    assert found.labels.tolist() == [label[i] for i in found.ids]
    assert not any("batch effects" in text for text in found.warnings)


def test_predict_without_batches_warns_and_says_how_to_give_them(study):
    _, source, run, written, _ = study
    found = predict(written["model.imvc"], source.paths)
    assert found.labels.tolist() != run.labels.tolist()
    assert any("not known of 150 of 150 samples" in text for text in found.warnings)


def test_predict_names_batches_that_the_model_has_not_seen(study, tmp_path):
    _, source, _, written, _ = study
    known = tmp_path / "new.csv"
    rows = (f"p{i:03d},{'a' if i else 'mars'}" for i in range(150))
    known.write_text("patient,site\n" + "\n".join(rows) + "\n")
    found = predict(written["model.imvc"], source.paths, metadata=known)
    assert any("values of site: mars (1 samples)" in text for text in found.warnings)


def test_a_model_with_altered_effects_is_refused_by_name(study, tmp_path):
    _, source, _, written, _ = study
    model = load_model(written["model.imvc"])
    model.batch_effects_ = {"column": "site"}
    model.save(tmp_path / "odd.imvc")
    with pytest.raises(ValueError, match=r"odd.imvc: batch effects are not as imvc"):
        predict(tmp_path / "odd.imvc", source.paths)


def test_a_repeated_run_has_the_same_labels(study):
    folder, _, run, _, _ = study
    again = repeat(folder / "out")
    assert again.labels.tolist() == run.labels.tolist()
    assert again.batches.asked.request == {"batch": None, "adjust": "site"}


def test_batch_and_adjust_may_be_two_columns(study):
    _, source, _, _, _ = study
    views = read_views(source.paths)
    two = np.arange(150) % 2
    known = {"plate": two}
    run = cluster(
        views, n_clusters=3, metadata=known, batch="plate", adjust=two, n_refits=0
    )
    assert [*run.summary()["batch_leakage"]] == ["plate", "adjust"]


def test_an_array_is_not_kept_and_said_so(study, tmp_path):
    _, source, _, _, _ = study
    run = cluster(source, n_clusters=3, batch=np.arange(150) % 2, n_refits=0)
    run.save(tmp_path / "out", report=False)
    with pytest.raises(ValueError, match="'batch' was no number or text and was not"):
        repeat(tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch": "siet"}, r"--batch 'siet' .*mean 'site'\? There are: 'site', 'age'"),
        (
            {"adjust": "age"},
            "--adjust 'age' .* has 150 different values .* is no batch",
        ),
        ({"batch": ["x"] * 150}, "batch= has the value 'x' only"),
        ({"batch": [None] * 150}, "batch= has no value"),
        ({"batch": ["x"] * 5}, r"batch has shape \(5,\), but there are 150 samples"),
    ],
)
def test_what_is_no_batch_is_refused(study, options, text):
    with pytest.raises(ValueError, match=text):
        cluster(study[1], n_clusters=3, n_refits=0, **options)


def test_without_metadata_the_option_is_named(study):
    with pytest.raises(ValueError, match=r"there is none\. Give a table .* --metadata"):
        cluster(InputFiles(study[1].paths), n_clusters=3, batch="site")


def test_files_read_by_blocks_take_no_batches(tmp_path):
    for name in ("batch", "adjust"):
        with pytest.raises(ValueError, match=f"{name} needs all samples in memory"):
            cluster(BlockFiles([tmp_path / "a.npy"]), n_clusters=3, **{name: "site"})


def test_adjusting_works_for_a_method_with_few_anchors():
    Xs, _, _, site, _ = shifted()
    # As many anchors as clusters: one more cluster, to compare with, cannot be had.
    model = IMVCCBG(3, n_anchors=3, random_state=0)
    with pytest.raises(ValueError, match="n_anchors=3 must lie between n_clusters=4"):
        IMVCCBG(4, n_anchors=3).fit(Xs)
    found = adjust_batches(model, Xs, site)
    assert found.model.batch_leakage_ == found.leakage_after
    assert found.reason is None
