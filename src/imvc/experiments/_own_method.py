"""A method in a file of the user's own: ``--method path/to/file.py:Class``."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class OwnMethod:
    """A class of a file of the user's.

    Parameters
    ----------
    name, label : str
        In the records, with a digest of the file; in tables.
    file : str
    class_name : str
    """

    name: str
    label: str
    file: str
    class_name: str

    def estimator(self) -> Callable[..., Any]:
        """The class, from the file as it was when the method was found."""
        content = Path(self.file).read_bytes()
        if not self.name.endswith(digest(content)):
            raise ValueError(
                f"{Path(self.file).name} was changed after the runs were planned; "
                f"start the command again."
            )
        return getattr(_module(self.file, content), self.class_name)


def own_method(text: str) -> OwnMethod:
    """An estimator of the user's, loaded once to see that it can be.

    Parameters
    ----------
    text : str
        As after ``--method``: ``path/to/file.py:Class``.

    Returns
    -------
    OwnMethod
        For `plan_suite`.
    """
    path_text, _, class_name = text.rpartition(":")
    path = Path(path_text)
    if not path_text or not class_name.isidentifier():
        raise ValueError(f"--method {text}: write it as path/to/file.py:Class.")
    if not path.is_file():
        raise ValueError(f"--method {text}: there is no file {path_text!r}.")
    content = path.read_bytes()
    try:
        module = _module(str(path.resolve()), content)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"--method {text}: {path.name} cannot be imported "
            f"({type(error).__name__}: {error})."
        ) from error
    found = getattr(module, class_name, None)
    if not callable(found) or not hasattr(found, "fit"):
        raise ValueError(
            f"--method {text}: {path.name} has no class {class_name!r} with a fit; "
            f"see docs/experiments.md."
        )
    if "n_clusters" not in inspect.signature(found).parameters:
        raise ValueError(
            f"--method {text}: {class_name} takes no n_clusters; give its __init__ "
            f"that parameter."
        )
    name = f"{path.name}:{class_name}#{digest(content)}"
    return OwnMethod(name, class_name, str(path.resolve()), class_name)


def _module(file: str, content: bytes) -> ModuleType:
    """The module of just this content; what lies beside the file can be imported."""
    folder = os.path.dirname(file)
    if folder not in sys.path:
        sys.path.append(folder)
    name = f"imvc_own_{digest(file.encode() + content)}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = file
        sys.modules[name] = module
        try:
            with redirect_stdout(sys.stderr):  # the output is that of the command
                exec(compile(content, file, "exec"), module.__dict__)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def digest(content: bytes) -> str:
    """Eight hexadecimal digits that change with the content of a file."""
    return hashlib.sha256(content).hexdigest()[:8]
