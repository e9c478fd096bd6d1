"""The entries of the registry say of every method what is true."""

import subprocess
import sys

import pytest

import imvc
from imvc.methods._registry import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_entries_tell_what_the_class_can_do(name):
    entry = METHODS[name]
    cls = entry.estimator
    parameters = cls._get_param_names()
    assert entry.class_name == cls.__name__
    assert entry.predicts == hasattr(cls, "predict") == hasattr(cls, "load")
    assert entry.finds_number == (None in cls._parameter_constraints["n_clusters"])
    assert entry.out_of_core == ("work_dir" in parameters)
    assert getattr(imvc, entry.class_name) is cls


def test_the_list_of_methods_imports_none_of_them():
    code = (
        "import sys; from imvc.methods._registry import METHODS; import imvc;"
        "imvc.list_methods(); print([m for m in sys.modules if m in ('numpy', 'scipy',"
        " 'sklearn', 'imvc.methods._base') or m.startswith('imvc.methods.rise')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"no method named 'rize'; there are: bridge,"):
        imvc.get_method("rize")
