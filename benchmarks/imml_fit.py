"""One clustering method of the package imml, in the environment it is installed in.

Called by bench_scale.py with a JSON object; prints one JSON line and writes the labels.
"""

import inspect
import json
import resource
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np


def status(key):
    """Bytes of a line of /proc/self/status: VmRSS, VmHWM."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) * 1024 for x in lines if x.startswith(key))


def timed(function):
    """Seconds, CPU seconds, peak bytes and those above the start; and the result."""
    held, cpu, start = status("VmRSS"), time.process_time(), time.perf_counter()
    value = function()
    found = {"seconds": time.perf_counter() - start, "peak": status("VmHWM")}
    found |= {"cpu": time.process_time() - cpu, "above": max(found["peak"] - held, 0)}
    return found, value


def main():
    spec = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (spec["memory_limit"],) * 2)
    warnings.simplefilter("ignore")
    from imml import cluster

    n, place = spec["n"], Path(spec["place"])
    # imml reads absence from rows of NaN; it works in float64 throughout.
    Xs = [np.load(place / f"view{v}.npy")[:n].astype(np.float64) for v in range(3)]
    method, options = getattr(cluster, spec["method"]), {}
    if "engine" in inspect.signature(method).parameters:
        options["engine"] = "python"  # not the default everywhere
    model = method(spec["clusters"], random_state=0, **options)
    found, labels = timed(lambda: model.fit_predict(Xs))
    np.save(spec["labels"], np.asarray(labels).astype(np.int64))
    print(json.dumps(found | {"imml": version("imml")}))


if __name__ == "__main__":
    main()
