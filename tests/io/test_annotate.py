"""annotate: clusters and embedding in AnnData and MuData, matched by cell."""

import numpy as np
import pytest

import imvc
from imvc import RISE, AnchorBridge, annotate
from imvc.datasets import make_views

anndata = pytest.importorskip("anndata", reason="needs: pip install 'imvc[omics]'")
mudata = pytest.importorskip("mudata", reason="needs: pip install 'imvc[omics]'")
pandas = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore:From 0.4 .update:FutureWarning")


@pytest.fixture
def cells():
    """Two modalities of 60 and 50 cells, 30 of them in both, not in one order."""
    data = make_views(80, (6, 5), 3, separation=8, random_state=0)
    rng = np.random.default_rng(0)

    def table(v, rows, name):
        rows = rng.permutation(rows)
        obs = pandas.DataFrame(index=[f"c{i}" for i in rows])
        var = pandas.DataFrame(index=[f"{name}{j}" for j in range(6 - v)])
        return anndata.AnnData(data.Xs[v][rows], obs=obs, var=var)

    return {"rna": table(0, range(60), "gene"), "atac": table(1, range(30, 80), "peak")}


@pytest.fixture
def model(cells):
    return AnchorBridge(3, random_state=0).fit(cells)


def expected(model):
    """What every cell should get, by its name."""
    return dict(zip(model.sample_ids_, zip(map(str, model.labels_), model.embedding_)))


def check(table, model, key="imvc"):
    own = expected(model)
    assert list(table.obs[key]) == [own[cell][0] for cell in table.obs_names]
    assert list(table.obs[key].cat.categories) == ["0", "1", "2"]
    rows = [own[cell][1] for cell in table.obs_names]
    np.testing.assert_array_equal(table.obsm[f"X_{key}"], rows)


def test_an_unpaired_mudata_comes_back_from_its_file_with_all_that_was_written(
    cells, tmp_path
):
    data = mudata.MuData(cells)
    model = AnchorBridge(3, random_state=0).fit(data)
    sure = imvc.confidence(model, data, n_refits=0)  # noted on the model
    assert annotate(data, model) is data
    data.write(tmp_path / "cells.h5mu")
    back = mudata.read_h5mu(tmp_path / "cells.h5mu")
    assert data.n_obs == 80
    score = dict(zip(model.sample_ids_, sure.score))
    for table in (data, back, *data.mod.values(), *back.mod.values()):
        check(table, model)
        told = [score[cell] for cell in table.obs_names]
        np.testing.assert_array_equal(table.obs["imvc_confidence"], told)
        assert table.uns["imvc"]["method"] == "AnchorBridge"
        assert table.uns["imvc"]["params"]["random_state"] == 0
        assert table.uns["imvc"]["params"]["callback"] == "None"


def test_an_anndata_and_a_dict_are_annotated_under_any_key(cells, model, tmp_path):
    annotate(cells, model, key="groups")
    alone = cells["rna"].copy()
    annotate(alone, model)
    alone.write(tmp_path / "rna.h5ad")
    back = anndata.read_h5ad(tmp_path / "rna.h5ad")
    check(back, model)
    for table in (back, *cells.values()):
        check(table, model, "groups")


def test_cells_that_were_not_clustered_get_nothing(cells):
    found = cells["rna"]
    model = AnchorBridge(2, random_state=0).fit([found[:20].copy()])
    with pytest.warns(UserWarning, match="only 20 of the 60 cells of data are among"):
        annotate(found, model)
    absent = [False] * 20 + [True] * 40
    assert found.obs["imvc"].isna().tolist() == absent
    assert np.isnan(found.obsm["X_imvc"]).all(axis=1).tolist() == absent


def test_categories_are_in_the_order_of_numbers():
    X = np.repeat(np.eye(12), 5, axis=0) + 1e-3 * np.arange(60)[:, None]
    model = imvc.ImputeKMeans(12, random_state=0).fit([X])
    data = anndata.AnnData(X)
    annotate(data, model)  # without ids: the rows agree
    assert list(data.obs["imvc"].cat.categories) == [str(k) for k in range(12)]
    assert data.obs["imvc"].astype(int).tolist() == model.labels_.tolist()


def test_numbers_as_ids_match_their_text():
    data = make_views(40, (5,), 2, separation=8, random_state=0)
    frame = pandas.DataFrame(data.Xs[0], index=range(100, 140), columns=[*"abcde"])
    model = RISE(2, random_state=0).fit([frame])
    found = anndata.AnnData(frame[::-1].rename(index=str))
    annotate(found, model)
    assert found.obs["imvc"].astype(int).tolist() == model.labels_[::-1].tolist()


def test_a_second_call_leaves_no_old_confidence(cells, model):
    annotate(cells, model, confidence=np.arange(80) / 80)
    assert cells["rna"].obs["imvc_confidence"].iloc[0] == 0
    annotate(cells, model)
    assert list(cells["rna"].obs) == ["imvc"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cells: [cells["rna"]], "data is a list; pass a MuData, an AnnData"),
        (lambda cells: {"rna": cells["rna"].X}, "data is a dict; pass a MuData"),
        (lambda cells: mudata.MuData(cells)[:9], r"is a view .* pass data.copy\(\)"),
    ],
)
def test_data_of_another_kind_are_refused(cells, model, change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        annotate(change(cells), model)


def test_errors_leave_the_data_as_they_were(cells, model):
    other = {name: table.copy() for name, table in cells.items()}
    for table in other.values():
        table.obs_names = "x" + table.obs_names
    with pytest.raises(ValueError, match="0 of the 80 cells of data are among the 80"):
        annotate(other, model)
    twice = cells["atac"].copy()
    twice.obs_names = ["c1"] * 50
    with pytest.raises(ValueError, match=r"data has 1 names .* more than once \('c1'"):
        annotate({"rna": other["rna"], "atac": twice}, model)
    with pytest.raises(ValueError, match=r"confidence has shape \(3,\).* 80 samples"):
        annotate(other, model, confidence=[1, 2, 3])
    with pytest.raises(ValueError, match="key='a/b' must be text without a slash"):
        annotate(other, model, key="a/b")
    with pytest.raises(ValueError, match="not fitted yet"):
        annotate(other, AnchorBridge(3))
    without = RISE(3, random_state=0).fit([cells["rna"].X])
    with pytest.raises(ValueError, match=r"60 samples without ids.* \[60, 50\] cells"):
        annotate(other, without)
    for table in other.values():
        assert [*table.obs, *table.obsm, *table.uns] == []
