"""Model files: a zip of .npy arrays and one JSON header. No pickle anywhere.

Layout, version 1: ``header.json`` (class, parameters, plain attributes, and the
SHA-256 of every array), ``header.sha256``, and ``<section>/<name>.npy`` for the
sections ``param``, ``attribute`` and ``state``. Members are stored, not compressed, so
reading cannot need more memory than the file is long. Checksums tell of accidents only:
that types and shapes belong together is checked as well (`_model_schema`, and the
``_set_state`` of every method).
"""

import hashlib
import io
import json
import math
import os
import zipfile
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from imvc._files import atomic_write
from imvc._plain import plain
from imvc._version import __version__
from imvc.methods._model_schema import OtherModel, check_attributes, check_header
from imvc.methods._registry import METHODS

if TYPE_CHECKING:
    from imvc.methods._inductive import InductiveMixin

__all__ = ["load_model", "naming_model", "read_model", "write_model"]

FORMAT, FORMAT_VERSION = "imvc-model", 1
_NOT_KEPT = {"callback", "verbose", "work_dir"}
_OWN = {"header.json", "header.sha256"}
_AGAIN = "Give a model that imvc cluster or save wrote, or make it again."


def write_model(model, path, state_arrays, state_values):
    """Write ``model`` to ``path``; see `InductiveMixin.save`."""
    params = {k: v for k, v in model.get_params().items() if k not in _NOT_KEPT}
    if not isinstance(params.get("random_state"), Integral | None):
        params["random_state"] = None
    attributes = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and name[0] != "_" and not _is_elsewhere(value)
    }
    arrays = {f"state/{name}": array for name, array in state_arrays.items()}
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "imvc_version": __version__,
        "class": type(model).__name__,
        "params": _split("param", params, arrays),
        "attributes": _split("attribute", attributes, arrays),
        "values": {"feature_names": model._schema.feature_names, **state_values},
    }
    encoded = {name: _encode(array) for name, array in arrays.items()}
    header["arrays"] = {n: hashlib.sha256(b).hexdigest() for n, b in encoded.items()}
    text = json.dumps(header, indent=1, allow_nan=True).encode()
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", text)
        archive.writestr("header.sha256", hashlib.sha256(text).hexdigest())
        for name, data in encoded.items():
            archive.writestr(f"{name}.npy", data)


def load_model(path: str | os.PathLike[str]) -> "InductiveMixin":
    """Read a model file of whichever method wrote it.

    Parameters
    ----------
    path : str or path-like
        A file that the ``save`` of a method of `imvc.list_methods` wrote.

    Returns
    -------
    estimator
        Fitted, of the class that the file names.

    Raises
    ------
    ValueError
        For a file that is truncated, altered, newer than the program, or of a class
        that is none of the methods that place new samples.
    """
    with naming_model(path), _opened(path) as archive:
        name = _read_header(archive)["class"]
    classes = {m.class_name: m for m in METHODS.values() if m.predicts}
    if name not in classes:
        raise ValueError(
            f"{Path(path).name!r} holds a {name!r:.60}, which this imvc cannot load; "
            f"it knows: {', '.join(sorted(classes))}."
        )
    return classes[name].estimator.load(path)


def read_model(cls, path):
    """``(model, sizes, state arrays, state values)`` from a file, or a ValueError.

    ``sizes`` are the `Sizes` of the attributes.
    """
    with _opened(path) as archive:
        header = _read_header(archive)
        if header["class"] != cls.__name__:
            raise OtherModel(
                f"holds a {header['class']:.60}; load it with "
                f"{header['class']:.60}.load."
            )
        arrays = _read_arrays(archive, header["arrays"])
    model = cls(**_join(header["params"], arrays))
    model._validate_params()
    attributes = _join(header["attributes"], arrays)
    sizes = check_attributes(model, attributes)
    for name, value in attributes.items():
        setattr(model, name, value)
    state = {
        name.removeprefix("state/"): array
        for name, array in arrays.items()
        if name.startswith("state/")
    }
    return model, sizes, state, header["values"]


@contextmanager
def naming_model(path):
    """Let every error about what a model file holds name the file and the remedy."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except OtherModel as error:
        raise ValueError(f"{Path(path).name!r} {error}") from error
    # What was never written by imvc fails in many places, each in its own way.
    except Exception as error:
        told = error if isinstance(error, ValueError) else repr(error)
        raise ValueError(
            f"{Path(path).name!r} cannot be read: {told!s:.300} {_AGAIN}"
        ) from error


@contextmanager
def _opened(path):
    """The zip file at ``path``."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no model file at {str(path)!r}; give one that imvc cluster or save wrote."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > path.stat().st_size:
                raise zipfile.BadZipFile("its parts are longer than the file")
            yield archive
    # zipfile raises RuntimeError for what says it is encrypted or packed oddly.
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
        raise OtherModel(
            f"is not an imvc model, or it is truncated ({error}); give one that imvc "
            "cluster or save wrote."
        ) from error


def _read_header(archive):
    names = archive.namelist()
    if not _OWN <= set(names):
        raise ValueError("it is a zip file, but not an imvc model.")
    if any(m.compress_type != zipfile.ZIP_STORED for m in archive.infolist()):
        raise ValueError("it was packed by another program.")
    text = archive.read("header.json")
    expected = archive.read("header.sha256").decode("ascii", "replace")
    if hashlib.sha256(text).hexdigest() != expected:
        raise ValueError("its header was altered (checksum mismatch).")
    try:
        header = json.loads(text)
    except RecursionError as error:
        raise ValueError("its header has lists in lists without end.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("it is a zip file, but not an imvc model.")
    newest = header.get("format_version")
    if isinstance(newest, int) and newest > FORMAT_VERSION:
        raise OtherModel(
            f"has format version {newest}, newer than this imvc ({__version__}) "
            "reads; upgrade imvc."
        )
    check_header(header)
    if sorted(names) != sorted([*_OWN, *(f"{name}.npy" for name in header["arrays"])]):
        raise ValueError("its parts are not those that its header lists.")
    return header


def _read_arrays(archive, digests):
    arrays = {}
    for name, digest in digests.items():
        data = archive.read(f"{name}.npy")
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(f"its array {name!r} was altered (checksum mismatch).")
        arrays[name] = _decode(name, data)
    return arrays


def _decode(name, data):
    """An array of numbers or text, whose head must tell the bytes that follow it."""
    stream = io.BytesIO(data)
    try:
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    # A head is read as Python's own text, and fails in the ways of that.
    except Exception as error:
        raise ValueError(f"its array {name!r} has no head of an array.") from error
    if dtype.kind not in "biufSU":
        raise ValueError(f"its array {name!r} is of type {dtype}, not of numbers.")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != len(data) - stream.tell():
        raise ValueError(
            f"its array {name!r} says that it has shape {shape} of type {dtype}, which "
            f"its {len(data) - stream.tell()} bytes are not."
        )
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _is_elsewhere(value):
    """Tell what is not in memory: it has files of its own, or is on a cluster."""
    return isinstance(value, np.memmap) or hasattr(value, "dask")


def _split(section, items, arrays):
    """JSON form of ``items``; arrays go to ``arrays`` and leave a reference."""
    found: dict[str, dict] = {}
    for name, value in items.items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            arrays[f"{section}/{name}"] = value
            found[name] = {"array": f"{section}/{name}"}
        elif _holds_arrays(value):
            for i, array in enumerate(value):
                arrays[f"{section}/{name}.{i}"] = np.asarray(array)
            found[name] = {"list": [f"{section}/{name}.{i}" for i in range(len(value))]}
        elif isinstance(value, np.ndarray):
            found[name] = {"objects": [_plain(name, v) for v in value]}
        else:
            found[name] = {"value": _plain(name, value)}
            if isinstance(value, tuple):
                found[name]["tuple"] = True
    return found


def _join(entries, arrays):
    return {name: _revive(entry, arrays) for name, entry in entries.items()}


def _revive(entry, arrays):
    for name in [entry["array"]] if "array" in entry else entry.get("list", ()):
        if name not in arrays:
            raise ValueError(f"its array {name!r:.60} is not there.")
    if "array" in entry:
        return arrays[entry["array"]]
    if "list" in entry:
        return [arrays[name] for name in entry["list"]]
    if "objects" in entry:
        values = [tuple(v) if isinstance(v, list) else v for v in entry["objects"]]
        result = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            result[i] = value
        return result
    return tuple(entry["value"]) if entry.get("tuple") else entry["value"]


def _holds_arrays(value):
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(v, np.ndarray) and v.ndim for v in value)
    )


def _plain(name, value):
    """``value`` in JSON's types, or an error that names what cannot be kept."""

    def odd(part):
        if isinstance(part, Real):  # NaN and infinity stay what they are
            return float(part)
        raise TypeError(
            f"{name} of type {type(part).__name__} cannot be written to a model file; "
            f"only numbers, strings and arrays can."
        )

    return plain(value, otherwise=odd)


def _encode(array):
    # By rows or by columns, as it is: products of the other layout round otherwise, and
    # a loaded model shall give the very numbers of the one that was saved.
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()
