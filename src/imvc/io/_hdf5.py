"""HDF5 files, opened with h5py and never followed to other files."""

from typing import Any

import numpy as np

from imvc.io._errors import input_error
from imvc.io._file_bytes import check_size

_SMALL, _PACKING = 64 * 2**20, 2000


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
