"""What soak.py does in every round: jobs that give the labels of their fits by name.

Every job leaves nothing behind: its models go out of scope and its files are in
temporary folders. A job of `LOCAL` is called as ``job(data, turn)``, one of `DASK` as
``job(data, turn, client)``; the turn is the number of the round.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import imvc
from imvc.datasets import make_views
from imvc.workflow import InputFiles, cluster, predict

CLUSTERS = 3
FORMATS = ("npy", "parquet", "csv")
OLD = slice(0, 200)  # samples of the fits that are updated with the others
NEW = slice(200, None)
PAGE_EVERY = 20  # rounds
OTHERS = tuple(x for x in imvc.list_methods() if x not in ("rise", "bridge"))


@dataclass
class Data:
    """Planted views in memory and in files."""

    Xs: list
    mask: np.ndarray
    npy: list
    mask_file: Path
    parquet: list
    csv: list
    broken: list  # .npy, Parquet and model files that break off
    seed: int

    def rise(self, **options):
        return imvc.RISE(CLUSTERS, random_state=self.seed, **options)

    def bridge(self, n_clusters=CLUSTERS, **options):
        return imvc.AnchorBridge(n_clusters, random_state=self.seed, **options)

    def part(self, rows):
        """Some of the samples, as the arguments of a fit."""
        return {"Xs": [X[rows] for X in self.Xs], "mask": self.mask[rows]}


def write_data(folder, seed, n=300):
    """Data in files of a folder."""
    import pandas as pd

    made = make_views(
        n, (8, 6, 5), CLUSTERS, incomplete=0.4, separation=7, random_state=seed
    )
    npy, parquet, csv = ([folder / f"{v}.{x}" for v in "abc"] for x in FORMATS)
    np.save(folder / "mask.npy", made.mask)
    for v, (X, seen) in enumerate(zip(made.Xs, made.mask.T)):
        np.save(npy[v], X.astype(np.float32))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        frame.insert(0, "id", [f"p{i}" for i in range(n)])
        frame[seen].to_parquet(parquet[v], index=False)
        frame[seen].to_csv(csv[v], index=False)
    model = folder / "model.imvc"
    imvc.RISE(CLUSTERS, random_state=seed).fit(made.Xs, mask=made.mask).save(model)
    broken = [folder / f"broken{x.suffix}" for x in (npy[0], parquet[0], model)]
    for whole, half in zip((npy[0], parquet[0], model), broken):
        half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    mask_file = folder / "mask.npy"
    return Data(made.Xs, made.mask, npy, mask_file, parquet, csv, broken, seed)


def fits(data, turn):
    """Fits in memory: RISE, AnchorBridge with and without the number of clusters."""
    whole = data.part(slice(None))
    models = {"rise": data.rise(), "bridge": data.bridge()}
    if turn % 5 == 0:
        models["bridge, number sought"] = data.bridge(None)
    name = OTHERS[turn % len(OTHERS)]
    models[name] = imvc.get_method(name)(CLUSTERS, random_state=data.seed)
    return {name: model.fit_predict(**whole) for name, model in models.items()}


def files(data, turn):
    """Fits out of core, in a folder that is used again, and in temporary ones."""
    found = {}
    with TemporaryDirectory() as work:
        for name in ("npy", "npy, gone on with"):
            model = data.rise(work_dir=work, memory_budget="1MiB")
            model.fit(data.npy, mask=data.mask_file)
            found[f"rise from {name}"] = np.array(model.labels_)
    model = data.bridge(learn_sample=100, memory_budget="1MiB").fit(data.parquet)
    found["bridge from parquet"] = np.array(model.labels_)
    model = data.rise(memory_budget="1MiB").fit(data.parquet)
    found["rise from parquet"] = np.array(model.labels_)
    found["rise, predicted from npy"] = model.predict(data.npy, mask=data.mask_file)
    return found


def lives(data, turn):
    """Models that are saved, loaded, given more samples, and place new ones."""
    found = {}
    for name, model in (("rise", data.rise()), ("bridge", data.bridge())):
        model.fit(**data.part(OLD))
        model.transform(**data.part(NEW))
        found[f"{name}, predicted"] = model.predict(**data.part(NEW))
        with TemporaryDirectory() as folder:
            model.save(f"{folder}/plain.imvc")
            model.save(f"{folder}/updatable.imvc", updatable=True)
            plain = imvc.load_model(f"{folder}/plain.imvc")
            found[f"{name}, loaded"] = plain.predict(**data.part(NEW))
            loaded = imvc.load_model(f"{folder}/updatable.imvc")
        loaded.update(**data.part(NEW))
        model.update(**data.part(NEW))
        found[f"{name}, loaded and updated"] = loaded.labels_
        found[f"{name}, updated"] = model.labels_
    with TemporaryDirectory() as work:
        model = data.rise(work_dir=work, memory_budget="1MiB")
        model.fit(data.npy, mask=data.mask_file).update(**data.part(NEW))
        found["rise from npy, updated"] = np.array(model.labels_)
    return found


def insight(data, turn):
    """How sure the clusters are and what carries them; now and then a whole run."""
    whole = data.part(slice(None))
    model = data.rise().fit(**whole)
    imvc.confidence(model, **whole, n_refits=1)
    imvc.explain(model, **whole)
    if turn % PAGE_EVERY:
        return {}
    with TemporaryDirectory() as folder:
        run = cluster(InputFiles(data.csv), n_clusters=CLUSTERS, n_refits=1)
        run.save(Path(folder) / "run")
        placed = predict(Path(folder) / "run", data.csv)
        return {"run on csv": run.model.labels_, "placed by a run": placed.labels}


def errors(data, turn):
    """Inputs that are refused, and fits that are broken off."""
    npy, parquet, model = data.broken
    whole = {"Xs": data.npy, "mask": data.mask_file}
    refused(lambda: data.rise().fit([npy.parent / "absent.npy", *data.npy[1:]]))
    refused(lambda: data.rise().fit([parquet, *data.parquet[1:]]))
    refused(lambda: data.rise().fit([np.full((9, 2), np.inf)]))
    refused(lambda: imvc.load_model(model))
    refused(lambda: cluster(InputFiles([parquet]), n_clusters=CLUSTERS))
    with TemporaryDirectory() as work:
        broken = {"Xs": [npy, *data.npy[1:]], "mask": data.mask_file}
        refused(lambda: data.rise(work_dir=work).fit(**broken))
    with TemporaryDirectory() as work:
        stopped = data.rise(work_dir=work, memory_budget="1MiB", callback=stop)
        refused(lambda: stopped.fit(**whole))
        refused(lambda: data.bridge(work_dir=work).fit(**whole))
    refused(lambda: data.rise(memory_budget="1MiB", callback=stop).fit(**whole))
    return {}


def stop(iteration, objective):
    raise ValueError("stopped by its callback")


def refused(call):
    """Make a call that must raise an error of ours."""
    try:
        call()
    except (ValueError, OSError):
        return
    raise AssertionError("what must be refused was taken")


def dask_files(data, turn, client):
    """Fits that read files on the workers, with and without a folder."""
    whole, found = {"Xs": data.npy, "mask": data.mask_file, "client": client}, {}
    with TemporaryDirectory() as work:
        for name in ("npy", "npy, gone on with"):
            model = data.rise(work_dir=work, memory_budget="1MiB").fit(**whole)
            found[f"rise on Dask from {name}"] = fetch(client, model.labels_)
    model = data.bridge(learn_sample=100).fit(**whole)
    found["bridge on Dask from npy"] = fetch(client, model.labels_)
    with TemporaryDirectory() as folder:
        model.save(f"{folder}/model.imvc")
        loaded = imvc.load_model(f"{folder}/model.imvc")
    found["bridge on Dask, loaded"] = loaded.predict(**data.part(NEW))
    return found


def dask_arrays(data, turn, client):
    """A fit on Dask arrays, and new samples placed on the workers."""
    import dask.array as da

    Xs = [da.from_array(X, chunks=(80, -1)) for X in data.Xs]
    model = data.rise().fit(Xs, mask=data.mask, client=client)
    with client.as_current():
        placed = model.predict(Xs, mask=data.mask)
        fetch(client, model.transform(Xs, mask=data.mask))
    return {
        "rise on Dask arrays": fetch(client, model.labels_),
        "rise on Dask, predicted": fetch(client, placed),
    }


def dask_errors(data, turn, client):
    """Errors on workers, and a fit that is broken off while workers hold its rows."""
    fit = partial(data.rise().fit, mask=data.mask_file, client=client)
    refused(lambda: fit([data.broken[0], *data.npy[1:]]))
    stopped = data.rise(callback=stop)
    refused(lambda: stopped.fit(data.npy, mask=data.mask_file, client=client))
    return {}


def fetch(client, array):
    return client.compute(array).result()


LOCAL = (fits, files, lives, insight, errors)
DASK = (dask_files, dask_arrays, dask_errors)
