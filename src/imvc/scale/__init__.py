"""Blocks of samples, and runners that feed them to the methods."""

from imvc.io._errors import BlockError, ChangedFileError
from imvc.io._parquet import ParquetRows
from imvc.io._write_rows import save_rows
from imvc.scale._block_plan import parse_bytes
from imvc.scale._elsewhere import block_budget, data_plan
from imvc.scale._filled_source import CellFill, fill_source
from imvc.scale._folder import (
    DamagedPlan,
    RefusedFolder,
    RunFolder,
    check_work_dir,
    read_plan,
)
from imvc.scale._given_blocks import Blocks
from imvc.scale._open import open_source
from imvc.scale._progress import BlockProgress
from imvc.scale._runner import (
    KeptRows,
    RowArray,
    Runner,
    ThreadRunner,
    apply_all,
    n_threads,
    open_runner,
    threaded_map,
)
from imvc.scale._safe_range import SafeRange
from imvc.scale._source import (
    AnchorGraphs,
    BlockSource,
    GraphRows,
    ViewsSource,
    embed_rows,
    graph_rows,
    map_observed,
    row_statistics,
)
from imvc.scale._view_rows import ObservedRows

__all__ = [
    "AnchorGraphs",
    "BlockError",
    "BlockProgress",
    "BlockSource",
    "Blocks",
    "CellFill",
    "ChangedFileError",
    "DamagedPlan",
    "GraphRows",
    "KeptRows",
    "ObservedRows",
    "ParquetRows",
    "RefusedFolder",
    "RowArray",
    "RunFolder",
    "Runner",
    "SafeRange",
    "ThreadRunner",
    "ViewsSource",
    "apply_all",
    "block_budget",
    "check_work_dir",
    "data_plan",
    "embed_rows",
    "fill_source",
    "graph_rows",
    "map_observed",
    "n_threads",
    "open_runner",
    "open_source",
    "parse_bytes",
    "read_plan",
    "row_statistics",
    "save_rows",
    "threaded_map",
]
