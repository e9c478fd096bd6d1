"""Types as users meet them: mypy --strict on their scripts, not on ours."""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import imvc
from imvc.methods import MethodName
from imvc.methods._registry import METHODS

SOURCE = Path(imvc.__file__).parents[1]
SCRIPTS = Path(__file__).parent / "typed"
ROOMS = [name for name in imvc.__all__ if inspect.ismodule(getattr(imvc, name))]
PUBLIC = ["imvc", "imvc.methods", *(f"imvc.{name}" for name in ROOMS)]
ESTIMATORS = [entry.estimator for entry in METHODS.values()]


def public_names():
    """Lines that touch every public name, and every documented attribute."""
    for room in PUBLIC:
        yield from (f"{room}.{name}" for name in import_module(room).__all__)
    for cls in ESTIMATORS:
        section = cls.__doc__.split("\nAttributes\n")[1].split("\n\n")[0]
        for names in re.findall(r"^(\w+_(?:, \w+_)*) : ", section, re.MULTILINE):
            yield from (f"imvc.{cls.__name__}(2).{name}" for name in names.split(", "))


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """``{script: {line: code of the error}}``, as one run of mypy reports them."""
    folder = tmp_path_factory.mktemp("typed")
    rooms = "".join(f"import {room}\n" for room in PUBLIC)
    (folder / "names.py").write_text(rooms + "\n".join(public_names()) + "\n")
    scripts = [folder / "names.py", *sorted(SCRIPTS.glob("*.py"))]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
            # As with an installed package: only what the user wrote is reported.
            *("--follow-imports=silent", "--cache-dir", folder / "cache"),
            *scripts,
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr  # the wrong calls
    found = {script.name: {} for script in scripts}
    pattern = r"^(.*?):(\d+): error: .*\[([\w-]+)\]$"
    for path, line, code in re.findall(pattern, done.stdout, re.MULTILINE):
        found[Path(path).name][int(line)] = code
    return found


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.2.0",
    reason="np.ndarray alone is no complete type before NumPy 2.2",
)
def test_right_calls_pass(reported):
    assert reported["right_calls.py"] == {}


def test_right_calls_run(tmp_path):
    subprocess.run(
        [sys.executable, SCRIPTS / "right_calls.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        check=True,
    )


def test_wrong_calls_are_reported_and_nothing_else(reported):
    lines = (SCRIPTS / "wrong_calls.py").read_text().splitlines()
    expected = {
        number: line.split("# error: ")[1]
        for number, line in enumerate(lines, 1)
        if "# error: " in line
    }
    assert reported["wrong_calls.py"] == expected
    assert len(expected) > 20


def test_every_public_name_and_attribute_is_known(reported):
    lines = [f"import {room}" for room in PUBLIC] + list(public_names())
    assert [lines[number - 1] for number in reported["names.py"]] == []


def test_every_method_can_be_named():
    assert get_args(MethodName) == tuple(METHODS)


def public_functions():
    """``(path, function)`` of the public rooms and of the classes that are there."""
    classes = {}
    for room in PUBLIC:
        for name in import_module(room).__all__:
            thing = getattr(import_module(room), name)
            if inspect.isfunction(thing):
                yield f"{room}.{name}", thing
            elif inspect.isclass(thing):
                classes |= {c: c.__name__ for c in thing.__mro__}
    for cls in classes:
        for name, thing in vars(cls).items():
            thing = getattr(thing, "fget", getattr(thing, "__func__", thing))
            ours = inspect.isfunction(thing) and thing.__module__.startswith("imvc.")
            if ours and not name.startswith("_"):
                yield f"{cls.__module__}.{cls.__name__}.{name}", thing


@pytest.mark.parametrize(
    "function",
    [pytest.param(function, id=path) for path, function in public_functions()],
)
def test_public_signatures_are_typed(function):
    signature = inspect.signature(function)
    bare = {n for n, p in signature.parameters.items() if p.annotation is p.empty}
    assert bare <= {"self", "cls"}
    assert signature.return_annotation is not signature.empty


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_constructors_have_real_signatures(cls):
    parameters = inspect.signature(cls).parameters
    assert next(iter(parameters)) == "n_clusters"
    kinds = {p.kind for p in list(parameters.values())[1:]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert set(parameters) == set(cls(2).get_params())


@pytest.mark.parametrize("room", PUBLIC)
def test_dir_shows_public_names_only(room):
    module = import_module(room)
    assert sorted(module.__all__) == dir(module)
    assert all(hasattr(module, name) for name in module.__all__)
