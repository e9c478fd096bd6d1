import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from imvc.scale import threaded_map


@pytest.mark.parametrize("n_jobs", [1, 2, 4, None, -1])
def test_results_come_in_order(n_jobs):
    with threaded_map(n_jobs) as map:
        assert list(map(lambda x: x * x, range(50))) == [x * x for x in range(50)]


def test_several_threads_work_at_once():
    barrier = threading.Barrier(2, timeout=20)
    with threaded_map(2) as map:
        list(map(lambda _: barrier.wait(), range(2)))


def test_blas_runs_single_threaded_inside_and_as_before_outside():
    before = [lib["num_threads"] for lib in threadpool_info()]
    with threaded_map(1):
        inside = [
            i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"
        ]
    assert set(inside) == {1}
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_only_a_few_results_wait():
    """A slow consumer must not let finished blocks pile up."""
    running = []

    def work(i):
        running.append(i)
        return i

    with threaded_map(2) as map:
        results = map(work, range(100))
        next(results)
        time.sleep(0.05)
        assert len(running) <= 8
        list(results)


def test_an_error_in_a_block_reaches_the_caller():
    failure = pytest.raises(ZeroDivisionError, match="division by zero")
    with threaded_map(2) as map, failure:
        list(map(lambda x: 1 / (x - 3), range(9)))


def test_arrays_filled_by_blocks_are_complete():
    out = np.zeros(1000)

    def fill(i):
        out[i * 10 : (i + 1) * 10] = i

    with threaded_map(3) as map:
        list(map(fill, range(100)))
    np.testing.assert_array_equal(out, np.repeat(np.arange(100), 10))
