"""A folder of small datasets, and suites on them."""

import numpy as np
import pytest

from imvc.datasets import make_views

SUITE = """
title = "small"
tables = ["scores", "time"]
figures = ["missing-rate"]
metrics = ["acc", "purity"]

[quick]
datasets = ["planted"]
rates = [0.1, 0.5]
mask_seeds = [0]
seeds = [0, 1]

[full]
datasets = ["planted"]
rates = [0.1]
mask_seeds = [0]
seeds = [0]

[[method]]
name = "{method}"
label = "one"
parameters = {parameters}
[method.grid]
level = [1, 2, 3]
"""


@pytest.fixture
def home(tmp_path):
    """A data folder with one planted set of 60 samples."""
    folder = tmp_path / "data"
    folder.mkdir()
    data = make_views(60, (4, 5, 6), 3, random_state=0)
    arrays = {f"X{v}": np.asarray(X) for v, X in enumerate(data.Xs)}
    np.savez(folder / "planted.npz", y=data.y, **arrays)
    return folder


@pytest.fixture
def write_suite(tmp_path):
    """Writes a suite of one dummy method and returns its path."""

    def write(method="dummy_methods:Dummy", parameters="{}", changes=(), text=SUITE):
        path = tmp_path / "small.toml"
        for old, new in changes:
            text = text.replace(old, new, 1)
        text = text.replace("{method}", method).replace("{parameters}", parameters)
        path.write_text(text)
        return path

    return write
