import pytest

from imvc.methods._iterations import Iterations


def after(history):
    steps = Iterations(len(history), 1e-3)
    for value in history:
        steps.add(value)
    return steps


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([1.0], False),
        ([1.0, 0.5], False),
        ([1.0, 0.9995], True),
        ([1.0, 1.0005], True),
        ([1.0, 0.0], True),
        ([0.0, 0.0], True),
    ],
)
def test_settling_is_a_small_relative_change_or_nothing_left(history, expected):
    steps = after(history)
    assert steps.stands_still(floor=1e-10) is expected


def test_settling_waits_for_enough_values():
    assert not after([1.0] * 9).stands_still(at_least=10, floor=1e-10)
    assert after([1.0] * 10).stands_still(at_least=10, floor=1e-10)


def test_an_absolute_limit_may_stand_for_the_relative_one():
    assert after([100.0, 100.05]).stands_still()
    assert not after([100.0, 100.05]).stands_still(1e-3)


def test_the_loop_ends_when_it_has_converged_or_at_max_iter():
    seen = []
    steps = Iterations(5, 1e-3, lambda iteration, value: seen.append(iteration))
    for iteration in steps:
        steps.add(1.0 / iteration)
        steps.converged = iteration == 3
    assert (steps.objective, seen) == ([1.0, 1 / 2, 1 / 3], [1, 2, 3])
    assert list(Iterations(4, 0.0)) == [1, 2, 3, 4]
