"""The program on a system without `resource`, `fcntl`, `os.pread` and `os.pwrite`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from imvc.datasets import make_views

SOURCES = str(Path(__file__).parents[1] / "src")
# What Windows lacks is taken away before anything of ours is imported.
WITHOUT = """
import os, sys
for module in ("resource", "fcntl"):
    sys.modules[module] = None
for function in ("pread", "pwrite", "preadv", "pwritev"):
    if hasattr(os, function):
        delattr(os, function)
"""


def run(code, *arguments):
    """Runs code on such a system; returns what it prints."""
    paths = [SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def tables(tmp_path):
    """Two CSV files of one study."""
    pytest.importorskip("pandas")
    import pandas as pd

    data = make_views(40, (4, 5), 2, random_state=0)
    ids = [f"s{i}" for i in range(40)]
    paths = []
    for v, X in enumerate(data.Xs):
        paths.append(tmp_path / f"view{v}.csv")
        pd.DataFrame(X, index=ids).iloc[3 * v :].to_csv(paths[-1])
    return paths


def test_every_module_can_be_imported():
    pytest.importorskip("typer")
    code = """
import importlib, pkgutil, imvc
for module in pkgutil.walk_packages(imvc.__path__, "imvc."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
    run(code)


def test_the_program_says_what_it_can_do():
    pytest.importorskip("typer")
    code = "from imvc.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    assert "cluster" in run(code)


def test_a_model_is_fitted_saved_and_loaded(tmp_path):
    code = """
from imvc import RISE, load_model
from imvc.datasets import make_views
data = make_views(60, (4, 5), 2, random_state=0)
model = RISE(n_clusters=2, random_state=0).fit(data.Xs, mask=data.mask)
model.save(sys.argv[1])
loaded = load_model(sys.argv[1])
print((loaded.predict(data.Xs, mask=data.mask) == model.labels_).all())
"""
    assert run(code, tmp_path / "model.imvc").strip() == "True"


def test_two_tables_are_clustered_into_a_folder_without_experiments(tmp_path, tables):
    pytest.importorskip("typer")
    pytest.importorskip("jinja2")
    folder = tmp_path / "out"
    code = """
from imvc.cli import main
try: main(["cluster", *sys.argv[1:3], "-k", "2", "-o", sys.argv[3]])
except SystemExit as end: assert not end.code
print([name for name in sys.modules if name.startswith("imvc.experiments")])
"""
    assert run(code, *tables, folder).splitlines()[-1] == "[]"
    assert (folder / "report.html").is_file()
    assert len((folder / "labels.csv").read_text().splitlines()) == 41


def test_a_limit_of_memory_that_cannot_be_kept_is_told():
    """Without /proc too, there is nothing to measure the memory of a process with."""
    code = """
import warnings
from imvc.experiments import _worker
_worker.resident_memory = lambda pid=None: 0
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    _worker.Pool(1, _worker.Limits(gigabytes=4))
print(told[0].message)
"""
    assert run(code).startswith("memory_limit=4 cannot be kept: this system does not")
