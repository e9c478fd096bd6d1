"""What a run warns of: every sentence, their order, and the same in all places."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from imvc.datasets import make_views
from imvc.insight import Structure
from imvc.workflow import (
    BlockFiles,
    InputFiles,
    _input_files,
    cluster,
    compare_methods,
    inspect_source,
    predict,
)
from imvc.workflow._warnings import run_warnings
from study_files import set_judgement, write_study

NOISE = Structure(
    found=False,
    stability=0.31,
    shuffled=0.29,
    n_samples=60,
    n_fits=24,
    reason="the clusters are no more stable (0.31) than those of the same data with "
    "every column shuffled (0.29)",
)
CUT = (
    "The 3 clusters are one way to cut the samples, not groups that were found. Try "
    "another number (-k), or leave out columns that have nothing to do with the "
    "question (--drop VIEW=COL)."
)


@pytest.fixture(scope="module")
def planted():
    return make_views(60, (5, 4), 3, separation=8, incomplete=0.3, random_state=0)


@pytest.fixture
def plain(planted):
    """A run with nothing to warn of."""
    run = cluster(planted.Xs, n_clusters=3, n_refits=1)
    assert run.warnings == ()
    return run


def with_confidence(run, **columns):
    columns = {name: np.full(60, value) for name, value in columns.items()}
    return replace(run, confidence=replace(run.confidence, **columns))


def test_clear_clusters_have_structure_and_nothing_to_warn_of(plain):
    assert plain.structure.found
    assert plain.summary()["structure"] == plain.structure.to_dict()
    assert plain.no_structure is None


def test_clusters_that_are_no_more_than_noise(plain):
    assert run_warnings(replace(plain, structure=NOISE)) == (
        f"No cluster structure was found: {NOISE.reason}. {CUT}",
    )


def test_a_search_that_found_no_number(plain):
    set_judgement(plain.model)
    assert run_warnings(plain) == (
        f"No cluster structure was found: no number of clusters comes back. {CUT}",
    )


def test_noise_by_both_signs(plain):
    set_judgement(plain.model)
    assert run_warnings(replace(plain, structure=NOISE))[0] == (
        f"No cluster structure was found: {NOISE.reason}; no number of clusters comes "
        f"back. {CUT}"
    )


def test_unstable_clusters(plain):
    assert run_warnings(with_confidence(plain, stability=0.4)) == (
        "The clusters are not stable: when the method was run again with other random "
        "starts, a sample stayed in its cluster in only 40 % of the runs on average. "
        "Do not rely on single assignments; fewer clusters (-k) may be more stable, "
        "and --refits 8 tells it more surely.",
    )


def test_doubtful_clusters(plain):
    set_judgement(plain.model, "strong", "so")
    assert run_warnings(plain) == (
        "1 of 3 clusters is doubtful: only 52 % of cluster 1 comes back when the "
        "samples are clustered again from other anchors. Fewer clusters (-k) may all "
        "come back.",
    )
    plain.model.cluster_stability_ = np.array([0.5, 0.52, 1.0])
    assert run_warnings(plain)[0].startswith(
        "2 of 3 clusters are doubtful: only 50 % of cluster 0, 52 % of cluster 1 come "
        "back when"
    )


def test_many_uncertain_samples(plain):
    low = np.arange(60) < 30
    run = replace(plain, confidence=replace(plain.confidence, low=low))
    assert run_warnings(run) == (
        "50 % of the samples are flagged as uncertain (low_confidence in labels.csv). "
        "The groups may overlap, or there may be fewer of them (-k).",
    )


def test_weak_evidence(plain):
    set_judgement(plain.model, "weak", "the valleys are shallow")
    plain.model.cluster_stability_ = None
    assert run_warnings(plain) == (
        "The evidence for this number of clusters is weak: the valleys are shallow. "
        "Look at the other candidates, and let knowledge of the field decide; -k sets "
        "a number.",
    )


def test_clusters_that_follow_what_is_missing():
    data = make_views(200, (5, 4), 2, separation=8, random_state=0)
    mask = np.column_stack([np.ones(200, bool), data.y == 0])
    run = cluster([data.Xs[0], np.where(mask[:, 1:], data.Xs[1], np.nan)], n_clusters=2)
    leakage = run.explanation.pattern_leakage
    assert leakage > 0.9
    assert run.warnings[0] == (
        f"The clusters follow which views were measured (pattern leakage "
        f"{leakage:.2f}; 0 is none, 1 is completely): some samples may be together "
        f"because they lack the same views, not because they are alike. Compare the "
        f"clusters with what is missing before reading anything into them, and cluster "
        f"once more without the view that is missing most. Where a view was left out "
        f"for a reason that has to do with the samples, some of this is to be expected."
    )


def test_a_fit_that_did_not_converge(planted):
    told = []
    run = cluster(
        planted.Xs,
        n_clusters=3,
        method="rise",
        parameters={"max_iter": 1},
        n_refits=0,
        progress=told.append,
    )
    assert run.warnings == (
        "RISE stopped at max_iter=1 before it converged; raise max_iter (--set "
        "max_iter=5) or tol.",
    )
    # They are shown together when all is done, not as they come.
    assert not any("max_iter=1" in state.message for state in told)


def test_a_run_by_blocks_warns_of_what_it_knows(planted, tmp_path):
    mask = planted.y[:, None] == [[0, 1]]
    mask |= ~mask.any(axis=1, keepdims=True)
    np.save(tmp_path / "mask.npy", mask)
    for name, X in zip("ab", planted.Xs):
        np.save(tmp_path / f"{name}.npy", X)
    files = BlockFiles(
        [tmp_path / "a.npy", tmp_path / "b.npy"], mask=tmp_path / "mask.npy"
    )
    parameters = {"max_iter": 1}
    run = cluster(files, n_clusters=3, method="rise", parameters=parameters)
    assert run.warnings[0].startswith("The clusters follow which views were measured")
    assert run.warnings[1].startswith("RISE stopped at max_iter=1")
    assert len(run.warnings) == 2


def test_the_fit_speaks_in_sentences_and_says_nothing_twice(plain):
    set_judgement(plain.model, "strong", "so it is")
    plain.model.cluster_stability_ = None
    fit = ("the views fall apart.", "n_anchors=9 is odd.", "perhaps: so it is.")
    assert run_warnings(plain, fit=(*fit, *fit)) == (
        "The views fall apart.",
        "n_anchors=9 is odd.",
    )


def test_warnings_meant_for_programmers_are_left_out(planted, monkeypatch):
    import warnings

    from imvc import ImputeKMeans

    fit = ImputeKMeans.fit

    def noisy(self, *data, **options):
        warnings.warn("will go away", FutureWarning, stacklevel=1)
        warnings.warn("numbers are odd", UserWarning, stacklevel=1)
        return fit(self, *data, **options)

    monkeypatch.setattr(ImputeKMeans, "fit", noisy)
    run = cluster(planted.Xs, n_clusters=3, method="impute-kmeans", n_refits=0)
    assert run.warnings == ("Numbers are odd",)


def test_the_order_is_that_of_importance():
    data = make_views(200, (5, 4, 4), 2, separation=8, random_state=0)
    data.Xs[0][:, 0] = 1.0
    data.Xs[0][:, 1] *= 1e6
    data.Xs[1][:, 1] = data.Xs[1][:, 0]
    mask = np.ones((200, 3), bool)
    mask[5:, 2] = False
    Xs = [np.where(seen[:, None], X, np.nan) for X, seen in zip(data.Xs, mask.T)]
    run = with_low_stability(cluster(Xs, n_clusters=2, n_refits=0))
    run = replace(run, structure=NOISE)
    explained = replace(run.explanation, leakage_warning="Follows the gaps.")
    found = run_warnings(
        replace(run, explanation=explained),
        reading=["12 ids nearly match."],
        batches=["Follows the site."],
        fit=["did not converge"],
    )
    starts = (
        "No cluster structure was found",
        "The clusters are not stable",
        "Follows the gaps.",
        "Follows the site.",
        "12 ids nearly match.",
        "View 'view2' is observed in 5 of 200",
        "Did not converge",
        "Features of view 'view0' differ in scale",
        "View 'view1' has 1 copy",
        "View 'view0' has 1 feature with a single value",
    )
    for text, start in zip(found, starts):
        assert text.startswith(start)
    assert len(found) - len(starts) == len(set(found)) - len(starts) <= 2


def with_low_stability(run):
    shaky = np.full(run.views.n_samples, 0.4)
    return replace(run, confidence=replace(run.confidence, stability=shaky))


def test_noise_is_called_noise_by_a_run():
    rng = np.random.default_rng(0)
    Xs = [rng.standard_normal((120, 20)) for _ in range(2)]
    run = cluster(Xs, n_clusters=3)
    assert run.structure.found is False
    assert run.warnings[0].startswith("No cluster structure was found: the clusters")
    assert run.summary()["structure"]["found"] is False


def test_without_refits_nothing_is_said_of_structure(planted):
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)
    assert run.structure is None
    assert run.summary()["structure"] is None


def test_structure_is_a_stage_with_its_draws(planted):
    told = []
    cluster(planted.Xs, n_clusters=3, n_refits=1, progress=told.append)
    steps = [state.done for state in told if state.stage == "structure"]
    assert steps == [0, 1, 2, 3, 4, 4]
    assert any(
        "up to 12 fits of at most 30 samples tell" in state.message for state in told
    )


@pytest.fixture
def warned_files(tmp_path, monkeypatch):
    """Files whose reading warns."""
    paths, _ = write_study(tmp_path)
    read = _input_files.read_views

    class Warned:
        def __init__(self, found):
            self.__dict__ = {**vars(found), "warnings": ("12 ids nearly match.",)}

    monkeypatch.setattr(
        _input_files, "read_views", lambda *a, **options: Warned(read(*a, **options))
    )
    return InputFiles(paths)


def test_what_the_reading_warns_of_reaches_run_inspection_and_comparison(warned_files):
    first = "12 ids nearly match."
    assert cluster(warned_files, n_clusters=3, n_refits=0).warnings[0] == first
    assert inspect_source(warned_files)[0].warnings[0] == first
    found = compare_methods(warned_files, ["impute-kmeans"], 3)
    assert found.warnings[0] == first
    assert found.to_dict()["warnings"][0] == first


def test_the_same_file_twice_is_told(tmp_path):
    paths, _ = write_study(tmp_path)
    inputs = InputFiles([paths[0], paths[0]], names=["a", "b"])
    text = (
        "View 'b' has the same numbers as view 'a': what is there twice counts twice; "
        "leave one out."
    )
    assert cluster(inputs, n_clusters=3, n_refits=0).warnings == (text,)
    assert inspect_source(inputs)[0].warnings == (text,)


def test_page_and_record_have_the_warnings_of_the_run(plain, tmp_path):
    pytest.importorskip("jinja2")
    shaky = with_confidence(replace(plain, structure=NOISE), stability=0.4)
    run = replace(shaky, warnings=run_warnings(shaky, reading=["<5 ids> 'match'."]))
    files = run.save(tmp_path / "out")
    record = json.loads(files["run.json"].read_text())
    assert tuple(record["warnings"]) == run.warnings
    assert record["result"]["structure"]["found"] is False
    page = unescape(re.sub("<[^>]*>", "", files["report.html"].read_text()))
    places = [page.index(text) for text in run.warnings]
    assert len(places) == 3
    assert places == sorted(places)


def test_whoever_predicts_is_told_that_the_model_found_nothing(plain, tmp_path):
    files = replace(plain, structure=NOISE).save(tmp_path / "out", report=False)
    np.save(tmp_path / "view0.npy", plain.views.observed(0))
    found = predict(files["model.imvc"], [tmp_path / "view0.npy"])
    text = (
        f"No cluster structure was found: {NOISE.reason}. The model's clusters are one "
        f"way to cut its samples."
    )
    assert found.warnings == (text,)
    assert found.to_dict()["warnings"] == [text]
