"""Tables against values worked out by hand."""

import csv
import io
from dataclasses import replace

import pytest

from imvc.experiments import Entry, MethodSpec, Record, RunSpec, Suite
from imvc.report import (
    Table,
    failure_table,
    make_section,
    score_table,
    suite_tables,
    time_table,
)

SHAPE = {"n_samples": 10, "n_views": 2, "n_clusters": 2, "n_incomplete": 4}


def masked(label, acc, **changes):
    """A run at defaults that knows its mask: 3 of 20 entries gone."""
    made = entry(label, "default", acc)
    spec = replace(made.record.spec, **changes)
    record = replace(made.record, spec=spec, shape=SHAPE | {"n_missing": 3})
    return made._replace(record=record)


def test_tables_state_what_was_missing_beside_the_nominal_rate():
    entries = [masked("rise", 0.5), masked("rise", 0.7, protocol="single-view")]
    tables = {table.name: table for table in suite_tables(suite(), entries)}
    paired = tables["mine-paired-share-acc"]
    assert row_of(paired, "webkb", "rise")["default"] == "50.00"
    assert row_of(tables["mine-single-view-acc"], "webkb", "rise")["default"] == "70.00"
    told = "paired-share 0.1: 15.0 % of the entries missing, 60.0 % of the samples"
    assert any(told in note for note in paired.notes)
    row = row_of(tables["mine-masks"], "webkb", "single-view")
    assert (row["missing entries"], row["complete samples"]) == ("15.0", "60.0")


def test_the_gain_from_sorted_rows_is_a_column():
    entries = [masked("rise", 0.5), masked("rise", 0.75, row_order="by-class")]
    table = suite_tables(suite(tables=("order",)), entries)[0]
    row = row_of(table, "webkb", "rise")
    assert (row["shuffled"], row["sorted by class"]) == ("50.00", "75.00")
    assert row["gain"] == "+25.00"


def test_scores_are_those_of_shuffled_rows_alone():
    entries = [masked("rise", 0.5), masked("rise", 0.75, row_order="by-class")]
    table = suite_tables(suite(), entries)[0]
    assert row_of(table, "webkb", "rise")["default"] == "50.00"


def entry(label, role, acc, *, seed=0, rate=0.1, dataset="webkb", **parameters):
    spec = RunSpec(dataset, "rise", parameters, rate, 0, seed)
    scores = {"acc": acc, "purity": acc, "inverse_purity": acc}
    record = Record(spec, scores=scores, seconds={"total": 2.0}, peak_memory=3_000_000)
    return Entry(label, role, record)


def suite(**changes):
    content = {
        "name": "mine",
        "size": "quick",
        "title": "Mine",
        "datasets": ("webkb", "other"),
        "rates": (0.1,),
        "mask_seeds": (0,),
        "seeds": (0, 1),
        "methods": (MethodSpec("rise", "rise"), MethodSpec("ueaf", "ueaf")),
        "tables": ("scores", "time"),
        "metrics": ("acc",),
    }
    return Suite(**(content | changes))


@pytest.fixture
def entries():
    return [
        entry("rise", "default", 0.80, seed=0),
        entry("rise", "default", 0.70, seed=1),
        entry("rise", "grid", 0.90, seed=0, beta=1),
        entry("rise", "grid", 0.86, seed=1, beta=1),
        entry("rise", "grid", 0.95, seed=0, beta=9),
        entry("rise", "grid", 0.75, seed=1, beta=9),
    ]


def row_of(table, *start):
    return dict(
        zip(table.columns, next(r for r in table.rows if r[: len(start)] == start))
    )


def test_columns_keep_selections_apart_beside_the_published_figure(entries):
    row = row_of(score_table(suite(), entries, "acc"), "webkb", "rise")
    assert row["default"] == "75.00 ± 7.07"
    assert row["oracle, per rate"] == "88.00 ± 2.83"
    assert row["oracle, one setting"] == "88.00 ± 2.83"
    assert row["oracle, best draw"] == "95.00"
    assert row["paper"] == "93.02"
    assert row["default − paper"] == "−18.02"
    assert row["oracle, best draw − paper"] == "+1.98"


def test_both_purities_stand_beside_the_paper_s_one_purity(entries):
    for metric in ("purity", "inverse_purity"):
        row = row_of(score_table(suite(), entries, metric), "webkb")
        assert row["paper"] == "93.39"


def test_a_method_without_a_result_shows_a_dash_and_the_reason(entries):
    spec = RunSpec("webkb", "ueaf", {}, 0.1, 0, 0)
    record = Record(spec, "memory", "more than 4 GB of memory")
    entries.append(Entry("ueaf", "default", record))
    table = score_table(suite(), entries, "acc")
    assert row_of(table, "webkb", "ueaf")["default"] == "– (memory)"
    assert any("(memory) out of memory" in note for note in table.notes)
    (row,) = failure_table(suite(), entries).rows
    assert row == ("webkb", "ueaf", "memory", "more than 4 GB of memory", "1")


def test_an_incomplete_mean_is_marked(entries):
    spec = RunSpec("webkb", "rise", {}, 0.5, 0, 0)
    entries.append(Entry("rise", "default", Record(spec, "timeout", "long")))
    table = score_table(suite(), entries, "acc")
    assert row_of(table, "webkb", "rise")["default"].endswith("*")
    assert any(note.startswith("* some runs") for note in table.notes)


def test_a_mean_over_some_of_the_rates_is_marked(entries):
    table = score_table(suite(rates=(0.1, 0.5)), entries, "acc")
    assert row_of(table, "webkb", "rise")["default"] == "75.00 ± 7.07*"
    assert any(note.startswith("* some runs") for note in table.notes)


def test_tables_of_an_unfinished_suite_say_so(entries):
    section = make_section(suite(), entries, pending=7)
    for table in section.tables:
        assert table.notes[0].startswith("Unfinished: 7 runs")


def test_a_set_with_other_features_is_marked_and_set_beside_its_model():
    found = [entry("rise", "default", 0.5, dataset="other")]
    table = score_table(suite(stands_for={"other": "webkb"}), found, "acc")
    assert row_of(table, "other†", "rise")["paper"] == "93.02"
    assert any("other features" in note for note in table.notes)


def test_times_leave_out_runs_that_shared_their_work(entries):
    shared = entries[0].record
    entries[0] = Entry(
        "rise", "default", Record(shared.spec, seconds={"total": 99.0}, grouped=9)
    )
    row = row_of(time_table(suite(), entries), "webkb", "rise")
    assert row["seconds"].startswith("2")
    assert row["paper, seconds"] == "0.66"
    assert row["ratio"] == "3"


def test_ablations_have_no_published_column(entries):
    renamed = [Entry("bipartite", e.role, e.record) for e in entries]
    methods = (MethodSpec("rise", "bipartite"),)
    table = score_table(suite(methods=methods), renamed, "acc")
    assert "paper" not in table.columns


def test_csv_reads_back_and_latex_is_escaped():
    table = Table("t", "50 % & more", ("a_b", "c"), (("x,y", "1 ± 2"),), ("n_1",))
    assert list(csv.reader(io.StringIO(table.to_csv()))) == [
        ["a_b", "c"],
        ["x,y", "1 ± 2"],
    ]
    latex = table.to_latex()
    assert r"\caption{50 \% \& more}" in latex
    assert r"a\_b & c \\" in latex
    assert r"x,y & 1 $\pm$ 2 \\" in latex


def test_a_suite_gets_the_tables_it_asks_for_and_the_settings_chosen(entries):
    names = [table.name for table in suite_tables(suite(), entries)]
    assert names == ["mine-acc", "mine-time", "mine-settings"]
