"""What is released: the archives, the wheel alone, and each extra alone.

An environment sees the distributions that a requirement brings and no others, so that a
package which happens to be installed here cannot hide one that is not declared.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pandas as pd
import pytest
import zarr
from environments import Environment, megabytes

from imvc.datasets import make_views

pytest.importorskip("setuptools", "77", reason="needs: pip install 'setuptools>=77'")

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [".ci", "benchmarks", "docs", "examples", "src", "tests"]


def build(kind, folder):
    code = f"from setuptools.build_meta import build_{kind} as build; build('dist')"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    (archive,) = (folder / "dist").iterdir()
    return archive


def files_of(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The project as a fresh checkout has it."""
    folder = tmp_path_factory.mktemp("sources")
    made = shutil.ignore_patterns("__pycache__", "_build", "*.egg-info", ".*")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=made)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def unpacked(sources, tmp_path_factory):
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(build("sdist", sources)) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


@pytest.fixture(scope="module")
def wheel(unpacked):
    """The wheel, made from the source archive."""
    return build("wheel", unpacked)


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("core"), wheel)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Two views as files of every kind."""
    monkeypatch.chdir(tmp_path)
    for name, X in zip("ab", make_views(60, (4, 5), 2, random_state=0).Xs):
        table = pd.DataFrame(X, index=[f"s{i}" for i in range(60)]).add_prefix("c")
        table.rename_axis("id").to_csv(f"{name}.csv")
        table.rename_axis("id").to_parquet(f"{name}.parquet")
        table.rename_axis("id").to_excel(f"{name}.xlsx")
        zarr.save(f"{name}.zarr", X)


def test_the_source_archive_holds_the_project(sources, unpacked):
    made = re.compile(r"PKG-INFO|setup\.cfg|dist/|build/|src/imvc\.egg-info/")
    expected = {name for name in files_of(sources) if not made.match(name)}
    assert {name for name in files_of(unpacked) if not made.match(name)} == expected
    assert {"Makefile", "tests/conftest.py", "docs/tutorial.md"} < expected


def test_the_wheel_holds_the_package_and_nothing_else(sources, wheel):
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == {f"imvc/{name}" for name in files_of(sources / "src" / "imvc")}


def test_the_wheel_alone_runs_the_example_of_the_readme(core, study):
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"^```python\n(.*?)^```", readme, re.M | re.S)[1]
    data = """
from imvc.datasets import make_views
X_text, X_genes, X_image = make_views(90, (5, 6, 7), 4, random_state=0).Xs
X_text_new, X_image_new = X_text[:3], X_image[:3]
"""
    code, said = core.run("python", "-c", f"{data}{example}\nprint(labels.shape)")
    assert (code, said) == (0, "(90,)\n")


MADE = "import imvc; Xs = imvc.datasets.make_views(60, (4, 5), 2, random_state=0).Xs; "
DRAWN = MADE + "imvc.plot.patterns(imvc.inspect(Xs)).figure.savefig('seen.png')"
SAVED = MADE + (
    "run = imvc.workflow.cluster(imvc.as_views(Xs), n_clusters=2); "
    "print(*run.save('out'))"
)
ANNOTATED = MADE + (
    "import anndata, mudata; "
    "data = mudata.MuData({name: anndata.AnnData(X) for name, X in zip('ab', Xs)}); "
    "print(len(imvc.RISE(2).fit_predict(data)))"
)
ZARR = "import imvc; print(len(imvc.RISE(2).fit_predict(['a.zarr', 'b.zarr'])))"
DASK = MADE + (
    "import dask.array, distributed; "
    "Xs = [dask.array.from_array(X, chunks=(30, -1)) for X in Xs]; "
    "client = distributed.Client(processes=False, dashboard_address=None); "
    "print(len(imvc.RISE(2).fit(Xs, client=client).labels_))"
)


def program(*arguments):
    return f"import sys, imvc.cli; sys.exit(imvc.cli.main({list(arguments)}))"


def reading(ending):
    files = [f"a.{ending}", f"b.{ending}"]
    return f"import imvc; print(len(imvc.io.read_views({files}).views.mask))"


@pytest.mark.parametrize(
    ("extra", "code", "told"),
    [
        ("cli", program("--help"), "studio"),
        ("cli", program("methods"), "AnchorBridge"),
        ("report", SAVED, "report.html"),
        ("report", DRAWN, ""),
        ("io", reading("parquet"), "60"),
        ("excel", reading("xlsx"), "60"),
        ("omics", ANNOTATED, "60"),
        ("dask", ZARR, "60"),
        ("dask", DASK, "60"),
    ],
)
def test_an_extra_alone_does_what_it_promises(core, study, extra, code, told):
    status, said = core.run("python", "-c", code, extra=extra)
    assert status == 0, said
    assert told in said


def test_the_studio_starts_with_its_extra_alone(core, study):
    command = "imvc studio a.csv b.csv --no-browser --port 0"
    studio = core.start(*command.split(), extra="studio")
    try:
        found = (re.search(r"http\S+", line) for line in studio.stdout)
        browser = build_opener(HTTPCookieProcessor())  # the page comes with a cookie
        with browser.open(next(filter(None, found))[0], timeout=60) as page:
            assert b"<title>" in page.read()
    finally:
        studio.terminate()
        studio.communicate(timeout=60)


@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        ("cli", program("--help"), None),
        ("report", DRAWN, None),
        ("report", program("cluster", "absent.csv", "-o", "out"), "cli"),
        ("io", reading("csv"), None),
        ("excel", reading("xlsx"), None),
        ("dask", ZARR, None),
        ("studio", program("studio"), "cli"),
    ],
)
def test_without_an_extra_it_is_named(core, study, missing, code, extra):
    status, said = core.run("python", "-c", code, extra=extra)
    assert status != 0
    assert f"pip install 'imvc[{missing}]'" in said.splitlines()[-1]


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the sizes are those of Python 3.11"
)
def test_no_install_has_grown_by_more_than_a_quarter(core):
    """Against the table of docs/install.md, which names every extra that there is."""
    page = (ROOT / "docs" / "install.md").read_text()
    rows = re.findall(r"^\| [`(](\w+)[`)] \|.*\| (\d+) \| (\d+) \|$", page, re.M)
    extras = core.core["imvc"].metadata.get_all("Provides-Extra")
    assert {name for name, *_ in rows} == {*extras, "core"} - {"dev", "docs"}
    for name, packages, size in rows:
        found = core.core if name == "core" else core.added_by(name)
        assert len(found) <= 1.25 * int(packages), f"{name} brings {sorted(found)}"
        assert megabytes(found.values()) <= 1.25 * int(size), f"{name} has grown"
