"""Selections against brute force, means and deviations by hand."""

import itertools
from math import isnan, nan
from statistics import fmean, stdev

import numpy as np
import pytest

from imvc.experiments import (
    Entry,
    Record,
    RunSpec,
    published,
    rank_methods,
    select,
    summarize,
)

RATES, MASKS, SEEDS, BETAS = (0.1, 0.5), (0, 1), (0, 1, 2), (1, 10, 100)


@pytest.fixture
def entries(rng):
    found = []
    for label, rate, mask, seed, beta in itertools.product(
        ("a", "b"), RATES, MASKS, SEEDS, (None, *BETAS)
    ):
        parameters = {} if beta is None else {"beta": beta}
        spec = RunSpec("set", "rise", parameters, rate, mask, seed)
        scores = {"acc": rng.random(), "nmi": rng.random()}
        role = "default" if beta is None else "grid"
        found.append(Entry(label, role, Record(spec, scores=scores)))
    return found


def accs(entries, label, **fixed):
    return [
        e.record.scores["acc"]
        for e in entries
        if e.label == label
        and e.role == "grid"
        and all(
            (
                e.record.spec.parameters.get(k)
                if k == "beta"
                else getattr(e.record.spec, k)
            )
            == v
            for k, v in fixed.items()
        )
    ]


def test_the_oracle_per_rate_takes_the_best_mean_at_every_rate(entries):
    cells = summarize(select(entries, "oracle-per-rate"), "acc", by_rate=True)
    for label, rate in itertools.product("ab", RATES):
        best = max(fmean(accs(entries, label, rate=rate, beta=b)) for b in BETAS)
        assert cells["set", label, rate].mean == pytest.approx(best)


def test_the_oracle_of_one_setting_takes_the_best_mean_over_rates(entries):
    cells = summarize(select(entries, "oracle-one"), "acc")
    for label in "ab":
        best = max(fmean(accs(entries, label, beta=b)) for b in BETAS)
        assert cells["set", label].mean == pytest.approx(best)


def test_the_best_draw_takes_the_best_run_of_every_mask(entries):
    cells = summarize(select(entries, "oracle-best-draw"), "acc")
    for label in "ab":
        best = [
            [max(accs(entries, label, rate=r, mask_seed=m)) for r in RATES]
            for m in MASKS
        ]
        assert cells["set", label].mean == pytest.approx(np.mean(best))
        assert cells["set", label].sd == pytest.approx(stdev(map(fmean, best)))


def test_the_oracle_per_draw_takes_the_best_setting_of_every_draw(entries):
    cells = summarize(select(entries, "oracle-per-draw"), "acc")
    for label in "ab":
        best = [
            max(accs(entries, label, rate=r, mask_seed=m, seed=s))
            for r, m, s in itertools.product(RATES, MASKS, SEEDS)
        ]
        assert cells["set", label].mean == pytest.approx(fmean(best))


def test_the_oracles_order_themselves(entries):
    names = ("oracle-one", "oracle-per-rate", "oracle-per-draw", "oracle-best-draw")
    for label in "ab":
        means = [summarize(select(entries, n))["set", label].mean for n in names]
        assert means == sorted(means)


def test_the_default_never_looks_at_the_grid(entries):
    chosen = select(entries, "default")
    assert {entry.role for entry in chosen} == {"default"}
    assert len(chosen) == 2 * 2 * 2 * 3


def test_other_scores_come_from_the_setting_that_accuracy_chose(entries):
    for entry in select(entries, "oracle-one", "nmi"):
        assert entry in entries
    by_acc = {e.record.spec.key for e in select(entries, "oracle-one")}
    cell = summarize(select(entries, "oracle-one"), "nmi")["set", "a"]
    values = [
        e.record.scores["nmi"]
        for e in entries
        if e.label == "a" and e.record.spec.key in by_acc and e.role == "grid"
    ]
    chosen = [e for e in select(entries, "oracle-one") if e.label == "a"]
    assert cell.n == len(chosen) == 12
    assert cell.mean == pytest.approx(fmean(e.record.scores["nmi"] for e in chosen))
    assert len(values) >= 12


def test_the_deviation_is_over_masks_and_seeds_after_the_mean_over_rates():
    def run(rate, mask, seed, acc):
        spec = RunSpec("set", "rise", {}, rate, mask, seed)
        return Entry("a", "default", Record(spec, scores={"acc": acc}))

    entries = [
        run(0.1, 0, 0, 0.8), run(0.5, 0, 0, 0.6),
        run(0.1, 0, 1, 0.6), run(0.5, 0, 1, 0.4),
    ]  # fmt: skip
    cell = summarize(entries)["set", "a"]
    assert cell.mean == pytest.approx(0.6)
    assert cell.sd == pytest.approx(stdev([0.7, 0.5]))
    assert cell.rates == (0.1, 0.5)


def test_a_setting_that_failed_somewhere_is_not_chosen():
    def run(beta, seed, acc):
        spec = RunSpec("set", "rise", {"beta": beta}, 0.1, 0, seed)
        record = Record(spec, "timeout") if acc is None else Record(spec)
        scores = {} if acc is None else {"acc": acc}
        return Entry("a", "grid", Record(spec, record.status, scores=scores))

    entries = [run(1, 0, 0.99), run(1, 1, None), run(2, 0, 0.5), run(2, 1, 0.5)]
    assert summarize(select(entries, "oracle-one"))["set", "a"].mean == 0.5


def test_a_method_without_any_result_says_why():
    spec = RunSpec("set", "ueaf", {}, 0.1, 0, 0)
    cell = summarize([Entry("ueaf", "default", Record(spec, "memory", "much"))])
    cell = cell["set", "ueaf"]
    assert isnan(cell.mean)
    assert (cell.why, cell.n, cell.ok) == ("memory", 1, 0)


def test_an_unknown_selection_lists_the_known_ones():
    with pytest.raises(ValueError, match="selection 'best' is unknown; there are: or"):
        select([], "best")


def test_published_figures_are_those_of_the_paper():
    """Typed here from the paper's tables, apart from the data file."""
    table = published()
    assert len(table) == 7 * 11
    assert table["prokaryotic", "rise"].acc == 0.7513
    assert table["caltech101-7", "hcls-cgl"].nmi == 0.5751
    assert table["wikipedia", "simvc-sa"].purity == 0.5158
    assert table["youtubeface", "imvc-cbg"].acc == 0.2381
    assert table["webkb", "imvtsc-mvi"].seconds == 1024.35
    assert table["cifar10", "ueaf"].acc is None
    assert table["fmnist", "daimc"].seconds == 89872.0
    given = [row for row in table.values() if row.acc is not None]
    assert len(given) == 4 * 11 + 2 * 6 + 4
    assert all(row.seconds is not None for row in given)


def test_ranks_and_tests_against_known_values():
    # Demsar (2006), Table 6: the Nemenyi difference for 4 methods on 14 sets is 1.25.
    rng = np.random.default_rng(0)
    scores = rng.random((14, 4)) + [0.0, 3.0, 1.0, 2.0]
    ranking = rank_methods(scores, ["a", "b", "c", "d"])
    assert ranking.labels[0] == "b"
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.005)
    assert ranking.friedman_p < 0.001
    # All 14 differences have one sign: p = 2 / 2^14, three comparisons by Holm.
    assert ranking.wilcoxon_p["a"] == pytest.approx(3 * 2 / 2**14)


def test_ranks_refuse_gaps():
    with pytest.raises(ValueError, match=r"full table .* without gaps"):
        rank_methods([[1.0, nan], [1.0, 2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="ranks need at least two of each"):
        rank_methods([[1.0, 2.0]], ["a", "b"])
