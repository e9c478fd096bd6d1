"""The in-memory runner: blocks of rows on threads."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

__all__ = ["threaded_map"]


@contextmanager
def threaded_map(n_jobs=None):
    """A ``map`` that runs on ``n_jobs`` threads, each with a single BLAS thread.

    NumPy, SciPy's sparse products and BLAS release the interpreter lock, so blocks
    of rows run side by side. BLAS is held to one thread even when there is only one
    worker: results then do not depend on the number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None and -1: all cores that this process may use (one inside a joblib worker).

    Yields
    ------
    callable
        ``map(function, items)``: an iterator over the results in order; at most two
        results per worker wait at any time, so items and results may be large.
    """
    workers = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    with threadpool_limits(1, user_api="blas"):
        if workers == 1:
            yield map
            return
        with ThreadPoolExecutor(workers) as pool:

            def ordered(function, items):
                waiting: deque = deque()
                for item in items:
                    waiting.append(pool.submit(function, item))
                    if len(waiting) > 2 * workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()

            yield ordered
