"""``imvc cluster``: labels, embedding, model and report from files of views."""

import csv
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from imvc.cli._option_texts import parameter_values
from imvc.cli._options import (
    BlockOptions,
    Files,
    InputOptions,
    Json,
    Method,
    Quiet,
    Seed,
    Set,
)
from imvc.cli._printing import print_json, print_table, print_text, print_warnings
from imvc.cli._progress_bars import stage_progress

ORDER = 2
EXAMPLES = (
    "imvc cluster rna.csv protein.csv clinical.csv -o out",
    "imvc cluster rna.csv protein.csv -k 4 --log1p rna --top-variance rna=2000",
    "imvc cluster rna.csv protein.csv --metadata patients.csv --survival days,status",
    "imvc cluster rna.csv protein.csv --metadata patients.csv --adjust site",
    "imvc cluster study.h5mu -k 6 --method rise --set beta=10 -o out",
    "imvc cluster --from out/run.json -o again",
    "imvc cluster rna.zarr atac.zarr --mask seen.npy -k 20 --out-of-core",
)
# What may stand beside --from; everything else comes from the run.json.
_BESIDE_FROM = {
    *("files", "from_", "output", "no_report", "overwrite", "force", "jobs"),
    *("json", "quiet"),
}
_ONLY_OUT_OF_CORE = {"memory_budget", "mask", "work_dir", "result_format"}
_NOT_OUT_OF_CORE = {
    *("match_ids", "id_map", "rows", "sheet", "drop", "keep", "as_", "ordinal"),
    *("non_numeric", "log1p", "scale", "top_variance", "transpose"),
    *("layer", "metadata", "survival", "batch", "adjust", "refits"),
}


def cluster(
    *,
    context: typer.Context,
    files: Files = None,
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
    inputs: InputOptions,
    metadata: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table with ids and what is known: compared with the clusters, and "
            "to colour the report.",
        ),
    ] = None,
    survival: Annotated[
        str | None,
        typer.Option(
            metavar="TIME,EVENT",
            help="Two columns of the metadata: compare survival between the clusters. "
            "The event is 1 or 0, dead or alive, yes or no.",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the metadata with batches (site, plate, day): tell whether "
            "the clusters follow it.",
        ),
    ] = None,
    adjust: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The same, and remove what the batches explain and clusters do not.",
        ),
    ] = None,
    seed: Seed = 0,
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
    blocks: BlockOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster samples described by several files, many of them missing in some.

    Writes into a folder: labels.csv and labels.parquet (cluster and confidence of
    every sample), embedding, model.imvc (for imvc predict), patterns.svg, report.html
    and run.json (all that is needed to repeat the run). Samples whose cluster is
    doubtful are flagged in the column low_confidence.

    Without -k a number of clusters is suggested, give or take one, with the evidence
    for it: strong, weak (and why), or none. With refits the clusters are also compared
    with those of the same data with every column shuffled. Where they are no better, or
    the evidence is none, no cluster structure was found; that is the first thing said,
    on the terminal, in JSON and in the report. What else there is to warn of follows
    it, the same everywhere.

    What is known of the samples beside their features is compared with the clusters: a
    test, an effect and a sentence for every column of the metadata.

    With --out-of-core, files that do not fit into memory are read by blocks. It writes
    labels, embedding, model.imvc and run.json, but no confidences and no report. A run
    that was killed goes on from its finished stages: give the same command again.
    """
    _check_together(context)
    if not (no_report or blocks.out_of_core) and find_spec("jinja2") is None:
        raise ModuleNotFoundError(  # now, not after a long fit
            "report.html needs jinja2: pip install 'imvc[report]', or pass --no-report."
        )
    from imvc import workflow

    record = None if from_ is None else workflow.read_record(from_)
    lasting = _two_columns(survival)
    # What samples are judged by afterwards is no feature of theirs.
    describing = [c for c in (*(lasting or ()), batch, adjust) if c is not None]
    source: Any = None
    if blocks.out_of_core:
        source = blocks.block_files(files or (), inputs, quiet)
    elif record is None:
        source = inputs.input_files(files or (), metadata, describing=describing)
    parameters = parameter_values(set_) | ({"n_jobs": jobs} if jobs else {})
    # The folder is taken first, so that a clash is told before a long fit.
    with (
        # A fit out of core has a bar of its own, over blocks.
        stage_progress(quiet, bars=not blocks.out_of_core) as progress,
        workflow.output_folder(output, overwrite=overwrite) as folder,
    ):
        if record is not None:
            run = workflow.repeat(
                record,
                paths=files,
                n_jobs=jobs,
                force=force,
                guard=True,
                progress=progress,
            )
        else:
            run = workflow.cluster(
                source,
                n_clusters=clusters,
                method=method,
                parameters=parameters,
                random_state=seed,
                n_refits=refits,
                survival=lasting,
                batch=batch,
                adjust=adjust,
                force=force,
                folder=folder,
                progress=progress,
            )
        arguments = (context.obj or {}).get("arguments", ())
        run = replace(run, command=["imvc", *arguments])
        written = run.save(folder, report=not no_report, progress=progress)
    same = None if record is None else record.same_labels(written["labels.csv"])
    if json:
        _print_document(run, written, output, same)
    else:
        _print_clusters(run, written, same)


def _two_columns(text: str | None) -> tuple[str, str] | None:
    """TIME,EVENT as two names; quotes protect a comma."""
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text]), [])]
    if len(names) != 2 or not all(names):
        raise ValueError(
            f"--survival {text!r} must be TIME,EVENT: the names of two columns of the "
            f"metadata; put quotes around a name that has a comma."
        )
    return names[0], names[1]


def _check_together(context: typer.Context) -> None:
    """Refuse options that do not go with --from, or with the place of the data."""
    given = context.params
    for name in given:
        source = context.get_parameter_source(name)
        if source is None or source.name == "DEFAULT":
            continue
        plain = {"clusters": "-k", "set_": "--set"}
        option = plain.get(name, "--" + name.replace("_", "-").rstrip("-"))
        if given["from_"] is not None and name not in _BESIDE_FROM:
            raise ValueError(
                f"{option} cannot stand beside --from, which repeats the run as it "
                f"was; leave it out, or give all options without --from."
            )
        if given["out_of_core"]:
            no_refits = name == "refits" and given["refits"] == 0
            if name in _NOT_OUT_OF_CORE and not no_refits:
                raise ValueError(
                    f"{option} needs all samples in memory and cannot stand beside "
                    f"--out-of-core; leave it out, or prepare the files first."
                )
        elif name in _ONLY_OUT_OF_CORE:
            raise ValueError(f"{option} goes with --out-of-core only; add that.")


def _print_document(run, written, folder: Path, same: bool | None) -> None:
    print_json(
        {
            **run.summary(),
            "folder": str(folder),
            "files": {name: str(path) for name, path in written.items()},
            # A run out of core is never a repeated one.
            **({} if run.out_of_core else {"same_labels": same}),
            "notes": list(run.notes),
            "warnings": list(run.warnings),
            "seconds": run.seconds,
        }
    )


def _print_clusters(run, written, same: bool | None) -> None:
    import numpy as np

    summary = run.summary()
    places = [name for name in ("report.html", "run.json") if name in written]
    # Before any cluster is seen; loud where there may be none.
    print_warnings(
        run.warnings, alarm=run.no_structure is not None, more=" and ".join(places)
    )
    head = ["cluster", "samples", "share"]
    rows = [
        [str(c), str(size), f"{size / summary['n_samples']:.0%}"]
        for c, size in enumerate(summary["sizes"])
    ]
    if run.confidence is not None:
        head.append("low confidence")
        low = np.bincount(run.labels[run.confidence.low], minlength=run.n_clusters)
        rows = [[*row, str(count)] for row, count in zip(rows, low)]
    if run.cluster_stability is not None:
        head.append("comes back")
        rows = [
            [*row, _comes_back(share, c in run.doubtful)]
            for c, (row, share) in enumerate(zip(rows, summary["cluster_stability"]))
        ]
    print_table("", head, rows)
    for sentence in run.associations.sentences() if run.associations else ():
        print_text(sentence)
    if summary["evidence"] in ("strong", "weak"):
        print_text(run.number_in_words())
    if summary["candidates"]:
        _print_candidates(summary["candidates"])
    if same is not None:
        verdict = "the same as" if same else "NOT the same as"
        typer.echo(f"The labels are {verdict} those of the repeated run.")
    print_text("wrote " + ", ".join(sorted(written)))
    labels = next(path for name, path in written.items() if "labels" in name)
    typer.echo(str(written.get("report.html", labels)))


def _comes_back(share: float | None, doubtful: bool = False) -> str:
    """A share that may not be known."""
    return "-" if share is None else f"{share:.0%}{' doubtful' if doubtful else ''}"


def _print_candidates(candidates: list[dict[str, Any]]) -> None:
    rows = [
        [
            str(candidate["k"]),
            _comes_back(candidate["r"]),
            "-" if candidate["v"] is None else f"{candidate['v']:.2f}",
            candidate["reason"],
        ]
        for candidate in candidates
    ]
    head = ["clusters", "worst comes back", "valley", "why look at it"]
    print_table("", head, rows)
