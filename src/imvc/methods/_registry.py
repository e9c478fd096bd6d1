"""The methods by name: one line each."""

from dataclasses import dataclass, field

from imvc.methods.rise import RISE

__all__ = ["METHODS", "Method", "get_method", "list_methods"]


@dataclass(frozen=True)
class Method:
    """A line of the registry.

    Parameters
    ----------
    name : str
    estimator : class
    paper : str
    cost : {"O(n)", "O(n^2)", "O(n^3)"}
        Growth in the number of samples.
    test_options : dict
        Parameters with which planted clusters are found in the common checks.
    """

    name: str
    estimator: type
    paper: str
    cost: str
    test_options: dict = field(default_factory=dict)


METHODS = {
    method.name: method
    for method in (Method("rise", RISE, "Wang, Zhang, Zhou, AAAI 2025", "O(n)"),)
}


def list_methods():
    """Names of all methods.

    Examples
    --------
    >>> from imvc import list_methods
    >>> "rise" in list_methods()
    True
    """
    return tuple(METHODS)


def get_method(name):
    """The estimator class of a method.

    Parameters
    ----------
    name : str
        One of `list_methods`.

    Examples
    --------
    >>> from imvc import get_method
    >>> get_method("rise")
    <class 'imvc.methods.rise.RISE'>
    """
    try:
        return METHODS[name].estimator
    except KeyError:
        known = ", ".join(METHODS)
        raise ValueError(f"no method named {name!r}; there are: {known}.") from None
