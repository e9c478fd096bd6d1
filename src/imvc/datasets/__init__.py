"""Data to cluster, and masks that take views away from it.

`make_views` plants clusters, `load_digits_views` computes real views of scikit-learn's
digits, `load_dataset` reads the benchmark sets from files. All return a
`MultiViewDataset`. The masks are boolean arrays (n_samples, n_views), True = observed.
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
from imvc.datasets._masks import block_mask, nested_masks, paired_mask, random_mask
from imvc.datasets._planted import make_views

__all__ = [
    "DatasetEntry",
    "DatasetInfo",
    "MultiViewDataset",
    "block_mask",
    "class_dependent_mask",
    "describe_dataset",
    "get_data_home",
    "list_datasets",
    "load_dataset",
    "load_digits_views",
    "make_views",
    "nested_masks",
    "paired_mask",
    "random_mask",
    "value_dependent_mask",
]
