"""Where blocks of samples come from: the one interface between data and runners."""

import hashlib
import re
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError
from imvc.views import IncompleteViews, ViewSchema

__all__ = ["BlockError", "BlockSource", "ViewsSource", "parse_bytes"]

_BLOCK_ROWS = 32_768  # of views in memory
_SPLIT_ROWS = 4_096  # smaller blocks are not worth a thread
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class BlockSource(ABC):
    """Incomplete views as numbered blocks of consecutive samples.

    Sources travel to other processes, so they can be pickled; files are opened anew
    where they are read.

    Parameters
    ----------
    names : tuple of str
    n_features : tuple of int
    feature_names : tuple of (tuple of str or None)
    dtype : dtype
        float32 when every view gives float32 rows, else float64.
    starts : ndarray of int64, shape (n_blocks + 1,)
        First sample of every block, and the number of samples. Blocks may be empty.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    feature_names: tuple[tuple[str, ...] | None, ...]
    dtype: np.dtype
    starts: np.ndarray
    in_memory = False

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.starts[-1])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.names)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    @property
    def schema(self) -> ViewSchema:
        """Names and features, which new data must agree with."""
        return ViewSchema(self.names, self.n_features, self.feature_names)

    @property
    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What identifies the data, in JSON's types: a killed run checks it."""

    @abstractmethod
    def mask(self, i: int) -> np.ndarray:
        """Which samples of block `i` are observed in which view, (n_i, V)."""

    @abstractmethod
    def block(self, i: int) -> IncompleteViews:
        """The samples of block `i`, checked; views that none of them has included."""

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        """Rows of view `v` of some samples of block `i`, numbered within it."""
        return self.block(i).take(v, local)

    def ids(self, i: int) -> np.ndarray | None:
        """Ids of the samples of block `i`; None where samples are just numbered."""
        return None

    def content(self) -> str:
        """Checksum of what is observed, for data that no file's time tells apart."""
        digest = hashlib.blake2b(digest_size=16)
        for i in range(self.n_blocks):
            views = self.block(i)
            digest.update(np.packbits(views.mask).tobytes())
            for v in range(self.n_views):
                X = views.observed(v)
                parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
                for part in parts:
                    digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()


class ViewsSource(BlockSource):
    """Views in memory, cut into slices of about equal size.

    Parameters
    ----------
    views : IncompleteViews
    block_rows : int, optional
        By default up to 32 768, and four blocks where the samples are fewer: a
        number that does not depend on the threads, as results must not.
    """

    in_memory = True

    def __init__(self, views: IncompleteViews, block_rows: int | None = None) -> None:
        n = views.n_samples
        self.views = views
        self.names, self.n_features = views.names, views.n_features
        self.feature_names, self.dtype = views.feature_names, views.dtype
        if block_rows is None:
            count = max(-(-n // _BLOCK_ROWS), min(4, -(-n // _SPLIT_ROWS)), 1)
            self.starts = np.linspace(0, n, count + 1).astype(np.int64)
        else:
            self.starts = np.append(np.arange(0, n, block_rows, dtype=np.int64), n)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {
            "kind": "memory",
            "n_samples": self.n_samples,
            "n_features": list(self.n_features),
            "content": self.content(),
        }

    def _slice(self, i: int) -> slice:
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def mask(self, i: int) -> np.ndarray:
        return self.views.mask[self._slice(i)]

    def block(self, i: int) -> IncompleteViews:
        return self.views if self.n_blocks == 1 else self.views.select(self._slice(i))

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        return self.views.take(v, self.starts[i] + local)

    def ids(self, i: int) -> np.ndarray | None:
        ids = self.views.sample_ids
        return None if ids is None else ids[self._slice(i)]


def parse_bytes(size: int | str, name: str = "memory_budget") -> int:
    """Bytes of a size like ``"512MiB"``, ``"2 GB"`` or ``1_000_000``.

    Parameters
    ----------
    size : int or str
        Units: B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (of 1024).
    name : str
        The parameter, for the error.

    Returns
    -------
    int

    Examples
    --------
    >>> parse_bytes("1.5GiB")
    1610612736
    """
    if isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0:
        return int(size)
    if isinstance(size, str):
        pattern = r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?\s*"
        found = re.fullmatch(pattern, size.replace("_", ""), re.IGNORECASE)
        if found:
            number, letter, binary = found.groups()
            units = _BINARY_UNITS if binary else _UNITS
            n_bytes = int(float(number) * units[letter.upper()])
            if n_bytes > 0:
                return n_bytes
    raise ValueError(
        f"{name}={size!r} is no size; pass a number of bytes or text like '512MiB' "
        "or '2GB'."
    )
