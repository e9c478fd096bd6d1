"""The leaderboard as CSV and Markdown."""

from collections.abc import Iterable
from math import inf, isnan

from imvc.experiments import Ranking
from imvc.experiments._suite import PAIRED_SHARE
from imvc.report.leaderboard_page._board import LEAKAGE, Board
from imvc.report.suite_page._suite_tables import METRIC_NAMES, mask_table
from imvc.report.suite_page._text_table import Table

_MIDDLE = 0.5  # the rate at which protocols are set beside each other
LAST_RANK = (
    "Ranks and pairs use only the masks that all these methods were run on. A run "
    "without a result counts as 0 there; a method without any on a dataset shares the "
    "last rank there."
)


def board_csv(board: Board) -> dict[str, str]:
    """Name of each file to its content: runs, scores, ranks, pairs."""
    tables = {
        "runs": _runs(board),
        "scores": _scores(board),
        "ranks": _ranks(board),
        "pairs": _pairs(board),
    }
    return {name: table.to_csv() for name, table in tables.items()}


def board_markdown(board: Board) -> str:
    """The main tables: by dataset, protocol and rate; ranks; the best; seconds."""
    metric = board.metrics[0] if board.metrics else "acc"
    tables = [_by_dataset(board, metric)]
    middle = [mask for mask in board.masks if mask[1] == _MIDDLE]
    paired = [mask for mask in board.masks if mask[0] == PAIRED_SHARE]
    tables += [
        _by_mask(board, metric, middle, f"protocols at rate {_MIDDLE:g}"),
        _by_mask(board, metric, paired, f"{PAIRED_SHARE} over rates"),
        _of_best(board, metric),
        _seconds(board),
        mask_table(board.suite, board.entries),
    ]
    told = "".join(f"\n{line}\n" for line in what_was_run(board))
    parts = [f"## {table.title}\n\n{table.to_markdown()}\n" for table in tables]
    return "\n".join([f"# {board.suite.title}\n{told}", *parts])


def what_was_run(board: Board) -> list[str]:
    """Runs, limits, versions and machines, in sentences."""
    suite, records = board.suite, [entry.record for entry in board.entries]
    bad = sum(not record.ok for record in records)
    told = [
        f"{len(records)} runs of {len(board.methods)} methods on {len(board.datasets)} "
        f"datasets (size {suite.size}), {bad} of them without a result; "
        f"{board.pending} runs are not recorded yet. Default settings only; no label "
        f"was looked at before the scores. Rows are shuffled before every run."
    ]
    limits = [
        f"{value:g} {unit}"
        for value, unit in ((suite.time_limit, "s"), (suite.memory_limit, "GB"))
        if value
    ]
    if limits:
        told.append(
            f"Limits per run: {' and '.join(limits)}, unless the command set others."
        )
    machines: dict[str, None] = {}
    for record in records:
        about = record.machine
        versions = ", ".join(f"{k} {v}" for k, v in about.get("versions", {}).items())
        text = (
            f"{about.get('processor', 'unknown processor')}, {about.get('cores', '?')} "
            f"cores, {about.get('system', '')} with Python {about.get('python', '?')}; "
            f"{versions or 'versions unknown'}."
        )
        machines[text] = None
    return [*told, *(f"Run on {text}" for text in machines)]


def _runs(board: Board) -> Table:
    heads = (
        *("dataset", "kind", "method", "protocol", "rate", "missing_share"),
        *("complete_share", "mask_seed", "seed", "status", "reason"),
        *(*board.metrics, LEAKAGE, "seconds", "processor_seconds", "peak_bytes"),
    )
    rows = []
    for label, _, record in board.entries:
        spec = record.spec
        place = (spec.dataset, board.kind(spec.dataset), label, spec.protocol)
        shares = (record.missing_share, record.complete_share)
        numbers = [record.scores.get(name) for name in (*board.metrics, LEAKAGE)]
        numbers += [record.seconds.get(name) for name in ("total", "processor")]
        rows.append(
            (
                *place,
                *_texts([spec.rate, *shares]),
                *map(str, (spec.mask_seed, spec.seed, record.status, record.reason)),
                *_texts(numbers),
                str(record.peak_memory),
            )
        )
    return Table("runs", "", heads, tuple(rows))


def _choices(board: Board) -> list[tuple[str, str, Board]]:
    """All runs, then those of each mask."""
    parts = [(name, f"{rate:g}", board.pick(name, rate)) for name, rate in board.masks]
    return [("all", "all", board), *parts]


def _scores(board: Board) -> Table:
    heads = ["protocol", "rate", "dataset", "kind", "method", "runs", "ok"]
    heads += [f"{name}_{what}" for name in board.metrics for what in ("mean", "sd")]
    rows = []
    for protocol, rate, part in _choices(board):
        cells = [part.cells(name) for name in board.metrics]
        for dataset, method in cells[0] if cells else ():
            own = [found[dataset, method] for found in cells]
            place = (protocol, rate, dataset, board.kind(dataset), method)
            numbers = [number for cell in own for number in (cell.mean, cell.sd)]
            counts = (str(own[0].n), str(own[0].ok))
            rows.append((*place, *counts, *_texts([*numbers])))
    return Table("scores", "", tuple(heads), tuple(rows))


def _ranks(board: Board) -> Table:
    heads = (
        *("protocol", "rate", "score", "method", "mean_rank", "datasets"),
        *("friedman_p", "critical_difference", "wilcoxon_p_against_best"),
    )
    rows = []
    for protocol, rate, part in _choices(board):
        for metric in board.metrics:
            ranking = part.ranking(metric)
            if ranking is None:
                continue
            tests = (ranking.friedman_p, ranking.critical_difference)
            for method, rank in _ranked(ranking):
                p = ranking.wilcoxon_p.get(method)
                place = (protocol, rate, metric, method)
                numbers = _texts([rank, ranking.n_datasets, *tests, p])
                rows.append((*place, *numbers))
    return Table("ranks", "", heads, tuple(rows))


def _ranked(ranking: Ranking | None) -> list[tuple[str, float]]:
    return list(zip(ranking.labels, ranking.ranks)) if ranking else []


def _pairs(board: Board) -> Table:
    heads = ("score", "first", "second", "wins", "ties", "losses", "better", "equal")
    rows = [
        (
            *(metric, pair.first, pair.second),
            *map(str, (pair.wins, pair.ties, pair.losses)),
            *_texts([pair.better, pair.equal, pair.worse]),
        )
        for metric in board.metrics
        for pair in board.pairs(metric)
    ]
    return Table("pairs", "", (*heads, "worse"), tuple(rows))


def _by_dataset(board: Board, metric: str) -> Table:
    cells, ranking = board.cells(metric), board.ranking(metric)
    most = {d: max(c.n for (own, _), c in cells.items() if own == d) for d, _ in cells}
    ranks = dict(_ranked(ranking)) or dict.fromkeys(_best_first(board, metric))
    rows = []
    for method in ranks:
        row = [method, _rank(ranks[method])]
        for dataset in board.datasets:
            cell = cells.get((dataset, method))
            if cell is None:
                row.append("")
            elif not cell.ok:
                row.append(f"– ({cell.why})")
            else:
                star = "*" if cell.ok < most[dataset] else ""
                sd = "" if isnan(cell.sd) else f" ± {100 * cell.sd:.1f}"
                row.append(f"{100 * cell.mean:.1f}{sd}{star}")
        rows.append(tuple(row))
    notes = [
        "Mean over all masks and rates; ± standard deviation over seeds. * some runs "
        "have no result, or were not made, and are left out of the mean. – no result "
        "at all.",
        LAST_RANK,
    ]
    if ranking:
        notes.append(
            f"Friedman p = {ranking.friedman_p:.2g}; critical difference of mean ranks "
            f"(Nemenyi, 5 %): {ranking.critical_difference:.2f}."
        )
    heads = ("method", "mean rank", *board.datasets)
    title = f"{METRIC_NAMES.get(metric, metric)} (%) and mean ranks"
    return Table("by-dataset", title, heads, tuple(rows), tuple(notes))


def _by_mask(
    board: Board, metric: str, masks: list[tuple[str, float]], told: str
) -> Table:
    parts = [board.pick(*mask) for mask in masks]
    ranks = [dict(_ranked(part.ranking(metric))) for part in parts]
    rows = []
    for method in _best_first(board, metric):
        row = [method]
        for part, own in zip(parts, ranks):
            mean, n = part.mean(metric, method)
            star = "*" if n < len(part.datasets) else ""
            rank = f" ({own[method]:.1f})" if method in own else ""
            row.append("–" if isnan(mean) else f"{100 * mean:.1f}{star}{rank}")
        rows.append(tuple(row))
    heads = ("method", *(f"{name} {rate:g}" for name, rate in masks))
    note = (
        "Mean over datasets (mean rank). * without the datasets it has no result on: "
        "compare the ranks, not the means."
    )
    title = f"{METRIC_NAMES.get(metric, metric)} (%): {told}"
    return Table("by-mask", title, heads, tuple(rows), (note,))


def _of_best(board: Board, metric: str) -> Table:
    best = _best_first(board, metric)[0] if board.methods else ""
    ranking = board.ranking(metric)
    rows = [
        (
            pair.second,
            f"{pair.wins} / {pair.ties} / {pair.losses}",
            *(f"{share:.2f}" for share in (pair.better, pair.equal, pair.worse)),
            f"{ranking.wilcoxon_p[pair.second]:.2g}" if ranking else "",
        )
        for pair in board.pairs(metric)
        if pair.first == best
    ]
    heads = ("against", "wins / ties / losses", "P(better)", "P(equal)", "P(worse)")
    notes = (
        "Ties are within one point. Bayesian signed-rank test over datasets, rope "
        "0.01; p of Wilcoxon's test, corrected by Holm.",
    )
    title = f"{best} against the others ({METRIC_NAMES.get(metric, metric)})"
    return Table("best", title, (*heads, "Wilcoxon p"), tuple(rows), notes)


def _seconds(board: Board) -> Table:
    rows = []
    for method in sorted(board.methods, key=board.seconds):
        own = [board.seconds(method, dataset) for dataset in board.datasets]
        texts = ("–" if isnan(value) else f"{value:.3g}" for value in own)
        rows.append((method, *texts))
    heads = ("method", *board.datasets)
    note = "Median of the runs that ended well; time of all threads."
    return Table("seconds", "Processor seconds of a fit", heads, tuple(rows), (note,))


def _best_first(board: Board, metric: str) -> list[str]:
    """Methods by mean rank, or by mean score where one dataset gives no ranks."""
    ranking = board.ranking(metric)
    if ranking:
        return list(ranking.labels)
    means = {method: board.mean(metric, method)[0] for method in board.methods}
    return sorted(means, key=lambda m: -inf if isnan(means[m]) else means[m])[::-1]


def _rank(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _texts(numbers: Iterable[float | None]) -> list[str]:
    """Six digits; nothing where there is no number."""
    return ["" if x is None or isnan(x) else f"{x:.6g}" for x in numbers]
