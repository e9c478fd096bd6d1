"""AnnData (.h5ad) and MuData (.h5mu) files, read with h5py alone.

Only what a view needs is read: the matrix (or a layer), the names of samples and
features, and the columns of ``obs`` as metadata.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._arrow_types import Options
from imvc.io._errors import input_error, need, reading, shown
from imvc.io._numpy import matrix_table
from imvc.io._open import check_size
from imvc.io._table import FileTable, id_strings

_SMALL, _PACKING = 64 * 2**20, 2000


def read_h5ad(path: Path, source: str, name: str, options: Options) -> list[FileTable]:
    """Read an AnnData file: one view."""
    h5py = need("h5py", source)
    with reading(source, "an AnnData file"), h5py.File(path, "r") as file:
        return [_read_anndata(file, source, name, options.layer)]


def read_h5mu(path: Path, source: str, name: str, options: Options) -> list[FileTable]:
    """Read a MuData file: one view per modality, each with its own samples."""
    h5py = need("h5py", source)
    with reading(source, "a MuData file"), h5py.File(path, "r") as file:
        if not _has(file, "mod"):
            raise input_error(
                source, "has no group 'mod'; rename it to .h5ad if it is AnnData."
            )
        mods = _child(file, "mod", source)
        stored = [str(key) for key in np.atleast_1d(mods.attrs.get("mod-order", []))]
        keys = [key for key in stored if _has(mods, key)]
        keys += [key for key in mods if key not in keys]
        if not keys:
            raise input_error(source, "holds no modality.")
        _check_layer(mods, keys, options.layer, source)
        tables = [
            _read_anndata(
                _child(mods, key, source),
                f"{source}::{key}",
                key,
                _layer_of(_child(mods, key, source), options.layer),
            )
            for key in keys
        ]
        return _with_shared_metadata(tables, file, source)


def _check_layer(mods: Any, keys: list[str], layer: str | None, source: str) -> None:
    if layer is None:
        return
    groups = [_child(mods, key, source) for key in keys]
    if all(_layer_of(group, layer) is None for group in groups):
        raise input_error(source, f"no modality has a layer {layer!r}.")


def _layer_of(group: Any, layer: str | None) -> str | None:
    """The layer if this modality has it; the others give their X."""
    if layer is None:
        return None
    places = [group[place] for place in ("layers", "obsm") if _has(group, place)]
    known = any(_has(place, layer) for place in places)
    return layer if known or (layer == "raw" and _has(group, "raw")) else None


def _read_anndata(group: Any, source: str, name: str, layer: str | None) -> FileTable:
    node, var, notes = _find_matrix(group, layer, source)
    values = _read_matrix(node, source)
    ids, metadata = _read_frame(_child(group, "obs", source), source, columns=True)
    if var is None:
        features = tuple(f"{layer} {j}" for j in range(1, values.shape[1] + 1))
    else:
        names, _ = _read_frame(_child(group, var, source), source, columns=False)
        features = tuple(names.tolist())
    if len(ids) != values.shape[0]:
        raise input_error(
            source, f"has {values.shape[0]} rows and {len(ids)} names of samples."
        )
    return matrix_table(
        values, name, source, ids=ids, features=features, metadata=metadata,
        notes=(*notes, "ids from obs"),
    )  # fmt: skip


def _find_matrix(
    group: Any, layer: str | None, source: str
) -> tuple[Any, str | None, tuple[str, ...]]:
    """Node of the numbers, the group that names its columns, and notes."""
    if layer is None:
        if not _has(group, "X"):
            raise input_error(
                source, "has no X; name a layer (--layer) if the numbers are in one."
            )
        return _child(group, "X", source), "var", ()
    layers, obsm = (
        _child(group, place, source) if _has(group, place) else None
        for place in ("layers", "obsm")
    )
    if _has(layers, layer):
        node = _child(layers, layer, source)
        return node, "var", (f"layer {layer!r}",)
    if layer == "raw" and _has(group, "raw"):
        return _child(_child(group, "raw", source), "X", source), "raw/var", ("raw",)
    if _has(obsm, layer):
        node = _child(obsm, layer, source)
        return node, None, (f"embedding {layer!r} of obsm",)
    known = [*(layers or ()), *(obsm or ())]
    raise input_error(
        source,
        f"has no layer {layer!r}; it has {shown(known, 5) if known else 'none'}.",
    )


def _has(group: Any, key: str) -> bool:
    """Whether a group has a key, without following where it leads."""
    return hasattr(group, "keys") and group.get(key, getlink=True) is not None


def _child(group: Any, path: str, source: str) -> Any:
    """A node of the file, never one that lives in another file."""
    import h5py

    for key in path.split("/"):
        if not _has(group, key):
            raise input_error(source, f"has no {path!r}, so it is no AnnData file.")
        if isinstance(group.get(key, getlink=True), h5py.ExternalLink):
            raise input_error(source, f"its {path!r} points to another file; copy it.")
        group = group[key]
    foreign = isinstance(group, h5py.Dataset) and (group.external or group.is_virtual)
    if foreign:
        raise input_error(source, f"its {path!r} is kept in another file; copy it.")
    if isinstance(group, h5py.Dataset):
        _check_claims(group, source)
    return group


def _check_claims(node: Any, source: str) -> None:
    """Refuse sizes that the file cannot hold, however well it is packed."""
    claimed = float(node.size or 0) * node.dtype.itemsize
    check_size(source, claimed)
    if claimed > max(_SMALL, _PACKING * node.file.id.get_filesize()):
        raise input_error(
            source, f"{node.name} says it holds {claimed:.0f} bytes; it is damaged."
        )


def _read_matrix(node: Any, source: str) -> Any:
    if not hasattr(node, "keys"):
        values = node[()]
        if values.ndim != 2:
            raise input_error(source, f"holds an array of shape {values.shape}.")
        return values
    encoding = _text(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format")))
    layouts = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array}
    layouts |= {"csr": sp.csr_array, "csc": sp.csc_array}
    if encoding not in layouts:
        raise input_error(source, f"holds a matrix of unknown kind {encoding!r}.")
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    parts = [_child(node, key, source) for key in ("data", "indices", "indptr")]
    check_size(source, 16.0 * parts[0].size + 8.0 * float(np.max(shape)))
    matrix = layouts[encoding](
        tuple(part[()] for part in parts), shape=tuple(int(s) for s in shape)
    )
    # SciPy trusts what it is given; an index out of bounds would crash the process.
    matrix.check_format(full_check=True)
    return matrix


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _read_frame(
    node: Any, source: str, *, columns: bool
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Index and, if asked for, columns of a stored data frame."""
    if not hasattr(node, "keys"):  # files before anndata 0.7: one compound array
        records = node[()]
        names = list(records.dtype.names or [])
        if not names:
            raise input_error(source, f"{node.name} is no table.")
        key = next((k for k in ("index", "_index") if k in names), names[0])
        rest = {n: _objects(records[n]) for n in names if n != key and columns}
        return id_strings(records[key]), rest
    key = str(_text(node.attrs.get("_index", "_index")))
    ids = id_strings(_read_column(_child(node, key, source), node, source))
    rest = {}
    for column in node if columns else []:
        if column in (key, "__categories"):
            continue
        values = _read_column(_child(node, column, source), node, source)
        if values is not None and len(values) == len(ids):
            rest[str(column)] = _objects(values)
    return ids, rest


def _read_column(node: Any, frame: Any, source: str) -> Any:
    """One column of a data frame in any of its encodings; None if unknown."""
    if hasattr(node, "keys"):
        if _has(node, "codes") and _has(node, "categories"):
            categories = _strings(_child(node, "categories", source))
            return _decode(_child(node, "codes", source)[()], categories)
        if _has(node, "values") and _has(node, "mask"):
            values = _objects(_strings(_child(node, "values", source)))
            values[_child(node, "mask", source)[()].astype(bool)] = None
            return values
        return None
    name = node.name.split("/")[-1]
    if _has(frame, "__categories"):  # anndata 0.7
        stored = _child(frame, "__categories", source)
        if _has(stored, name):
            return _decode(node[()], _strings(_child(stored, name, source)))
    return _strings(node)


def _strings(node: Any) -> np.ndarray:
    """Values of a dataset, text as str."""
    if node.dtype.kind == "O":
        return np.asarray(node.asstr(errors="replace")[()], dtype=object)
    return np.atleast_1d(node[()])


def _decode(codes: np.ndarray, categories: np.ndarray) -> np.ndarray:
    values = np.empty(len(codes), dtype=object)
    known = (codes >= 0) & (codes < len(categories))
    values[known] = _objects(categories)[codes[known]]
    return values


def _objects(values: np.ndarray) -> np.ndarray:
    objects = np.empty(len(values), dtype=object)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    objects[:] = values.tolist()
    return objects


def _with_shared_metadata(
    tables: list[FileTable], file: Any, source: str
) -> list[FileTable]:
    """Add the columns that MuData keeps for all samples to every modality."""
    if not _has(file, "obs"):
        return tables
    pandas = need("pandas", source)
    ids, columns = _read_frame(_child(file, "obs", source), source, columns=True)
    index = pandas.Index(ids)
    if not index.is_unique:
        return tables
    prefixes = tuple(f"{table.name}:" for table in tables)
    for table in tables:
        at = index.get_indexer(pandas.Index(table.ids))
        for key, values in columns.items():
            # mudata repeats the columns of a modality under "name:column".
            if not key.startswith(prefixes) and key not in table.metadata:
                aligned = np.empty(len(at), dtype=object)
                aligned[at >= 0] = values[at[at >= 0]]
                table.metadata[key] = aligned
    return tables
