"""What was observed, and where: the one container every method reads.

People use `as_views` and `IncompleteViews`; the rest of what is listed here serves the
other rooms of the package.
"""

from imvc.views._conform import check_features, check_known
from imvc.views._container import (
    IncompleteViews,
    Pattern,
    ViewSchema,
    float_dtype,
    group_patterns,
    name_order,
    name_places,
    read_only,
    stack_samples,
    with_observed,
)
from imvc.views._frames import (
    JoinReport,
    Table,
    is_annotated,
    read_table,
)
from imvc.views._keys import id_keys, mixed_bits
from imvc.views._validate import (
    as_views,
    assemble_views,
    count_nonfinite,
    find_overflow,
    join_tables,
    named_entries,
)
from imvc.views._values import SAFE_SIZE

__all__ = [
    "SAFE_SIZE",
    "IncompleteViews",
    "JoinReport",
    "Pattern",
    "Table",
    "ViewSchema",
    "as_views",
    "assemble_views",
    "check_features",
    "check_known",
    "count_nonfinite",
    "find_overflow",
    "float_dtype",
    "group_patterns",
    "id_keys",
    "is_annotated",
    "join_tables",
    "mixed_bits",
    "name_order",
    "name_places",
    "named_entries",
    "read_only",
    "read_table",
    "stack_samples",
    "with_observed",
]
