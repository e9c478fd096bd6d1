"""AnnData (.h5ad) and MuData (.h5mu) files as stores, read with h5py by ranges."""

import os
from typing import Any

import numpy as np

from imvc.scale._paths import file_stamp, local_path, need
from imvc.scale._stores import Store, canonical_csr, check_real, csr_row_bytes, id_array

__all__ = ["Hdf5Store", "open_h5ad", "open_h5mu"]

_ID_ROWS = 1 << 17  # ids read at once
_SPARSE = ("csr_matrix", "csr")
_FLIPPED = ("csc_matrix", "csc")


class Hdf5Store(Store):
    """``X`` of an AnnData file, or of one modality of a MuData file.

    Parameters
    ----------
    path : str
    label : str
    group : str
        Where the AnnData is in the file, ``"/"`` or ``"/mod/rna"``.
    """

    def __init__(self, path: str, label: str, group: str = "/") -> None:
        self.path, self.label, self.group = os.path.abspath(path), label, group
        with self._open() as file:
            node = _child(file[group], "X", label)
            self.sparse = hasattr(node, "keys")
            self._read_layout(node)
            names = _index(file[group], "var", label)
            self.feature_names = tuple(_texts(names[()], label))
            ids = _index(file[group], "obs", label)
        check_real(self)
        if ids.shape != (self.shape[0],) or len(self.feature_names) != self.shape[1]:
            raise ValueError(
                f"{label}: X has shape {self.shape}, but there are {ids.shape[0]} "
                f"names of samples and {len(self.feature_names)} of features; write "
                "it anew."
            )
        self._stamp = file_stamp(self.path)

    def _open(self):
        h5py = need("h5py", "io", self.label)
        try:
            return h5py.File(self.path, "r")
        except OSError as error:
            raise OSError(
                f"{self.label}: cannot be opened as an HDF5 file ({error}); write it "
                "anew, or close it where it is open for writing."
            ) from error

    def _read_layout(self, node):
        if not self.sparse:
            if len(node.shape) != 2:
                raise ValueError(
                    f"{self.label}: X has shape {node.shape}, expected 2-D."
                )
            self.shape, self.dtype = node.shape, node.dtype
            self._n_entries = 0
            self._chunk_rows = node.chunks[0] if node.chunks else None
            return
        kind = _text(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format")))
        if kind in _FLIPPED:
            raise ValueError(
                f"{self.label}: X is stored by columns (CSC), so rows cannot be read "
                "by blocks; set adata.X = adata.X.tocsr() and write the file anew."
            )
        if kind not in _SPARSE:
            raise ValueError(f"{self.label}: X is a matrix of unknown kind {kind!r}.")
        shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype, self._n_entries = node["data"].dtype, node["data"].shape[0]
        self._chunk_rows = None

    def read(self, start, stop):
        with self._open() as file:
            node = file[self.group]["X"]
            if not self.sparse:
                return node[start:stop]
            indptr = node["indptr"][start : stop + 1].astype(np.int64)
            lo, hi = int(indptr[0]), int(indptr[-1])
            data, indices = node["data"][lo:hi], node["indices"][lo:hi]
        return canonical_csr(data, indices, indptr - lo, self.shape[1])

    @property
    def row_bytes(self):
        if not self.sparse:
            return super().row_bytes
        return csr_row_bytes(self.dtype, self._n_entries, self.shape[0])

    def boundaries(self):
        if self._chunk_rows is None:
            return None
        at = np.arange(0, self.shape[0], self._chunk_rows, dtype=np.int64)
        return np.append(at, self.shape[0])

    @property
    def has_ids(self):
        return True

    def read_ids(self, start, stop):
        with self._open() as file:
            node = _index(file[self.group], "obs", self.label)
            for at in range(start, stop, _ID_ROWS):
                ids = node[at : min(at + _ID_ROWS, stop)]
                yield id_array(_texts(ids, self.label), self.label)

    @property
    def fingerprint(self):
        found = {"kind": "hdf5", "shape": list(self.shape), "dtype": self.dtype.str}
        return {**found, "group": self.group, **self._stamp}


def open_h5ad(path: str) -> Hdf5Store:
    """The AnnData file at a path."""
    return Hdf5Store(_local(path), path)


def open_h5mu(path: str) -> dict[str, Hdf5Store]:
    """Every modality of a MuData file, by name and in its order."""
    h5py = need("h5py", "io", path)
    local = _local(path)
    with h5py.File(local, "r") as file:
        if "mod" not in file:
            raise ValueError(
                f"{path}: has no group 'mod'; pass [path] if it is an AnnData file."
            )
        mods = file["mod"]
        order = [
            str(_text(key)) for key in np.atleast_1d(mods.attrs.get("mod-order", []))
        ]
        keys = [key for key in order if key in mods]
        keys += [key for key in mods if key not in keys]
    if not keys:
        raise ValueError(f"{path}: holds no modality.")
    return {key: Hdf5Store(local, f"{path}::{key}", f"/mod/{key}") for key in keys}


def _local(path):
    local = local_path(path)
    if local is None:
        raise ValueError(
            f"{path}: HDF5 files cannot be read from URLs; copy it to a disk."
        )
    return local


def _child(group: Any, key: str, label: str) -> Any:
    if key not in group:
        raise ValueError(f"{label}: has no {key!r}, so it is no AnnData file with X.")
    return group[key]


def _index(group: Any, frame: str, label: str) -> Any:
    """The dataset with the names of samples (obs) or features (var)."""
    node = _child(group, frame, label)
    if hasattr(node, "keys"):
        node = _child(node, str(_text(node.attrs.get("_index", "_index"))), label)
        if hasattr(node, "keys") and "values" in node:  # nullable text
            node = node["values"]
    if not hasattr(node, "shape") or node.dtype.names:
        raise ValueError(
            f"{label}: {frame} is stored in a way this program does not know; write "
            "the file anew with a newer anndata."
        )
    return node


def _texts(values: np.ndarray, label: str) -> np.ndarray:
    """Names as text, whatever they are stored as."""
    if values.dtype.kind == "O":
        return np.array([_text(value) for value in values.tolist()], dtype=object)
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8").astype(object)
    return values.astype(str).astype(object)


def _text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else value
