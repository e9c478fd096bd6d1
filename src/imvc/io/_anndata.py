"""AnnData (.h5ad) and MuData (.h5mu) files as whole tables, read with h5py alone.

Only what a view needs is read: the matrix (or a layer), the names of samples and
features, and the columns of ``obs`` as metadata. A node is never followed to another
file.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._checked_table import id_strings, matrix_table, to_object_array
from imvc.io._errors import input_error, need, reading, shown
from imvc.io._file_bytes import check_size
from imvc.io._file_table import FileTable, Request
from imvc.io._join_tables import aligned, places

_SMALL, _PACKING = 64 * 2**20, 2000


def read_h5ad(file: Request) -> list[FileTable]:
    """Read an AnnData file: one view."""
    h5py = need("h5py", file.source)
    with reading(file.source, "an AnnData file"), h5py.File(file.path, "r") as root:
        return [_read_anndata(root, file.source, file.name, file.layer)]


def read_h5mu(file: Request) -> list[FileTable]:
    """Read a MuData file: one view per modality, each with its own samples.

    Modalities that lack the layer asked for give their X.
    """
    source, layer, h5py = file.source, file.layer, need("h5py", file.source)
    with reading(source, "a MuData file"), h5py.File(file.path, "r") as root:
        keys = modalities(root, source, "rename it to .h5ad if it is AnnData")
        groups = {key: child(root, f"mod/{key}", source) for key in keys}
        having = {
            key
            for key, group in groups.items()
            if layer is not None and _find_layer(group, layer, source) is not None
        }
        if layer is not None and not having:
            raise input_error(source, f"no modality has a layer {layer!r}.")
        tables = [
            _read_anndata(
                group, f"{source}::{key}", key, layer if key in having else None
            )
            for key, group in groups.items()
        ]
        return _with_shared_metadata(tables, root, source)


def _read_anndata(group: Any, source: str, name: str, layer: str | None) -> FileTable:
    node, var, notes = _find_matrix(group, layer, source)
    values = _read_matrix(node, source)
    ids, metadata = _read_frame(child(group, "obs", source), source, columns=True)
    if var is None:
        features = tuple(f"{layer} {j}" for j in range(1, values.shape[1] + 1))
    else:
        names, _ = _read_frame(child(group, var, source), source, columns=False)
        features = tuple(names.tolist())
    if len(ids) != values.shape[0]:
        raise input_error(
            source, f"has {values.shape[0]} rows and {len(ids)} names of samples."
        )
    return matrix_table(
        values, name, source, ids=ids, features=features, metadata=metadata,
        notes=(*notes, "ids from obs"),
    )  # fmt: skip


# Node of the numbers, the group that names its columns, and notes.
_Matrix = tuple[Any, str | None, tuple[str, ...]]


def _find_matrix(group: Any, layer: str | None, source: str) -> _Matrix:
    if layer is None:
        if not has(group, "X"):
            raise input_error(
                source, "has no X; name a layer (--layer) if the numbers are in one."
            )
        return child(group, "X", source), "var", ()
    found = _find_layer(group, layer, source)
    if found is None:
        places = [p for p in ("layers", "obsm") if has(group, p)]
        known = [key for place in places for key in child(group, place, source)]
        raise input_error(
            source,
            f"has no layer {layer!r}; it has {shown(known, 5) if known else 'none'}.",
        )
    return found


def _find_layer(group: Any, layer: str, source: str) -> _Matrix | None:
    """A layer, the raw numbers or an embedding; None where there is no such."""
    layers, obsm = (
        child(group, place, source) if has(group, place) else None
        for place in ("layers", "obsm")
    )
    if has(layers, layer):
        return child(layers, layer, source), "var", (f"layer {layer!r}",)
    if layer == "raw" and has(group, "raw"):
        return child(group, "raw/X", source), "raw/var", ("raw",)
    if has(obsm, layer):
        return child(obsm, layer, source), None, (f"embedding {layer!r} of obsm",)
    return None


def _read_matrix(node: Any, source: str) -> Any:
    if not hasattr(node, "keys"):
        values = node[()]
        if values.ndim != 2:
            raise input_error(source, f"holds an array of shape {values.shape}.")
        return values
    encoding, shape = matrix_layout(node)
    layouts = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array}
    layouts |= {"csr": sp.csr_array, "csc": sp.csc_array}
    if encoding not in layouts:
        raise input_error(source, f"holds a matrix of unknown kind {encoding!r}.")
    parts = [child(node, key, source) for key in ("data", "indices", "indptr")]
    check_size(source, 16.0 * parts[0].size + 8.0 * float(np.max(shape)))
    matrix = layouts[encoding](tuple(part[()] for part in parts), shape=shape)
    # SciPy trusts what it is given; an index out of bounds would crash the process.
    matrix.check_format(full_check=True)
    return matrix


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
        rest = {n: to_object_array(records[n]) for n in names if n != key and columns}
        return id_strings(records[key]), rest
    key = str(text(node.attrs.get("_index", "_index")))
    ids = id_strings(_read_column(child(node, key, source), node, source))
    rest = {}
    for column in node if columns else []:
        if column in (key, "__categories"):
            continue
        values = _read_column(child(node, column, source), node, source)
        if values is not None and len(values) == len(ids):
            rest[str(column)] = to_object_array(values)
    return ids, rest


def _read_column(node: Any, frame: Any, source: str) -> Any:
    """One column of a data frame in any of its encodings; None if unknown."""
    if hasattr(node, "keys"):
        if has(node, "codes") and has(node, "categories"):
            categories = _strings(child(node, "categories", source))
            return _decode(child(node, "codes", source)[()], categories)
        if has(node, "values") and has(node, "mask"):
            values = to_object_array(_strings(child(node, "values", source)))
            values[child(node, "mask", source)[()].astype(bool)] = None
            return values
        return None
    name = node.name.split("/")[-1]
    if has(frame, "__categories"):  # anndata 0.7
        stored = child(frame, "__categories", source)
        if has(stored, name):
            return _decode(node[()], _strings(child(stored, name, source)))
    return _strings(node)


def _strings(node: Any) -> np.ndarray:
    """Values of a dataset, text as str."""
    if node.dtype.kind == "O":
        return np.asarray(node.asstr(errors="replace")[()], dtype=object)
    return np.atleast_1d(node[()])


def _decode(codes: np.ndarray, categories: np.ndarray) -> np.ndarray:
    values = np.empty(len(codes), dtype=object)
    known = (codes >= 0) & (codes < len(categories))
    values[known] = to_object_array(categories)[codes[known]]
    return values


def _with_shared_metadata(
    tables: list[FileTable], file: Any, source: str
) -> list[FileTable]:
    """Add the columns that MuData keeps for all samples to every modality."""
    if not has(file, "obs"):
        return tables
    ids, columns = _read_frame(child(file, "obs", source), source, columns=True)
    if len(set(ids.tolist())) < len(ids):
        return tables
    prefixes = tuple(f"{table.name}:" for table in tables)
    for table in tables:
        at = places(ids, table.ids, table.n_rows)
        for key, values in columns.items():
            # mudata repeats the columns of a modality under "name:column".
            if not key.startswith(prefixes) and key not in table.metadata:
                table.metadata[key] = aligned(values, at)
    return tables


def has(group: Any, key: str) -> bool:
    """Whether a group has a key, without following where it leads."""
    return hasattr(group, "keys") and group.get(key, getlink=True) is not None


def child(group: Any, path: str, source: str, *, whole: bool = True) -> Any:
    """A node of the file, never one that lives in another file.

    Unless `whole` is False, a dataset must be of a size that can be read at once.
    """
    import h5py

    for key in path.split("/"):
        if not has(group, key):
            raise input_error(source, f"has no {path!r}, so it is no AnnData file.")
        if isinstance(group.get(key, getlink=True), h5py.ExternalLink):
            raise input_error(source, f"its {path!r} points to another file; copy it.")
        group = group[key]
    if isinstance(group, h5py.Dataset):
        if group.external or group.is_virtual:
            raise input_error(source, f"its {path!r} is kept in another file; copy it.")
        if whole:
            claimed = float(group.size or 0) * group.dtype.itemsize
            check_size(source, claimed)
            # No file can hold so much, however well it is packed.
            if claimed > max(_SMALL, _PACKING * group.file.id.get_filesize()):
                raise input_error(
                    source,
                    f"{group.name} says it holds {claimed:.0f} bytes; it is damaged.",
                )
    return group


def text(value: Any) -> Any:
    """Attributes and names that may be stored as bytes."""
    return value.decode("utf-8") if isinstance(value, bytes) else value


def matrix_layout(node: Any) -> tuple[str, tuple[int, ...]]:
    """Encoding and shape of a sparse matrix, as anndata of any version wrote them."""
    encoding = text(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format")))
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape", ()))
    return encoding, tuple(int(size) for size in shape)


def modalities(file: Any, source: str, remedy: str) -> list[str]:
    """Names of the modalities of a MuData file, in its order."""
    if not has(file, "mod"):
        raise input_error(source, f"has no group 'mod'; {remedy}.")
    mods = child(file, "mod", source)
    stored = [str(text(k)) for k in np.atleast_1d(mods.attrs.get("mod-order", []))]
    keys = [key for key in stored if has(mods, key)]
    keys += [key for key in mods if key not in keys]
    if not keys:
        raise input_error(source, "holds no modality.")
    return keys
