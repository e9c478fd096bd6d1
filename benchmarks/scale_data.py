"""Planted clusters in files, made block by block; rows do not depend on n."""

import json

import numpy as np

WIDTHS = (32, 64, 16)
CLUSTERS = 10
RECIPE = {
    "widths": WIDTHS,
    "clusters": CLUSTERS,
    "separation": 6.0,
    "incomplete": 0.5,
    "block": 50_000,
    "seed": 0,
}
# What is observed by an incomplete sample: one view or two of three.
PATTERNS = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]], bool
)


def planted_files(folder, n):
    """Folder with view0.npy .. view2.npy, mask.npy and labels.npy of n samples.

    Files that are there, whole and of the same recipe are kept. All clusters of a view
    are equally far apart; unobserved rows hold NaN.
    """
    place = folder / f"planted-{n}"
    if _complete(place, n):
        return place
    place.mkdir(parents=True, exist_ok=True)
    shapes = {f"view{v}": ("<f4", (n, d)) for v, d in enumerate(WIDTHS)}
    shapes |= {"mask": ("|b1", (n, len(WIDTHS))), "labels": ("<i8", (n,))}
    files = {name: open(place / f"{name}.npy", "wb") for name in shapes}
    try:
        for name, (kind, shape) in shapes.items():
            header = {"descr": kind, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(files[name], header)
        for start in range(0, n, RECIPE["block"]):
            for name, rows in _draw_block(start // RECIPE["block"]).items():
                files[name].write(rows[: n - start].tobytes())
    finally:
        for file in files.values():
            file.close()
    # Written last: without it the files count as unfinished.
    (place / "recipe.json").write_text(json.dumps(RECIPE))
    return place


def _complete(place, n):
    try:
        same = json.loads((place / "recipe.json").read_text()) == json.loads(
            json.dumps(RECIPE)
        )
        return same and all(len(x) == n for x in load_files(place).values())
    except (OSError, ValueError):
        return False


def _draw_block(i):
    rng = np.random.default_rng([RECIPE["seed"], i])
    size, c = RECIPE["block"], CLUSTERS
    y = rng.integers(0, c, size)
    mask = np.ones((size, len(WIDTHS)), bool)
    hidden = rng.permutation(size)[: int(RECIPE["incomplete"] * size)]
    mask[hidden] = PATTERNS[rng.integers(0, len(PATTERNS), len(hidden))]
    block = {"labels": y, "mask": mask}
    for v, d in enumerate(WIDTHS):
        X = rng.standard_normal((size, d), dtype=np.float32)
        X += _centres(v)[y]
        X[~mask[:, v]] = np.nan
        block[f"view{v}"] = X
    return block


def _centres(v):
    """Centres (c, d) of view v on orthogonal axes, `separation` apart."""
    rng = np.random.default_rng([RECIPE["seed"], 1_000_000, v])
    axes = np.linalg.qr(rng.standard_normal((WIDTHS[v], CLUSTERS)))[0].T
    return (axes * RECIPE["separation"] / np.sqrt(2)).astype(np.float32)


def load_files(place, mmap_mode="r"):
    """The arrays of `planted_files` by name, mapped or read."""
    names = [*(f"view{v}" for v in range(len(WIDTHS))), "mask", "labels"]
    return {x: np.load(place / f"{x}.npy", mmap_mode=mmap_mode) for x in names}


def as_zarr(place, chunk_rows=65_536):
    """The views as uncompressed zarr arrays beside the .npy files; their paths."""
    import zarr

    paths = []
    for v in range(len(WIDTHS)):
        X = np.load(place / f"view{v}.npy", mmap_mode="r")
        path = place / f"view{v}.zarr"
        paths.append(str(path))
        mark = place / f"view{v}.zarr.done"
        if mark.exists():
            continue
        chunks = (min(chunk_rows, len(X)), X.shape[1])
        target = zarr.create_array(
            str(path),
            shape=X.shape,
            chunks=chunks,
            dtype=X.dtype,
            compressors=None,
            overwrite=True,
        )
        for start in range(0, len(X), chunk_rows):
            target[start : start + chunk_rows] = X[start : start + chunk_rows]
        mark.touch()
    return paths
