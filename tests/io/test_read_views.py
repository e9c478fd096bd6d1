"""Several files to views: the join by id, and errors where files do not fit."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from imvc import AnchorBridge, as_views
from imvc.datasets import make_views
from imvc.io import ColumnOptions, InputError, Preparation, read_views
from imvc.metrics import adjusted_rand


@pytest.fixture
def save(tmp_path):
    """Write text to a file in the folder of the test and return its path."""

    def save(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return save


def rows(*ids, start=1.0, columns="ab"):
    """A CSV with numbers that tell their place."""
    lines = [",".join(["id", *columns])]
    for i, name in enumerate(ids):
        cells = (str(start + 10 * i + j) for j in range(len(columns)))
        lines.append(",".join([name, *cells]))
    return "\n".join(lines) + "\n"


def test_files_are_joined_by_id_whatever_their_order(save):
    one = save("one.csv", rows("p", "q", "r"))
    two = save("two.csv", rows("r", "p", "z", columns="c"))
    files = read_views([one, two])
    views = files.views
    assert views.names == ("one", "two")
    assert views.sample_ids.tolist() == ["p", "q", "r", "z"]
    np.testing.assert_array_equal(views.mask, [[1, 1], [1, 0], [1, 1], [0, 1]])
    np.testing.assert_array_equal(views.take(1, [0, 2, 3]), [[11.0], [1.0], [21.0]])
    assert views.join_report.in_all == 2
    assert views.feature_names == (("a", "b"), ("c",))


def test_the_join_agrees_with_that_of_pandas_tables(tmp_path, rng):
    frames = {}
    for v, name in enumerate(("rna", "dna", "img")):
        ids = rng.permutation(30)[:20]
        frames[name] = pd.DataFrame(
            rng.normal(size=(20, 3 + v)),
            index=pd.Index([f"s{i}" for i in ids], name="who"),
            columns=[f"f{j}" for j in range(3 + v)],
        )
        frames[name].to_csv(tmp_path / f"{name}.csv")
    views = read_views([tmp_path / f"{name}.csv" for name in frames]).views
    expected = as_views(frames)
    assert views.sample_ids.tolist() == expected.sample_ids.tolist()
    np.testing.assert_array_equal(views.mask, expected.mask)
    for v in range(3):
        np.testing.assert_array_equal(views.observed(v), expected.observed(v))
    assert views.join_report == expected.join_report


def test_numbers_and_text_match_as_ids(save, tmp_path):
    one = save("one.csv", rows("7", "8"))
    frame = pd.DataFrame({"key": [8.0, 7.0], "x": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "two.parquet")
    files = read_views([one, tmp_path / "two.parquet"], id_columns=[None, "key"])
    assert files.views.mask.all()


@pytest.mark.parametrize(
    "columns",
    [
        {"one": "patient", "two": "who"},
        {"one.csv": "patient", "two.csv": "who"},
        ["patient", "who"],
    ],
)
def test_id_columns_may_differ_per_file(save, columns):
    one = save("one.csv", "t,patient,a\nx,p1,1\ny,p2,2\n")
    two = save("two.csv", "t,b,who\nx,1,p1\ny,2,p2\n")
    views = read_views([one, two], id_columns=columns).views
    assert views.sample_ids.tolist() == ["p1", "p2"]
    assert views.mask.all()


def test_one_id_column_may_serve_all_files(save):
    one = save("one.csv", "t,patient,a\nx,p1,1\ny,p2,2\n")
    two = save("two.csv", "b,patient\n1,p1\n2,p2\n")
    assert read_views([one, two], id_columns="patient").views.mask.all()


@pytest.mark.parametrize(
    "option", [{"id_columns": {"gone": "x"}}, {"transpose": "gone"}]
)
def test_options_for_files_that_are_not_there_are_refused(save, option):
    one = save("one.csv", rows("p", "q"))
    with pytest.raises(ValueError, match=r"'gone'.*no file or view"):
        read_views([one], **option)


def test_names_can_be_given(save):
    one, two = save("one.csv", rows("p", "q")), save("two.csv", rows("p", "q"))
    assert read_views([one, two], names=["x", "y"]).views.names == ("x", "y")
    assert read_views([one, two], names={"two": "y"}).views.names == ("one", "y")


def test_views_of_one_name_are_numbered(save, tmp_path):
    (tmp_path / "other").mkdir()
    one, two = save("v.csv", rows("p", "q")), save("other/v.csv", rows("p", "q"))
    files = read_views([one, two])
    assert files.views.names == ("v", "v_2")
    assert any("called 'v_2'" in note for note in files.notes)


def test_notes_name_the_file_first(save):
    one = save("one.csv", rows("p", "q"))
    assert all(note.startswith(f"{one}: ") for note in read_views([one]).notes)


# Files without ids


def test_files_without_ids_are_joined_by_row(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "b.npy", np.ones((3, 4)))
    views = read_views([tmp_path / "a.npy", tmp_path / "b.npy"]).views
    assert views.sample_ids.tolist() == ["0", "1", "2"]
    assert views.mask.all()


def test_files_without_ids_and_of_different_lengths_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "b.npy", np.ones((4, 4)))
    with pytest.raises(
        InputError, match=r"different numbers of rows .*a\.npy 3.*b\.npy 4"
    ):
        read_views([tmp_path / "a.npy", tmp_path / "b.npy"])


def test_ids_in_some_files_only_are_refused(save, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    one = save("one.csv", rows("p", "q"))
    with pytest.raises(InputError, match=r"a\.npy: has no ids, while .*one\.csv has"):
        read_views([one, tmp_path / "a.npy"])


def test_row_numbers_give_way_to_files_without_ids_when_told(tmp_path):
    pd.DataFrame(np.eye(3)).to_csv(tmp_path / "one.csv")
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    paths = [tmp_path / "one.csv", tmp_path / "a.npy"]
    with pytest.raises(InputError, match=r"only counts rows.*--id @row"):
        read_views(paths)
    views = read_views(paths, id_columns="@row").views
    assert views.mask.all()
    assert views.n_features == (3, 2)


# Files that do not fit


def test_a_file_that_shares_no_id_is_named(save):
    one, two = save("one.csv", rows("p", "q")), save("two.csv", rows("q", "r"))
    odd = save("odd.csv", rows("x", "y", columns="c"))
    with pytest.raises(
        InputError, match=r"odd\.csv: its ids, e\.g\. 'x', 'y', match none"
    ):
        read_views([one, two, odd])


def test_ids_that_differ_in_punctuation_only_get_a_hint(save):
    one = save("one.csv", rows("TCGA-01", "TCGA-02"))
    two = save("two.csv", rows("tcga.01", "tcga.02", columns="c"))
    with pytest.raises(InputError, match=r"2 ids would match .* if case and punct"):
        read_views([one, two])


def test_a_file_with_samples_in_columns_is_recognised(save):
    one = save("one.csv", rows("p", "q", "r"))
    turned = save("genes.csv", "gene,p,q,r\nTP53,1,2,3\nMYC,4,5,6\n")
    problem = r"genes\.csv: 3 of its 3 columns .*--transpose genes"
    with pytest.raises(InputError, match=problem):
        read_views([one, turned])
    views = read_views([one, turned], transpose=["genes"]).views
    np.testing.assert_array_equal(views.observed(1), [[1, 4], [2, 5], [3, 6]])


def test_files_that_all_have_samples_in_columns_are_recognised(save):
    one = save("one.csv", "gene,p,q,r\nTP53,1,2,3\nMYC,4,5,6\n")
    two = save("two.csv", "cpg,p,q,r\ncg01,1,2,3\ncg02,4,5,6\n")
    with pytest.raises(InputError, match=r"3 names in common.*--transpose all"):
        read_views([one, two])
    assert read_views([one, two], transpose=True).views.n_samples == 3


def test_a_missing_file_is_named(save):
    one = save("one.csv", rows("p", "q"))
    with pytest.raises(InputError, match=r"gone\.csv: no such file"):
        read_views([one, "gone.csv"])


def test_no_files_are_refused():
    with pytest.raises(ValueError, match="paths is empty"):
        read_views([])


# Missing rows and cells


def test_an_empty_row_is_a_missing_view(save):
    one = save("one.csv", "id,a,b\np,1,2\nq,,\nr,3,4\n")
    two = save("two.csv", rows("p", "q", "r", columns="c"))
    files = read_views([one, two])
    np.testing.assert_array_equal(files.views.mask, [[1, 1], [0, 1], [1, 1]])
    assert any("1 rows are empty" in note for note in files.notes)


def test_a_sample_without_a_number_in_any_file_is_left_out_and_told(save):
    one = save("one.csv", "id,a\np,1\nq,\nr,3\n")
    two = save("two.csv", "id,c,t\np,1,x\nq,,y\nr,5,x\n")
    files = read_views([one, two], columns=ColumnOptions(text="drop"))
    assert files.views.sample_ids.tolist() == ["p", "r"]
    assert files.metadata["t"].tolist() == ["x", "x"]
    assert any("left out 1 samples" in note and "ids q" in note for note in files.notes)


def test_a_row_number_stays_that_of_the_file_when_samples_are_left_out(tmp_path):
    X = np.array([[1.0], [np.nan], [3.0]])
    np.save(tmp_path / "a.npy", X)
    files = read_views(tmp_path / "a.npy")
    assert files.views.sample_ids.tolist() == ["0", "2"]
    np.testing.assert_array_equal(files.views.observed(0), [[1.0], [3.0]])


def test_an_empty_cell_is_filled_and_an_error_only_when_asked_for(save):
    one = save("one.csv", "id,a,b\np,1,2\nq,,4\nr,3,4\n")
    problem = r"one\.csv: row 'q' has no value in column 'a'.*--empty-cells error"
    with pytest.raises(InputError, match=problem):
        read_views([one], preparation=Preparation(empty_cells="error"))
    views = read_views([one], preparation=Preparation(empty_cells="mean")).views
    np.testing.assert_array_equal(views.observed(0), [[1, 2], [2, 4], [3, 4]])
    filled = read_views([one])
    assert np.isfinite(filled.views.observed(0)).all()
    assert any("filled 1 empty cells in 1 rows" in note for note in filled.notes)


def test_columns_that_a_fit_does_not_keep_are_not_called_unknown(save):
    one = save("one.csv", "id,a,b\np,1,2\nq,1,4\nr,3,9\n")
    files = read_views([one], preparation=Preparation(top_variance=1))
    assert files.views.feature_names == (("b",),)
    assert not any("ignored" in note for note in files.notes)


# Metadata


def test_metadata_of_the_files_follow_the_samples(save):
    one = save("one.csv", "id,a,sex\np,1,f\nq,2,f\nr,3,m\n")
    two = save("two.csv", "id,b,sex,site\nr,1,m,x\nz,2,f,x\np,3,f,y\n")
    options = ColumnOptions(kinds={"sex": "metadata", "site": "metadata"})
    metadata = read_views([one, two], columns=options).metadata
    assert metadata["sex"].tolist() == ["f", "f", "m", "f"]
    assert metadata["site"].tolist() == ["y", None, "x", "x"]


def test_columns_of_one_name_and_different_content_stay_apart(save):
    one = save("one.csv", "id,a,t\np,1,u\nq,2,u\n")
    two = save("two.csv", "id,b,t\np,1,v\nq,2,v\n")
    options = ColumnOptions(metadata=["t"])
    metadata = read_views([one, two], columns=options).metadata
    assert metadata["t"].tolist() == ["u", "u"]
    assert metadata["t (two)"].tolist() == ["v", "v"]


def test_a_file_of_metadata_is_joined_by_id(save):
    one = save("one.csv", rows("p", "q", "r"))
    clinic = save("clinic.tsv", "who\tage\tstage\nr\t50\tII\np\t60\t\nx\t70\tI\n")
    files = read_views([one], metadata=clinic)
    assert files.metadata["age"].tolist() == [60, None, 50]
    assert files.metadata["stage"].tolist() == [None, None, "II"]
    assert any("1 samples have no metadata" in note for note in files.notes)


def test_metadata_of_other_samples_are_refused(save):
    one, clinic = save("one.csv", rows("p", "q")), save("c.csv", "id,age\nx,1\ny,2\n")
    with pytest.raises(InputError, match=r"c\.csv: its ids, e\.g\. 'x', 'y', match no"):
        read_views([one], metadata=clinic)


# New samples


@pytest.fixture
def fitted(save):
    one = save("text.csv", rows("p", "q", "r", columns="ab"))
    two = save("genes.csv", rows("p", "q", "s", columns="xyz"))
    return read_views([one, two], preparation=Preparation(scale="standard"))


def test_new_files_get_the_views_and_the_scale_of_the_fit(fitted, save):
    new = save("genes_new.csv", "z,id,y,x,extra\n23,n1,22,21,9\n")
    files = read_views([new], like=fitted.preparation)
    assert files.views.names == ("text", "genes")
    np.testing.assert_array_equal(files.views.mask, [[0, 1]])
    old = fitted.views.take(1, [3])  # the same numbers as row "s"
    np.testing.assert_allclose(files.views.take(1, [0]), old)
    assert files.metadata["extra"].tolist() == [9]


def test_new_files_are_matched_by_name_before_anything_else(fitted, save, tmp_path):
    (tmp_path / "new").mkdir()
    genes = save("new/genes.csv", rows("n", columns="xyz"))
    text = save("new/text.csv", rows("n", "m", columns="ab"))
    views = read_views([genes, text], like=fitted.preparation).views
    np.testing.assert_array_equal(views.mask, [[1, 1], [1, 0]])


def test_new_files_are_matched_by_position_where_nothing_else_tells(tmp_path):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.arange(6.0).reshape(3, 2))
    fitted = read_views([tmp_path / "a.npy", tmp_path / "b.npy"]).preparation
    for name, value in (("new1", 1.0), ("new2", 2.0)):
        np.save(tmp_path / f"{name}.npy", np.full((1, 2), value))
    views = read_views(
        [tmp_path / "new1.npy", tmp_path / "new2.npy"], like=fitted
    ).views
    assert [views.observed(v)[0, 0] for v in range(2)] == [1.0, 2.0]


def test_a_new_file_that_is_no_view_of_the_fit_is_refused(fitted, save):
    new = save("strange.csv", rows("n", columns="k"))
    with pytest.raises(
        InputError, match=r"strange\.csv: is none of the views.*text, genes"
    ):
        read_views([new], like=fitted.preparation)


def test_missing_columns_are_listed(fitted, save):
    new = save("genes.csv", rows("n", columns="x"))
    problem = r"genes\.csv: lacks 2 of the 3 columns .*'y', 'z'"
    with pytest.raises(InputError, match=problem):
        read_views([new], like=fitted.preparation)


def test_the_id_column_of_the_fit_is_found_again(save):
    one = save("one.csv", "a,nr\n1,100\n2,101\n")
    fitted = read_views([one], id_columns="nr").preparation
    new = save("new.csv", "nr,a\n100,5\n")
    files = read_views([new], like=fitted)
    assert files.views.sample_ids.tolist() == ["100"]
    assert files.views.n_features == (1,)


def test_new_samples_that_share_no_file_are_no_error(fitted, save, tmp_path):
    (tmp_path / "new").mkdir()
    text = save("new/text.csv", rows("n", columns="ab"))
    genes = save("new/genes.csv", rows("m", columns="xyz"))
    views = read_views([text, genes], like=fitted.preparation).views
    np.testing.assert_array_equal(views.mask, [[1, 0], [0, 1]])


def test_an_unknown_category_is_all_zeros_and_told(save):
    lines = [f"p{i},{i * i},{'uvw'[i % 3]}" for i in range(30)]
    one = save("one.csv", "\n".join(["id,a,kind", *lines, ""]))
    fitted = read_views([one]).preparation
    new = save("new.csv", "id,a,kind\nx,1,v\ny,2,new\n")
    files = read_views([new], names=["one"], like=fitted)
    (view,) = fitted.views
    coded = files.views.observed(0) * view.scale + view.center
    np.testing.assert_allclose(coded, [[1, 0, 1, 0], [2, 0, 0, 0]], atol=1e-12)
    assert any("'kind' that the fit did not know" in note for note in files.notes)


def test_new_files_may_lack_some_columns_with_a_warning(save, rng):
    factor = rng.normal(size=40)
    columns = {
        c: factor * (j + 1) + 0.1 * rng.normal(size=40) for j, c in enumerate("abcde")
    }
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(40)], **columns})
    fitted = read_views([save("one.csv", frame.to_csv(index=False))]).preparation
    lacking = save("one_new.csv", frame.drop(columns=["b", "d"]).to_csv(index=False))
    files = read_views([lacking], names=["one"], like=fitted)
    np.testing.assert_allclose(files.views.observed(0)[:, 1], columns["b"], atol=1.0)
    assert any("lacks 2 of the 5 columns" in text for text in files.warnings)
    most = save("most.csv", frame[["id", "a", "b"]].to_csv(index=False))
    with pytest.raises(InputError, match=r"lacks 3 of the 5 columns.*at least half"):
        read_views([most], names=["one"], like=fitted)


def test_files_of_one_view_are_stacked(save):
    first = save("rna_1.csv", rows("p", "q"))
    second = save("rna_2.csv", rows("r", "s", columns="ac"))
    other = save("dna.csv", rows("p", "q", "r", "s", columns="x"))
    files = read_views([[first, second], other])
    assert files.views.names == ("rna", "dna")
    assert files.views.sample_ids.tolist() == ["p", "q", "r", "s"]
    assert files.views.feature_names[0] == ("a", "b", "c")
    assert any("lacks 1 columns: 'b'" in note for note in files.notes)


def test_parts_of_a_view_with_their_own_row_counters_have_none_as_feature(tmp_path):
    frame = pd.DataFrame({"who": [f"p{i}" for i in range(24)], "a": np.arange(24) ** 2})
    for j in range(2):
        part = frame[12 * j : 12 * (j + 1)].reset_index(drop=True)
        part.to_csv(tmp_path / f"part{j}.csv")
    frame.to_csv(tmp_path / "other.csv")
    parts = [tmp_path / "part0.csv", tmp_path / "part1.csv"]
    views = read_views([parts, tmp_path / "other.csv"]).views
    assert views.feature_names == (("a",), ("a",))
    assert views.mask.all()


def test_an_export_of_pandas_is_joined_by_the_ids_and_not_by_its_counter(tmp_path, rng):
    ids = np.array([f"P{i:03d}" for i in range(50)])
    data = make_views(50, (5, 4), 3, separation=10, random_state=0)
    for name, X in zip(("a", "b"), data.Xs):
        order = rng.permutation(50)
        frame = pd.DataFrame(
            X[order], columns=[f"{name}{j}" for j in range(X.shape[1])]
        )
        frame.insert(0, "Patient ID", ids[order])
        frame.to_csv(tmp_path / f"{name}.csv")
    for given in (None, "Patient ID"):
        files = read_views([tmp_path / "a.csv", tmp_path / "b.csv"], id_columns=given)
        assert files.views.n_features == (5, 4)
        truth = dict(zip(ids, data.y))
        labels = AnchorBridge(3, random_state=0).fit_predict(files.views)
        classes = [truth[i] for i in files.views.sample_ids]
        assert adjusted_rand(classes, labels) == 1
        assert any("only counts rows" in note for note in files.notes)


def test_near_misses_are_a_warning_and_joined_when_asked(save):
    ids = [f"p{i:02d}" for i in range(12)]
    one = save("one.csv", rows(*ids))
    two = save("two.csv", rows(*ids[:6], *(i.upper() for i in ids[6:]), columns="c"))
    files = read_views([one, two])
    assert files.views.n_samples == 18
    (text,) = files.warnings
    assert text.startswith("6 ids would match in another file if case were ignored")
    assert "--match-ids loose" in text
    loose = read_views([one, two], match_ids="loose")
    assert loose.views.sample_ids.tolist() == ids
    assert loose.views.mask.all()
    assert loose.warnings == ()


def test_metadata_whose_ids_nearly_match_get_the_option_that_joins_them(save):
    ids = [f"p{i:02d}" for i in range(12)]
    one = save("one.csv", rows(*ids))
    lines = [f"{i.upper()},{j % 2}" for j, i in enumerate(ids)]
    known = save("known.csv", "\n".join(["id,kind", *lines, ""]))
    with pytest.raises(InputError, match=r"match no sample.*--match-ids loose"):
        read_views([one], metadata=known)
    joined = read_views([one], metadata=known, match_ids="loose").metadata
    assert joined["kind"].tolist() == [j % 2 for j in range(12)]


def test_ids_are_renamed_by_a_table_first(save):
    one = save("one.csv", rows("p", "q"))
    two = save("two.csv", rows("A", "B", columns="c"))
    table = save("ids.csv", "old,new\nA,p\nB,q\n")
    views = read_views([one, two], id_map=table).views
    assert views.sample_ids.tolist() == ["p", "q"]


def test_metadata_are_joined_by_the_column_that_matches(save):
    ids = [f"p{i:02d}" for i in range(12)]
    one = save("one.csv", rows(*ids))
    lines = [f"{j},N{99 - j},{i},{j % 2}" for j, i in enumerate(reversed(ids))]
    known = save("known.csv", "\n".join([",name,case code,kind", *lines, ""]))
    metadata = read_views([one], metadata=known).metadata
    assert metadata["kind"].tolist() == [(11 - j) % 2 for j in range(12)]
    assert set(metadata) == {"name", "kind"}


def test_sparse_files_are_joined_without_becoming_dense(tmp_path, save):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.eye(3)))
    np.save(tmp_path / "b.npy", np.ones((3, 2)))
    views = read_views([tmp_path / "a.npz", tmp_path / "b.npy"]).views
    assert sp.issparse(views.observed(0))


def test_files_can_be_fitted_and_predicted_from(tmp_path):
    data = make_views(60, (5, 4), n_clusters=3, random_state=0)
    ids = [f"s{i}" for i in range(60)]
    for X, name in zip(data.Xs, ("a", "b")):
        pd.DataFrame(X, index=ids).iloc[: 50 if name == "a" else 60].to_csv(
            tmp_path / f"{name}.csv"
        )
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    files = read_views(paths)
    model = AnchorBridge(n_clusters=3, random_state=0).fit(files.views)
    assert model.sample_ids_.tolist() == ids
    again = read_views(paths[1], like=files.preparation)
    assert len(model.predict(again.views)) == 60


def write_h5ad(path, n=12, d=3, names=None):
    anndata = pytest.importorskip("anndata")
    X = np.random.default_rng(d).normal(size=(n, d))
    found = anndata.AnnData(X)
    if names is not None:
        found.obs_names = names
    found.write_h5ad(path)
    return path


def test_cells_that_are_only_numbered_are_not_paired_by_position(tmp_path):
    paths = [write_h5ad(tmp_path / f"{d}.h5ad", d=d) for d in (3, 4)]
    with pytest.raises(InputError, match=r"only count rows .*by position.*--id @row"):
        read_views(paths)
    views = read_views(paths, id_columns="@row").views
    assert views.mask.all()
    named = [f"cell{i}" for i in range(12)]
    again = [write_h5ad(tmp_path / f"n{d}.h5ad", d=d, names=named) for d in (3, 4)]
    assert read_views(again).views.sample_ids.tolist() == named


def test_the_tables_of_one_mudata_file_may_have_numbered_cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    mudata = pytest.importorskip("mudata")
    mods = {f"m{d}": anndata.AnnData(np.ones((12, d))) for d in (3, 4)}
    mudata.MuData(mods).write_h5mu(tmp_path / "all.h5mu")
    assert read_views([tmp_path / "all.h5mu"]).views.mask.all()


# What joined files say against each other


def numbered(n, seed=0):
    """Two tables of the same patients in different order, with own sample numbers."""
    rng = np.random.default_rng(seed)
    sample = [f"S{i:03d}" for i in range(n)]
    patient = np.array([f"P{i}" for i in rng.permutation(900)[:n]])
    tables = []
    for column in "ab":
        own = patient[rng.permutation(n)]
        table = {"sample": sample, "Patient ID": own, column: rng.normal(size=n)}
        tables.append(pd.DataFrame(table))
    return tables


@pytest.mark.parametrize("id_columns", [None, "@row"])
def test_rows_that_another_column_of_names_pairs_differently_are_warned_of(
    tmp_path, id_columns
):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for table, path in zip(numbered(40), paths):
        table.to_csv(path, index=False)
    found = read_views(paths, id_columns=id_columns)
    told = [text for text in found.warnings if "differ in 'Patient ID'" in text]
    assert len(told) == 1
    assert "pass --id 'Patient ID'" in told[0]
    assert not read_views(paths, id_columns="Patient ID").warnings[1:]


def test_own_names_of_the_same_patients_are_no_contradiction(tmp_path):
    a, b = numbered(40)
    a["sample"], b["sample"] = "RNA" + a["sample"], "DNA" + b["sample"]
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    a.to_csv(paths[0], index=False)
    b.to_csv(paths[1], index=False)
    assert read_views(paths).warnings == ()


def test_metadata_whose_ids_nearly_match_get_the_hint(save):
    a = save("a.csv", rows("S1", "S2"))
    known = save("known.csv", "id,site\ns1,x\ns2,y\n")
    with pytest.raises(InputError, match=r"match no sample.*--match-ids loose"):
        read_views([a], metadata=known)


def test_a_map_that_renames_nothing_is_warned_of(save):
    a, b = save("a.csv", rows("s1", "s2")), save("b.csv", rows("s1", "s2", start=7.0))
    turned = save("map.csv", "new,old\nx1,s1\n")
    (told,) = read_views([a, b], id_map=turned).warnings
    assert "renamed no id" in told


def test_a_row_counter_of_one_batch_is_no_feature(tmp_path):
    table = pd.DataFrame({"id": ["s1", "s2", "s3", "s4"], "a": [1.5, 2.5, 3.5, 4.5]})
    first, second = tmp_path / "v1.csv", tmp_path / "v2.csv"
    table[:2].to_csv(first)
    table[2:].to_csv(second, index=False)
    found = read_views([[first, second]])
    assert found.views.feature_names == (("a",),)
    assert any("only count rows" in note for note in found.notes)


def test_numbers_in_one_batch_and_words_in_another_are_warned_of(save):
    first = save("v1.csv", "id,a,b\ns1,1.5,1\ns2,2.5,2\ns3,3.5,5\ns4,4.5,7\n")
    second = save("v2.csv", "id,a,b\ns5,low,3\ns6,high,4\ns7,low,8\ns8,high,9\n")
    (told,) = read_views([[first, second]]).warnings
    assert "numbers in some of its files and text in others: 'a'" in told


def test_bounds_in_one_batch_leave_a_column_of_numbers(save):
    first = save("v1.csv", "id,a\n" + "".join(f"s{i},{i}.5\n" for i in range(20)))
    second = save("v2.csv", "id,a\nt1,<0.5\nt2,3.5\n")
    assert read_views([[first, second]]).warnings == ()


def test_numbers_called_like_ids_are_metadata_with_the_reason(tmp_path, rng):
    mrn = rng.permutation(9000)[:20] + 1000
    table = {
        "sample": [f"s{i}" for i in range(20)],
        "MRN": mrn,
        "a": rng.normal(size=20),
    }
    pd.DataFrame(table).to_csv(tmp_path / "v.csv", index=False)
    found = read_views([tmp_path / "v.csv"])
    assert found.views.feature_names == (("a",),)
    assert any("'MRN' (called like ids" in note for note in found.notes)


def test_repeated_ids_behind_a_row_counter_are_named(tmp_path, rng):
    ids = [f"P{i % 20}" for i in range(60)]
    table = pd.DataFrame({"Patient ID": ids, "a": rng.normal(size=60)})
    table.to_csv(tmp_path / "visits.csv")
    table[:20].to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match=r"20 ids come more than once in column 'Pat"):
        read_views([tmp_path / "visits.csv", tmp_path / "b.csv"])


def test_points_beside_decimal_commas_set_thousands_apart(save):
    text = "id;cells;x\ns1;2.472;1,5\ns2;439;2,25\ns3;1.000;0,1\n"
    found = read_views([save("de.csv", text)])
    np.testing.assert_array_equal(
        found.tables[0].values, [[2472, 1.5], [439, 2.25], [1000, 0.1]]
    )


@pytest.mark.parametrize("x", ["1,5", "1,234"])
def test_a_decimal_point_stays_one_where_it_cannot_be_for_thousands(save, x):
    text = f"id;a;x\ns1;2.472;{x}\ns2;0.439;{x}\ns3;1.5;7\n"
    found = read_views([save("mixed.csv", text)])
    np.testing.assert_array_equal(found.tables[0].values[:, 0], [2.472, 0.439, 1.5])


def test_new_samples_without_any_value_are_refused(save):
    fitted = read_views([save("a.csv", rows("s1", "s2", "s3"))]).preparation
    empty = save("new.csv", "id,a,b\nt1,,\nt2,,\n")
    with pytest.raises(ValueError, match="no sample has a value in any file"):
        read_views([empty], names=["a"], like=fitted)


def test_new_columns_that_can_mostly_not_be_read_are_warned_of(tmp_path, rng):
    ids = [f"s{i}" for i in range(20)]
    days = pd.date_range("2020-01-01", periods=20)
    table = pd.DataFrame(
        {"id": ids, "a": rng.normal(size=20), "b": rng.normal(size=20)}
    )
    table["day"] = days.strftime("%Y-%m-%d")
    table.to_csv(tmp_path / "v.csv", index=False)
    fitted = read_views([tmp_path / "v.csv"]).preparation
    table["day"] = days.strftime("%d.%m.%Y")
    table.to_csv(tmp_path / "v.csv", index=False)
    (told,) = read_views([tmp_path / "v.csv"], like=fitted).warnings
    assert "20 samples have values of 'day' that are no date" in told
