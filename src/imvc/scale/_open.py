"""open_source: from whatever holds the views to blocks of samples."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from imvc.io._anndata_rows import open_h5mu
from imvc.io._open_rows import needs_no_file
from imvc.io._row_reader import PATHS, must_exist
from imvc.scale._block_plan import block_rows, parse_bytes, plan_blocks
from imvc.scale._given_blocks import Blocks, SequenceSource, is_sequence, spool_blocks
from imvc.scale._join_ids import join_by_id
from imvc.scale._rewrite import WorkFolder, digest_of, rewrite
from imvc.scale._row_source import RowSource
from imvc.scale._source import BlockSource, ViewsSource
from imvc.scale._view_rows import ObservedRows, ViewRows, open_mask, open_view
from imvc.views import (
    IncompleteViews,
    ViewSchema,
    as_views,
    check_features,
    check_known,
    named_entries,
)


def open_source(
    Xs: Any,
    mask: Any = None,
    *,
    memory_budget: int | str | None = None,
    work_dir: Any = None,
    like: ViewSchema | None = None,
    missing_values: str = "error",
) -> BlockSource:
    """Views wherever they are stored, as blocks of samples.

    No view is read whole or copied whole, apart from the cases named under `work_dir`.
    A row that is all NaN is a missing one, unless a mask or `ObservedRows` says that it
    is observed: then it is an error.

    Parameters
    ----------
    Xs : list, tuple, dict, path of an .h5mu file, MuData, Blocks, iterable, BlockSource
        Views are arrays, memory maps, zarr arrays, `ObservedRows`, `ParquetRows`,
        AnnData in backed mode, or paths: ``.npy``, zarr, a folder of Parquet parts,
        ``.h5ad``; zarr and Parquet by URL too. Views with ids (Parquet, AnnData,
        DataFrames) are joined by them: outer join, samples in the order of first
        appearance. Any other iterable gives blocks, see `Blocks`.
    mask : array, memory map, zarr array or path of a .npy file, optional
        Shape (n_samples, n_views), False where a sample is missing in a view. Rows of
        samples that are missing are then never looked at.
    memory_budget : int or str, optional
        Memory of two threads, like ``"1GiB"``; a block holds about an eighth of it.
        By default blocks hold at most 65 536 samples and 64 MB.
    work_dir : path-like, optional
        Where views are rewritten that cannot be read by blocks as they are: blocks of
        an iterable, rows whose ids come in another order than the samples, and, only
        if a folder is given, chunks or row groups much larger than a block. None: a
        temporary folder, where one is needed.
    like : ViewSchema, optional
        The views a model was fitted on; views may then be None or left out of a dict.
    missing_values : {"error", "keep"}
        What to do about rows with some empty cells, as in `as_views`.

    Returns
    -------
    BlockSource
        A `ViewsSource` where all views are in memory.

    Raises
    ------
    BlockError
        For data that cannot be used; its message starts with the file or view.
    FileNotFoundError, TypeError, ValueError
        For things that are no views, or do not belong together.
    ImportError
        Where a package is missing: the message names the extra to install.
    """
    if memory_budget is not None:
        parse_bytes(memory_budget)
    Xs, keep = _open_mudata(Xs), missing_values == "keep"
    if isinstance(Xs, BlockSource) or _is_blocks(Xs):
        if mask is not None:
            raise ValueError(
                "mask was given with blocks; give (Xs, mask) as each block."
            )
        if isinstance(Xs, BlockSource):
            return Xs
        items = Xs.items if isinstance(Xs, Blocks) else Xs
        if is_sequence(items):
            return SequenceSource(items, like, keep)
        return spool_blocks(items, work_dir, memory_budget, like, keep)
    rule: Any = {"like": like, "missing_values": missing_values}
    if isinstance(Xs, IncompleteViews):
        return ViewsSource(as_views(Xs, mask, **rule))
    names, entries = named_entries(Xs, like)
    if all(_in_memory(x) for x in [*entries, mask]):
        return ViewsSource(as_views(Xs, mask, **rule))
    return _open_files(names, entries, mask, memory_budget, work_dir, like, keep)


def _open_mudata(Xs):
    """Modalities of a MuData on disk by name; anything else as it is."""
    if isinstance(Xs, PATHS):
        path = os.fspath(Xs)
        if not path.endswith(".h5mu"):
            raise TypeError(
                f"Xs is the path {path!r} of a single view; pass a list of views, or "
                "[path] for one view."
            )
        must_exist(path, "Xs")
        return open_h5mu(path)
    on_disk = isinstance(getattr(Xs, "mod", None), Mapping) and Xs.isbacked
    return open_h5mu(str(Xs.filename)) if on_disk else Xs


def _is_blocks(Xs):
    if isinstance(Xs, Blocks):
        return True
    known = isinstance(Xs, list | tuple | Mapping | IncompleteViews)
    # What has a shape is one matrix, for which there is an error of its own.
    other = hasattr(Xs, "shape") or hasattr(Xs, "to_pandas") or hasattr(Xs, "mod")
    return not known and not other and (hasattr(Xs, "__iter__") or is_sequence(Xs))


def _in_memory(x):
    """Tell whether a view needs no file to be read."""
    if type(x) is np.ndarray and x.base is None:  # no part of a memory map
        return True
    return not isinstance(x, ObservedRows) and needs_no_file(x)


def _open_files(names, entries, mask, memory_budget, work_dir, like, keep):
    given = {n: open_view(n, x) for n, x in zip(names, entries) if x is not None}
    if like is not None:
        check_known(list(given), like)
    key = digest_of([[name, view.fingerprint] for name, view in given.items()])
    folder, ids = WorkFolder(work_dir, key), None
    mask_rows = None if mask is None else open_mask(mask)
    if _by_id(given, mask):
        rows = [view.rows for view in given.values()]
        n, joined, ids = join_by_id(rows, folder)
        for view, (own, index) in zip(given.values(), joined):
            view.rows, view.index = own, index
    else:
        n = _count_samples(given, entries, names, mask_rows)
    if n == 0:
        labels = ", ".join(view.label for view in given.values())
        raise ValueError(f"{labels}: has no samples; pass at least one row.")
    _check_mask(mask_rows, n, names)
    row_bytes = sum(view.rows.row_bytes for view in given.values())
    step = block_rows(row_bytes, len(given), memory_budget)
    if folder.lasting:
        _rewrite_coarse(given, step, folder)
    aligned = [v.rows.boundaries() for v in given.values() if v.index is None]
    starts = plan_blocks(n, step, [own for own in aligned if own is not None])
    views, columns = _in_order(given, names, like)
    source = RowSource(views, starts, mask_rows, columns, ids, folder, keep)
    if like is not None:
        for v, view in enumerate(views):
            if view.rows is not None:
                check_features(source, v, like, v)
    return source


def _by_id(given: dict[str, ViewRows], mask: Any) -> bool:
    """Whether views are joined by ids; all of them must have such then."""
    # Rows that were listed by number need no ids.
    with_ids = [n for n, v in given.items() if v.rows.has_ids and not v.listed]
    without = [name for name in given if name not in with_ids]
    if not with_ids:
        return False
    if without:
        raise TypeError(
            f"views {without} have no ids while {with_ids} have; store all views with "
            "ids (Parquet, AnnData), or all as arrays with rows in one order."
        )
    if mask is not None:
        raise ValueError(
            "mask was given with views that are joined by id, so its rows have no "
            "meaning; drop the rows that are missing from each view."
        )
    return True


def _count_samples(given, entries, names, mask) -> int:
    """Number of samples, about which all views must agree."""
    counts = {n: v.rows.shape[0] for n, v in given.items() if v.index is None}
    for name, entry in zip(names, entries):
        if isinstance(entry, ObservedRows) and entry.n_samples is not None:
            counts[name] = int(entry.n_samples)
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"views have different numbers of samples: {counts}; store one row per "
            "sample, or pass ObservedRows(values, rows, n_samples)."
        )
    if counts:
        return next(iter(counts.values()))
    if mask is not None:
        return mask.shape[0]
    tails = [
        v.index.read(v.index.shape[0] - 1, v.index.shape[0])
        for v in given.values()
        if v.index.shape[0]
    ]
    if not tails:
        raise ValueError("views have no samples; pass at least one row.")
    return max(int(tail[0, 0]) for tail in tails) + 1


def _check_mask(mask, n, names):
    shape = (n, len(names))
    if mask is not None and mask.shape != shape:
        raise ValueError(
            f"{mask.label}: the mask has shape {mask.shape}, expected (n_samples, "
            f"n_views) = {shape}; store one row per sample and one column per view."
        )


def _rewrite_coarse(given, step, folder):
    """Rewrite views whose chunks would be unpacked for several blocks each."""
    for v, view in enumerate(given.values()):
        cuts = view.rows.boundaries()
        if cuts is not None and np.diff(cuts).max(initial=0) > 2 * step:
            view.rows = rewrite(view.rows, folder, f"chunks-{v}")


def _in_order(given, names, like):
    """Views as the model knows them, and the column of the mask of each."""
    if like is None:
        return list(given.values()), list(range(len(names)))
    views = [
        given.get(name) or ViewRows(name, None, width)
        for name, width in zip(like.names, like.n_features)
    ]
    columns = [names.index(name) if name in names else -1 for name in like.names]
    return views, columns
