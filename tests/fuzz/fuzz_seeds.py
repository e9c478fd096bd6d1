"""Small good files of every format, each in a folder of its own."""

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np

N, WIDTHS = 24, (3, 2)
IDS = [f"s{i:02d}" for i in range(N)]
CSV = (
    'id,a,b,"c, d",kind,day,grade\n"s1",1.5,2,3,x,2020-01-31,low\n'
    's2,,-4e3,5,"y\n z",2020-02-01,high\ns3,NA,6,7,x,,mid\n'
    "s4,8,9.25,1,,2021-03-04,low\n"
)


def planted():
    """Two views in float64 and which samples they have."""
    from imvc.datasets import make_views

    data = make_views(N, WIDTHS, 2, incomplete=0.3, separation=6, random_state=0)
    return data.Xs, data.mask


def frame(v=0, ids=True):
    """A view as a table."""
    import pandas as pd

    X = planted()[0][v]
    table = pd.DataFrame(X, columns=[f"f{v}_{j}" for j in range(X.shape[1])])
    if ids:
        table.insert(0, "id", IDS)
    return table


def seed_folder(root, name):
    """A new folder for the files of one seed."""
    folder = Path(root) / name
    folder.mkdir(parents=True)
    return folder


def csv(root):
    plain = frame(0).to_csv(index=False)
    (seed_folder(root, "0") / "v.csv").write_text(CSV)
    (seed_folder(root, "1") / "v.tsv").write_text(CSV.replace(",", "\t"))
    (seed_folder(root, "2") / "v.csv").write_text(
        plain.replace(",", ";").replace(".", ",")
    )
    (seed_folder(root, "3") / "v.csv").write_text("A title\n\n" + plain)
    (seed_folder(root, "4") / "v.csv").write_bytes(plain.encode("utf-16"))
    packed = gzip.compress(CSV.encode(), mtime=0)
    (seed_folder(root, "5") / "v.csv.gz").write_bytes(packed)
    wide = ",".join(["id", *(f"g{j}" for j in range(1200))])
    rows = [",".join([i, *("0.5" for _ in range(1200))]) for i in IDS[:3]]
    (seed_folder(root, "6") / "v.csv").write_text("\n".join([wide, *rows]))


def xlsx(root):
    frame(0).to_excel(seed_folder(root, "0") / "v.xlsx", index=False)


def xls(root):
    import xlwt

    book = xlwt.Workbook()
    sheet = book.add_sheet("rna")
    for i, row in enumerate([list(frame(0)), *frame(0).to_numpy().tolist()]):
        for j, cell in enumerate(row):
            sheet.write(i, j, cell)
    book.save(str(seed_folder(root, "0") / "v.xls"))


def ods(root):
    space = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(
        f'xmlns:{n}="{space}:{n}:1.0"' for n in ("office", "table", "text")
    )
    cell = '<table:table-cell office:value-type="{}">{}</table:table-cell>'
    rows = "".join(
        "<table:table-row>"
        + "".join(cell.format("string", f"<text:p>{c}</text:p>") for c in row)
        + "</table:table-row>"
        for row in (["id", "a", "b"], ["s1", 1, 2], ["s2", 3, 4], ["s3", 5, 6])
    )
    with zipfile.ZipFile(seed_folder(root, "0") / "v.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="RNA">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )


def npy(root):
    X = planted()[0][0]
    np.save(seed_folder(root, "0") / "v.npy", X)
    np.save(seed_folder(root, "1") / "v.npy", np.asfortranarray(X.astype(np.float32)))
    np.save(
        seed_folder(root, "2") / "v.npy", np.arange(12, dtype=np.int16).reshape(4, 3)
    )


def npz(root):
    import scipy.sparse as sp

    Xs, mask = planted()
    np.savez(
        seed_folder(root, "0") / "v.npz",
        X0=Xs[0], X1=Xs[1], mask=mask, ids=np.array(IDS), y=np.arange(N) % 2,
        features0=np.array(["a", "b", "c"]),
    )  # fmt: skip
    np.savez_compressed(seed_folder(root, "1") / "v.npz", rna=Xs[0], protein=Xs[1])
    sp.save_npz(seed_folder(root, "2") / "v.npz", sp.csr_array(np.eye(5)))
    sp.save_npz(seed_folder(root, "3") / "v.npz", sp.coo_array(np.eye(4)))


def parquet(root):
    table = frame(0)
    table.to_parquet(seed_folder(root, "0") / "v.parquet", index=False)
    table["kind"] = ["x", "y"] * (N // 2)
    table["day"] = np.arange(N).astype("M8[D]").astype("M8[ms]")
    table.astype({"kind": "category"}).set_index("id").to_parquet(
        seed_folder(root, "1") / "v.parquet", compression="zstd", row_group_size=10
    )


def feather(root):
    table = frame(0)
    table["kind"] = ["x", "y"] * (N // 2)
    table.to_feather(seed_folder(root, "0") / "v.feather")
    table.astype({"kind": "category"}).to_feather(
        seed_folder(root, "1") / "v.feather", compression="uncompressed"
    )


def parquet_rows(root):
    """Parts of dense rows, and sparse rows as lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, parts = frame(0), seed_folder(root, "0") / "v"
    parts.mkdir()
    table[:10].to_parquet(parts / "1.parquet", index=False)
    table[10:].to_parquet(parts / "2.parquet", index=False)
    lists = {
        "id": pa.array(IDS[:4]),
        "indices": pa.array([[0, 2], [1], [], [0, 1, 2]], pa.list_(pa.int32())),
        "values": pa.array([[1.0, 2], [3], [], [4, 5, 6]], pa.list_(pa.float64())),
    }
    sparse = pa.table(lists).replace_schema_metadata({"imvc.n_features": "3"})
    pq.write_table(sparse, seed_folder(root, "1") / "v.parquet")


def zarr(root):
    import zarr

    X = planted()[0][0]
    for i, version in enumerate((2, 3)):
        array = zarr.create_array(
            str(seed_folder(root, str(i)) / "v.zarr"),
            shape=X.shape, chunks=(10, 3), dtype=X.dtype, zarr_format=version,
        )  # fmt: skip
        array[:] = X


def _write_anndata(group, X, ids, names):
    import h5py

    for key, index in (("obs", ids), ("var", names)):
        table = group.create_group(key)
        table.attrs["_index"] = "_index"
        table["_index"] = np.array(index, dtype=h5py.string_dtype())
    kinds = group["obs"].create_group("kind")
    kinds["codes"] = np.arange(len(ids), dtype=np.int8) % 2
    kinds["categories"] = np.array(["x", "y"], dtype=h5py.string_dtype())
    group["obs"]["age"] = np.arange(len(ids)) / 2
    if isinstance(X, np.ndarray):
        group.create_dataset("X", data=X, chunks=(8, X.shape[1]), compression="gzip")
        return
    node = group.create_group("X")
    node.attrs["encoding-type"], node.attrs["shape"] = "csr_matrix", X.shape
    for key in ("data", "indices", "indptr"):
        node[key] = getattr(X, key)


def h5ad(root):
    import h5py
    import scipy.sparse as sp

    X = planted()[0][0]
    for i, own in enumerate((X, sp.csr_array(np.round(X)))):
        with h5py.File(seed_folder(root, str(i)) / "v.h5ad", "w") as file:
            _write_anndata(file, own, IDS, list("abc"))


def h5mu(root):
    import h5py

    with h5py.File(seed_folder(root, "0") / "v.h5mu", "w") as file:
        for v, X in enumerate(planted()[0]):
            group = file.create_group(f"mod/m{v}")
            _write_anndata(group, X, IDS, [f"g{j}" for j in range(X.shape[1])])


def mat(root):
    import scipy.io
    import scipy.sparse as sp

    Xs, _ = planted()
    y = np.arange(N) % 2
    cells = np.empty((1, 2), object)
    cells[:] = [[Xs[0], Xs[1]]]
    for i, (variables, options) in enumerate(
        (
            ({"X1": Xs[0], "X2": Xs[1], "Y": y}, {}),
            ({"X": cells, "gt": y}, {"do_compression": True}),
            ({"X1": sp.csc_array(np.round(Xs[0])), "Y": y}, {}),
            ({"X1": Xs[0], "Y": y}, {"format": "4"}),
        )
    ):
        path = seed_folder(root, str(i)) / "v.mat"
        scipy.io.savemat(path, variables, **options)


def mat73(root):
    import h5py

    path = seed_folder(root, "0") / "v.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        Xs, _ = planted()
        kept = [file.create_dataset(f"#refs#/{v}", data=X.T) for v, X in enumerate(Xs)]
        cells = file.create_dataset("X", (2, 1), dtype=h5py.ref_dtype)
        cells[0, 0], cells[1, 0] = kept[0].ref, kept[1].ref
        cells.attrs["MATLAB_class"] = np.bytes_("cell")
        file["Y"] = (np.arange(N) % 2)[None].astype(float)
    with open(path, "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def mtx(root):
    import scipy.io
    import scipy.sparse as sp

    X = np.round(planted()[0][0][:6])
    for i, own in enumerate((sp.coo_array(X), X)):
        folder = seed_folder(root, str(i))
        scipy.io.mmwrite(folder / "v.mtx", own)
        (folder / "v.rows").write_text("\n".join(IDS[:6]))
        (folder / "v.cols").write_text("a\nb\nc\n")


def id_map(root):
    (seed_folder(root, "0") / "v.csv").write_text("old,new\ns1,a\ns2,b\n")
    (seed_folder(root, "1") / "v.tsv").write_text('"x y"\tz\ns2\t"b\tc"\n')


def metadata(root):
    csv(root)
    frame(1).to_parquet(seed_folder(root, "7") / "v.parquet", index=False)


def labels(root):
    rows = "\n".join(f"{i},{'xy'[k % 2]}" for k, i in enumerate(IDS))
    (seed_folder(root, "0") / "v.csv").write_text("id,class\n" + rows)


def suite(root):
    from imvc.experiments import list_suites, suite_path

    for i, path in enumerate(map(suite_path, list_suites())):
        (seed_folder(root, str(i)) / "v.toml").write_bytes(path.read_bytes())


def dataset(root):
    Xs, mask = planted()
    folder = seed_folder(root, "0")
    np.savez(folder / "v.npz", X0=Xs[0], X1=Xs[1], mask=mask, y=np.arange(N) % 2)
    about = {"view_names": ["rna", "protein"], "notes": "planted"}
    (folder / "v.json").write_text(json.dumps(about))


def _tables(folder):
    _, mask = planted()
    for v in range(2):
        frame(v)[mask[:, v]].to_csv(folder / f"v{v}.csv", index=False)
    batches = "\n".join(f"{i},{'xy'[k % 2]},{k}" for k, i in enumerate(IDS))
    (folder / "about.csv").write_text(f"id,batch,age\n{batches}\n")


def run(root):
    """A run of the program with all that it writes but the page."""
    from imvc.workflow import InputFiles, cluster

    for i, options in enumerate(({}, {"adjust": "batch"})):
        folder = seed_folder(root, str(i))
        _tables(folder)
        paths = [folder / f"v{v}.csv" for v in range(2)]
        files = InputFiles(paths, metadata=folder / "about.csv")
        found = cluster(
            files, n_clusters=2, method="impute-kmeans", n_refits=0, **options
        )
        found.save(folder / "out", report=False)
        for path in (folder / "out").iterdir():
            if path.name not in ("run.json", "model.imvc", "labels.csv"):
                path.unlink()


def model(root):
    """Models of all methods that place new samples, with new samples beside them."""
    from imvc import RISE, AnchorBridge, ImputeKMeans

    Xs, mask = planted()
    holes = [X.copy() for X in Xs]
    holes[0][3, 1] = np.nan
    models = (
        RISE(2, n_anchors=6, random_state=0).fit(Xs, mask=mask),
        AnchorBridge(2, n_anchors=6, random_state=0).fit(Xs, mask=mask),
        ImputeKMeans(2, scale="standard", random_state=0).fit(Xs, mask=mask),
        RISE(2, n_anchors=6, scale="standard", empty_cells="fill", random_state=0).fit(
            holes, mask=mask
        ),
    )
    for i, own in enumerate(models):
        updatable = {} if i == 2 else {"updatable": True}
        own.save(seed_folder(root, str(i)) / "v.imvc", **updatable)


def work_dir(root):
    from imvc import RISE

    Xs, mask = planted()
    folder = seed_folder(root, "0") / "work"
    RISE(2, n_anchors=6, random_state=0, work_dir=folder, memory_budget=20_000).fit(
        Xs, mask=mask
    )
