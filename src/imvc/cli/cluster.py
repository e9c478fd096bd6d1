"""``imvc cluster``: labels, embedding, model and report from files of views."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from imvc.cli._common import (
    Json,
    Method,
    Quiet,
    Set,
    command_line,
    examples,
    parameter_values,
    print_json,
    print_table,
)
from imvc.cli._inputs import (
    KINDS,
    Id,
    Impute,
    Layer,
    Log1p,
    Metadata,
    Name,
    NonNumeric,
    Scale,
    TopVariance,
    Transpose,
    input_files,
)
from imvc.cli._out_of_core import (
    MemoryBudget,
    OutOfCore,
    ResultFormat,
    SeenMask,
    WorkDir,
    check_options,
    cluster_out_of_core,
    given_options,
    refuse_record,
)
from imvc.cli._progress import stage_progress

ORDER = 2
# What may stand beside --from; everything else comes from the run.json.
_BESIDE_FROM = {
    "files",
    "from_",
    "output",
    "no_report",
    "overwrite",
    "force",
    "jobs",
    "json",
    "quiet",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "imvc cluster rna.csv protein.csv clinical.csv -o out",
            "imvc cluster rna.csv protein.csv -k 4 --log1p rna --top-variance rna=2000",
            "imvc cluster study.h5mu -k 6 --method rise --set beta=10 -o out",
            "imvc cluster --from out/run.json -o again",
            "imvc cluster rna.zarr atac.zarr --mask seen.npy -k 20 --out-of-core",
        )
    )(cluster)


def cluster(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help=f"One file per view, joined by sample id: {KINDS}.",
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters",
            "-k",
            min=2,
            metavar="INT",
            help="Number of clusters. Without it a number is suggested.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")
    ] = Path("imvc_output"),
    method: Method = "bridge",
    set_: Set = None,
    id: Id = None,
    name: Name = None,
    non_numeric: NonNumeric = "drop",
    impute: Impute = False,
    log1p: Log1p = None,
    scale: Scale = None,
    top_variance: TopVariance = None,
    transpose: Transpose = None,
    layer: Layer = None,
    metadata: Metadata = None,
    seed: Annotated[int, typer.Option(min=0, metavar="INT", help="Random seed.")] = 0,
    refits: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="INT",
            help="Fits with other seeds, which tell how stable each sample's cluster "
            "is; 0 saves their time.",
        ),
    ] = 4,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="INT",
            help="Threads; all cores if not given.",
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN.JSON",
            help="Repeat this run: same files, options and seed.",
        ),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no report.html.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the files of an earlier run.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Try what the estimate says cannot fit; with --from, repeat with "
            "files that have changed.",
        ),
    ] = False,
    out_of_core: OutOfCore = False,
    memory_budget: MemoryBudget = "1GiB",
    mask: SeenMask = None,
    work_dir: WorkDir = None,
    result_format: ResultFormat = "parquet",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster samples described by several files, many of them missing in some.

    Writes into a folder: labels.csv and labels.parquet (cluster and confidence of
    every sample), embedding, model.imvc (for imvc predict), patterns.svg, report.html
    and run.json (all that is needed to repeat the run). Samples whose cluster is
    doubtful are flagged in the column low_confidence.

    With --out-of-core, files that do not fit into memory are read by blocks. It writes
    labels, embedding, model.imvc and run.json, but no confidences and no report. A run
    that was killed goes on from its finished stages: give the same command again.
    """
    if from_ is not None:
        _check_beside_from(context)
    check_options(context)
    if out_of_core:
        cluster_out_of_core(context)
        return
    from imvc import workflow

    asked: dict[str, Any] = {"force": force}
    if from_ is not None:
        asked |= {"paths": files, "n_jobs": jobs}
        record = workflow.read_record(from_)
        refuse_record(record)
    else:
        record = None
        inputs = input_files(
            files or (),
            id=id,
            name=name,
            non_numeric=non_numeric,
            impute=impute,
            log1p=log1p,
            scale=scale,
            top_variance=top_variance,
            transpose=transpose,
            layer=layer,
            metadata=metadata,
        )
        parameters = parameter_values(set_) | ({"n_jobs": jobs} if jobs else {})
        asked |= {
            "n_clusters": clusters,
            "method": method,
            "parameters": parameters,
            "random_state": seed,
            "n_refits": refits,
        }
    # The folder is taken first, so that a clash is told before a long fit.
    with (
        stage_progress(quiet) as progress,
        workflow.output_folder(output, overwrite=overwrite) as folder,
    ):
        if record is not None:
            run = workflow.repeat(record, progress=progress, **asked)
        else:
            run = workflow.cluster(inputs, progress=progress, **asked)
        run = replace(run, command=command_line(context))
        written = run.save(folder, report=not no_report, progress=progress)
    same = None if record is None else record.same_labels(written["labels.csv"])
    _tell(run, written, output, same, json)


def _check_beside_from(context: typer.Context) -> None:
    """Refuse options that the run.json decides."""
    for name, option in given_options(context):
        if name not in _BESIDE_FROM:
            raise ValueError(
                f"{option} cannot stand beside --from, which repeats the run as it "
                f"was; leave it out, or give all options without --from."
            )


def _tell(run, written, folder: Path, same: bool | None, json: bool) -> None:
    import numpy as np

    summary = run.summary()
    if json:
        print_json(
            {
                **summary,
                "folder": str(folder),
                "files": {name: str(path) for name, path in written.items()},
                "same_labels": same,
                "notes": list(run.notes),
                "warnings": list(run.warnings),
                "seconds": run.seconds,
            }
        )
        return
    low = np.bincount(run.labels[run.confidence.low], minlength=run.n_clusters)
    rows = [
        [str(c), str(size), f"{size / summary['n_samples']:.0%}", str(low[c])]
        for c, size in enumerate(summary["sizes"])
    ]
    print_table("", ["cluster", "samples", "share", "low confidence"], rows)
    if summary["suggested"]:
        typer.echo(
            f"{summary['n_clusters']} clusters were suggested by the stability curve; "
            f"the evidence is {summary['evidence']}."
        )
    if same is not None:
        verdict = "the same as" if same else "NOT the same as"
        typer.echo(f"The labels are {verdict} those of the repeated run.")
    typer.echo("wrote " + ", ".join(sorted(path.name for path in written.values())))
    typer.echo(str(written.get("report.html", written["labels.csv"])))
