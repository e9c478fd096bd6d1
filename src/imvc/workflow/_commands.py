"""The command line and the Python script that do the same as a run."""

import csv
import io
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from pprint import pformat
from typing import Any

from imvc.io import ColumnOptions, Preparation, file_of
from imvc.methods._registry import METHODS
from imvc.workflow._input_files import BlockFiles, InputFiles
from imvc.workflow._run_json import RunRecord

_OUTPUT = "imvc_output"  # where imvc cluster writes by default
# What a request may hold beside its method and parameters, with `cluster`'s defaults.
_REQUEST: dict[str, Any] = {
    "n_clusters": None,
    "random_state": 0,
    "n_refits": 4,
    "survival": None,
    "batch": None,
    "adjust": None,
    "force": False,
}
_WIDTH = 88


def command_line(record: RunRecord, output: str = _OUTPUT) -> str:
    """The ``imvc cluster`` that repeats a run, quoted for a POSIX shell.

    Only options that differ from the defaults are there. What the command line has no
    word for is repeated from ``run.json``.

    Parameters
    ----------
    record : RunRecord
    output : str, default="imvc_output"
        The folder to write to.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        The views of the run came from memory.
    """
    inputs, request = inputs_of(record), record.content["request"]
    try:
        words = command_words(inputs, request, output)
    except ValueError:
        words = ["imvc", "cluster", "--from", os.fspath(record.path), "-o", output]
    return quoted(words)


def quoted(words: Sequence[str]) -> str:
    """Words of a command as one line for a POSIX shell."""
    return shlex.join(words)


def python_script(record: RunRecord, output: str = _OUTPUT) -> str:
    """A Python script that repeats a run with `imvc.workflow`.

    Parameters
    ----------
    record : RunRecord
    output : str, default="imvc_output"
        The folder to write to.

    Returns
    -------
    str
        Edits of the labels are not in it; a comment says so.
    """
    return script_text(inputs_of(record), record.content["request"], output)


def inputs_of(record: RunRecord) -> InputFiles | BlockFiles:
    """The files of a run, where they are now or else where they were."""
    request = record.content["request"]
    if "out_of_core" in request:
        options = dict(request["out_of_core"])
        names = {f.name for f in fields(BlockFiles)}
        return BlockFiles(**{k: v for k, v in options.items() if k in names})
    paths = []
    for mark in record.content["files"]:
        beside = record.beside(mark)
        paths.append(beside if file_of(beside).is_file() else Path(mark["path"]))
    return record.inputs(paths)


# The command line


def command_words(
    inputs: InputFiles | BlockFiles, request: Mapping[str, Any], output: str = _OUTPUT
) -> list[str]:
    """The words of the ``imvc cluster`` that does what is asked for.

    Parameters
    ----------
    inputs : InputFiles or BlockFiles
    request : mapping
        Arguments of `cluster`: ``method``, ``parameters``, ``n_clusters``, ...
    output : str, default="imvc_output"

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        The command line has no words for it.

    Examples
    --------
    >>> from imvc.workflow import InputFiles, command_words
    >>> files = InputFiles(["rna.csv", "protein.csv"], names=["rna", "prot"])
    >>> " ".join(command_words(files, {"method": "rise", "n_clusters": 3}))
    'imvc cluster rna.csv protein.csv --name rna --name prot -k 3 --method rise'
    """
    asked = _asked(request)
    words = _Words("imvc", "cluster")
    if isinstance(inputs, BlockFiles):
        _add_block_files(words, inputs)
    else:
        _add_files(words, inputs)
        _add_columns(words, inputs, describing(asked))
    _add_request(words, request, asked)
    words.option("-o", output, _OUTPUT)
    return words.words


class _Words:
    """Words of a command; what they cannot say is a ValueError."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    def option(self, name: str, value: Any, default: Any = None) -> None:
        """An option and its value, unless it is the default."""
        if value is None or value == default:
            return
        text = str(value)
        joined = text.startswith("-") and name.startswith("--")
        self.words += [f"{name}={text}"] if joined else [name, text]

    def each(self, name: str, values: Any) -> None:
        """The same option for every value."""
        for value in values:
            self.option(name, value)

    def views(self, name: str, chosen: Any) -> None:
        """An option that names views, or all of them."""
        if "all" in _seen(chosen):
            raise _unsaid(f"the view 'all' with {name}")
        self.each(name, ["all"] if chosen is True else _seen(chosen))

    def by_view(self, name: str, chosen: Any) -> None:
        """An option with one value for all views, or VIEW=value for some."""
        if isinstance(chosen, Mapping):
            chosen = [f"{view}={value}" for view, value in chosen.items()]
        self.each(name, [chosen] if isinstance(chosen, str | int) else chosen or ())


def _seen(chosen: Any) -> list[str]:
    if isinstance(chosen, bool):
        return []
    return [chosen] if isinstance(chosen, str) else list(chosen or ())


def _unsaid(what: str) -> ValueError:
    return ValueError(f"the command line has no words for {what}; use the script.")


def _path(path: Any) -> str:
    """A path that is not taken for an option."""
    text = os.fspath(path)
    return f".{os.sep}{text}" if text.startswith("-") else text


def _add_files(words: _Words, inputs: InputFiles) -> None:
    """Files, their names, and where ids and samples are in them."""
    parts = [[*map(_path, own)] for own in inputs._parts()]
    names = _names(inputs, parts)
    single = [j for j, own in enumerate(parts) if len(own) == 1]
    # The command line has views of several files last.
    if single != [*range(len(single))]:
        raise _unsaid("a view of several files before others")
    words.words += [parts[j][0] for j in single]
    own = [names[j] for j in single]
    if any(own):
        if not all(own):
            raise _unsaid("names of some files only")
        words.each("--name", own)
    for paths, name in zip(parts[len(single) :], names[len(single) :]):
        if any("," in path for path in paths) or (not name and "=" in paths[0]):
            raise _unsaid("a comma in the name of a file of several")
        words.option("--rows", f"{name}={','.join(paths)}" if name else ",".join(paths))
    _add_ids(words, inputs, parts, names)
    words.option("--match-ids", inputs.match_ids, "exact")
    words.option("--id-map", inputs.id_map and _path(inputs.id_map))
    words.option("--sheet", inputs.sheet)
    words.views("--transpose", inputs.transpose)
    words.option("--layer", inputs.layer)


def _names(inputs: InputFiles, parts: Sequence[Sequence[str]]) -> list[str | None]:
    given = inputs.names
    if given is None:
        return [None] * len(parts)
    if isinstance(given, Mapping):
        raise _unsaid("names by file")
    return [*given]


def _add_ids(
    words: _Words,
    inputs: InputFiles,
    parts: Sequence[Sequence[str]],
    names: Sequence[str | None],
) -> None:
    given = inputs.id_columns
    known = {name for name in names if name} | {
        Path(path).name for own in parts for path in own
    }
    if given is None:
        return
    if isinstance(given, str):
        if given.partition("=")[0] in known and "=" in given:
            raise _unsaid("an id column that begins like a view")
        words.option("--id", given)
        return
    if not isinstance(given, Mapping):
        keys = [name or Path(own[0]).name for name, own in zip(names, parts)]
        if len(set(keys)) < len(keys):
            raise _unsaid("id columns of files of one name")
        given = {key: column for key, column in zip(keys, given) if column}
    if any("=" in key for key in given) or (len(given) == 1 and not known & set(given)):
        raise _unsaid("the id column of this file")
    words.by_view("--id", given)


def _add_columns(words: _Words, inputs: InputFiles, describing: Sequence[str]) -> None:
    """Which columns are used, as what, and how they are prepared."""
    columns, prepared = inputs.columns, inputs.preparation
    for option, chosen in (("--drop", columns.drop), ("--keep", columns.keep)):
        if any("=" in view for view in chosen):
            raise _unsaid(f"{option} for a view with an equals sign")
        words.each(option, [f"{v}={c}" for v, own in chosen.items() for c in own])
    # Columns that survival or batches are read from are none of the features anyway.
    described = {c: "metadata" for c in columns.metadata if c not in describing}
    words.by_view("--as", {**described, **columns.kinds})
    for column, levels in columns.ordinals.items():
        if any("," in level or "=" in level for level in levels) or not levels:
            raise _unsaid(f"the values of {column!r}")
        words.option("--ordinal", f"{column}={','.join(levels)}")
    words.option("--non-numeric", columns.text, "use")
    words.option("--empty-cells", prepared.empty_cells, "fill")
    words.views("--log1p", prepared.log1p)
    words.by_view("--scale", prepared.scale)
    words.by_view("--top-variance", prepared.top_variance)
    words.option("--metadata", inputs.metadata and _path(inputs.metadata))


def _add_block_files(words: _Words, files: BlockFiles) -> None:
    words.words += map(_path, files.paths)
    words.words.append("--out-of-core")
    words.each("--name", files.names or ())
    words.by_view("--id", files.id_columns)
    words.option("--mask", files.mask and _path(files.mask))
    words.option("--empty-cells", files.empty_cells, "fill")
    words.option("--memory-budget", files.memory_budget, "1GiB")
    words.option("--result-format", files.result_format, "parquet")


def _add_request(
    words: _Words, request: Mapping[str, Any], asked: Mapping[str, Any]
) -> None:
    k = asked["n_clusters"]
    if not isinstance(k, int | None) or asked["random_state"] is None:
        raise _unsaid("several numbers of clusters, or for no random state")
    words.option("-k", k)
    words.option("--method", request.get("method"), "bridge")
    for name, value in _parameters(request).items():
        words.option("--set", f"{name}={json.dumps(value)}")
    if asked["survival"]:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(asked["survival"])
        words.option("--survival", line.getvalue())
    words.option("--batch", asked["batch"])
    words.option("--adjust", asked["adjust"])
    words.option("--seed", asked["random_state"], 0)
    if "out_of_core" not in request:
        words.option("--refits", asked["n_refits"], 4)
    words.words += ["--force"] if asked["force"] else []


def _asked(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: request.get(name, default) for name, default in _REQUEST.items()}


def describing(asked: Mapping[str, Any]) -> list[str]:
    """Columns of metadata that are asked for by name."""
    names = (*(asked["survival"] or ()), asked["batch"], asked["adjust"])
    return [name for name in names if name is not None]


def _parameters(request: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that differ from the defaults of the method."""
    method = request.get("method") or "bridge"
    known = {}
    if method in METHODS:
        known = METHODS[method].estimator(n_clusters=2).get_params()
    own = {"verbose", "work_dir", "memory_budget", "empty_cells"}
    left_out = own if "out_of_core" in request else set()
    return {
        name: value
        for name, value in (request.get("parameters") or {}).items()
        if name not in left_out and (name not in known or known[name] != value)
    }


# The script


def script_text(
    inputs: InputFiles | BlockFiles, request: Mapping[str, Any], output: str = _OUTPUT
) -> str:
    """The text of a script that does what is asked for; arguments as above."""
    kind = type(inputs).__name__
    options = {
        "n_clusters": request.get("n_clusters"),
        "method": request.get("method") or "bridge",
        "parameters": _parameters(request) or None,
        **{k: v for k, v in _asked(request).items() if k != "n_clusters"},
    }
    defaults = {"method": "bridge", "parameters": None, **_REQUEST}
    if isinstance(inputs, BlockFiles):
        options["n_refits"] = _REQUEST["n_refits"]
    given = {k: v for k, v in options.items() if v != defaults[k]}
    if given.get("survival"):
        given["survival"] = tuple(given["survival"])
    used = _input_arguments(inputs)
    needed = sorted(n for n in ("ColumnOptions", "Preparation") if n in used)
    imports = [f"from imvc.io import {', '.join(needed)}"] if needed else []
    call = [f"{name}={_literal(value)}," for name, value in given.items()]
    edited = [
        "# Edits of the labels (clusters renamed, merged or split by hand) are not",
        "# repeated here; edits.json and labels_edited.csv of the run have them.",
    ]
    if isinstance(inputs, BlockFiles):  # what is not finished is kept in the folder
        work = [
            f"with output_folder({output!r}) as folder:",
            "    run = cluster(",
            "        files,",
            *(f"        {line}" for line in call),
            "        folder=folder,",
            "    )",
            "    run.save(folder)",
            *edited,
        ]
    else:
        work = [
            "run = cluster(",
            "    files,",
            *(f"    {line}" for line in call),
            ")",
            *edited,
            f"run.save({output!r})",
        ]
    names = [kind, "cluster", *(["output_folder"] if kind == "BlockFiles" else [])]
    return "\n".join(
        [
            '"""A clustering with imvc, as it was made."""',
            "",
            *imports,
            f"from imvc.workflow import {', '.join(names)}",
            "",
            f"files = {kind}(",
            used,
            ")",
            *work,
            "",
        ]
    )


def _input_arguments(inputs: InputFiles | BlockFiles) -> str:
    """Arguments of the files that differ from their defaults, a line each."""
    plain = type(inputs)(paths=())
    lines = [f"    paths={_literal(_plain_paths(inputs.paths))},"]
    for f in fields(inputs):
        value = getattr(inputs, f.name)
        if f.name in ("paths", "guard", "verbose") or _same(value, plain, f.name):
            continue
        if isinstance(value, ColumnOptions | Preparation):
            own = [
                f"        {g.name}={_literal(getattr(value, g.name), 8)},"
                for g in fields(value)
                if not _same(getattr(value, g.name), type(value)(), g.name)
            ]
            lines += [f"    {f.name}={type(value).__name__}(", *own, "    ),"]
        else:
            lines.append(f"    {f.name}={_literal(_plain_paths(value))},")
    return "\n".join(lines)


def _same(value: Any, plain: Any, name: str) -> bool:
    """Whether a value is the default; nothing is, in whatever it comes."""
    default = getattr(plain, name)
    nothing = not value or (isinstance(value, list) and not any(value))
    return value == default or (nothing and not default)


def _plain_paths(value: Any) -> Any:
    """Paths as texts, whatever they are in."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain_paths(own) for own in value)
    return value


def _literal(value: Any, indent: int = 4) -> str:
    """A value as Python source, in lines that are not too long."""
    text = pformat(value, width=_WIDTH - 2 * indent, sort_dicts=False)
    return text.replace("\n", "\n" + " " * (indent + 4))
