import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from imvc import RISE, AnchorBridge, IncompleteViews, as_views, list_methods
from imvc.datasets import make_views
from imvc.metrics import adjusted_rand, pattern_leakage, score_all
from imvc.workflow import Comparison, compare


class Failing(BaseEstimator):
    """Raises what it is told to."""

    def __init__(self, error=ValueError, message="no luck"):
        self.error = error
        self.message = message

    def fit(self, Xs, y=None):
        raise self.error(self.message)


class Halves(BaseEstimator):
    """Another library's estimator: nothing but labels."""

    def __init__(self, short=False, random_state=None):
        self.short = short
        self.random_state = random_state

    def fit(self, Xs, y=None):
        assert isinstance(Xs, IncompleteViews)
        self.seen_seed_ = self.random_state
        self.labels_ = (np.arange(Xs.n_samples - self.short) % 2).astype(np.int64)
        return self


@pytest.fixture(scope="module")
def data():
    return make_views(90, (8, 9, 7), 3, incomplete=0.4, random_state=0)


def test_every_method_has_a_row_with_its_labels_time_and_scores(data):
    result = compare(data.Xs, ["rise", "bridge"], 3, y=data.y, mask=data.mask)
    assert [row["method"] for row in result.rows] == ["rise", "bridge"]
    for row in result.rows:
        assert row["error"] is None
        assert row["seconds"] > 0
        np.testing.assert_array_equal(row["labels"], result.labels[row["method"]])
        expected = score_all(data.y, row["labels"])
        assert {k: row[k] for k in expected} == expected
        assert row["pattern_leakage"] == pattern_leakage(row["labels"], data.mask)
        assert row["ari"] > 0.85
    alone = RISE(3, random_state=0).fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(result.labels["rise"], alone.labels_)
    assert result.rows[0]["n_iter"] == alone.n_iter_
    assert result.rows[0]["converged"] is alone.converged_


def test_without_classes_there_are_no_scores(data):
    result = compare(data.Xs, ["rise"], 3, mask=data.mask)
    assert set(result.rows[0]) == {
        "method",
        "labels",
        "seconds",
        "n_iter",
        "converged",
        "pattern_leakage",
        "error",
    }


def test_agreement_is_the_adjusted_rand_index_of_every_pair(data):
    methods = [RISE(3, random_state=0), ("halves", Halves()), AnchorBridge(4)]
    result = compare(data.Xs, methods, mask=data.mask)
    assert result.names == ("rise", "halves", "bridge")
    for i, a in enumerate(result.names):
        for j, b in enumerate(result.names):
            expected = adjusted_rand(result.labels[a], result.labels[b])
            assert result.agreement[i, j] == pytest.approx(expected)


@pytest.mark.parametrize("error", [ValueError, RuntimeError, MemoryError, KeyError])
def test_a_method_that_fails_leaves_its_error_in_the_table(data, error):
    methods = [("broken", Failing(error)), "rise"]
    result = compare(data.Xs, methods, 3, y=data.y, mask=data.mask)
    broken, rise = result.rows
    assert broken["error"].startswith(error.__name__)
    assert "no luck" in broken["error"]
    assert broken["labels"] is None
    assert broken["ari"] is None
    assert broken["seconds"] >= 0
    assert rise["error"] is None
    assert result.names == ("rise",)
    assert result.agreement.shape == (1, 1)
    assert "no luck" in str(result)
    assert repr(result) == "<Comparison of 2 methods, 1 failed>"


def test_a_bad_parameter_value_is_an_error_of_its_method_only(data):
    params = {"rise": {"beta": -1.0}}
    result = compare(data.Xs, ["rise", "bridge"], 3, mask=data.mask, params=params)
    assert "beta" in result.rows[0]["error"]
    assert result.names == ("bridge",)


def test_labels_of_the_wrong_length_are_an_error_of_their_method(data):
    result = compare(data.Xs, [("short", Halves(short=True))], mask=data.mask)
    assert result.rows[0]["error"] is not None
    assert result.rows[0]["labels"] is None
    assert result.labels == {}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through(data, error):
    with pytest.raises(error, match="no luck"):
        compare(data.Xs, [("stopped", Failing(error)), "rise"], 3, mask=data.mask)


def test_unknown_names_raise_at_once_and_list_the_known_ones(data):
    ran = []
    with pytest.raises(ValueError, match=r"no method named 'raise'; there are: .*rise"):
        compare(data.Xs, ["rise", "raise"], 3, callback=ran.append)
    assert ran == []


@pytest.mark.parametrize(
    ("methods", "options", "text"),
    [
        (["rise", "rise"], {}, "two methods are labelled 'rise'"),
        ([RISE(3), RISE(3, beta=1.0)], {}, "pairs"),
        (["rise"], dict(params={"bridge": {}}), "'bridge', which is not compared"),
        (["rise"], dict(params={"rise": {"bta": 1}}), "has no parameter 'bta'"),
        (["rise"], dict(n_clusters=None), "n_clusters=None"),
        (["rise"], dict(y=[0, 1]), r"y has shape \(2,\)"),
    ],
)
def test_mistakes_in_the_request_raise_at_once(data, methods, options, text):
    options = {"n_clusters": 3, **options}
    with pytest.raises(ValueError, match=text):
        compare(data.Xs, methods, mask=data.mask, **options)


@pytest.mark.parametrize("method", [RISE, 3, ("a", "b", "c")])
def test_what_is_no_method_is_a_type_error(data, method):
    with pytest.raises(TypeError, match="registry name"):
        compare(data.Xs, [method], 3)


def test_bad_data_raise_once_instead_of_failing_every_method(data):
    with pytest.raises(ValueError, match="no view"):
        compare(data.Xs, ["rise"], 3, mask=np.zeros_like(data.mask))


def test_parameters_reach_the_method_they_are_meant_for(data):
    methods = [("few", "rise"), ("many", "rise")]
    params = {"few": {"n_anchors": 10}, "many": {"n_anchors": 60, "n_clusters": 4}}
    result = compare(data.Xs, methods, 3, mask=data.mask, params=params)
    for label, k, m in (("few", 3, 10), ("many", 4, 60)):
        alone = RISE(k, n_anchors=m, random_state=0).fit(data.Xs, mask=data.mask)
        np.testing.assert_array_equal(result.labels[label], alone.labels_)


def test_estimators_are_cloned_and_keep_their_parameters(data):
    model = RISE(4, random_state=7)
    result = compare(data.Xs, [model], 3, mask=data.mask)
    assert not hasattr(model, "labels_")
    alone = RISE(4, random_state=7).fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(result.labels["rise"], alone.labels_)


@pytest.mark.parametrize("random_state", [5, np.random.RandomState(0)], ids=str)
def test_methods_share_one_seed_and_own_seeds_stay(data, random_state, monkeypatch):
    seeds = []
    fit = Halves.fit

    def spy(self, Xs, y=None):
        seeds.append(self.random_state)
        return fit(self, Xs)

    monkeypatch.setattr(Halves, "fit", spy)
    methods = [("a", Halves()), ("b", Halves()), ("c", Halves(random_state=9))]
    compare(data.Xs, methods, mask=data.mask, random_state=random_state)
    assert seeds[0] == seeds[1]
    assert isinstance(seeds[0], int)
    assert seeds[2] == 9


def test_views_are_checked_once(data, monkeypatch):
    calls = []

    def counting(Xs, mask=None, **options):
        calls.append(type(Xs))
        return as_views(Xs, mask, **options)

    monkeypatch.setattr("imvc.workflow._compare.as_views", counting)
    compare(data.Xs, [("a", Halves()), ("b", Halves())], mask=data.mask)
    assert calls == [type(data.Xs)]


def test_a_dict_or_a_container_of_views_will_do(data):
    named = dict(zip("abc", data.incomplete()))
    first = compare(named, ["rise"], 3)
    second = compare(as_views(named), ["rise"], 3)
    np.testing.assert_array_equal(first.labels["rise"], second.labels["rise"])


def test_classes_follow_the_sample_ids_of_joined_tables(data):
    ids = [f"s{i}" for i in range(90)]
    frames = [
        pd.DataFrame(X, index=ids).loc[np.asarray(ids)[data.mask[:, v]]]
        for v, X in enumerate(data.Xs)
    ]
    order = np.random.default_rng(0).permutation(90)
    y = pd.Series(data.y, index=ids).iloc[order]
    result = compare(frames, ["rise"], 3, y=y)
    assert result.rows[0]["ari"] > 0.85
    with pytest.raises(ValueError, match="no class for 1 samples, first 's5'"):
        compare(frames, ["rise"], 3, y=y.drop("s5"))


def test_the_callback_hears_of_every_method_in_turn(data):
    heard = []
    methods = [("a", Halves()), ("broken", Failing())]
    result = compare(data.Xs, methods, mask=data.mask, callback=heard.append)
    assert [row["method"] for row in heard] == ["a", "broken"]
    assert heard == result.rows


def test_by_default_all_methods_are_compared(data, monkeypatch):
    def nothing(label, estimator, views, score):
        assert estimator.n_clusters == 3
        assert estimator.random_state == 0
        return dict(method=label, labels=None, seconds=0.0, error="skipped")

    monkeypatch.setattr("imvc.workflow._compare._fit_one", nothing)
    result = compare(data.Xs, n_clusters=3, mask=data.mask)
    assert [row["method"] for row in result.rows] == list(list_methods())


@pytest.mark.filterwarnings("error")
def test_slow_convergence_is_told_by_the_table_not_by_a_warning(data):
    params = {"rise": {"max_iter": 1}}
    result = compare(data.Xs, ["rise"], 3, mask=data.mask, params=params)
    assert result.rows[0]["converged"] is False
    assert "not converged" in str(result)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        RISE(3, max_iter=1).fit(data.Xs, mask=data.mask)


def test_the_printed_table_is_aligned(data):
    methods = ["rise", ("a long\tlabel", Halves()), ("x", Failing(message="m " * 90))]
    text = str(compare(data.Xs, methods, 3, y=data.y, mask=data.mask))
    table, agreement, remarks = text.split("\n\n")
    head, *lines = table.splitlines()
    assert head.split() == [
        *("method", "seconds", "iterations", "leakage"),
        *("acc", "nmi", "ari", "purity"),
    ]
    ends = head.index("purity") + len("purity")
    for line in lines[:2]:
        assert len(line) == ends
        assert line.rsplit(maxsplit=1)[1].replace(".", "").isdigit()
    assert lines[2].split()[0] == "x"
    assert remarks.startswith("x failed: ValueError: m m m")
    assert max(map(len, text.splitlines())) <= 80
    assert agreement.splitlines()[0] == "agreement (adjusted Rand index)"
    assert len(agreement.splitlines()) == 4


def made_up(names, seed=0):
    """A comparison of methods of some names, with random labels and all scores."""
    rng = np.random.RandomState(seed)
    keys = ("n_iter", "pattern_leakage", "acc", "nmi", "ari", "purity")
    return Comparison(
        [
            {
                **dict(method=name, labels=rng.randint(3, size=30), error=None),
                **dict(seconds=12345.67, converged=bool(i % 2)),
                **dict.fromkeys(keys, 1),
            }
            for i, name in enumerate(names)
        ]
    )


@pytest.mark.parametrize(
    "names",
    [
        list_methods(),
        ["rise", "bridge"],
        [f"method number {i} with a very long name indeed" for i in range(13)],
        [f"m{i}" for i in range(120)],
    ],
    ids=["all", "two", "long", "many"],
)
def test_the_tables_fit_a_terminal_of_80_columns(names):
    result = made_up(names)
    table, *agreement = result.tables().split("\n\n")
    assert max(map(len, str(result).splitlines())) <= 80
    lines = table.splitlines()
    numbers = ["12345.67", "1", *["1.000"] * 5]
    assert [line.split()[-7:] for line in lines[1:]] == [numbers] * len(names)
    # Every block has a line per method, and the blocks all methods as columns.
    heads = [block.splitlines()[block.startswith("agreement")] for block in agreement]
    assert len(" ".join(heads).split()) == len(names)
    assert {len(block.splitlines()) for block in agreement[1:]} <= {1 + len(names)}


def test_numbered_agreement_is_that_of_the_methods_in_percent():
    names = [f"method number {i} with a long name" for i in range(30)]
    result = made_up(names)
    _, *blocks = result.tables().split("\n\n")
    blocks[0] = blocks[0].removeprefix("agreement (adjusted Rand index, in %)\n")
    found = np.zeros((30, 30))
    for block in blocks:
        head, *lines = block.splitlines()
        columns = [int(text) - 1 for text in head.split()]
        for i, line in enumerate(lines):
            assert line.split()[0] == str(i + 1)
            found[i, columns] = line.split()[-len(columns) :]
    np.testing.assert_array_equal(found, np.rint(100 * result.agreement))


def test_an_empty_comparison_prints_its_head(data):
    result = compare(data.Xs, [], mask=data.mask)
    assert result.names == ()
    assert str(result).split() == ["method", "seconds", "iterations", "leakage"]


def test_the_frame_is_tidy(data):
    methods = ["rise", ("broken", Failing())]
    frame = compare(data.Xs, methods, 3, y=data.y, mask=data.mask).to_frame()
    assert list(frame["method"]) == ["rise", "broken"]
    assert "labels" not in frame
    assert frame["ari"].isna().tolist() == [False, True]


def test_without_pandas_the_frame_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"imvc\[io\]"):
        Comparison([]).to_frame()


def test_a_comparison_is_frozen(data):
    result = compare(data.Xs, [("a", Halves())], mask=data.mask)
    with pytest.raises(AttributeError, match="cannot assign to field 'rows'"):
        result.rows = []


def test_methods_that_fill_empty_cells_are_compared_and_others_say_why_not():
    data = make_views(90, (5, 6), 3, separation=8, random_state=0)
    Xs = [X.copy() for X in data.Xs]
    Xs[0][3, 2] = np.nan
    filling = RISE(3, empty_cells="fill", random_state=0)
    found = compare(Xs, [("fills", filling), ("refuses", RISE(3))])
    rows = {row["method"]: row for row in found.rows}
    assert rows["fills"]["error"] is None
    assert 'empty_cells="fill"' in rows["refuses"]["error"]
