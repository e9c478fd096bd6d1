"""``imvc reproduce``: the experiments of the paper, or one's own."""

import os
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from imvc.cli._option_texts import names, numbers
from imvc.cli._options import PrintJson
from imvc.cli._printing import clock, print_json, print_table
from imvc.cli._progress_bars import progress_bar

EXAMPLES = (
    "imvc reproduce table2 --data DATA --dry-run",
    "imvc reproduce table2 --data DATA --jobs 2 -o report",
    "imvc reproduce my_suite.toml --methods rise,bridge --rates 0.3,0.5",
    "imvc reproduce leaderboard --with imml=ENV/bin/python --method my.py:Mine",
)


def reproduce(
    suites: Annotated[
        list[str] | None,
        typer.Argument(help="Suites by name or .toml file; all of them if none."),
    ] = None,
    size: Annotated[str, typer.Option(help="quick or full.")] = "quick",
    data: Annotated[
        Path | None, typer.Option(help="Folder of datasets; else $IMVC_DATA.")
    ] = None,
    records: Annotated[
        Path, typer.Option(help="Records file; runs in it are not done again.")
    ] = Path("records.sqlite"),
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds per run.")
    ] = None,
    memory_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Gigabytes per run.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these, separated by commas.")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these, separated by commas.")
    ] = None,
    rates: Annotated[
        str | None, typer.Option(help="Only these missing rates, with commas.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Only these anchor seeds, with commas.")
    ] = None,
    mask_seeds: Annotated[
        str | None, typer.Option(help="Only these mask seeds, with commas.")
    ] = None,
    protocols: Annotated[
        str | None, typer.Option(help="Only these mask protocols, with commas.")
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME[=PYTHON]",
            help="Also run the methods of this adapter (imml, mofa, or a .toml file), "
            "in that Python or environment.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py:CLASS", help="Also run this estimator of one's own."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the report to this folder."),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Do runs without a result once more.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many runs and how long.")
    ] = False,
    json: PrintJson = False,
) -> None:
    """Run suites of experiments into a records file; the same command resumes.

    Ends with code 1 if a run failed. Runs out of time or memory are results, like the
    "-" in published tables; so are failures of other programs (--with).
    """
    from imvc._files import check_folder
    from imvc.experiments import (
        RecordStore,
        find_rivals,
        list_suites,
        load_suite,
        own_method,
        plan_suite,
    )

    if output is not None:
        check_folder(output)
    outsiders: list[Any] = [
        *(rival for text in with_ or () for rival in find_rivals(text)),
        *(own_method(text) for text in method or ()),
    ]
    plans = [
        plan_suite(
            load_suite(suite, size),
            data_home=data,
            methods=names(methods),
            datasets=names(datasets),
            rates=numbers(rates, "--rates", float),
            seeds=numbers(seeds, "--seeds", int),
            mask_seeds=numbers(mask_seeds, "--mask-seeds", int),
            protocols=names(protocols),
            outsiders=outsiders,
        )
        for suite in suites or list_suites()
    ]
    absent = {name: why for plan in plans for name, why in plan.absent.items()}
    for name, why in absent.items():
        lacking = [plan.suite.name for plan in plans if name in plan.absent]
        told = f"{name} {why}, left out of {', '.join(lacking)}"
        typer.echo(told, err=True)
    if not any(plan.runs for plan in plans):
        raise ValueError(
            "none of the datasets is there; name their folder with --data or in "
            "IMVC_DATA (imvc data list shows what is looked for)."
        )
    limits = {"time_limit": time_limit, "memory_limit": memory_limit}
    if dry_run:
        _forecast(plans, records, jobs, time_limit, json)
        return
    with RecordStore(records) as store:
        results = [_run(plan, store, jobs, limits, data, retry) for plan in plans]
        failed = any(_own_failures(plan, store) for plan in plans)
    page = None
    if output is not None:
        from imvc.report import write_report

        page = write_report(records, output, suites=[p.suite.name for p in plans])
    _tell(results, records, page, json)
    if failed:
        raise typer.Exit(1)


def _run(plan, store, jobs, limits, data, retry) -> dict[str, Any]:
    from imvc.experiments import STATUSES, run_plan

    if retry:
        store.forget(run.spec.key for run in plan.runs)
    with progress_bar(plan.suite.name) as tell:
        state = run_plan(
            plan, store, jobs=jobs, data_home=data, progress=tell, **limits
        )
    own = {run.spec.key for run in plan.runs}
    entries = store.entries(plan.suite.name, plan.suite.size)
    found = {e.record.spec.key: e for e in entries if e.record.spec.key in own}
    counts = [entry.record.status for entry in found.values()]
    failed = [e for e in found.values() if e.record.status == "failed"]
    for (label, reason), count in Counter(
        (e.label, " ".join(e.record.reason.split())) for e in failed
    ).items():
        runs = "one run" if count == 1 else f"{count} runs"
        typer.echo(f"{label} failed in {runs}: {reason}", err=True)
    return {
        "suite": plan.suite.name,
        "size": plan.suite.size,
        "runs": state.runs,
        "elsewhere": state.runs - state.done,
        **{status: counts.count(status) for status in STATUSES},
    }


def _own_failures(plan, store) -> bool:
    """Whether a run failed that was not that of another program."""
    own = {run.spec.key for run in plan.runs if not run.spec.is_rival}
    entries = store.entries(plan.suite.name, plan.suite.size)
    return any(
        e.record.status == "failed" and e.record.spec.key in own for e in entries
    )


def _forecast(plans, records: Path, jobs: int, limit, json: bool) -> None:
    from imvc.experiments import RecordStore, estimate_plan

    with RecordStore(records) if records.exists() else nullcontext() as store:
        found = [
            estimate_plan(plan, store, jobs=jobs, time_limit=limit) for plan in plans
        ]
    if json:
        print_json(
            [
                {"suite": p.suite.name, "size": p.suite.size, **vars(e)}
                for p, e in zip(plans, found)
            ]
        )
        return
    rows = [
        [
            plan.suite.name,
            str(guess.runs),
            str(guess.done),
            clock(guess.seconds),
            f"{guess.measured:.0%}",
        ]
        for plan, guess in zip(plans, found)
    ]
    total = clock(sum(guess.seconds for guess in found))
    heads = ["suite", "runs", "done", "time left", "from own timings"]
    print_table(f"about {total} on {jobs} of {os.cpu_count()} cores", heads, rows)


def _tell(results, records: Path, page: Path | None, json: bool) -> None:
    if json:
        print_json(
            {
                "records": str(records),
                "report": str(page) if page else None,
                "suites": results,
            }
        )
        return
    rows = [[str(value) for value in result.values()] for result in results]
    print_table("", list(results[0]), rows)
    typer.echo(f"records: {records}")
    if page:
        typer.echo(f"report: {page}")
    else:
        typer.echo(f"tables and figures: imvc report {records} --output report")
