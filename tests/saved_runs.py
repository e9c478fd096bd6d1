"""A small study, clustered and saved, for tests of what comes after."""

import csv

import numpy as np

from imvc.io import ColumnOptions, Preparation
from imvc.workflow import InputFiles, cluster
from study_files import write_study


def write_patients(path, n=90):
    """What is known of the patients of `write_study`: site, age, survival, notes."""
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "site", "age", "days", "dead", "remark"])
        for i in range(n):
            site = "north" if i % 3 else "south"
            numbers = [int(rng.integers(40, 90)), int(rng.integers(1, 900)), i % 2]
            writer.writerow([f"p{i:03d}", site, *numbers, f"remark {i}"])
    return path


def save_study(folder, *, n=90, method="bridge", name="out", n_clusters=3, **options):
    """Paths of the views of a study, and the folder of a run on them.

    The files are prepared in several ways, and there is metadata.
    """
    paths, _ = write_study(folder, n)
    inputs = InputFiles(
        paths,
        metadata=write_patients(folder / "patients.csv", n),
        columns=ColumnOptions(kinds={"sex": "metadata"}, drop={"clinical": ["lab0"]}),
        preparation=Preparation(scale={"rna": "standard"}, top_variance={"protein": 4}),
    )
    options = {"n_refits": 1, "survival": ("days", "dead"), **options}
    run = cluster(inputs, n_clusters=n_clusters, method=method, **options)
    run.save(folder / name, report=False)
    return paths, folder / name
