"""Who may import whom: the arrows of docs/architecture.md, read from the source."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import imvc

ROOT = Path(imvc.__file__).parent
# What each room may import of ours; OPEN are open to all.
ROOMS = {
    "kernels": set(),
    "metrics": set(),
    "views": set(),
    "datasets": {"views", "io"},
    "scale": {"views", "kernels", "io"},
    "methods": {"views", "kernels", "scale", "metrics"},
    "testing": {"datasets", "metrics"},
    "io": {"views", "kernels"},
    "insight": {"views", "metrics", "kernels", "scale"},
    "experiments": {"methods", "datasets", "metrics"},
    "report": {"insight", "views"},
    "report/suite_page": {"experiments", "report"},
    "report/leaderboard_page": {"experiments", "report", "datasets"},
    "plot": {"insight", "metrics"},
    "workflow": {
        *("io", "insight", "report", "methods", "datasets", "metrics", "views"),
        *("scale", "kernels"),
    },
    "studio": {
        *("workflow", "io", "methods", "insight", "views", "report", "metrics"),
    },
    "cli": {"experiments", "report", "methods", "datasets", "metrics", "io"}
    | {"insight", "workflow", "studio"},
}
# Atomic writing; names on demand; versions, memory; results in notebooks and as text;
# our version; warnings.
OPEN = {"_files", "_lazy", "_machine", "_notebook", "_plain", "_version", "_warn"}
ROOMS |= {name: set() for name in OPEN}
CORE = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}
ARROW_MODULES = {
    *("_arrow_columns", "_arrow_files", "_table_columns", "_text", "_wide"),
    *("_cells", "_classify", "_dates", "_encode", "_numbers", "_text_kinds"),
}
WEB_MODULES = {"_answers", "_app", "_guard"}
MODULES = sorted(ROOT.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))


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
    """The room of a file; a part of a room with arrows of its own counts as one."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    part = "/".join(parts[:2])
    return part if part in ROOMS else parts[0]


def of_modules(paths):
    return pytest.mark.parametrize(
        "path", paths, ids=lambda p: str(p.relative_to(ROOT))
    )


# The public names in imvc/__init__.py come from every room.
IN_ROOMS = [path for path in MODULES if path != ROOT / "__init__.py"]
# Where each method lives: a file or a folder of `methods`.
HOMES = {imvc.get_method(name).__module__.split(".")[2] for name in imvc.list_methods()}


def home(path):
    return path.relative_to(ROOT / "methods").parts[0].removesuffix(".py")


METHOD_FILES = [p for p in sorted((ROOT / "methods").rglob("*.py")) if home(p) in HOMES]


@of_modules(IN_ROOMS)
def test_rooms_import_only_what_is_drawn(path):
    here = room(path)
    assert here in ROOMS, f"{here} is a new room: draw its arrows here and in the docs"
    for name in imports(path):
        if name.split(".")[0] == "imvc":
            there = name.split(".")[1]
            allowed = ROOMS[here] | {here} | OPEN
            assert there in allowed, f"{here} must not import {there}"


@of_modules(MODULES)
def test_optional_packages_are_imported_inside_functions(path):
    if path.parent.name == "_adapters" and path.name != "run_adapter.py":
        return  # run by another Python, which has what they are adapters of
    known = CORE | {"imvc"} | sys.stdlib_module_names
    if room(path) == "cli" and path.name not in ("__init__.py", "_main.py"):
        known = known | {"typer"}  # `_main` says which extra to install
    if room(path) == "io" and path.stem in ARROW_MODULES:
        known = known | {"pyarrow"}  # `_read_file` says which extra to install
    if room(path) == "studio" and path.stem in WEB_MODULES:
        known = known | {"starlette"}  # `imvc.cli.studio` says which extra to install
    for name in imports(path, top_level_only=True):
        assert name.split(".")[0] in known, f"{name} is not a core dependency"


@of_modules(METHOD_FILES)
def test_no_method_imports_another_method(path):
    others = HOMES - {home(path)}
    for name in imports(path):
        if name.startswith("imvc.methods."):
            assert name.split(".")[2] not in others, f"{path.name} imports {name}"


def test_expected_errors_and_warnings_are_matched_by_their_text():
    """A test that takes any ValueError also takes one that it did not mean."""
    vague = [
        f"{path.name}:{node.lineno}"
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("pytest.raises", "pytest.warns")
        and not any(keyword.arg == "match" for keyword in node.keywords)
    ]
    assert vague == []


@of_modules(MODULES)
def test_private_modules_of_sklearn_are_behind_one_of_ours(path):
    private = re.findall(
        r"sklearn[\w.]*\._\w+|sklearn[\w.]* import _\w+", path.read_text()
    )
    assert private == [] or path == ROOT / "methods/_sklearn.py"


def loaded_by(code):
    """Top-level modules that are loaded when a program ends."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


HEAVY = {
    "scipy",
    "sklearn",
    "joblib",
    "pandas",
    "pyarrow",
    "matplotlib",
    "dask",
    "jinja2",
}


def test_importing_imvc_loads_nothing_heavy():
    assert not loaded_by("import imvc") & (HEAVY | {"numpy", "typer", "email"})
    # Pandas and pyarrow are left out: scikit-learn loads them where it finds them.
    optional = HEAVY - {"scipy", "sklearn", "joblib", "pandas", "pyarrow"}
    assert not loaded_by("import imvc; imvc.RISE(3)") & (optional | {"typer", "h5py"})


@pytest.mark.parametrize("command", ["--help", "cluster --help", "methods --json"])
def test_short_commands_load_nothing_heavy(command):
    code = f"import imvc.cli; imvc.cli.main({command.split()})"
    assert not loaded_by(code) & (HEAVY | {"numpy", "rich"})


def test_inspecting_files_loads_no_scikit_learn(tmp_path):
    for v in range(2):
        rows = "".join(f"s{i},{i % 7},{i % 5 + v}\n" for i in range(20))
        (tmp_path / f"view{v}.csv").write_text(f"id,a,b\n{rows}")
    files = [str(tmp_path / f"view{v}.csv") for v in range(2)]
    code = f"import imvc.cli; assert imvc.cli.main({['inspect', *files]}) == 0"
    loaded = loaded_by(code)
    assert "pyarrow" in loaded
    assert not loaded & {"sklearn", "matplotlib", "dask", "jinja2"}


def test_a_fit_passes_the_files_that_the_architecture_page_lists():
    """Traced, not guessed: which of our files a fit of RISE in memory enters."""
    code = """
import sys
import imvc
from imvc.datasets import make_views

home, seen = imvc.__path__[0], {}
data = make_views(60, (5, 5, 5), 3, incomplete=0.3, random_state=0)
model = imvc.RISE(n_clusters=3, random_state=0, n_jobs=1)


def enter(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(home):
        seen.setdefault(name[len(home) + 1 :].replace("\\\\", "/"))


sys.setprofile(enter)
model.fit(data.Xs, mask=data.mask)
sys.setprofile(None)
print(*seen, sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    page = (ROOT.parents[1] / "docs/architecture.md").read_text()
    listed = re.findall(r"^\| \d+ \| `(.*?)` \|", page, re.MULTILINE)
    assert done.stdout.split() == listed
    assert len(listed) <= 12
    assert len((ROOT / "methods/rise/rise.py").read_text().splitlines()) <= 250
