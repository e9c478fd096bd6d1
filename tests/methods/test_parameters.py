"""Declared parameters: constructor, constraints and documentation from one line."""

import inspect
from dataclasses import field
from typing import Annotated, Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from imvc.methods._parameters import (
    Callback,
    Count,
    NonNegative,
    PathLike,
    Seed,
    estimator,
)


@estimator
class Base(BaseEstimator):
    """A base.

    Parameters
    ----------
    n_clusters : int
    n_init : int, default=20
        Starts.
    seed : int or None
        Where it starts.
    unknown : int
        Of some other class.

    Attributes
    ----------
    labels_ : ndarray
        What was found.
    """

    n_clusters: Count = field(kw_only=False)
    n_init: Count = 20
    seed: Seed = None


@estimator
class Method(Base):
    """A method.

    Parameters
    ----------
    weight : float, default=0.5
        How much.

    Attributes
    ----------
    weights_, other_ : ndarray, ndarray

    References
    ----------
    None.
    """

    weight: NonNegative = 0.5
    kind: Literal["a", "b"] | list | None = "a"
    flag: bool = False
    folder: PathLike = None
    tell: Callback = None
    numbers: Annotated[list, "array-like"] | None = None
    n_init: Count = 5


def test_the_constructor_stores_what_it_is_given_untouched():
    numbers = [1, 2]
    model = Method(3, weight=2, numbers=numbers)
    assert model.numbers is numbers
    assert model.get_params()["n_init"] == 5
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(TypeError, match="positional argument"):
        Method(3, 2.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"n_clutsers": 3},
            "^Method has no parameter 'n_clutsers'; did you mean 'n_clusters'[?]$",
        ),
        (
            {"n_clusters": 3, "zzz": 1},
            "^Method has no parameter 'zzz'; it has: n_clusters, weight, .*seed[.]$",
        ),
        (
            {"weight": 2.0},
            "^Method needs n_clusters, as in Method[(]n_clusters=3[)][.]$",
        ),
    ],
)
def test_a_wrong_argument_is_told_the_right_one(given, message):
    with pytest.raises(TypeError, match=message):
        Method(**given)


def test_own_parameters_come_before_inherited_ones_in_the_signature():
    names = list(inspect.signature(Method).parameters)
    assert names == [
        *("n_clusters", "weight", "kind", "flag", "folder", "tell", "numbers"),
        *("n_init", "seed"),
    ]
    assert inspect.signature(Method).parameters["weight"].annotation is float


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_clusters": 0}, r"'n_clusters' .* int in the range \[1, inf\). Got 0"),
        ({"n_clusters": "3"}, r"'n_clusters' .* Got '3' instead"),
        ({"weight": -1.0}, r"'weight' .* float in the range \[0\.0, inf\)"),
        ({"kind": "c"}, r"'kind' .* a str among \{.*\}, an instance of 'list' or None"),
        ({"flag": "yes"}, r"'flag' .* an instance of 'bool'"),
        ({"folder": 3}, r"'folder' .* an instance of 'str'"),
        ({"tell": 3}, r"'tell' .* a callable or None"),
        ({"numbers": 3}, r"'numbers' .* an array-like or None"),
        ({"seed": "x"}, r"'seed' .*RandomState' or None"),
    ],
)
def test_constraints_come_from_the_declaration(given, message):
    model = Method(**{"n_clusters": 3, **given})
    with pytest.raises(ValueError, match=message):
        model._validate_params()


def test_numbers_of_numpy_are_taken():
    Method(np.int64(3), weight=np.float32(1), flag=np.bool_(True))._validate_params()


def test_what_bases_document_joins_the_docstring():
    parameters, attributes, references = (
        part.strip()
        for part in Method.__doc__.replace("\n----------", "").split("\n\n")[1:]
    )
    assert parameters.startswith(
        "Parameters\nweight : float, default=0.5\n    How much."
    )
    assert "n_init : int, default=5\n    Starts." in parameters
    assert "seed : int or None\n    Where it starts." in parameters
    assert "unknown" not in parameters
    assert attributes.endswith("labels_ : ndarray\n    What was found.")
    assert references == "References\nNone."
