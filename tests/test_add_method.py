"""A method is added by the steps of CONTRIBUTING.md and by nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE = '''
"""Dummy: views side by side, missing ones at the mean.

Specification: docs/methods/dummy.md.

    min  nothing
"""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import unit_rows
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._parameters import NonNegative, estimator


@estimator
class Dummy(EmbeddingClusterer):
    """Views side by side, missing ones at the mean.

    Parameters
    ----------
    shrink : float, default=0.0
        Share by which everything moves to zero.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, sum of n_features)
    objective_ : ndarray of shape (1,)

    References
    ----------
    Nobody.

    Examples
    --------
    >>> from imvc import Dummy
    >>> Dummy(n_clusters=3).shrink
    0.0
    """

    shrink: NonNegative = 0.0

    def _embed(self, views, rng):
        parts = []
        for v in range(views.n_views):
            X = unit_rows(views.observed(v))
            X = X.toarray() if sp.issparse(X) else X
            E = np.tile(X.mean(axis=0), (views.n_samples, 1)).astype(views.dtype)
            E[views.rows(v)] = X
            parts.append(E * views.dtype.type(1 - self.shrink))
        self._record([0.0], True)
        return np.hstack(parts)
'''
PAGE = """# Dummy

`shrink` moves to zero. k-means tries its starts on at most 10 000 rows.
"""
TEST = """
from imvc import Dummy
from imvc.datasets import make_views


def test_dummy_gives_every_sample_a_label():
    data = make_views(60, (5, 4), 3, incomplete=0.3, random_state=0)
    assert len(Dummy(3, random_state=0).fit(data.Xs, mask=data.mask).labels_) == 60
"""
ENTRY = """    Method("dummy", "imvc.methods.dummy:Dummy",
           "nobody, nowhere", "O(n)", Rates(fixed=0.1, linear=1.0)),
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the project to which a method was added, step by step."""
    root = tmp_path_factory.mktemp("house")
    for name in ("src", "tests", "docs"):
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    methods = root / "src/imvc/methods"
    (methods / "dummy.py").write_text(FILE.lstrip())
    registry = (methods / "_registry.py").read_text()
    start = registry.index('    Method("bridge"')
    (methods / "_registry.py").write_text(registry[:start] + ENTRY + registry[start:])
    (root / "tests/methods/test_dummy.py").write_text(TEST.lstrip())
    (root / "docs/methods/dummy.md").write_text(PAGE)
    with open(root / "CHANGELOG.md", "a") as file:
        file.write("\n- `Dummy`, a method.\n")
    return root


def run(house, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(house / "src")}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=house,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_common_checks_and_the_docs_take_it_up(house):
    told = run(
        house,
        *("pytest", "-q", "-k", "dummy or Dummy"),
        *("tests/test_methods_common.py", "tests/methods/test_dummy.py"),
        *("tests/test_docs.py", "tests/test_architecture.py"),
    )
    passed = int(told.split(" passed")[0].split()[-1])
    assert passed > 20  # the conformance checks alone are that many
    assert "failed" not in told


def test_the_program_lists_it_and_runs_it(house, tmp_path):
    assert "dummy" in run(house, "imvc.cli", "methods")
    files = []
    for v in range(2):
        rows = "\n".join(f"p{i},{i % 3 + v},{(i % 3) * 2},{i % 2}" for i in range(30))
        files.append(tmp_path / f"view{v}.csv")
        files[-1].write_text(f"id,a,b,c\n{rows}\n")
    told = run(
        house,
        *("imvc.cli", "cluster", *map(str, files), "-k", "3", "--method", "dummy"),
        *("-o", str(tmp_path / "out"), "--no-report"),
    )
    assert (tmp_path / "out" / "labels.csv").is_file(), told


def test_contributing_names_these_steps_and_no_other():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = text.split("**Add a method.**")[1].split("**")[0]
    files = ["docs/methods/", "src/imvc/methods/", "_registry.py", "tests/methods/"]
    for number, file in enumerate([*files, "CHANGELOG.md"], 1):
        step = steps.split(f"\n{number}. ")[1].split(f"\n{number + 1}. ")[0]
        assert file in step
    assert "\n6. " not in steps
