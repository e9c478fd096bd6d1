"""What bench_scale.py measures, each in a fresh process: JSON in, one JSON line out.

Peak memory is VmHWM of the process: ru_maxrss without what exec inherits.
"""

import json
import os
import resource
import shutil
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

from imml_fit import timed
from scale_data import CLUSTERS, WIDTHS, as_zarr, load_files

BLOCK_ROWS = 32_768
WARM = ("imvc.methods.rise", "imvc.methods.bridge")
WARM += ("imvc.scale._dask_runner", "dask.array")


def scores(place, labels):
    """ACC and NMI of labels against the planted clusters."""
    from imvc.metrics import clustering_accuracy, nmi

    y, labels = np.load(place / "labels.npy"), np.asarray(labels)
    y = y[: len(labels)]
    return {"acc": clustering_accuracy(y, labels), "nmi": nmi(y, labels)}


def floor(place, n_anchors=100, threads=2):
    """Plain reads of all files, and one X @ A.T per view and block of rows."""
    from imvc.scale import threaded_map

    arrays = load_files(place)
    n = len(arrays["labels"])
    views = [arrays[f"view{v}"] for v in range(len(WIDTHS))]
    rng = np.random.default_rng(0)
    anchors = [rng.standard_normal((n_anchors, d), dtype=np.float32) for d in WIDTHS]
    # Mapped files are asked where their numbers begin; they are not read through.
    jobs = [(X.filename, X.dtype, X.offset, d) for X, d in zip(views, WIDTHS)]
    mask = arrays["mask"]
    jobs.append((mask.filename, mask.dtype, mask.offset, mask.shape[1]))

    def block(start):
        total, rows = 0.0, min(BLOCK_ROWS, n - start)
        for v, (path, kind, offset, d) in enumerate(jobs):
            at = offset + start * d * kind.itemsize
            X = np.fromfile(path, kind, rows * d, offset=at).reshape(rows, d)
            if v < len(anchors):
                total += float((X @ anchors[v].T)[0, 0])
        return total

    def run():
        with threaded_map(threads) as map:
            return len(list(map(block, range(0, n, BLOCK_ROWS))))

    return timed(run)[0]


def estimator(method, n_jobs=2, **options):
    """RISE or AnchorBridge by its short name."""
    from imvc import RISE, AnchorBridge

    cls = {"rise": RISE, "bridge": AnchorBridge}[method]
    return cls(CLUSTERS, random_state=0, n_jobs=n_jobs, **options)


def inputs(place, mmap_mode):
    arrays = load_files(place, mmap_mode)
    return [arrays[f"view{v}"] for v in range(len(WIDTHS))], arrays["mask"]


def fit(place, method, budget=None, **options):
    """A fit in memory or, with a memory budget, on mapped files."""
    work = place / f"work-{method}"
    shutil.rmtree(work, ignore_errors=True)
    if budget is not None:
        options |= {"memory_budget": budget, "work_dir": work}
    model = estimator(method, **options)
    start = time.perf_counter()
    Xs, mask = inputs(place, None if budget is None else "r")
    load = time.perf_counter() - start
    found, _ = timed(lambda: model.fit(Xs, mask=mask))
    found |= {"load_seconds": load, "stages": model.stage_seconds_}
    found |= written(work) | scores(place, model.labels_)
    shutil.rmtree(work, ignore_errors=True)
    return found


def written(work):
    """Bytes of all files of a work folder, and of the largest saved statistic."""
    sizes = {x.suffix: [] for x in work.rglob("*.*")} | {".state": [0]}
    for path in filter(Path.is_file, work.rglob("*.*")):
        sizes[path.suffix].append(path.stat().st_size)
    return {"written": sum(map(sum, sizes.values())), "saved": max(sizes[".state"])}


def imports(place):
    """Python and all that a fit loads, without a fit."""

    def load():
        for module in ("imvc.methods.rise", "imvc.methods.bridge", "scipy.stats"):
            import_module(module)

    return timed(load)[0]


def minibatch(place):
    """MiniBatchKMeans of scikit-learn on the mean-imputed concatenation."""
    from sklearn.cluster import MiniBatchKMeans

    Xs, mask = inputs(place, None)

    def run():
        joined = np.empty((len(mask), sum(WIDTHS)), np.float32)
        ends = np.cumsum(WIDTHS)
        for X, seen, end in zip(Xs, mask.T, ends):
            columns = joined[:, end - X.shape[1] : end]
            columns[:] = X
            columns[~seen] = X[seen].mean(axis=0, dtype=np.float64)
        return MiniBatchKMeans(CLUSTERS, random_state=0).fit(joined).labels_

    found, labels = timed(run)
    return found | scores(place, labels)


def dask(place, method, workers, form="npy", limit="auto", trim=2**27):
    """A fit on single-thread Dask workers, watched from its start to its end.

    As a LocalCluster, but the scheduler too has a process of its own, so that what
    passes through it can be told from what the client says to the workers.
    """
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    from scale_traffic import Watch

    Xs, mask = inputs(place, "r")
    if form == "zarr":
        Xs = as_zarr(place)
    work = place / f"work-{method}-dask"
    shutil.rmtree(work, ignore_errors=True)
    # As docs/cluster.md says: by default workers give memory back at once, and every
    # larger temporary array is paged in anew.
    os.environ["MALLOC_TRIM_THRESHOLD_"] = str(trim)
    cluster = SubprocessCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=None,
        worker_kwargs={"local_directory": str(place), "memory_limit": limit},
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        for module in WARM if limit == "auto" else ():
            import_module(module)  # importing is not what is measured
            client.run(import_module, module)
            client.run_on_scheduler(import_module, module)
        model, watch = estimator(method, work_dir=work), Watch(client)
        found, _ = timed(lambda: model.fit(Xs, mask=mask, client=client))
        found |= {"client_peak": found["peak"]} | watch.read()
        found |= {"stages": model.stage_seconds_} | written(work)
        if getattr(model, "labels_", None) is not None:
            found |= scores(place, model.labels_)
    shutil.rmtree(work, ignore_errors=True)
    return found


JOBS = {
    "floor": floor,
    "imports": imports,
    "fit": fit,
    "minibatch": minibatch,
    "dask": dask,
}


def main():
    spec = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    if limit := spec.pop("memory_limit", None):
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    job, place = JOBS[spec.pop("job")], Path(spec.pop("place"))
    print(json.dumps(job(place, **spec)))


if __name__ == "__main__":
    main()
