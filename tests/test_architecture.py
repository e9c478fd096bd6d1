"""Who may import whom: the arrows of docs/architecture.md, read from the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import imvc

ROOT = Path(imvc.__file__).parent
# What each room may import of ours. `_files` (atomic writing) is open to all.
ROOMS = {
    "kernels": set(),
    "metrics": set(),
    "views": set(),
    "datasets": {"views", "io"},
    "scale": {"views", "kernels", "io"},
    "methods": {"views", "kernels", "scale", "metrics"},
    "testing": {"datasets", "metrics"},
    "io": {"views"},
    "insight": {"views", "metrics", "methods", "kernels", "scale"},
    "experiments": {"methods", "datasets", "metrics"},
    "report": {"experiments", "insight", "views"},
    "workflow": {
        *("io", "insight", "report", "methods", "datasets", "metrics", "views"),
        "scale",
    },
    "cli": {"experiments", "report", "methods", "datasets", "metrics", "io"}
    | {"insight", "workflow"},
    "_files": set(),
}
CORE = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}
MODULES = sorted(ROOT.rglob("*.py"))


def imports(path, top_level_only=False):
    """Modules that a file imports."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            if node.module == "imvc":
                yield from (f"imvc.{alias.name}" for alias in node.names)
            else:
                yield node.module


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_import_only_what_is_drawn(path):
    here = room(path)
    if here == "__init__":
        return
    assert here in ROOMS, f"{here} is a new room: draw its arrows here and in the docs"
    for name in imports(path):
        if name.split(".")[0] == "imvc":
            there = name.split(".")[1]
            allowed = ROOMS[here] | {here, "_files"}
            assert there in allowed, f"{here} must not import {there}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_optional_packages_are_imported_inside_functions(path):
    known = CORE | {"imvc"} | sys.stdlib_module_names
    if room(path) == "cli" and path.name not in ("__init__.py", "_main.py"):
        known = known | {"typer"}  # `_main` says which extra to install
    for name in imports(path, top_level_only=True):
        assert name.split(".")[0] in known, f"{name} is not a core dependency"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_method_imports_another_method(path):
    if room(path) != "methods" or path.name.startswith("_"):
        return
    for name in imports(path):
        if name.startswith("imvc.methods."):
            assert name.split(".")[2].startswith("_"), f"{path.name} imports {name}"


def test_importing_imvc_loads_no_optional_package():
    """Pandas and pyarrow are left out: scikit-learn loads them where it finds them."""
    code = (
        "import sys, imvc;"
        "print([m for m in ('dask', 'matplotlib', 'typer', 'plotly', 'h5py')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help_of_the_program_loads_nothing_heavy():
    code = (
        "import sys, imvc.cli\n"
        "try: imvc.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("[]")


def test_public_names_exist_and_are_sorted_out():
    for name in imvc.__all__:
        assert hasattr(imvc, name), name
