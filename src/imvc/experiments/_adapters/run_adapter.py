"""Run by the Python of an adapter: ``python run_adapter.py ADAPTER.py PACKAGE``.

It needs NumPy and the adapter's own package, nothing of imvc, on Python 3.8 or later.
Every line of standard input names a folder with ``task.json`` and ``views.npz``; the
answer, labels or an error, is ``result.json`` beside them and an empty line on standard
output. It ends, with all that it has started, when standard input ends: at the latest
when the process that asks is gone.
"""

import ctypes
import gc
import importlib
import json
import os
import queue
import random
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version


def main():
    path, package = sys.argv[1:]
    asked, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    print_to(nowhere)
    folders: queue.Queue = queue.Queue()
    threading.Thread(target=read_folders, args=(asked, folders), daemon=True).start()
    warnings.simplefilter("ignore")
    loaded = attempt(load, path)
    while True:
        folder = folders.get()
        with open(os.path.join(folder, "printed.txt"), "w+b") as printed:
            print_to(printed.fileno())
            result = dict(loaded)
            if "cluster" in result:
                result = attempt(run, loaded["cluster"], folder)
            print_to(nowhere)
            if result.get("kind") == "SystemExit":  # what is wrong was only printed
                result["error"] += f" ({last_line(printed)})"
        with suppress(PackageNotFoundError):
            result["version"] = version(package) if package else ""
        with open(os.path.join(folder, "result.json"), "w") as file:
            json.dump(result, file)
        os.write(answers, b"\n")


def print_to(descriptor):
    """Where all that is printed goes from now on, also what C code prints."""
    with suppress(Exception):  # the adapter may have replaced or closed it
        sys.stdout.flush()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def read_folders(descriptor, folders):
    with open(descriptor, encoding="utf-8") as lines:
        for line in lines:
            folders.put(line.rstrip("\n"))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def attempt(do, *arguments):
    """What it returns, or its error, whatever that is."""
    try:
        return do(*arguments)
    except BaseException as error:
        kind = "MemoryError" if isinstance(error, MemoryError) else type(error).__name__
        return {"kind": kind, "error": f"{type(error).__name__}: {error}".rstrip(": ")}


def load(path):
    """The adapter, which may import what lies beside it."""
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    return {"cluster": importlib.import_module(name).cluster}


def run(cluster, folder):
    import numpy as np  # not at the top: where it is missing, that is to be told

    with open(os.path.join(folder, "task.json")) as file:
        task = json.load(file)
    if not task:  # only whether the adapter can be loaded
        return {}
    with np.load(os.path.join(folder, "views.npz"), allow_pickle=False) as arrays:
        mask = arrays["mask"]
        task["Xs"] = [arrays[f"X{v}"] for v in range(mask.shape[1])]
    random.seed(task["random_state"])  # for those that draw without asking for a seed
    np.random.seed(task["random_state"])  # noqa: NPY002
    start_memory = reset_peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    labels = cluster(mask=mask, **task)
    seconds = time.perf_counter() - start
    processor = time.process_time() - processor
    memory = max(0, peak_memory() - start_memory)
    return {
        "labels": checked(labels, len(mask)),
        "seconds": {"total": seconds, "processor": processor},
        "peak_memory": memory,
    }


def checked(labels, n):
    """The labels as a list of whole numbers, one for every sample."""
    import numpy as np

    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise ValueError(f"labels of shape {labels.shape} came back for {n} samples")
    whole = labels.astype(np.int64)
    if not (whole == labels).all():
        raise ValueError("labels came back that are no whole numbers")
    return whole.tolist()


def reset_peak_memory():
    """Bytes in memory now; the peak is counted from here where the system lets us."""
    gc.collect()
    with suppress(OSError, AttributeError):  # what earlier runs freed would hide new
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS") or peak_memory()


def peak_memory():
    if status("VmHWM"):
        return status("VmHWM")
    with suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * 1024
    return 0


def status(key):
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0


def last_line(printed):
    printed.seek(0)
    lines = printed.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


if __name__ == "__main__":
    main()
