"""The benchmark sets: what they are called, look like, and where they are published."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DatasetInfo:
    """One published benchmark set.

    Attributes
    ----------
    name : str
        Canonical name.
    files : tuple of str
        Accepted file names without extension, the preferred one first; spelling in
        upper or lower case and with or without punctuation does not matter.
    source : str
        Where it is published.
    n_samples : int
        Number of samples as published.
    n_features : tuple of int
        Number of features of each view as published.
    n_classes : int
        Number of classes as published.
    note : str
        What a user has to know before comparing numbers.
    """

    name: str
    files: tuple[str, ...]
    source: str
    n_samples: int
    n_features: tuple[int, ...]
    n_classes: int
    note: str = ""


# The feature files of the three large sets are passed on between authors.
_LARGE = (
    "the features have no stable address, ask in "
    "https://github.com/wangsiwei2010/large_scale_multi-view_clustering_datasets"
)
_UEHARA = "https://github.com/UeharaSetsuYu/Multi-view-Datasets"

REGISTRY: tuple[DatasetInfo, ...] = (
    DatasetInfo(
        "prokaryotic",
        ("prokaryotic",),
        "https://github.com/mbrbic/Multi-view-LRSSC (datasets/prokaryotic.mat)",
        551,
        (438, 3, 393),
        4,
        "Each view is a PCA projection; the largest class holds 57 % of the samples.",
    ),
    DatasetInfo(
        "webkb",
        ("webkb", "webkb2"),
        f"{_UEHARA} (WebKB.mat)",
        1051,
        (2949, 334),
        2,
        "Some observed rows are all zero.",
    ),
    DatasetInfo(
        "caltech101-7",
        ("caltech101-7",),
        "https://github.com/yeqinglee/mvdata (Caltech101-7.mat)",
        1474,
        (48, 40, 254, 1984, 512, 928),
        7,
        "Very unbalanced: two classes hold 84 % of the samples.",
    ),
    DatasetInfo(
        "wikipedia",
        ("wikipedia", "wiki_fea"),
        f"{_UEHARA} (Wiki_fea.mat)",
        2866,
        (128, 10),
        10,
        "The text view carries nearly all the class information.",
    ),
    DatasetInfo(
        "cifar10",
        ("cifar10",),
        f"https://www.cs.toronto.edu/~kriz/cifar.html (images; {_LARGE})",
        50000,
        (512, 2048, 1024),
        10,
        "Deep features; scores of 96 % suggest that they were learnt with labels.",
    ),
    DatasetInfo(
        "fmnist",
        ("fmnist", "fashion-mnist"),
        f"https://github.com/zalandoresearch/fashion-mnist (images; {_LARGE})",
        60000,
        (512, 512, 1280),
        10,
        "Deep features.",
    ),
    DatasetInfo(
        "youtubeface",
        ("youtubeface", "youtubeface_sel", "youtubeface_sel_fea"),
        f"https://www.cs.tau.ac.il/~wolf/ytfaces/ (videos; {_LARGE})",
        101499,
        (64, 512, 64, 647, 838),
        31,
    ),
    DatasetInfo(
        "3sources",
        ("3sources", "3sources_incomplete"),
        "http://mlg.ucd.ie/datasets/3sources.html",
        416,
        (3560, 3631, 3068),
        6,
        "Naturally incomplete: 169 stories in three sources, 194 in two, 53 in one.",
    ),
)


def normalise(name: str) -> str:
    """Lower case letters and digits only: Caltech101-7 and caltech101_7 are one."""
    return "".join(char for char in name.casefold() if char.isalnum())


def find_info(name: str) -> DatasetInfo | None:
    """Return the registered set that goes by this name or file name, if any."""
    key = normalise(name)
    for info in REGISTRY:
        if key in {normalise(known) for known in (info.name, *info.files)}:
            return info
    return None
