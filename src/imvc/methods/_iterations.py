"""The loop of an alternating method: what is told of it, and when it ends."""


class Iterations:
    """Numbers of iterations, from 1 to ``max_iter`` or until ``converged`` is set.

        for iteration in steps:
            ...
            steps.add(objective)
            steps.converged = steps.stands_still()

    Parameters
    ----------
    max_iter : int
    tol : float
    report : callable, optional
        Called as ``report(iteration, objective)``.
    """

    def __init__(self, max_iter, tol, report=None):
        self.max_iter, self.tol, self._report = max_iter, tol, report
        self.objective: list[float] = []
        self.converged = False

    def __iter__(self):
        for iteration in range(1, self.max_iter + 1):
            yield iteration
            if self.converged:
                break

    def add(self, value):
        """Keep the objective of an iteration and tell about it."""
        self.objective.append(value)
        if self._report is not None:
            self._report(len(self.objective), value)

    def stands_still(self, limit=None, *, at_least=2, floor=0.0):
        """Whether the objective changed by less than ``limit``, or is below ``floor``.

        The limit is by default ``tol`` times the objective before. Not asked before
        ``at_least`` (two or more) iterations.
        """
        if len(self.objective) < at_least:
            return False
        before, now = self.objective[-2:]
        limit = self.tol * abs(before) if limit is None else limit
        return bool(abs(before - now) < limit or abs(now) < floor)
