"""Incomplete views in files that are read by blocks."""

import numpy as np

from imvc.datasets import make_views

BUDGET = 150_000  # bytes: five blocks of the samples below


def small_data(n=1200):
    """Planted clusters, in float32; every view misses samples."""
    data = make_views(n, (6, 5), 3, incomplete=0.5, separation=7, random_state=0)
    return [np.asarray(X, np.float32) for X in data.Xs], data.mask


def write_npy(folder):
    """Views ``a.npy`` and ``b.npy``, and what is observed as ``mask.npy``."""
    Xs, mask = small_data()
    for name, X in zip("ab", Xs):
        np.save(folder / f"{name}.npy", X)
    np.save(folder / "mask.npy", mask)
    return Xs, mask


def write_parquet(folder):
    """Views ``a/`` and ``b.parquet`` with ids as text; samples of b are shuffled."""
    import pandas as pd

    Xs, mask = small_data()
    names = np.array([f"p{i}" for i in range(len(mask))])
    frames = []
    for v, X in enumerate(Xs):
        columns = [f"{'ab'[v]}{j}" for j in range(X.shape[1])]
        frame = pd.DataFrame(X[mask[:, v]], columns=columns)
        frame.insert(0, "patient", names[mask[:, v]])
        frames.append(frame)
    (folder / "a").mkdir()
    half = len(frames[0]) // 2
    frames[0][:half].to_parquet(folder / "a" / "1.parquet", index=False)
    frames[0][half:].to_parquet(folder / "a" / "2.parquet", index=False)
    frames[1].sample(frac=1, random_state=0).to_parquet(
        folder / "b.parquet", index=False
    )
    return Xs, mask
