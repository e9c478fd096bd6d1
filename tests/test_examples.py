"""The gallery runs, draws, and sees what its texts say."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from imvc.metrics import clustering_accuracy

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def accuracy(y, model):
    return clustering_accuracy(y, model.labels_)


def sees_digits(data, model, **_):
    assert accuracy(data.y, model) > 0.75
    assert abs(model.pattern_leakage_) < 0.05


def sees_graded(found, structure, **_):
    assert found.columns[0].adjusted_p < 0.001
    assert not structure.found


def sees_labels(curves, **_):
    for seen, unseen in curves.values():
        assert seen[-1] > unseen[-1] + 0.05
        assert seen[-1] > seen[0] + 0.05
    planted, nothing = (unseen[-1] - unseen[0] for _, unseen in curves.values())
    assert planted > 0.03 > nothing


def sees_leakage(data, models, **_):
    raw, unit = models.values()
    assert raw.pattern_leakage_ > 0.2 > 0.05 > unit.pattern_leakage_
    crowd = np.bincount(raw.labels_[~data.mask.all(axis=1)], minlength=4)
    assert crowd.max() == crowd.sum()
    assert accuracy(data.y, raw) < 0.7 < 0.99 < accuracy(data.y, unit)


def sees_missing(scores, leakage, **_):
    first, last = scores.mean(axis=2)[:, [0, -1]].T
    assert first[0] < first[1:].min() - 0.05
    assert (last / first)[0] < 0.75 < 0.8 < (last / first)[1:].min()
    assert leakage["impute-kmeans"] > 0.05 > max(leakage["rise"], leakage["bridge"])


def sees_new_samples(same, agrees, tenth, **_):
    assert min(same["pixels"], same["gradients"]) > 0.95
    assert max(same["fourier"], same["zernike"]) < 0.91
    assert agrees[tenth == 0].mean() < 0.67 < 0.97 < agrees[tenth == 9].mean()


def sees_number(model, none, **_):
    assert (model.n_clusters_, model.evidence_) == (4, "strong")
    assert none.evidence_ == "none"
    assert (none.stability_curve_[:, 2] > 1).all()


def sees_order(scores, **_):
    ordered, shuffled = scores.values()
    assert ordered[0] > 0.75 > 0.2 > shuffled[0]
    assert np.allclose(ordered[1:], shuffled[1:], atol=0.05)


def sees_own_method(kept, **_):
    assert kept.sum(axis=1).tolist() == [15, 18, 18]


def sees_sites(leakage, found, wine, plain, **_):
    assert leakage > 0.5 > 0.05 > abs(found.leakage_after)
    assert (
        accuracy(wine.target, plain) < 0.6 < 0.85 < accuracy(wine.target, found.model)
    )


def sees_survival(model, found, **_):
    assert (model.n_clusters_, model.evidence_) == (3, "strong")
    assert found.survival.p < 0.001
    assert [one.name for one in found.columns if one.adjusted_p < 0.05] == ["age"]


def sees_tumours(two, three, tumours, **_):
    benign, both = tumours.target == 1, range(2)
    split = np.argmax([np.sum(two.labels_[benign] == k) for k in both])
    parts = np.bincount(three.labels_[two.labels_ == split], minlength=3)
    assert np.sort(parts)[1:].min() > 0.2 * parts.sum()
    others = np.bincount(three.labels_[two.labels_ != split], minlength=3)
    assert others.max() > 0.85 * others.sum()


def sees_wine_views(found, **_):
    told = {view.view: view.agreement for view in found.views}
    assert max(told, key=told.get) == "colour"
    means = {one.feature: one.means for one in found.profiles}
    rich, pale = np.argmax(means["proline"]), np.argmin(means["color_intensity"])
    assert {rich, pale, np.argmin(means["flavanoids"])} == {0, 1, 2}
    assert (rich, pale) == (np.argmax(means["alcohol"]), np.argmin(means["alcohol"]))


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem
)
def test_examples_draw_what_their_texts_say(path, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    for figure in map(plt.figure, plt.get_fignums()):
        figure.savefig("drawn.png")
    globals()[path.stem.replace("plot_", "sees_")](**names)
