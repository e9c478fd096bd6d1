"""What a Dask cluster does during a fit: bytes through sockets, CPU, memory, tasks.

Bytes are those that Dask's connections hand to the kernel and take from it (Tornado's
IOStream) in the scheduler, the workers and the client; headers of TCP/IP are not
counted, nor are the workers' nannies, which are processes of their own.
"""

import time

from dask.utils import key_split
from distributed import SchedulerPlugin
from tornado.iostream import IOStream

from imml_fit import status

TASKS = "bench-tasks"


class TaskCounter(SchedulerPlugin):
    """Per kind of task: how many ended, their compute seconds, their result bytes."""

    def __init__(self):
        self.kinds = {}

    def transition(self, key, start, finish, *args, **kwargs):
        if (start, finish) != ("processing", "memory"):
            return
        kind = self.kinds.setdefault(
            key_split(key), {"count": 0, "seconds": 0.0, "bytes": 0}
        )
        kind["count"] += 1
        kind["bytes"] += kwargs.get("nbytes") or 0
        kind["seconds"] += sum(
            x["stop"] - x["start"]
            for x in kwargs.get("startstops") or []
            if x["action"] == "compute"
        )


def count_bytes():
    """Begin to count in this process; [received, sent] hang on IOStream."""
    if hasattr(IOStream, "counted"):
        return
    IOStream.counted = [0, 0]

    def counting(way, method):
        def wrapped(self, data):
            size = method(self, data)
            IOStream.counted[way] += size or 0
            return size

        return wrapped

    IOStream.read_from_fd = counting(0, IOStream.read_from_fd)
    IOStream.write_to_fd = counting(1, IOStream.write_to_fd)


def counters():
    """Bytes received and sent, and CPU seconds, of this process so far."""
    return *IOStream.counted, time.process_time()


class Watch:
    """Counts from its making on; `read` tells what came together.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client):
        self._client = client
        client.register_plugin(TaskCounter(), name=TASKS)
        count_bytes()
        client.run(count_bytes)
        client.run_on_scheduler(count_bytes)
        self._before = self._counters()

    def _counters(self):
        workers = self._client.run(counters).values()
        return {
            "scheduler": self._client.run_on_scheduler(counters),
            "workers": [sum(x) for x in zip(*workers)],
            "client": counters(),
        }

    def read(self):
        """Traffic [received, sent] and CPU by process, worker peaks, tasks by kind."""
        now, tasks = self._counters(), self._client.run_on_scheduler(_task_kinds)
        peaks = sorted(self._client.run(status, "VmHWM").values())
        since = {x: [b - a for a, b in zip(self._before[x], now[x])] for x in now}
        return {
            "traffic": {x: own[:2] for x, own in since.items()},
            "cpu": sum(own[2] for own in since.values()),
            "peak": peaks[-1],
            "peaks": peaks,
            "tasks": tasks,
        }


def _task_kinds(dask_scheduler):
    return dask_scheduler.plugins[TASKS].kinds
