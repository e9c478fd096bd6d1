"""Runners that feed blocks of samples to the kernels."""

from imvc.io._errors import BlockError
from imvc.io._parquet import ParquetRows
from imvc.io._write_rows import save_rows
from imvc.scale._folder import FolderStore
from imvc.scale._given_blocks import Blocks
from imvc.scale._graphs import (
    GraphRows,
    embed_rows,
    graph_rows,
    map_observed,
    row_statistics,
)
from imvc.scale._memory import ThreadRunner, threaded_map
from imvc.scale._open import open_source
from imvc.scale._progress import BlockProgress
from imvc.scale._run import open_runner
from imvc.scale._runner import Chain, KeptRows, KeptSource, Numbers, Runner, in_turn
from imvc.scale._source import BlockSource, ViewsSource, parse_bytes
from imvc.scale._view_rows import ObservedRows

__all__ = [
    "BlockError",
    "BlockProgress",
    "BlockSource",
    "Blocks",
    "Chain",
    "FolderStore",
    "GraphRows",
    "KeptRows",
    "KeptSource",
    "Numbers",
    "ObservedRows",
    "ParquetRows",
    "Runner",
    "ThreadRunner",
    "ViewsSource",
    "embed_rows",
    "graph_rows",
    "in_turn",
    "map_observed",
    "open_runner",
    "open_source",
    "parse_bytes",
    "row_statistics",
    "save_rows",
    "threaded_map",
]
