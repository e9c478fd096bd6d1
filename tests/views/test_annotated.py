"""AnnData and MuData as views, in memory and as the files they write."""

import numpy as np
import pytest
import scipy.sparse as sp

from imvc import AnchorBridge, as_views
from imvc.io import read_views

anndata = pytest.importorskip("anndata", reason="needs: pip install 'imvc[omics]'")
mudata = pytest.importorskip("mudata", reason="needs: pip install 'imvc[omics]'")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def cells():
    """Two modalities of 40 and 30 cells, 20 of them in both; the second is sparse."""
    rng = np.random.default_rng(0)

    def annotated(X, first, kinds=None):
        obs = pandas.DataFrame(kinds, index=[f"c{first + i}" for i in range(len(X))])
        var = pandas.DataFrame(index=[f"g{j}" for j in range(X.shape[1])])
        return anndata.AnnData(X, obs=obs, var=var)

    atac = annotated(rng.random((30, 7)), 20, {"kind": ["x", "y"] * 15})
    atac.X = sp.csr_matrix(np.where(atac.X > 0.5, atac.X, 0))
    return {"rna": annotated(rng.random((40, 5)), 0), "atac": atac}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", [dict, mudata.MuData])
def test_modalities_are_joined_by_their_cells(cells, kind):
    views = as_views(kind(cells))
    assert views.names == ("rna", "atac")
    assert views.mask.sum(axis=0).tolist() == [40, 30]
    assert views.mask.all(axis=1).sum() == 20
    assert views.feature_names[0] == ("g0", "g1", "g2", "g3", "g4")
    assert views.join_report is not None
    assert sp.issparse(views.arrays[1])
    expected = cells["atac"].X.toarray()
    np.testing.assert_array_equal(views.observed(1).toarray(), expected)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_model_takes_a_mudata(cells):
    model = AnchorBridge(2, random_state=0).fit(mudata.MuData(cells))
    again = AnchorBridge(2, random_state=0).fit(cells)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert model.sample_ids_[0] == "c0"


def test_annotated_data_without_numbers_is_refused(cells):
    cells["rna"].X = None
    with pytest.raises(ValueError, match="view 'rna' is an AnnData without X"):
        as_views(cells)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_their_own_files_are_read_like_the_objects(cells, tmp_path):
    mudata.MuData(cells).write(tmp_path / "study.h5mu")
    for name, data in cells.items():
        data.write(tmp_path / f"{name}.h5ad")
    expected = as_views(cells)
    for files in (["study.h5mu"], ["rna.h5ad", "atac.h5ad"]):
        found = read_views([tmp_path / name for name in files])
        np.testing.assert_array_equal(found.views.mask, expected.mask)
        np.testing.assert_array_equal(found.views.observed(0), expected.observed(0))
        assert found.metadata["kind"][-1] == "y"
