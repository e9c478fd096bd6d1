"""AnnData (.h5ad) and MuData (.h5mu) files by rows, read with h5py by ranges."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from imvc.io._anndata import child, matrix_layout, modalities, text
from imvc.io._errors import input_error, need, one_line, reading
from imvc.io._file_stamps import stamp_file
from imvc.io._row_reader import (
    RowReader,
    canonical_csr,
    cut_rows,
    id_array,
    local_path,
)

_ID_ROWS = 1 << 17  # ids read at once


class AnnDataReader(RowReader):
    """``X`` of an AnnData file, or of one modality (``"/mod/rna"``) of MuData."""

    has_ids = True

    def __init__(self, path: str, label: str, group: str = "/") -> None:
        self.path, self.label, self.group = os.path.abspath(path), label, group
        with _opened(self.path, self.label) as file:
            self._stamp = stamp_file(self.path)
            node = child(file[group], "X", label, whole=False)
            self.sparse = hasattr(node, "keys")
            self._read_layout(node)
            self.feature_names = tuple(_texts(self._names(file, "var")[()]))
            ids = self._names(file, "obs")
        self.check_real()
        if ids.shape != (self.shape[0],) or len(self.feature_names) != self.shape[1]:
            raise input_error(
                label,
                f"X has shape {self.shape}, but the names of samples have shape "
                f"{ids.shape} and there are {len(self.feature_names)} of features; "
                "write it anew.",
            )

    def _read_layout(self, node: Any) -> None:
        self._chunk_rows = None
        if not self.sparse:
            if len(node.shape) != 2:
                raise input_error(
                    self.label, f"X has shape {node.shape}, expected 2-D."
                )
            self.shape, self.dtype = node.shape, node.dtype
            self._chunk_rows = node.chunks[0] if node.chunks else None
            return
        kind, shape = matrix_layout(node)
        if kind in ("csc_matrix", "csc"):
            raise input_error(
                self.label,
                "X is stored by columns (CSC), so rows cannot be read by blocks; set "
                "adata.X = adata.X.tocsr() and write the file anew.",
            )
        if kind not in ("csr_matrix", "csr"):
            raise input_error(self.label, f"X is a matrix of unknown kind {kind!r}.")
        self.shape = (shape[0], shape[1])
        self.dtype, self.n_entries = node["data"].dtype, node["data"].shape[0]

    def _names(self, file: Any, frame: str) -> Any:
        """The dataset with the names of samples (obs) or features (var)."""
        node = child(file[self.group], frame, self.label, whole=False)
        if hasattr(node, "keys"):
            key = str(text(node.attrs.get("_index", "_index")))
            node = child(node, key, self.label, whole=False)
            if hasattr(node, "keys") and "values" in node:  # nullable text
                node = node["values"]
        if not hasattr(node, "shape") or node.dtype.names:
            raise input_error(
                self.label,
                f"{frame} is stored in a way this program does not know; write the "
                "file anew with a newer anndata.",
            )
        return node

    def read(self, start: int, stop: int) -> Any:
        with _opened(self.path, self.label) as file:
            node = file[self.group]["X"]
            if not self.sparse:
                return node[start:stop]
            indptr = node["indptr"][start : stop + 1].astype(np.int64)
            lo, hi = int(indptr[0]), int(indptr[-1])
            data, indices = node["data"][lo:hi], node["indices"][lo:hi]
        return canonical_csr(data, indices, indptr - lo, self.shape[1])

    def boundaries(self) -> np.ndarray | None:
        if self._chunk_rows is None:
            return None
        return cut_rows(self.shape[0], self._chunk_rows)

    def read_ids(self, start: int, stop: int) -> Iterator[np.ndarray]:
        with _opened(self.path, self.label) as file:
            node = self._names(file, "obs")
            for at in range(start, stop, _ID_ROWS):
                ids = _texts(node[at : min(at + _ID_ROWS, stop)])
                yield id_array(ids, self.label)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**self.described("hdf5"), "group": self.group, **self._stamp}


def open_h5ad(path: str) -> AnnDataReader:
    """The AnnData file at a path."""
    return AnnDataReader(_local(path), path)


def open_h5mu(path: str) -> dict[str, AnnDataReader]:
    """Every modality of a MuData file, by name and in its order."""
    local = _local(path)
    with _opened(local, path) as file:
        keys = modalities(file, path, "pass [path] if it is an AnnData file")
    return {key: AnnDataReader(local, f"{path}::{key}", f"/mod/{key}") for key in keys}


@contextmanager
def _opened(path: str, label: str) -> Iterator[Any]:
    """A file of HDF5; whatever its library raises becomes an InputError."""
    h5py = need("h5py", label)
    with reading(label, "an AnnData file"):
        try:
            file = h5py.File(path, "r")
        except OSError as error:
            raise input_error(
                label,
                f"cannot be opened as an HDF5 file ({one_line(error)}); write it anew, "
                "or close it where it is open for writing.",
            ) from error
        with file:
            yield file


def _local(path: str) -> str:
    local = local_path(path)
    if local is None:
        raise ValueError(
            f"{path}: HDF5 files cannot be read from URLs; copy it to a disk."
        )
    return local


def _texts(values: np.ndarray) -> np.ndarray:
    """Names as text, whatever they are stored as."""
    if values.dtype.kind == "O":
        return np.array([text(value) for value in values.tolist()], dtype=object)
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8").astype(object)
    return values.astype(str).astype(object)
