"""The leaderboard without a browser: numbers, files, hostile names."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jinja2")

from leaderboard_runs import (
    DATASETS,
    KINDS,
    METHODS,
    SEEDS,
    TOLD,
    entries,
    suite,
    write_records,
)
from scipy import stats

from imvc.experiments import MethodSpec
from imvc.report import write_report
from imvc.report.leaderboard_page._board import Board
from imvc.report.leaderboard_page._board_files import board_csv, board_markdown
from imvc.report.leaderboard_page._board_html import board_page, page_data

EVIL = "</script><script>window.hacked=1</script>"
RUNS = 5 * 6 * 4 * 3


@pytest.fixture(scope="module")
def board():
    return Board.of(suite(), entries(), pending=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    records = write_records(folder / "records.sqlite", entries(), pending=2)
    write_report(records, folder / "report", formats=())
    return folder / "report"


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_score_of_a_dataset_is_the_mean_over_masks_and_seeds(board):
    datasets, scores = board.table("acc")
    own = [
        e.record.scores["acc"]
        for e in board.entries
        if (e.record.spec.dataset, e.label) == ("webkb", "daimc")
    ]
    assert datasets == list(DATASETS)
    assert len(own) == 12
    found = scores[datasets.index("webkb"), METHODS.index("daimc")]
    assert found == pytest.approx(sum(own) / 12)


def test_runs_without_a_result_count_as_nought_and_none_at_all_is_last(board):
    datasets, scores = board.table("acc")
    slow = scores[:, METHODS.index("slow")]
    cell = board.cells("acc")["cells", "slow"]
    assert cell.ok == 11
    assert slow[datasets.index("cells")] == pytest.approx(cell.mean * 11 / 12)
    assert slow[datasets.index("faces")] == -1
    ranks = dict(zip(board.ranking("acc").labels, board.ranking("acc").ranks))
    # Last on four sets, shared with `slow` on faces, and sixth on wiki.
    assert ranks["broken"] == (6 + 6 + 6 + 6 + 5.5) / 5


def test_ranks_and_the_test_over_them_are_those_of_scipy(board):
    _, scores = board.table("nmi")
    ranking = board.ranking("nmi")
    expected = stats.rankdata(-scores, axis=1).mean(axis=0)
    assert dict(zip(ranking.labels, ranking.ranks)) == pytest.approx(
        dict(zip(METHODS, expected))
    )
    p = stats.friedmanchisquare(*scores.T).pvalue
    assert ranking.friedman_p == pytest.approx(p)


def test_a_dataset_that_a_method_was_not_run_on_is_left_out():
    own = [
        e
        for e in entries()
        if (e.label, e.record.spec.dataset) not in (("rise", "wiki"), ("nemo", "cells"))
    ]
    datasets, scores = Board.of(suite(), own).table("acc")
    assert datasets == ["digits", "webkb", "faces"]
    assert scores.shape == (3, 6)


def test_only_masks_that_all_methods_were_run_on_are_compared(board):
    """A method that was run on the easy masks alone gains nothing by it."""
    label = board.methods[0]
    easy = board.pick(*board.masks[0])
    twin = [e._replace(label="twin") for e in easy.entries if e.label == label]
    both = replace(board, entries=(*board.entries, *twin))
    _, scores = both.table("acc")
    _, alone = easy.table("acc")
    np.testing.assert_allclose(scores[:, :-1], alone)
    pair = next(p for p in both.pairs("acc") if {p.first, p.second} == {label, "twin"})
    assert (pair.wins, pair.losses) == (0, 0)


def test_a_choice_keeps_one_protocol_rate_and_kind(board):
    part = board.pick("paired-share", 0.5, "text")
    specs = [e.record.spec for e in part.entries]
    assert {(s.protocol, s.rate) for s in specs} == {("paired-share", 0.5)}
    assert part.datasets == ["webkb", "wiki"]
    assert board.pick(kind="other").datasets == ["cells"]


def test_runs_on_rows_sorted_by_class_do_not_count():
    one = entries()[0]
    spec = replace(one.record.spec, row_order="by-class")
    by_class = one._replace(record=replace(one.record, spec=spec))
    assert len(Board.of(suite(), [one, by_class]).entries) == 1


def test_every_run_is_a_row_with_what_was_really_missing(folder):
    rows = rows_of(folder / "leaderboard-runs.csv")
    assert len(rows) == RUNS
    assert {row["kind"] for row in rows} == {*KINDS.values(), "other"}
    first = rows[0]
    assert (first["rate"], first["complete_share"]) == ("0.3", "0.7")
    assert 0.07 <= float(first["missing_share"]) <= 0.09
    assert float(first["processor_seconds"]) * 2 == float(first["seconds"])
    assert float(first["pattern_leakage"]) == 0.01
    bad = [row for row in rows if row["status"] == "failed"]
    assert {row["reason"] for row in bad} == {TOLD}
    assert {row["acc"] for row in bad} == {""}


def test_scores_ranks_and_pairs_are_files_too(folder, board):
    scores = rows_of(folder / "leaderboard-scores.csv")
    (row,) = (
        r
        for r in scores
        if (r["protocol"], r["dataset"], r["method"]) == ("all", "digits", "rise")
    )
    cell = board.cells("acc")["digits", "rise"]
    assert float(row["acc_mean"]) == pytest.approx(cell.mean, abs=1e-5)
    assert float(row["acc_sd"]) == pytest.approx(cell.sd, abs=1e-5)
    ranks = rows_of(folder / "leaderboard-ranks.csv")
    assert len(ranks) == (1 + 4) * 3 * 6  # all masks and each, scores, methods
    pairs = rows_of(folder / "leaderboard-pairs.csv")
    assert len(pairs) == 3 * 6 * 5
    total = sum(float(pairs[0][name]) for name in ("better", "equal", "worse"))
    assert total == pytest.approx(1)


def test_the_main_tables_are_written_as_markdown(folder):
    text = (folder / "leaderboard.md").read_text(encoding="utf-8")
    titles = re.findall("^## (.*)", text, re.MULTILINE)
    assert titles == [
        "ACC (%) and mean ranks",
        "ACC (%): protocols at rate 0.5",
        "ACC (%): paired-share over rates",
        "bridge against the others (ACC)",
        "Processor seconds of a fit",
        "Leaderboard: what was missing (%)",
    ]
    assert "– (time)" in text
    assert "2 runs are not recorded yet" in text
    assert "Limits per run: 30 s and 6 GB" in text


def test_the_report_leads_to_the_leaderboard(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '<a href="leaderboard.html">' in page


def test_two_leaderboards_have_files_of_their_own(tmp_path):
    records = write_records(tmp_path / "r.sqlite", entries()[:24])
    write_records(records, entries()[:12], suite(name="my own"))
    write_report(records, tmp_path, formats=())
    pages = sorted(path.name for path in tmp_path.glob("*.html"))
    assert pages == ["leaderboard.html", "quick-my_own-board.html", "report.html"]


def test_a_suite_without_a_leaderboard_has_none(tmp_path):
    records = write_records(
        tmp_path / "r.sqlite", entries()[:12], suite(tables=("time",))
    )
    write_report(records, tmp_path, formats=())
    assert not list(tmp_path.glob("leaderboard*"))


def test_the_page_holds_every_run_and_asks_for_nothing(board):
    page = board_page(board)
    (text,) = re.findall('id="board">(.*?)</script>', page, re.DOTALL)
    found = json.loads(text)
    assert len(found["runs"]) == RUNS
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)
    assert "default-src 'none'" in page
    assert "Unfinished:" in page


def test_the_page_says_what_was_run(board):
    page = board_page(board)
    for told in ("test processor", "imvc 0.1.0", "30 s and 6 GB", f"{RUNS} runs"):
        assert told in page


def test_hostile_names_stay_text():
    own = [
        e._replace(
            label=EVIL,
            record=replace(
                e.record,
                status="failed",
                reason=EVIL,
                spec=replace(e.record.spec, dataset=EVIL),
            ),
        )
        for e in entries()[:3]
    ]
    methods = (MethodSpec("rise", EVIL),)
    about = suite(title=EVIL, description=EVIL, methods=methods, kinds={EVIL: EVIL})
    page = board_page(Board.of(about, own), EVIL)
    assert EVIL not in page
    (text,) = re.findall('id="board">(.*?)</script>', page, re.DOTALL)
    assert json.loads(text)["methods"] == [EVIL]


@pytest.mark.parametrize("own", [[], entries()[-3:]], ids=["no runs", "all failed"])
def test_a_board_without_results_is_written(own):
    empty = Board.of(suite(), own)
    assert page_data(empty)["metrics"] == []
    assert board_page(empty)
    assert board_markdown(empty)
    assert len(board_csv(empty)["runs"].splitlines()) == 1 + len(own)


def test_one_seed_has_no_spread_and_one_dataset_no_test():
    own = [
        e
        for e in entries()
        if e.record.spec.dataset == "digits" and e.record.spec.mask_seed == SEEDS[0]
    ]
    one = Board.of(suite(), own)
    assert one.ranking("acc") is None
    assert "±" not in board_markdown(one).split("##")[1].splitlines()[4]


def test_on_one_dataset_the_best_is_the_one_of_the_best_mean(board):
    one = replace(
        board,
        entries=tuple(e for e in board.entries if e.record.spec.dataset == "digits"),
    )
    means = {method: one.mean("acc", method)[0] for method in one.methods}
    best = max(means, key=lambda method: np.nan_to_num(means[method]))
    assert f"## {best} against the others" in board_markdown(one)
