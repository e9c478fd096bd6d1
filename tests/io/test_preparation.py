"""What is done to the numbers, and that new samples get the same."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from imvc.io import FileTable, FittedPreparation, InputError, Preparation


def table(values, name="v", features=None, ids=None):
    values = values if sp.issparse(values) else np.asarray(values, dtype=float)
    n, d = values.shape
    features = features or tuple(f"f{j}" for j in range(d))
    ids = np.array(ids or [f"s{i}" for i in range(n)], dtype=object)
    return FileTable(name, f"{name}.csv", ids, values, features)


def prepared(preparation, *tables):
    fitted = FittedPreparation.fit(tables, preparation)
    results = [t.values for t in fitted.apply(tables)]
    return results[0] if len(results) == 1 else results


def fit_notes(preparation, *tables):
    return FittedPreparation.fit(tables, preparation).notes


def test_nothing_asked_means_nothing_done_and_nothing_copied():
    given = table([[1, 2], [3, 4]])
    assert prepared(Preparation(), given) is given.values


def test_standard_scaling_uses_the_observed_rows_only():
    X = np.array([[1.0, 10], [3, 30], [np.nan, np.nan]])
    result = prepared(Preparation(scale="standard"), table(X))
    np.testing.assert_allclose(result[:2], [[-1, -1], [1, 1]])
    assert np.isnan(result[2]).all()


def test_a_constant_column_becomes_zero():
    X = np.array([[0.1, 1], [0.1, 2], [0.1, 3]])
    result = prepared(Preparation(scale="standard"), table(X))
    np.testing.assert_allclose(result[:, 0], 0, atol=1e-12)


def test_a_large_constant_column_in_single_precision_becomes_zero(rng):
    X = np.full((1000, 2), 1234567.8, dtype=np.float32)
    X[:, 1] = rng.normal(size=1000)
    given = FileTable("v", "v.csv", None, X, ("a", "b"))
    result = prepared(Preparation(scale="standard"), given)
    assert result.dtype == np.float32
    assert np.abs(result[:, 0]).max() < 1


def test_a_small_spread_around_a_large_mean_is_scaled_exactly(rng):
    spread = rng.normal(size=500)
    result = prepared(Preparation(scale="standard"), table((spread + 1e8)[:, None]))
    expected = (spread - spread.mean()) / spread.std()
    np.testing.assert_allclose(result[:, 0], expected, atol=1e-6)


def test_scaling_may_be_asked_per_view():
    one, two = table([[1.0], [3.0]], "one"), table([[1.0], [3.0]], "two")
    first, second = prepared(Preparation(scale={"two": "standard"}), one, two)
    np.testing.assert_array_equal(first, [[1], [3]])
    np.testing.assert_array_equal(second, [[-1], [1]])


def test_log1p_is_taken_of_the_views_that_are_named():
    one, two = table([[1.0], [3.0]], "one"), table([[1.0], [3.0]], "two")
    first, second = prepared(Preparation(log1p=("one",)), one, two)
    np.testing.assert_allclose(first, np.log([[2], [4]]))
    np.testing.assert_array_equal(second, [[1], [3]])
    first, second = prepared(Preparation(log1p=True), one, two)
    np.testing.assert_allclose(second, np.log([[2], [4]]))


@pytest.mark.parametrize("layout", [np.array, sp.csr_array])
def test_log1p_refuses_negative_values(layout):
    given = table(layout([[1.0, 2.0], [0.0, -3.0]]))
    problem = r"v\.csv: view 'v' has 1 negative values, .*row 's1', column 'f1'"
    with pytest.raises(InputError, match=problem):
        prepared(Preparation(log1p=True), given)


def test_the_most_variable_columns_are_kept_in_their_order():
    X = np.array([[0, 0.0, 5, 0], [1, 9.0, 5, 3], [2, -9.0, 5, -3]])
    given = table(X)
    fitted = FittedPreparation.fit([given], Preparation(top_variance=2))
    (result,) = fitted.apply([given])
    assert result.features == ("f1", "f3")
    np.testing.assert_array_equal(result.values, X[:, [1, 3]])


def test_variance_is_that_of_the_observed_cells():
    X = np.array([[1.0, 0], [np.nan, np.nan], [1.1, 5], [0.9, -5]])
    fitted = FittedPreparation.fit([table(X)], Preparation(top_variance={"v": 1}))
    assert fitted.views[0].features == ("f1",)


def test_asking_for_more_columns_than_there_are_keeps_all():
    notes = fit_notes(Preparation(top_variance=9), table([[1, 2], [3, 4]]))
    assert notes["v"] == ["top variance 9: all 2 columns kept"]


def test_columns_without_a_number_are_left_out_and_told():
    given = table([[1, np.nan], [3, np.nan]])
    fitted = FittedPreparation.fit([given])
    np.testing.assert_array_equal(fitted.apply([given])[0].values, [[1], [3]])
    assert "left out 1 columns without a number: 'f1'" in fitted.notes["v"]


def test_a_view_without_any_number_is_refused():
    with pytest.raises(InputError, match=r"v\.csv: holds no number at all"):
        FittedPreparation.fit([table([[np.nan], [np.nan]])])


def test_empty_cells_get_the_mean_of_their_column():
    X = np.array([[1, 5.0], [np.nan, 7.0], [3, np.nan], [np.nan, np.nan]])
    result = prepared(Preparation(empty_cells="mean"), table(X))
    np.testing.assert_array_equal(result[:3], [[1, 5], [2, 7], [3, 6]])
    assert np.isnan(result[3]).all()


def test_imputed_cells_are_zero_after_scaling():
    X = np.array([[1, 5.0], [np.nan, 7.0], [3, 9.0]])
    result = prepared(Preparation(empty_cells="mean", scale="standard"), table(X))
    assert result[1, 0] == 0
    np.testing.assert_allclose(result[[0, 2], 0], [-1, 1])


def test_empty_cells_that_are_refused_name_file_row_and_column():
    given = table([[1, 2], [np.nan, 3], [5, np.nan]])
    problem = (
        r"v\.csv: row 's1' has no value in column 'f0', and 2 rows have empty cells"
    )
    with pytest.raises(InputError, match=problem):
        prepared(Preparation(empty_cells="error"), given)


def test_sparse_views_stay_sparse_and_are_not_centred():
    X = np.array([[0, 2.0], [4, 0], [0, 0]])
    given = table(sp.csr_array(X))
    result = prepared(Preparation(scale="standard", top_variance=2), given)
    assert sp.issparse(result)
    np.testing.assert_allclose(result.toarray(), X / X.std(axis=0))
    assert any(
        "not centred" in n for n in fit_notes(Preparation(scale="standard"), given)["v"]
    )


def test_sparse_cells_are_imputed_with_zeros_counted():
    X = sp.csr_array(np.array([[6.0, 1], [0, 1], [np.nan, 1]]))
    result = prepared(Preparation(empty_cells="mean"), table(X))
    np.testing.assert_allclose(result.toarray()[:, 0], [6, 0, 3])


@pytest.mark.parametrize(
    "wrong",
    [
        {"log1p": ("w",)},
        {"scale": {"w": "standard"}},
        {"top_variance": {"w": 3}},
    ],
)
def test_steps_for_views_that_are_not_there_are_refused(wrong):
    with pytest.raises(ValueError, match=r"names the views \['w'\].*\['v'\]"):
        FittedPreparation.fit([table([[1.0], [2.0]])], Preparation(**wrong))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"scale": "minmax"}, "scale='minmax' is unknown"),
        ({"scale": {"v": "minmax"}}, "scale='minmax' is unknown"),
        ({"top_variance": 0}, "top_variance=0 must be"),
        ({"top_variance": {"v": 1.5}}, r"top_variance=1\.5 must be"),
    ],
)
def test_wrong_steps_are_refused(wrong, problem):
    with pytest.raises(ValueError, match=problem):
        Preparation(**wrong)


# New samples


FULL = Preparation(empty_cells="mean", log1p=True, scale="standard", top_variance=2)


@pytest.fixture
def training(rng):
    X = rng.gamma(2.0, size=(40, 4)) * [1, 5, 2, 9]
    X[3, 1] = np.nan
    return table(X)


def test_new_rows_get_what_the_same_rows_got_in_the_fit(training):
    fitted = FittedPreparation.fit([training], FULL)
    (all_rows,) = fitted.apply([training])
    some = table(training.values[2:5])
    np.testing.assert_allclose(fitted.apply([some])[0].values, all_rows.values[2:5])


def test_columns_are_matched_by_name_and_extra_ones_ignored(training):
    fitted = FittedPreparation.fit([training], FULL)
    order = [2, 0, 3, 1]
    extra = np.column_stack([training.values[:, order], np.ones(40)])
    moved = table(extra, features=("f2", "f0", "f3", "f1", "new"))
    (expected,), (result,) = fitted.apply([training]), fitted.apply([moved])
    np.testing.assert_array_equal(result.values, expected.values)
    assert any("'new'" in note for note in result.notes)


def test_missing_columns_are_counted_and_listed(training):
    fitted = FittedPreparation.fit([training], Preparation(empty_cells="mean"))
    with pytest.raises(InputError, match=r"lacks 3 of the 4 columns.*'f1', 'f2', 'f3'"):
        fitted.apply([table(training.values[:, :1])])


def test_a_column_that_is_empty_in_new_data_is_imputed(training):
    fitted = FittedPreparation.fit([training], Preparation(empty_cells="mean"))
    new = training.values[:2].copy()
    new[:, 0] = np.nan
    (result,) = fitted.apply([table(new)])
    np.testing.assert_allclose(result.values[:, 0], np.nanmean(training.values[:, 0]))


def test_a_preparation_survives_json(training):
    fitted = FittedPreparation.fit([training], FULL)
    again = FittedPreparation.from_dict(json.loads(json.dumps(fitted.to_dict())))
    (before,), (after,) = fitted.apply([training]), again.apply([training])
    np.testing.assert_array_equal(before.values, after.values)
    assert again.to_dict() == fitted.to_dict()


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("views"),
        lambda d: d.update(format=99),
        lambda d: d.update(format="x"),
        lambda d: d["views"][0].pop("fill"),
        lambda d: d["views"][0].update(fill=[1.0]),
        lambda d: d["views"][0].update(features=3),
        lambda d: d["views"][0].update(scale="abc"),
        lambda d: d["views"][0].update(owner=[5]),
    ],
)
def test_a_damaged_preparation_is_refused(training, damage):
    d = FittedPreparation.fit([training], FULL).to_dict()
    damage(d)
    with pytest.raises(ValueError, match="preparation of the model cannot be read"):
        FittedPreparation.from_dict(d)


def test_two_new_tables_of_one_name_are_refused(training):
    fitted = FittedPreparation.fit([training])
    with pytest.raises(InputError, match="is called 'v' like"):
        fitted.apply([training, training])


def test_codes_for_unknown_are_warned_of(rng):
    X = rng.normal(50, 10, size=(60, 4))
    X[[3, 9, 20], 1] = -999
    X[5, 2] = -999  # a single one may be measured
    X[:, 3] = np.arange(60) * 20 - 999  # one number among its like
    (result,) = FittedPreparation.fit([table(X)]).apply_to_training([table(X)])
    assert result.warnings == (
        "numbers that may stand for 'unknown' were taken as measured in 'f1' (-999); "
        "if they do, empty these cells.",
    )
    (new,) = FittedPreparation.fit([table(X)]).apply([table(X)])
    assert new.warnings == ()
