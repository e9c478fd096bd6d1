"""What the rounds of soak.py come to: slopes and intervals, a table, problems."""

import numpy as np

from common import table

WARM_UP = 0.1  # share of the rounds that is left out, and at least FEWEST
FEWEST = 5
POINTS = 60  # medians of as many stretches of rounds
TOLERANCE = 0.2  # MB of allocated memory per 100 rounds
SLACK = 2  # handles and threads: connections of a pool come and go
MEASURED = ("allocated", "rss", "uss", "handles", "threads")


def report(records):
    """Markdown: a row for every process, then what is there once, then problems."""
    if not records:
        return "no rounds"
    counted = after_warm_up(records)
    header = ["process", "RSS MB first", "last", "allocated MB per hour (95 %)"]
    header += [f"{x} MB per 100 rounds (95 %)" for x in ("allocated", "RSS", "USS")]
    header += ["handles", "threads"]
    rows = [[x, *cells(counted, x)] for x in counted[0]["processes"]] if counted else []
    fits = {name for record in records for name in record["labels"]}
    changed = changed_labels(records)
    facts = [
        f"{len(records)} rounds in {records[-1]['at'] / 60:.1f} minutes, of which the "
        f"first {len(records) - len(counted)} are left out of the table",
        f"labels of {len(fits)} fits: " + ("changed" if changed else "always the same"),
        f"temporary files: {span(x['temporary'] for x in counted)}",
        f"child processes: {span(x['children'] for x in counted)}",
        f"before garbage collection, temporary files: "
        f"{span(x['uncollected'][0] for x in counted)}, handles: "
        f"{span(x['uncollected'][1] for x in counted)}",
    ]
    found = problems(records)
    told = [f"- {x}" for x in [*facts, *(found or ["no problems"])]]
    return "\n".join(["", table(header, rows), "", *told])


def cells(counted, name):
    """What the table tells of one process."""
    series = {x: [r["processes"][name][x] for r in counted] for x in MEASURED}
    hours = [r["at"] / 3600 for r in counted]
    hundreds = [r["round"] / 100 for r in counted]
    first, last = ends(series["rss"])
    slopes = [(hours, "allocated")]
    slopes += [(hundreds, x) for x in ("allocated", "rss", "uss")]
    told = ["{:.2f} ({:.2f} to {:.2f})".format(*slope(x, series[y])) for x, y in slopes]
    counts = [span(series["handles"]), span(series["threads"])]
    return [f"{first:.1f}", f"{last:.1f}", *told, *counts]


def problems(records):
    """Sentences about what must not be."""
    found = [f"no round was counted: {len(records)} rounds"]
    if counted := after_warm_up(records):
        found = [*grown_memory(counted), *grown_counts(counted)]
    for name, turns in changed_labels(records).items():
        found.append(f"labels of {name} changed in rounds {turns[:5]} ({len(turns)})")
    failed = [(x["round"], why) for x in records for why in x["failures"]]
    if failed:
        found.append(f"{len(failed)} failures, the first in round {failed[0]}")
    return found


def grown_memory(counted):
    hundreds = [r["round"] / 100 for r in counted]
    for name in counted[0]["processes"]:
        # What is resident also depends on where the allocator finds room.
        series = [r["processes"][name]["allocated"] for r in counted]
        _, low, _ = slope(hundreds, series)
        if low > TOLERANCE:
            yield f"memory of {name} grows by at least {low:.2f} MB per 100 rounds"


def grown_counts(counted):
    """Numbers that are higher at the end than at the beginning."""
    series = {x: ([r[x] for r in counted], 0) for x in ("temporary", "children")}
    for name in counted[0]["processes"]:
        for kind in ("handles", "threads"):
            own = [r["processes"][name][kind] for r in counted]
            series[f"{kind} of {name}"] = own, SLACK
    for name, (own, slack) in series.items():
        first, last = ends(own)
        if last > first + slack:
            yield f"{name} grew from {first:g} to {last:g}"


def changed_labels(records):
    """By the name of a fit the rounds in which its labels were not its first ones."""
    first, changed = {}, {}
    for record in records:
        for name, digest in record["labels"].items():
            if first.setdefault(name, digest) != digest:
                changed.setdefault(name, []).append(record["round"])
    return changed


def after_warm_up(records):
    """Rounds that were measured whole, without the first ones."""
    skipped = max(FEWEST, round(WARM_UP * len(records)))
    return [x for x in records[skipped:] if "processes" in x]


def ends(series):
    """Medians of the first and the last tenth."""
    size = max(1, len(series) // 10)
    return float(np.median(series[:size])), float(np.median(series[-size:]))


def span(numbers):
    """Least and largest as text."""
    numbers = sorted(numbers)
    if not numbers:
        return "-"
    low, high = numbers[0], numbers[-1]
    return str(low) if low == high else f"{low} to {high}"


def slope(x, y, draws=1000):
    """Theil-Sen slope, and the ends of its 95 % interval.

    Of the medians of short stretches of rounds, so that one high reading does not
    count. Memory wanders, so neighbouring residuals are alike: the interval is that of
    a bootstrap which draws them by blocks, a tenth of the points long.
    """
    x, y = (stretches(numbers) for numbers in (x, y))
    n = len(x)
    if n < 3:
        return np.nan, np.nan, np.nan
    middle = theil_sen(x, y[None])[0]
    fitted = np.median(y - middle * x) + middle * x
    length, rng = max(2, n // 10), np.random.default_rng(0)
    starts = rng.integers(n, size=(draws, -(-n // length), 1))
    drawn = (starts + np.arange(length)).reshape(draws, -1)[:, :n] % n
    slopes = theil_sen(x, fitted + (y - fitted)[drawn])
    return middle, *np.quantile(slopes, [0.025, 0.975])


def stretches(numbers):
    """Medians of at most POINTS stretches."""
    parts = np.array_split(numbers, min(POINTS, len(numbers)))
    return np.array([np.median(part) for part in parts])


def theil_sen(x, Y):
    """Median of the slopes of all pairs of points, for every row of Y."""
    i, j = np.triu_indices(len(x), 1)
    return np.median((Y[:, j] - Y[:, i]) / (x[j] - x[i]), axis=1)
