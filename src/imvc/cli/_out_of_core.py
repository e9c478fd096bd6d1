"""``imvc cluster --out-of-core``: its options, and what it prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from imvc.cli._common import command_line, parameter_values, print_json, print_table
from imvc.cli._inputs import id_columns, names_of

OutOfCore = Annotated[
    bool,
    typer.Option(
        "--out-of-core",
        help="Read by blocks what does not fit into memory: Parquet files or folders "
        "of them, zarr arrays, .npy, .h5ad, .h5mu. Methods bridge and rise.",
    ),
]
MemoryBudget = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="Memory of an out-of-core run, apart from the labels: 512MiB, 4GB.",
    ),
]
SeenMask = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Out of core: .npy or zarr array, a row per sample and a column per "
        "file, False where the sample is missing. Otherwise rows of NaN are missing.",
    ),
]
WorkDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Out of core: where unfinished work is kept, and stays. Otherwise in the "
        "output folder, until the run is finished.",
    ),
]
ResultFormat = Annotated[
    str,
    typer.Option(
        metavar="parquet|zarr|npy|csv",
        help="Out of core: format of labels and embedding.",
    ),
]
_ONLY_OUT_OF_CORE = {"memory_budget", "mask", "work_dir", "result_format"}
_NOT_OUT_OF_CORE = {
    *("non_numeric", "impute", "log1p", "scale", "top_variance", "transpose"),
    *("layer", "metadata", "refits"),
}


def given_options(context: typer.Context) -> Iterator[tuple[str, str]]:
    """Parameter and option of everything that the user gave."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            plain = {"clusters": "-k", "set_": "--set"}
            yield name, plain.get(name, "--" + name.replace("_", "-").rstrip("-"))


def check_options(context: typer.Context) -> None:
    """Refuse options that do not go with the place of the data."""
    for name, option in given_options(context):
        if context.params["out_of_core"]:
            if name in _NOT_OUT_OF_CORE and not (
                name == "refits" and context.params["refits"] == 0
            ):
                raise ValueError(
                    f"{option} needs all samples in memory and cannot stand beside "
                    f"--out-of-core; leave it out, or prepare the files first."
                )
        elif name in _ONLY_OUT_OF_CORE:
            raise ValueError(f"{option} goes with --out-of-core only; add that.")


def refuse_record(record: Any) -> None:
    """Refuse to repeat a run whose files have no checksums."""
    if "out_of_core" in record.content["request"]:
        command = " ".join(record.content.get("command") or ["imvc cluster ..."])
        raise ValueError(
            f"{record.path}: tells of an out-of-core run, which --from does not "
            f"repeat; give its command again with another output folder: {command}"
        )


def cluster_out_of_core(context: typer.Context) -> None:
    """Call the workflow with the options of the command, and print what it found."""
    from imvc import workflow

    given = context.params
    files, jobs = given["files"] or (), given["jobs"]
    run = workflow.cluster_out_of_core(
        workflow.BlockFiles(
            paths=[os.fspath(path) for path in files],
            names=names_of(given["name"], files),
            id_columns=id_columns(given["id"], files, given["name"]),
            mask=given["mask"],
        ),
        given["output"],
        n_clusters=given["clusters"],
        method=given["method"],
        parameters=parameter_values(given["set_"]) | ({"n_jobs": jobs} if jobs else {}),
        random_state=given["seed"],
        memory_budget=given["memory_budget"],
        work_dir=given["work_dir"],
        result_format=given["result_format"],
        overwrite=given["overwrite"],
        verbose=0 if given["quiet"] else 1,
        command=command_line(context),
        progress=None if given["quiet"] else _told_in_lines(),
    )
    if given["json"]:
        print_json(
            {
                **run.summary,
                "folder": str(given["output"]),
                "files": {name: str(path) for name, path in run.written.items()},
                "notes": list(run.notes),
                "warnings": list(run.warnings),
                "seconds": run.seconds,
            }
        )
    else:
        _tell(run)


def _told_in_lines() -> Callable[[Any], None]:
    """Messages and new stages as lines on stderr, beside the fit's own bar."""
    told = set()

    def tell(state: Any) -> None:
        text = state.message or state.stage
        if state.message or text not in told:
            told.add(text)
            typer.echo(text, err=True)

    return tell


def _tell(run: Any) -> None:
    found = run.summary
    rows = [
        [str(c), str(size), f"{size / found['n_samples']:.0%}"]
        for c, size in enumerate(found["sizes"])
    ]
    print_table("", ["cluster", "samples", "share"], rows)
    if found["suggested"]:
        typer.echo(
            f"{found['n_clusters']} clusters were suggested by the stability curve; "
            f"the evidence is {found['evidence']}."
        )
    typer.echo("wrote " + ", ".join(sorted(run.written)))
    labels = next(path for name, path in run.written.items() if "labels" in name)
    typer.echo(str(labels))
