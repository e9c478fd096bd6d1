"""Small results of finished stages as files: arrays and JSON, no pickle."""

import io
import json
import zipfile

import numpy as np

from imvc._files import atomic_write
from imvc.kernels._patterns import PatternGrams


def save_state(path, value):
    """Write nested tuples, lists, dicts, numbers, text and arrays, atomically."""
    arrays: list = []
    tree = _plain(value, arrays)
    with (
        atomic_write(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr("tree.json", json.dumps(tree))
        for i, array in enumerate(arrays):
            with archive.open(f"{i}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_state(path):
    """The inverse of `save_state`."""
    with zipfile.ZipFile(path) as archive:
        tree = json.loads(archive.read("tree.json"))

        def array(i):
            data = io.BytesIO(archive.read(f"{i}.npy"))
            return np.lib.format.read_array(data, allow_pickle=False)

        return _revive(tree, array)


def _plain(value, arrays):
    if isinstance(value, PatternGrams):
        return {"grams": _plain(value.to_tree(), arrays)}
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value))
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_plain(item, arrays) for item in value]}
    if isinstance(value, dict):
        pairs = [[_plain(k, arrays), _plain(v, arrays)] for k, v in value.items()]
        return {"dict": pairs}
    return value.item() if isinstance(value, np.generic) else value


def _revive(tree, array):
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return array(content)
    if kind == "grams":
        return PatternGrams.from_tree(_revive(content, array))
    if kind == "dict":
        return {_revive(k, array): _revive(v, array) for k, v in content}
    items = [_revive(item, array) for item in content]
    return tuple(items) if kind == "tuple" else items


def write_arrays(file, arrays):
    """Arrays one after the other in an open file."""
    for array in arrays:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def read_arrays(path):
    """The arrays of `write_arrays`; a file that was cut short raises ValueError."""
    arrays = []
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        while file.tell() < size:
            arrays.append(np.lib.format.read_array(file, allow_pickle=False))
    return arrays
