"""Expected time and memory: growth, order, and the refusal of what cannot fit."""

import numpy as np
import pytest

from imvc import list_methods
from imvc.methods import Cost, check_fits, estimate_cost
from imvc.methods import _cost as cost_module
from imvc.methods._registry import METHODS

WIDTHS = (50, 80, 40)
GIB = 2**30
SQUARES = [name for name, line in METHODS.items() if line.cost != "O(n)"]
LINEAR = [name for name, line in METHODS.items() if line.cost == "O(n)"]


def growth(method, field, small, large):
    """Exponent in n between two sizes."""
    a, b = (getattr(estimate_cost(method, n, WIDTHS, 5), field) for n in (small, large))
    return np.log(b / a) / np.log(large / small)


@pytest.mark.parametrize("method", list_methods())
def test_every_method_has_a_finite_estimate_in_words(method):
    cost = estimate_cost(method, 1000, WIDTHS, 5)
    assert 0 < cost.seconds < 1000
    assert 0 < cost.bytes < GIB
    assert METHODS[method].estimator.__name__ in cost.reason
    assert "1000 samples" in cost.reason
    assert "factor of 3" in cost.reason


@pytest.mark.parametrize("method", LINEAR)
def test_linear_methods_grow_about_linearly(method):
    assert growth(method, "bytes", 10**6, 10**7) == pytest.approx(1, abs=0.05)
    assert 0.85 < growth(method, "seconds", 10**6, 10**7) < 1.25


@pytest.mark.parametrize("method", SQUARES)
def test_methods_with_graphs_of_n_by_n_need_memory_by_the_square(method):
    assert growth(method, "bytes", 10**4, 10**5) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("method", SQUARES)
def test_time_grows_as_the_registry_says(method):
    power = int(METHODS[method].cost[-2])
    found = growth(method, "seconds", 10**6, 10**7)
    assert found == pytest.approx(power, abs=0.05)


@pytest.mark.parametrize("method", list_methods())
@pytest.mark.parametrize(
    "more",
    [
        (2000, WIDTHS, 5),
        (1000, (100, 160, 80), 5),
        (1000, (*WIDTHS, 50), 5),
        (1000, WIDTHS, 20),
    ],
    ids=["samples", "features", "views", "clusters"],
)
def test_more_of_anything_never_costs_less(method, more):
    less = estimate_cost(method, 1000, WIDTHS, 5)
    cost = estimate_cost(method, *more)
    assert cost.seconds >= less.seconds
    assert cost.bytes >= less.bytes


def test_cubic_methods_are_dearer_than_linear_ones_at_scale():
    seconds = {m: estimate_cost(m, 20_000, WIDTHS, 5).seconds for m in list_methods()}
    linear = max(seconds[m] for m in LINEAR)
    assert all(seconds[m] > 10 * linear for m in SQUARES)
    assert seconds["rise"] < seconds["bridge"]


@pytest.mark.parametrize("method", ["ueaf", "gsrimc", "imvtsc-mvi"])
def test_the_memory_is_at_least_what_the_method_itself_asks_for(method, monkeypatch):
    """The methods refuse by the same count of n x n arrays; the two must not part."""
    asked = []

    def note(n_bytes, what, *, available=None):
        asked.append(n_bytes)
        raise MemoryError("enough seen")

    estimator = METHODS[method].estimator
    monkeypatch.setattr(f"{estimator.__module__}.check_memory", note)
    rng = np.random.default_rng(0)
    with pytest.raises(MemoryError, match="enough seen"):
        estimator(2).fit([rng.random((60, d)) for d in (5, 4)])
    assert asked[0] <= estimate_cost(method, 60, (5, 4), 2).bytes


def test_a_search_for_the_number_of_clusters_costs_more_and_says_so():
    fixed = estimate_cost("bridge", 5000, WIDTHS, 5)
    search = estimate_cost("bridge", 5000, WIDTHS, None)
    assert search.seconds > 3 * fixed.seconds
    assert "trying 2 to 20 clusters" in search.reason


def test_ueaf_on_200_000_samples_is_refused_with_a_remedy():
    cost = estimate_cost("ueaf", 200_000, WIDTHS, 5)
    with pytest.raises(
        ValueError, match=r"UEAF on 200000 samples needs about .* GiB.*such as bridge"
    ) as error:
        check_fits(cost, 64 * GIB)
    assert "64.0 GiB are free" in str(error.value)


def test_the_number_of_samples_that_would_fit_does_fit():
    with pytest.raises(ValueError, match=r"about (\d+) would fit") as error:
        check_fits(estimate_cost("ueaf", 200_000, WIDTHS, 5), 64 * GIB)
    fewer = int(str(error.value).split("about ")[2].split()[0])
    check_fits(estimate_cost("ueaf", int(0.99 * fewer), WIDTHS, 5), 64 * GIB)
    with pytest.raises(ValueError, match="would fit"):
        check_fits(estimate_cost("ueaf", int(1.1 * fewer), WIDTHS, 5), 64 * GIB)


def test_anchor_bridge_on_a_million_samples_is_accepted():
    check_fits(estimate_cost("bridge", 10**6, WIDTHS, 5), 8 * GIB)


def test_the_free_memory_of_the_machine_is_asked_for(monkeypatch):
    cost = estimate_cost("bridge", 10**6, WIDTHS, 5)
    monkeypatch.setattr(cost_module, "available_memory", lambda: cost.bytes - 1)
    with pytest.raises(ValueError, match="AnchorBridge on 1000000 samples needs"):
        check_fits(cost)
    monkeypatch.setattr(cost_module, "available_memory", lambda: cost.bytes)
    check_fits(cost)


def test_nothing_is_refused_where_the_free_memory_is_unknown(monkeypatch):
    monkeypatch.setattr(cost_module, "available_memory", lambda: None)
    check_fits(Cost(1.0, 10**18, "much"))


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"no method named 'bridges'; there are: .*rise"
    ):
        estimate_cost("bridges", 100, WIDTHS, 3)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, WIDTHS, 3), "n_samples"),
        ((9, (), 3), "n_features"),
        ((9, (2, 0), 3), "n_features"),
    ],
)
def test_sizes_that_cannot_be_are_named(arguments, name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        estimate_cost("rise", *arguments)
