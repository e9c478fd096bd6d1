"""What we use of scikit-learn that is not public: a failure here says it changed."""

import inspect
from numbers import Integral

import pytest
from sklearn import base
from sklearn.utils import _param_validation

from imvc.methods import _sklearn


def test_the_names_are_those_of_scikit_learn():
    for name in ("Interval", "StrOptions"):
        assert getattr(_sklearn, name) is getattr(_param_validation, name)
    for name in ("BaseEstimator", "ClusterMixin"):
        assert getattr(_sklearn, name) is getattr(base, name)


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (_sklearn.Interval, lambda f: f.bind(Integral, 1, None, closed="left")),
        (_sklearn.StrOptions, lambda f: f.bind({"a"})),
        (_sklearn.BaseEstimator._validate_params, lambda f: f.bind(object())),
    ],
    ids=lambda thing: getattr(thing, "__qualname__", None),
)
def test_signatures_take_what_we_give(function, call):
    call(inspect.signature(function))


def test_validation_reads_the_constraints_of_the_class_and_names_the_parameter():
    class Model(_sklearn.BaseEstimator):
        _parameter_constraints = {
            "count": [_sklearn.Interval(Integral, 1, None, closed="left"), None],
            "kind": [_sklearn.StrOptions({"a", "b"}), "boolean", callable, list],
            "seed": ["random_state"],
            "rows": ["array-like"],
        }

        def __init__(self, count=None, kind="a", seed=0, rows=()):
            self.count, self.kind, self.seed, self.rows = count, kind, seed, rows

    for fine in ({}, {"count": 1}, {"kind": True}, {"kind": len}, {"rows": [1]}):
        Model(**fine)._validate_params()
    for wrong in ({"count": 0}, {"kind": "c"}, {"seed": "x"}, {"rows": 3}):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"The '{name}' parameter of Model must"):
            Model(**wrong)._validate_params()
