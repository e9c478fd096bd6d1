"""Tables of a suite: one column per selection, the published figure, the difference."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan

from imvc.experiments import (
    CITATION,
    SELECTIONS,
    Cell,
    Entry,
    Ranking,
    Record,
    Suite,
    chosen_settings,
    own_seconds,
    published,
    rank_methods,
    select,
    summarize,
)
from imvc.experiments._suite import AS_IT_IS, ROW_ORDERS
from imvc.report.suite_page._text_table import Table

COLUMN_NAMES = {
    "oracle-per-rate": "oracle, per rate",
    "oracle-one": "oracle, one setting",
    "oracle-per-draw": "oracle, per draw",
    "oracle-best-draw": "oracle, best draw",
    "default": "default",
}
METRIC_NAMES = {
    "acc": "ACC",
    "nmi": "NMI",
    "nmi_arithmetic": "NMI (arithmetic)",
    "ari": "ARI",
    "purity": "purity",
    "inverse_purity": "inverse purity",
    "fscore": "F-score",
}
# The paper's purity is set beside both: of RISE it is probably the inverse one.
_PUBLISHED_AS = {
    "acc": "acc",
    "nmi": "nmi",
    "purity": "purity",
    "inverse_purity": "purity",
}
_NAMES_OF_SIGNS = {
    "time": "out of time",
    "memory": "out of memory",
    "error": "error",
}


def suite_tables(suite: Suite, entries: Sequence[Entry]) -> list[Table]:
    """All tables of a suite.

    Parameters
    ----------
    suite : Suite
    entries : sequence of Entry

    Returns
    -------
    list of Table
        Scores and times as the suite asks, each protocol by itself; then what was
        really missing, the settings that oracles chose and the runs without a result,
        where there are any.
    """
    tables = []
    shuffled = [e for e in entries if e.record.spec.row_order == "shuffled"]
    for kind in suite.tables:
        if kind == "order":
            tables += [order_table(suite, entries, metric) for metric in suite.metrics]
        for part, own in _by_protocol(suite, shuffled):
            if kind == "scores":
                tables += [score_table(part, own, metric) for metric in suite.metrics]
            elif kind == "time":
                tables.append(time_table(part, own))
    extra = [mask_table(suite, entries), failure_table(suite, entries)]
    if "scores" in suite.tables:
        extra.insert(1, settings_table(suite, entries))
    return tables + [table for table in extra if table.rows]


def _by_protocol(
    suite: Suite, entries: Sequence[Entry]
) -> list[tuple[Suite, list[Entry]]]:
    """The entries of each protocol; sets that are incomplete by nature go with all."""
    found = dict.fromkeys(entry.record.spec.protocol for entry in entries)
    names = [name for name in found if name != AS_IT_IS] or list(found)
    if len(names) < 2:
        return [(suite, list(entries))]
    return [
        (
            replace(
                suite, name=f"{suite.name}-{name}", title=f"{suite.title} ({name})"
            ),
            [e for e in entries if e.record.spec.protocol in (name, AS_IT_IS)],
        )
        for name in names
    ]


def order_table(suite: Suite, entries: Sequence[Entry], metric: str) -> Table:
    """What each method gains from rows that are sorted by class, in per cent."""
    columns = {
        order: summarize(
            [e for e in entries if e.record.spec.row_order == order], metric
        )
        for order in ROW_ORDERS
    }
    rows = []
    for dataset, label in _places(suite, entries):
        shuffled, by_class = (columns[o].get((dataset, label)) for o in ROW_ORDERS)
        gain = None if shuffled is None else shuffled.mean
        rows.append(
            (
                _named(suite, dataset),
                label,
                _number(shuffled, "{:.2f}", 100),
                _number(by_class, "{:.2f}", 100),
                _difference(by_class, gain),
            )
        )
    heads = ("dataset", "method", "shuffled", "sorted by class", "gain")
    title = f"{suite.title}: {METRIC_NAMES[metric]} (%)"
    notes = (
        "The same samples, masks and seeds; only the order of the rows differs. A gain "
        "beyond the spread is information about the labels that a user does not have.",
        *_notes(suite, entries, ["default"], columns.values(), False),
    )
    return Table(f"{suite.name}-order-{metric}", title, heads, tuple(rows), notes)


def mask_table(suite: Suite, entries: Iterable[Entry]) -> Table:
    """What was really missing, beside the nominal rate."""
    rows = [
        (
            _named(suite, dataset),
            protocol,
            "–" if protocol == AS_IT_IS else f"{rate:g}",
            _percent([record.missing_share for record in records]),
            _percent([record.complete_share for record in records]),
        )
        for (dataset, protocol, rate), records in _by_mask(entries).items()
    ]
    heads = ("dataset", "protocol", "rate", "missing entries", "complete samples")
    title = f"{suite.title}: what was missing (%)"
    notes = (
        "Measured on the masks. An entry is a sample in a view; what the nominal rate "
        "is the rate of depends on the protocol.",
    )
    return Table(f"{suite.name}-masks", title, heads, tuple(rows), notes)


def _by_mask(entries: Iterable[Entry]) -> dict[tuple[str, str, float], list[Record]]:
    """The records that know their mask, by dataset, protocol and rate."""
    found: dict[tuple[str, str, float], list[Record]] = {}
    for entry in entries:
        record = entry.record
        if not isnan(record.missing_share):
            spec = record.spec
            place = (spec.dataset, spec.protocol, spec.rate)
            found.setdefault(place, []).append(record)
    return found


def _percent(shares: Sequence[float]) -> str:
    """A share in per cent, or its range where draws differ."""
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return low if low == high else f"{low}–{high}"


def score_table(suite: Suite, entries: Sequence[Entry], metric: str) -> Table:
    """One score of all methods on all datasets, in per cent.

    Parameters
    ----------
    suite : Suite
    entries : sequence of Entry
        All of the suite.
    metric : str

    Returns
    -------
    Table
        Per selection one column; "paper" is the published mean over nine rates and
        "diff." what the first oracle column is above it.
    """
    columns = selections_of(entries)
    cells = {how: summarize(select(entries, how), metric) for how in columns}
    # Ablations have labels of their own, which the paper gives no numbers for.
    known_to_paper = {m.label for m in suite.methods} & {m.name for m in suite.methods}
    with_paper = metric in _PUBLISHED_AS and "rise" in known_to_paper
    rows = []
    for dataset, label in _places(suite, entries):
        found = [cells[how].get((dataset, label)) for how in columns]
        row = [_named(suite, dataset), label]
        row += [_number(cell, "{:.2f}", 100, suite.rates) for cell in found]
        if with_paper:
            paper = _paper(suite, dataset, label, _PUBLISHED_AS[metric])
            row.append("–" if paper is None else f"{100 * paper:.2f}")
            row += [_difference(cell, paper) for cell in found]
        rows.append(tuple(row))
    names = [COLUMN_NAMES[how] for how in columns]
    heads = ["dataset", "method", *names]
    if with_paper:
        heads += ["paper", *(f"{name} − paper" for name in names)]
    title = f"{suite.title}: {METRIC_NAMES[metric]} (%)"
    notes = _notes(suite, entries, columns, cells.values(), with_paper)
    return Table(f"{suite.name}-{metric}", title, tuple(heads), tuple(rows), notes)


def time_table(suite: Suite, entries: Sequence[Entry]) -> Table:
    """Seconds and peak memory of fits at default settings, beside published seconds."""
    chosen = select(entries, "default")
    seconds = summarize(chosen, own_seconds)
    memory = summarize(chosen, lambda record: record.peak_memory / 1e6)
    rows = []
    for dataset, label in _places(suite, chosen):
        cell = seconds[dataset, label]
        paper = _paper(suite, dataset, label, "seconds")
        rows.append(
            (
                _named(suite, dataset),
                label,
                _number(cell, "{:.3g}"),
                _number(memory[dataset, label], "{:.0f}"),
                "–" if paper is None else f"{paper:g}",
                "" if paper is None or isnan(cell.mean) else f"{cell.mean / paper:.2g}",
            )
        )
    heads = ("dataset", "method", "seconds", "peak MB", "paper, seconds", "ratio")
    notes = (
        "Seconds of whole fits, each timed by itself; published ones are of another "
        "machine and leave out anchors and graphs for RISE.",
        *_notes(suite, chosen, ["default"], [seconds], True),
    )
    return Table(
        f"{suite.name}-time", f"{suite.title}: seconds", heads, tuple(rows), notes
    )


def settings_table(suite: Suite, entries: Sequence[Entry]) -> Table:
    """Which settings the oracles chose."""
    rows = []
    for how in ("oracle-per-rate", "oracle-one"):
        for place, found in chosen_settings(select(entries, how)).items():
            dataset, label, rate = place
            for parameters in found:
                text = json.dumps(parameters, sort_keys=True)[1:-1].replace('"', "")
                text = text or "the defaults"
                rows.append((dataset, label, COLUMN_NAMES[how], f"{rate:g}", text))
    heads = ("dataset", "method", "selection", "rate", "setting")
    title = f"{suite.title}: settings chosen by looking at labels"
    return Table(f"{suite.name}-settings", title, heads, tuple(rows))


def failure_table(suite: Suite, entries: Iterable[Entry]) -> Table:
    """Runs that did not end well, counted by reason."""
    # The default setting stands in the grid too: a run counts once.
    failed = {
        (e.label, e.record.spec.key): e.record for e in entries if not e.record.ok
    }
    counts = Counter(
        (record.spec.dataset, label, record.status, record.reason)
        for (label, _), record in failed.items()
    )
    rows = [(*key, str(count)) for key, count in counts.items()]
    heads = ("dataset", "method", "status", "reason", "runs")
    title = f"{suite.title}: runs without a result"
    return Table(f"{suite.name}-failures", title, heads, tuple(rows))


def ranks_tables(suite: Suite, entries: Sequence[Entry]) -> list[Table]:
    """Mean ranks by ACC and paired tests, one table per selection.

    Methods without a result on some dataset are left out.
    """
    tables = []
    for how in selections_of(entries):
        ranking = ranking_of(entries, "acc", how)
        if ranking is None:
            continue
        rows = []
        for label, rank in zip(ranking.labels, ranking.ranks):
            p = ranking.wilcoxon_p.get(label)  # the best method has none
            rows.append((label, f"{rank:.2f}", "" if p is None else f"{p:.2g}"))
        notes = (
            f"{ranking.n_datasets} datasets; Friedman p = {ranking.friedman_p:.2g}; "
            f"Nemenyi critical difference {ranking.critical_difference:.2f} (5 %). "
            f"Wilcoxon: best method against this one, corrected by Holm; before "
            f"correction it cannot be below {2 / 2**ranking.n_datasets:.2g} here.",
        )
        heads = ("method", "mean rank", "Wilcoxon p")
        title = f"{suite.title}: mean ranks by ACC ({COLUMN_NAMES[how]})"
        name = f"{suite.name}-ranks-{how}"
        tables.append(Table(name, title, heads, tuple(rows), notes))
    return tables


def ranking_of(
    entries: Sequence[Entry], metric: str = "acc", how: str = "default"
) -> Ranking | None:
    """Rank the methods that have a result on every dataset; None if too few do."""
    cells = summarize(select(entries, how), metric)
    datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
    found = {place for place, cell in cells.items() if not isnan(cell.mean)}
    labels = [
        label
        for label in labels_of(entries)
        if all((dataset, label) in found for dataset in datasets)
    ]
    if len(datasets) < 2 or len(labels) < 2:
        return None
    scores = [[cells[dataset, label].mean for label in labels] for dataset in datasets]
    return rank_methods(scores, labels)


def labels_of(entries: Iterable[Entry]) -> list[str]:
    """The methods by label, in order of appearance."""
    return list(dict.fromkeys(entry.label for entry in entries))


def selections_of(entries: Sequence[Entry]) -> list[str]:
    """The columns there is something to show in."""
    roles = {entry.role for entry in entries}
    seeds = {entry.record.spec.seed for entry in entries}
    return [
        how
        for how in SELECTIONS
        if ("default" if how == "default" else "grid") in roles
        and (not how.endswith("-draw") or len(seeds) > 1)
    ]


def _places(suite: Suite, entries: Iterable[Entry]) -> list[tuple[str, str]]:
    there = {(entry.record.spec.dataset, entry.label) for entry in entries}
    return [
        (dataset, method.label)
        for dataset in suite.datasets
        for method in suite.methods
        if (dataset, method.label) in there
    ]


def _paper(suite: Suite, dataset: str, label: str, what: str) -> float | None:
    method = {m.label: m.name for m in suite.methods}[label]
    row = published().get((suite.stands_for.get(dataset, dataset), method))
    return getattr(row, what) if row else None


def _named(suite: Suite, dataset: str) -> str:
    return f"{dataset}†" if dataset in suite.stands_for else dataset


def _lacks_rates(cell: Cell, rates: Sequence[float]) -> bool:
    """Whether a mean is over some of the rates only; rate 0 is a set as it is."""
    return bool(cell.ok) and cell.rates != (0.0,) and not {*rates} <= {*cell.rates}


def _number(
    cell: Cell | None, form: str, factor: float = 1, rates: Sequence[float] = ()
) -> str:
    """Mean and deviation; starred if runs failed or some of ``rates`` are missing."""
    if cell is None:
        return ""
    if isnan(cell.mean):
        return f"– ({cell.why})" if cell.why else ""
    text = form.format(factor * cell.mean)
    if not isnan(cell.sd):
        text += " ± " + form.format(factor * cell.sd)
    return text + ("*" if cell.ok < cell.n or _lacks_rates(cell, rates) else "")


def _difference(cell: Cell | None, paper: float | None) -> str:
    if cell is None or paper is None or isnan(cell.mean):
        return ""
    return f"{100 * (cell.mean - paper):+.2f}".replace("-", "−")


def _measured(entries: Iterable[Entry]) -> list[str]:
    """One note that states what was missing beside the nominal rates."""
    by_rate: dict[tuple[str, float], list[Record]] = {}
    for (_, protocol, rate), records in _by_mask(entries).items():
        by_rate.setdefault((protocol, rate), []).extend(records)
    told = [
        f"{protocol}{'' if protocol == AS_IT_IS else f' {rate:g}'}: "
        f"{_percent([r.missing_share for r in records])} % of the entries missing, "
        f"{_percent([r.complete_share for r in records])} % of the samples complete"
        for (protocol, rate), records in sorted(by_rate.items())
    ]
    return [f"Measured: {'; '.join(told)}."] if told else []


def _notes(
    suite: Suite,
    entries: Sequence[Entry],
    columns: Sequence[str],
    tables: Iterable[Mapping[tuple, Cell]],
    with_paper: bool,
) -> tuple[str, ...]:
    specs = [entry.record.spec for entry in entries]
    rates = sorted({spec.rate for spec in specs})
    masks, seeds = {s.mask_seed for s in specs}, {s.seed for s in specs}
    notes = [
        f"Mean over missing rates {', '.join(f'{r:g}' for r in rates)}; ± standard "
        f"deviation over {len(masks)} masks x {len(seeds)} anchor seeds."
    ]
    notes += _measured(entries)
    if any(how != "default" for how in columns):
        notes.append("Oracle columns choose settings by looking at the labels (ACC).")
    if with_paper:
        notes.append(f"Paper: {CITATION}.")
    if any(spec.dataset in suite.stands_for for spec in specs):
        notes.append("† same samples as the published set, other features.")
    cells = [cell for table in tables for cell in table.values()]
    if any(0 < c.ok < c.n or _lacks_rates(c, suite.rates) for c in cells):
        notes.append("* some runs have no result and are left out of the mean.")
    signs = sorted({cell.why for cell in cells if cell.why})
    if signs:
        why = ", ".join(f"({sign}) {_NAMES_OF_SIGNS[sign]}" for sign in signs)
        notes.append(f"– no result: {why}.")
    return tuple(notes)
