"""Model files: a zip of .npy arrays and one JSON header. No pickle anywhere.

Layout, version 1: ``header.json`` (class, parameters, plain attributes, and the
SHA-256 of every array), ``header.sha256``, and ``<section>/<name>.npy`` for the
sections ``param``, ``attribute`` and ``state``. Members are stored, not compressed, so
reading cannot need more memory than the file is long.
"""

import hashlib
import io
import json
import zipfile
from contextlib import contextmanager
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from imvc._files import atomic_write
from imvc._plain import plain
from imvc.methods._registry import METHODS

__all__ = ["load_model", "read_model", "write_model"]

FORMAT, FORMAT_VERSION = "imvc-model", 1
_NOT_KEPT = {"callback", "verbose", "work_dir"}


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
        "imvc_version": version("imvc"),
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


def load_model(path):
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
    with _opened(path) as archive:
        name = _read_header(archive)["class"]
    classes = {m.class_name: m for m in METHODS.values() if m.predicts}
    if not isinstance(name, str) or name not in classes:
        raise ValueError(
            f"{Path(path).name!r} holds a {name!r}, which this imvc cannot load; it "
            f"knows: {', '.join(sorted(classes))}."
        )
    try:
        return classes[name].estimator.load(path)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{Path(path).name!r} is damaged: {error!r}.") from error


def read_model(cls, path):
    """``(model, state arrays, state values)`` from a file, or a ValueError."""
    path = Path(path)
    with _opened(path) as archive:
        header = _read_header(archive)
        arrays = _read_arrays(archive, header["arrays"])
    if header["class"] != cls.__name__:
        raise ValueError(
            f"{path.name!r} holds a {header['class']}; load it with "
            f"{header['class']}.load."
        )
    try:
        model = cls(**_join(header["params"], arrays))
        model._validate_params()
        for name, value in _join(header["attributes"], arrays).items():
            setattr(model, name, value)
        state = {
            name.removeprefix("state/"): array
            for name, array in arrays.items()
            if name.startswith("state/")
        }
        return model, state, header["values"]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path.name!r} is damaged: {error!r}.") from error


@contextmanager
def _opened(path):
    """The zip file at ``path``; whatever is wrong inside is a ValueError."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no model file at {str(path)!r}; give one that imvc cluster or save wrote."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    # zipfile raises RuntimeError for what says it is encrypted or packed oddly.
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
        raise ValueError(
            f"{path.name!r} is not an imvc model, or it is truncated ({error}); give "
            f"one that imvc cluster or save wrote."
        ) from error
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path.name!r} cannot be read: {error}") from error


def _read_header(archive):
    if "header.json" not in archive.namelist():
        raise ValueError("it is a zip file, but not an imvc model.")
    if any(m.compress_type != zipfile.ZIP_STORED for m in archive.infolist()):
        raise ValueError("it was packed by another program.")
    text = archive.read("header.json")
    expected = archive.read("header.sha256").decode("ascii", "replace")
    if hashlib.sha256(text).hexdigest() != expected:
        raise ValueError("its header was altered (checksum mismatch).")
    header = json.loads(text)
    if header.get("format") != FORMAT:
        raise ValueError("it is a zip file, but not an imvc model.")
    if header["format_version"] > FORMAT_VERSION:
        raise ValueError(
            f"it has format version {header['format_version']}, newer than this "
            f"imvc ({version('imvc')}) reads; upgrade imvc."
        )
    return header


def _read_arrays(archive, digests):
    arrays = {}
    for name, digest in digests.items():
        data = archive.read(f"{name}.npy")
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(f"its array {name!r} was altered (checksum mismatch).")
        arrays[name] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return arrays


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
    if "array" in entry:
        return arrays[entry["array"]]
    if "list" in entry:
        return [arrays[name] for name in entry["list"]]
    if "objects" in entry:
        values = [tuple(v) if isinstance(v, list) else v for v in entry["objects"]]
        result = np.empty(len(values), dtype=object)
        result[:] = values
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
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()
