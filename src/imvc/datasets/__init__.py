"""Data to cluster, and masks that take views away from it.

`make_views` plants clusters, `load_digits_views` computes real views of scikit-learn's
digits, `load_dataset` reads the benchmark sets from files. All return a
`MultiViewDataset`. The masks are boolean arrays (n_samples, n_views), True = observed;
`protocol_mask` draws them by the names under which the field's protocols go.
"""

from imvc.datasets._benchmark_sets import DatasetInfo
from imvc.datasets._dataset import MultiViewDataset
from imvc.datasets._dataset_files import get_data_home
from imvc.datasets._dependent_masks import class_dependent_mask, value_dependent_mask
from imvc.datasets._digits import load_digits_views
from imvc.datasets._load import (
    DatasetEntry,
    describe_dataset,
    list_datasets,
    load_dataset,
)
from imvc.datasets._masks import (
    block_mask,
    nested_masks,
    one_missing_mask,
    paired_mask,
    per_view_mask,
    random_mask,
)
from imvc.datasets._planted import make_views
from imvc.datasets._protocols import (
    Protocol,
    list_protocols,
    missing_shares,
    protocol_mask,
)

__all__ = [
    "DatasetEntry",
    "DatasetInfo",
    "MultiViewDataset",
    "Protocol",
    "block_mask",
    "class_dependent_mask",
    "describe_dataset",
    "get_data_home",
    "list_datasets",
    "list_protocols",
    "load_dataset",
    "load_digits_views",
    "make_views",
    "missing_shares",
    "nested_masks",
    "one_missing_mask",
    "paired_mask",
    "per_view_mask",
    "protocol_mask",
    "random_mask",
    "value_dependent_mask",
]


def __dir__() -> list[str]:
    return __all__
