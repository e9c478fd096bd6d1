"""demo: handwritten digits, half of the samples incomplete."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from imvc.datasets import MultiViewDataset, load_digits_views
from imvc.io import OutputFolder, write_labels
from imvc.metrics import score_all
from imvc.workflow._cluster import cluster
from imvc.workflow._cluster_run import ClusterRun
from imvc.workflow._compare import compare_methods
from imvc.workflow._input_files import InputFiles
from imvc.workflow._save import output_folder
from imvc.workflow._stages import Progress

_OTHERS = ("impute-kmeans", "rise")
_SCORES = {"acc": "ACC", "nmi": "NMI", "ari": "ARI"}


@dataclass(frozen=True, eq=False)
class Demo:
    """What `demo` made.

    Parameters
    ----------
    run : ClusterRun
        Of AnchorBridge; its ``scores`` are those of all three methods.
    seconds : dict of str to float
        Of the fits, by method.
    files : dict of str to Path
        What was written.
    command : str
        The command that does the same as `run`.
    """

    run: ClusterRun
    seconds: dict[str, float]
    files: dict[str, Path]
    command: str

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table of scores."""
        rows = [
            [name, f"{self.seconds[name]:.2f}", *(f"{s:.3f}" for s in scores.values())]
            for name, scores in (self.run.scores or {}).items()
        ]
        return ["method", "seconds", *_SCORES.values()], rows

    def to_dict(self) -> dict[str, Any]:
        """Everything in JSON's types."""
        return {
            **self.run.summary(),
            "warnings": list(self.run.warnings),
            "scores": self.run.scores,
            "seconds": self.seconds,
            "files": {name: str(path) for name, path in self.files.items()},
            "command": self.command,
        }


def demo(
    folder: str | os.PathLike[str] = "demo_output",
    *,
    n_refits: int = 4,
    random_state: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Demo:
    """Cluster five views of handwritten digits; all that ``imvc demo`` does.

    Half of the samples lack some views. The views are written to ``data`` in the folder
    as CSV files and read back, so what comes out can be made by ``imvc cluster``.

    Parameters
    ----------
    folder : path-like, default="demo_output"
        A demo that is there is replaced.
    n_refits : int, default=4
    random_state : int, default=0
        Of the mask and the methods.
    progress : callable, optional
        Called with a `Progress`.

    Returns
    -------
    Demo
    """
    folder = Path(folder)
    data = load_digits_views(incomplete=0.5, random_state=random_state)
    with output_folder(folder, overwrite=True) as taken:
        paths = _write_views(data, folder / "data")
        inputs = InputFiles(paths[:-1], metadata=paths[-1])
        run = cluster(
            inputs,
            n_clusters=data.n_clusters,
            random_state=random_state,
            n_refits=n_refits,
            progress=progress,
        )
        others = compare_methods(
            run.views,
            _OTHERS,
            data.n_clusters,
            labels=dict(zip(_ids(data), data.y.tolist())),
            random_state=random_state,
            progress=progress,
        )
        scores = {
            row["method"]: {title: row[key] for key, title in _SCORES.items()}
            for row in others.table()
        }
        y = run.metadata["digit"].astype(str)
        found = score_all(y, run.labels)
        scores[run.method] = {title: found[key] for key, title in _SCORES.items()}
        run = replace(run, scores=scores)
        files = run.save(taken, progress=progress)
    seconds = {row["method"]: row["seconds"] for row in others.table()}
    command = " ".join(
        [
            f"imvc cluster {' '.join(map(str, paths[:-1]))}",
            f"-k {data.n_clusters} --metadata {paths[-1]} -o out",
        ]
    )
    return Demo(run, {**seconds, run.method: run.seconds["fit"]}, files, command)


def _ids(data: MultiViewDataset) -> list[str]:
    return [f"digit{i:04d}" for i in range(data.n_samples)]


def _write_views(data: MultiViewDataset, folder: Path) -> list[Path]:
    """One CSV file per view with the samples seen in it, and one of the digits."""
    ids = np.array(_ids(data), dtype=object)
    tables: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]] = {}
    for v, (name, X) in enumerate(zip(data.names, data.Xs)):
        seen = data.mask[:, v]
        width = len(str(X.shape[1] - 1))
        columns = {f"{name}{j:0{width}d}": X[seen, j] for j in range(X.shape[1])}
        tables[f"{name}.csv"] = ids[seen], columns
    tables["digit.csv"] = ids, {"digit": np.array([str(d) for d in data.y])}
    with OutputFolder(folder, overwrite=True, names=list(tables)) as taken:
        for name, (samples, columns) in tables.items():
            write_labels(taken.stage(name), samples, columns)
    return [folder / name for name in tables]
