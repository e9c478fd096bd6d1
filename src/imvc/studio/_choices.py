"""From the choices of a project to what `imvc.workflow` is asked for, and back.

Files are taken as dicts (the entries of ``studio.json`` with absolute paths), as they
travel to the processes that read them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from imvc._plain import fits
from imvc.studio._entries import JOINT, defaults

if TYPE_CHECKING:
    from imvc.workflow import InputFiles

# What a clustering may be asked for: kind and default, as on the command line.
_REQUEST: dict[str, tuple[Any, Any]] = {
    "method": (str, "bridge"),
    "n_clusters": (int | None, None),
    "random_state": (int, 0),
    "n_refits": (int, 4),
    "survival": (list[str] | None, None),
    "batch": (str | None, None),
    "adjust": (str | None, None),
    "parameters": (dict[str, Any], {}),
    "force": (bool, False),
}


def check_roles(files: Sequence[Mapping[str, Any]]) -> None:
    """Refuse files that cannot be clustered together, before any is read."""
    views, described = _with_role(files, "view"), _with_role(files, "metadata")
    if not views:
        raise ValueError("no files are given; add one file per view.")
    if len(described) > 1:
        names = " and ".join(file["name"] for file in described[:2])
        raise ValueError(
            f"{names} are both metadata; one table can be: make the other a view, or "
            f"leave it out."
        )


def input_files(
    files: Sequence[Mapping[str, Any]],
    joint: Mapping[str, Any],
    describing: Sequence[str] = (),
) -> "InputFiles":
    """The views and metadata among files, as they are to be read.

    Parameters
    ----------
    files : sequence of mapping
        Entries of a project (`Project.entries`).
    joint : mapping
        What they have in common.
    describing : sequence of str
        Columns that samples are judged by afterwards, which are no features.

    Returns
    -------
    InputFiles
    """
    from imvc.io import ColumnOptions, Preparation
    from imvc.workflow import InputFiles

    check_roles(files)
    joint = {**defaults(JOINT), **joint}
    views, described = _with_role(files, "view"), _with_role(files, "metadata")
    kinds, ordinals = dict(joint["kinds"]), dict(joint["ordinals"])
    for file in views:
        own = views_of(file)
        for chosen, key in ((kinds, "kinds"), (ordinals, "ordinals")):
            for column, value in file["options"][key].items():
                # Of a file with several views any may have the column.
                chosen[f"{own[0]}={column}" if len(own) == 1 else column] = value
    return InputFiles(
        **layout(views),
        match_ids=joint["match_ids"],
        id_map=joint["id_map"],
        layer=joint["layer"],
        columns=ColumnOptions(
            kinds=kinds,
            ordinals=ordinals,
            drop=_by_view(views, "drop"),
            keep=_by_view(views, "keep"),
            metadata=tuple(describing),
            text=joint["text"],
        ),
        preparation=Preparation(
            empty_cells=joint["empty_cells"],
            log1p=tuple(_by_view(views, "log1p")),
            scale=_by_view(views, "scale") or None,
            top_variance=_by_view(views, "top_variance") or None,
        ),
        metadata=source_of(described[0]) if described else None,
        guard=True,
    )


def layout(
    files: Sequence[Mapping[str, Any]], names: Sequence[str | None] | None = None
) -> dict[str, Any]:
    """Where samples and views are in files: all that new samples need."""
    own = [name_of(file) for file in files] if names is None else list(names)
    sources = [source_of(file) for file in files]
    return {
        "paths": [
            [source, *file["more"]] if file.get("more") else source
            for file, source in zip(files, sources)
        ],
        "names": own,
        "id_columns": [file["options"]["id_column"] for file in files],
        "transpose": tuple(
            name or source
            for file, name, source in zip(files, own, sources)
            if file["options"]["transpose"]
        ),
    }


def source_of(file: Mapping[str, Any]) -> str:
    """The path of a file, with the sheet that was chosen."""
    sheet = file["options"]["sheet"]
    return f"{file['path']}::{sheet}" if sheet else file["path"]


def name_of(file: Mapping[str, Any]) -> str | None:
    """The name of the view in a file; None where the file names its views itself."""
    several = file["path"].lower().endswith(".h5mu")
    return None if several or file["options"]["sheet"] == "all" else file["view"]


def views_of(file: Mapping[str, Any]) -> list[str]:
    """The views that a file has, as far as that is known."""
    return file.get("views") or [file["view"]]


def checked_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a clustering is asked for, with defaults; an error names what is wrong."""
    unknown = sorted(set(body) - set(_REQUEST) - {"name"})
    if unknown:
        raise ValueError(f"{unknown[0]!r} is nothing that a run is asked for.")
    request = {}
    for key, (kind, default) in _REQUEST.items():
        value = body.get(key, default)
        if key in ("batch", "adjust", "survival") and not value:
            value = None
        if not fits(value, kind):
            raise ValueError(f"{key}={value!r} is of a wrong kind.")
        request[key] = value
    if request["survival"] is not None and len(request["survival"]) != 2:
        raise ValueError(
            f"survival={request['survival']!r} must be the names of two columns: time "
            f"and event."
        )
    for key, least in (("n_clusters", 2), ("n_refits", 0), ("random_state", 0)):
        if request[key] is not None and request[key] < least:
            raise ValueError(f"{key}={request[key]} must be at least {least}.")
    return request


def cluster_arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `imvc.workflow.cluster` for a checked request."""
    survival = request["survival"]
    return {**request, "survival": None if survival is None else tuple(survival)}


def _with_role(files: Sequence[Mapping[str, Any]], role: str) -> list[Any]:
    return [file for file in files if file["role"] == role]


def _by_view(files: Sequence[Mapping[str, Any]], option: str) -> dict[str, Any]:
    """What was chosen for views; those without a choice are left out."""
    return {
        view: file["options"][option]
        for file in files
        if file["options"][option]
        for view in views_of(file)
    }
