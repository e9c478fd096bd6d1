"""Runners that feed blocks of rows to the kernels."""

from imvc.scale._graphs import anchor_graph, embed_groups, group_blocks, map_observed
from imvc.scale._memory import threaded_map

__all__ = [
    "anchor_graph",
    "embed_groups",
    "group_blocks",
    "map_observed",
    "threaded_map",
]
