"""inspect: what it counts, what it warns of, and how it shows it."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from hard_views import hard_views
from imvc.datasets import make_views
from imvc.insight import inspect
from imvc.views import as_views

HARD = hard_views()


@pytest.fixture
def data(seed):
    return make_views(200, (6, 5, 7), 3, incomplete=0.5, random_state=seed)


def warned(found, *words):
    """Whether one of the warnings has all the words."""
    return any(all(word in text for word in words) for text in found.warnings)


def test_plain_data_give_no_warning(data):
    assert inspect(data.Xs, mask=data.mask).warnings == ()


def test_patterns_are_counted_and_the_most_frequent_comes_first(data):
    found = inspect(data.Xs, mask=data.mask)
    counts = [pattern.count for pattern in found.patterns]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == found.n_samples == 200
    for pattern in found.patterns:
        has = [f"view{v}" in pattern.views for v in range(3)]
        assert (data.mask == has).all(axis=1).sum() == pattern.count
    assert found.n_complete == data.mask.all(axis=1).sum()


def test_overlap_counts_the_samples_that_two_views_share(data):
    found = inspect(data.Xs, mask=data.mask)
    assert found.overlap[0, 2] == (data.mask[:, 0] & data.mask[:, 2]).sum()
    assert found.overlap[1, 1] == found.views[1].n_observed == data.mask[:, 1].sum()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_constant_and_repeated_features_are_found_among_observed_rows(data, form):
    X = np.maximum(data.Xs[1], 0).copy()
    X[:, 0] = 0
    X[:, 3] = X[:, 1]
    X[:, 4] = -X[:, 2]
    X[~data.mask[:, 1]] = np.random.default_rng(0).random(5)
    found = inspect([data.Xs[0], form(X), data.Xs[2]], mask=data.mask)
    assert found.views[1].constant == ("view1[0]",)
    assert found.views[1].duplicates == (("view1[1]", "view1[3]"),)
    assert warned(found, "'view1'", "single value", "view1[0]")
    assert warned(found, "'view1'", "1 copy", "view1[1] = view1[3]")


def test_features_that_differ_in_one_sample_are_no_duplicates(rng):
    """Small integers, whose bits differ in few places, are the hard case."""
    X = np.repeat(rng.integers(0, 2, (500, 1)), 300, axis=1).astype(float)
    X[np.arange(300), np.arange(300)] += 1
    assert inspect([X]).views[0].duplicates == ()


def test_negative_zero_is_zero():
    X = np.array([[0.0, -0.0, 1.0], [1.0, 1.0, 2.0], [2.0, 2.0, 0.0]])
    assert inspect([X]).views[0].duplicates == (("view0[0]", "view0[1]"),)


def test_sparse_and_dense_views_have_the_same_summary(data):
    X = np.maximum(data.Xs[0], 0)
    dense, sparse = inspect([X]).views[0], inspect([sp.csr_array(X)]).views[0]
    assert sparse.sd_range == pytest.approx(dense.sd_range)
    assert sparse.row_norm == pytest.approx(dense.row_norm)
    assert sparse.nonzero_share == dense.nonzero_share == (X > 0).mean()
    sd = X.std(axis=0, ddof=1)
    assert dense.sd_range == pytest.approx((sd.min(), sd.max()))


def test_names_of_columns_are_used_where_there_are_any(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.Xs[0], columns=list("abcdef")).assign(b=1.0)
    assert inspect({"genes": frame}).views[0].constant == ("b",)


def test_scales_that_differ_between_views_are_said_to_do_no_harm(data):
    found = inspect({"a": data.Xs[0] / 1e4, "b": data.Xs[1], "c": data.Xs[2]})
    low, high = sorted(view.row_norm for view in found.views)[::2]
    large = max(found.views, key=lambda view: view.row_norm).name
    assert found.warnings == (
        f"Views 'a' and {large!r} are on different scales (median row lengths "
        f"{low:.3g} and {high:.3g}). Unless a method is told otherwise it brings rows "
        f"to length one, so that this does no harm; else --scale {large}=standard "
        "helps.",
    )


def test_scales_that_differ_within_a_view_are_said_to_matter(rng):
    sd = np.array([1] * 5 + [1e5] * 5)
    found = inspect({"lab values": rng.permuted(np.outer(np.arange(99), sd), axis=0)})
    low, high = found.views[0].sd_range
    assert found.warnings == (
        f"Features of view 'lab values' differ in scale (standard deviations "
        f"{low:.3g} to {high:.3g}): the largest decide alone. Unless that is meant, "
        f"bring them to one scale with --scale 'lab values=standard' "
        f"(Preparation(scale=...)).",
    )


def clinical(rng, n=120):
    """Age, body mass index, platelets in billions per litre, sex."""
    columns = [(60, 12), (25, 4), (250, 80)]
    numbers = [rng.normal(mean, sd, n) for mean, sd in columns]
    return np.column_stack([*numbers, rng.integers(0, 2, n)])


def test_a_clinical_table_that_one_column_rules_is_told_which(rng):
    pd = pytest.importorskip("pandas")
    names = ["age", "bmi", "platelets", "sex"]
    found = inspect({"clinic": pd.DataFrame(clinical(rng), columns=names)})
    assert found.views[0].dominant == ("platelets",)
    low, high = found.views[0].sd_range
    assert found.warnings == (
        f"Features of view 'clinic' differ in scale (standard deviations {low:.3g} to "
        f"{high:.3g}): platelets carries nearly all of the variance. Unless that is "
        f"meant, bring them to one scale with --scale clinic=standard "
        f"(Preparation(scale=...)).",
    )


def test_columns_of_one_unit_and_unlike_spread_are_not_warned_of(rng):
    """Largest over least standard deviation 50, but no few columns rule."""
    X = rng.standard_normal((200, 40)) * np.linspace(0.02, 1, 40)
    assert inspect([X]).warnings == ()


def negative_binomial(rng, mean, dispersion, shape):
    p = 1 / (1 + np.broadcast_to(mean, shape) * dispersion)
    return rng.negative_binomial(1 / dispersion, p).astype(float)


@pytest.mark.parametrize(
    ("mean", "dispersion"), [(10, 1.0), (100, 1.0), (np.geomspace(1, 3000, 60), 0.2)]
)
def test_counts_with_a_long_tail_get_the_hint_of_logarithms(mean, dispersion, rng):
    found = inspect({"rna": negative_binomial(rng, mean, dispersion, (90, 60))})
    assert found.warnings[0] == (
        "View 'rna' looks like counts (whole numbers from 0 on with a long tail): the "
        "largest decide alone. Take logarithms with --log1p rna "
        "(Preparation(log1p=...))."
    )
    assert not warned(found, "differ in scale")


def test_sparse_counts_are_counts_too(rng):
    X = negative_binomial(rng, np.geomspace(0.05, 30, 80), 0.5, (150, 80))
    assert inspect([sp.csr_array(X)]).views[0].counts
    assert inspect([X]).views[0].counts


@pytest.mark.parametrize("kind", ["digits", "ages", "0/1", "Poisson 5", "Poisson 200"])
def test_whole_numbers_without_a_long_tail_are_no_counts(kind, rng):
    X = {
        "digits": lambda: load_digits().data,
        "ages": lambda: rng.integers(18, 95, (100, 3)),
        "0/1": lambda: rng.random((100, 30)) < 0.1,
        "Poisson 5": lambda: rng.poisson(5, (200, 20)),
        "Poisson 200": lambda: rng.poisson(200, (200, 20)),
    }[kind]()
    assert not inspect([X.astype(float)]).views[0].counts


def test_whole_numbers_in_unlike_units_are_no_counts(rng):
    X = np.rint(clinical(rng) * [1, 1, 1000, 1])
    found = inspect([X])
    assert not found.views[0].counts
    assert warned(found, "differ in scale")


def test_logarithms_of_counts_are_not_warned_of(rng):
    X = np.log1p(negative_binomial(rng, np.geomspace(1, 3000, 60), 0.2, (90, 60)))
    assert inspect([X]).warnings == ()


def test_a_view_given_twice_is_told_whatever_its_columns_are_called(data):
    X = data.Xs[0]
    found = inspect(
        {"a": X, "b": data.Xs[1], "again": X[:, ::-1]},
        mask=data.mask[:, [0, 1, 0]] | ~data.mask[:, :2].any(axis=1)[:, None],
    )
    assert found.warnings == (
        "View 'again' has the same numbers as view 'a': what is there twice counts "
        "twice; leave one out.",
    )


def test_a_view_whose_every_column_is_in_another_is_told(data):
    found = inspect({"part": sp.csr_array(data.Xs[0][:, 2:4]), "whole": data.Xs[0]})
    assert found.warnings == (
        "Every column of view 'part' is in view 'whole' too: what is there twice "
        "counts twice; leave one out.",
    )


def test_the_same_numbers_of_other_samples_are_not_the_same(data):
    X, mask = data.Xs[0], np.ones((200, 2), bool)
    mask[0, 1] = False
    assert inspect([X, X], mask=mask).warnings == ()
    assert inspect([X, X[::-1]]).warnings == ()


def test_copies_and_single_values_name_the_option_that_drops_them(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.Xs[0], columns=list("abcdef"))
    found = inspect({"genes": frame.assign(b=1.0, d=frame["c"])})
    assert found.warnings == (
        "View 'genes' has 1 copy of other features (c = d): what is repeated weighs "
        "more; leave out with --drop genes=d.",
        "View 'genes' has 1 feature with a single value (b), which cannot tell samples "
        "apart; leave out with --drop genes=b.",
    )


def test_a_view_that_shares_too_few_samples_is_named(rng):
    """12 shared samples are fewer than 20, whatever the share."""
    mask = np.zeros((200, 2), bool)
    mask[:106, 0] = mask[94:, 1] = True
    found = inspect([rng.random((200, 3)), rng.random((200, 4))], mask=mask)
    assert warned(found, "Only 12 of the 106 samples of view 'view0'", "at least 20")


def test_enough_shared_samples_give_no_warning(rng):
    mask = np.zeros((200, 2), bool)
    mask[:115, 0] = mask[85:, 1] = True
    assert (
        inspect([rng.random((200, 3)), rng.random((200, 4))], mask=mask).warnings == ()
    )


def test_views_in_two_groups_without_shared_samples_are_told(rng):
    mask = np.zeros((100, 4), bool)
    mask[:50, :2] = mask[50:, 2:] = True
    Xs = {name: rng.random((100, 3)) for name in ("a", "b", "c", "d")}
    found = inspect(Xs, mask=mask)
    assert warned(found, "2 groups", "'a' + 'b'", "'c' + 'd'", "more than 0 samples")


def test_a_rare_view_is_named(rng):
    mask = np.ones((1000, 2), bool)
    mask[30:, 1] = False
    found = inspect([rng.random((1000, 3)), rng.random((1000, 4))], mask=mask)
    assert warned(found, "'view1'", "30 of 1000 samples", "3.0 %")


def test_rows_of_zeros_are_told(data):
    X = data.Xs[0].copy()
    X[:3] = 0
    assert warned(inspect([X]), "3 samples of view 'view0' are all zeros")


def test_views_that_were_checked_already_are_accepted(data):
    views = as_views(data.Xs, data.mask)
    assert inspect(views).to_dict() == inspect(data.Xs, mask=data.mask).to_dict()


def test_the_join_of_tables_is_kept(data):
    pd = pytest.importorskip("pandas")
    a = pd.DataFrame(data.Xs[0][:50], index=[f"s{i}" for i in range(50)])
    b = pd.DataFrame(data.Xs[1][:50], index=[f"s{i}" for i in range(20, 70)])
    found = inspect({"a": a, "b": b})
    assert found.join.unmatched == {"a": 20, "b": 20}
    assert "70 ids in 2 tables, 30 of them in all" in str(found)


@pytest.mark.parametrize("case", HARD)
def test_hard_inputs_give_finite_numbers_text_and_picture(case):
    Xs, mask, _ = HARD[case]
    found = inspect(Xs, mask=mask)
    assert np.isfinite(
        [x for v in found.views for x in (v.row_norm, *v.sd_range)]
    ).all()
    json.dumps(found.to_dict(), allow_nan=False)
    ET.fromstring(found.to_svg())
    assert max(map(len, str(found).splitlines())) <= 80


@pytest.mark.parametrize("n_views", [1, 2, 7, 15, 30, 60])
def test_the_text_is_never_wider_than_80_characters(n_views, rng):
    names = [
        f"measurement {v} with a very long name, version 2" for v in range(n_views)
    ]
    mask = rng.random((400, n_views)) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    found = inspect({name: rng.random((400, 3)) for name in names}, mask=mask)
    assert max(map(len, str(found).splitlines())) <= 80


def test_the_text_shows_dots_counts_and_how_much_is_left_out(rng):
    mask = rng.random((300, 5)) < 0.5
    mask[:, 0] |= ~mask.any(axis=1)
    found = inspect([rng.random((300, 3))] * 5, mask=mask)
    first = found.patterns[0]
    dots = ["●" if f"view{v}" in first.views else "○" for v in range(5)]
    line = next(x for x in str(found).splitlines() if "█" in x)
    assert line.split()[:6] == [*dots, str(first.count)]
    rest = sum(pattern.count for pattern in found.patterns[12:])
    more = f"and {len(found.patterns) - 12} more, with {rest} samples together"
    assert more in str(found)


def test_names_are_text_in_the_picture_and_nothing_is_loaded(rng):
    found = inspect(
        {"<script>alert(1)</script>": rng.random((9, 2)), "a&b\x00": rng.random((9, 2))}
    )
    svg = found.to_svg()
    root = ET.fromstring(svg)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "text", "rect", "circle", "line"}
    assert "href" not in svg
    assert svg.count("http") == 1  # the name space
    assert any("<script>" in (text.text or "") for text in root.iter())


def test_the_picture_has_a_bar_and_dots_for_every_pattern(data):
    found = inspect(data.Xs, mask=data.mask)
    root = ET.fromstring(found.to_svg())
    marks = [element.get("class") for element in root.iter()]
    assert marks.count("bar") == len(found.patterns)
    assert marks.count("on") == sum(len(pattern.views) for pattern in found.patterns)
    assert "prefers-color-scheme:dark" in found.to_svg()


def test_the_picture_says_how_many_patterns_it_leaves_out(rng):
    mask = rng.random((2000, 6)) < 0.5
    mask[:, 0] |= ~mask.any(axis=1)
    found = inspect([rng.random((2000, 2))] * 6, mask=mask)
    assert f"and {len(found.patterns) - 20} more patterns" in found.to_svg()


def test_a_feature_that_varies_by_rounding_alone_is_constant():
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[:, 1] = 1e-17 * X[:, 0]
    X[:, 2] *= 1e-9  # small, but far above rounding
    assert inspect([X]).views[0].constant == (f"{inspect([X]).views[0].name}[1]",)


@pytest.mark.parametrize("layout", [np.array, sp.csr_array])
def test_empty_cells_are_counted_and_never_stop_an_inspection(layout):
    X = np.arange(12.0).reshape(4, 3)
    X[1, 2] = X[2, 2] = X[0, 0] = np.nan
    found = inspect([layout(X), np.ones((4, 2)) * np.arange(4)[:, None]])
    assert [(c.view, c.column, c.n_empty, c.n_rows) for c in found.columns] == [
        ("view0", "view0[0]", 1, 4),
        ("view0", "view0[2]", 2, 4),
    ]
    assert found.views[0].n_observed == 4
    assert "50 %" in str(found)
