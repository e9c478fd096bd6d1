"""Blocks of samples, and runners that feed them to the methods."""

from imvc.scale._blocks import Blocks
from imvc.scale._elsewhere import block_budget, data_plan
from imvc.scale._folder import RunFolder
from imvc.scale._open import open_source
from imvc.scale._open_view import ObservedRows
from imvc.scale._progress import BlockProgress
from imvc.scale._results import save_rows
from imvc.scale._runner import (
    BlockNumbers,
    KeptRows,
    RowArray,
    Runner,
    ThreadRunner,
    apply_all,
    open_runner,
    threaded_map,
)
from imvc.scale._source import (
    AnchorGraphs,
    BlockError,
    BlockSource,
    GraphRows,
    ViewsSource,
    embed_rows,
    graph_rows,
    map_observed,
    parse_bytes,
    row_statistics,
)
from imvc.scale._store_parquet import ParquetRows

__all__ = [
    "AnchorGraphs",
    "BlockError",
    "BlockNumbers",
    "BlockProgress",
    "BlockSource",
    "Blocks",
    "GraphRows",
    "KeptRows",
    "ObservedRows",
    "ParquetRows",
    "RowArray",
    "RunFolder",
    "Runner",
    "ThreadRunner",
    "ViewsSource",
    "apply_all",
    "block_budget",
    "data_plan",
    "embed_rows",
    "graph_rows",
    "map_observed",
    "open_runner",
    "open_source",
    "parse_bytes",
    "row_statistics",
    "save_rows",
    "threaded_map",
]
