"""``imvc data``: the folder of datasets."""

from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._options import PrintJson
from imvc.cli._printing import examples, print_json, print_table

Home = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of datasets; else $IMVC_DATA, else the user's cache."
    ),
]


def group() -> typer.Typer:
    """The commands under ``imvc data``."""
    group = typer.Typer(
        help="List, describe and import datasets.", no_args_is_help=True
    )
    group.command("list", epilog=examples("imvc data list --data DATA"))(list_)
    group.command("info", epilog=examples("imvc data info webkb --data DATA"))(info)
    group.command(
        "import", epilog=examples("imvc data import mine.mat --name mine --data DATA")
    )(import_)
    return group


def list_(data: Home = None, json: PrintJson = False) -> None:
    """List published datasets and the files of the data folder."""
    from imvc.datasets import list_datasets

    found = [
        {
            "name": entry.name,
            "file": entry.path.name if entry.path else None,
            "published": entry.info is not None,
            "source": entry.info.source if entry.info else "",
        }
        for entry in list_datasets(data)
    ]
    if json:
        print_json(found)
        return
    rows = [
        [str(e["name"]), str(e["file"] or "absent"), str(e["source"])] for e in found
    ]
    print_table("", ["name", "file", "source"], rows)


def info(
    name: Annotated[str, typer.Argument(help="A dataset, by name.")],
    data: Home = None,
    json: PrintJson = False,
) -> None:
    """Say what is in a dataset: samples, views, classes, what is missing."""
    from imvc.datasets import describe_dataset, get_data_home
    from imvc.datasets._dataset_files import find_dataset

    _try_elsewhere(find_dataset(name, get_data_home(data))[0])
    found = describe_dataset(name, data)
    if json:
        print_json(found)
        return
    for key in ("name", "path", "n_samples", "n_clusters", "class_sizes"):
        typer.echo(f"{key}: {found[key]}")
    typer.echo(f"incomplete: {found['n_incomplete']} samples")
    for key in ("description", "source", "note"):
        if found[key]:
            typer.echo(f"{key}: {found[key]}")
    views = found["views"]
    print_table("", list(views[0]), [[str(v) for v in view.values()] for view in views])


def import_(
    file: Annotated[Path, typer.Argument(help="A .mat or .npz file of views.")],
    name: Annotated[
        str | None, typer.Option(help="Its name in the folder; else the file's own.")
    ] = None,
    data: Home = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a dataset of that name.")
    ] = False,
    json: PrintJson = False,
) -> None:
    """Check a file of views and put it into the data folder as .npz."""
    from imvc.experiments import import_dataset

    _try_elsewhere(file)
    path = import_dataset(file, name=name, data_home=data, replace=force)
    if json:
        print_json({"path": str(path)})
    else:
        typer.echo(str(path))


def _try_elsewhere(path: Path) -> None:
    """Read a file that may be damaged in another process first (.mat 7.3)."""
    from imvc.io._file_table import Request
    from imvc.io._guarded import check_guarded

    if path.is_file():
        check_guarded(Request(str(path)), path.suffix.lower())
