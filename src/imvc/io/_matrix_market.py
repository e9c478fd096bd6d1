"""Matrix Market files (.mtx), with names of rows and columns in files beside them.

``genes.mtx`` may come with ``genes.rows`` and ``genes.cols``: one name per line, of
which the text before the first tab counts. Rows are samples; for the other way round,
which is that of most single-cell pipelines, ask for the transpose.

The numbers go through the CSV parser of pyarrow, and every index is checked. SciPy's
reader (1.17) is three times as fast (0.4 s for 10^6 entries), but ended the process on
4 to 9 of 6000 damaged copies of small files. No guard helps: a sound file whose last
line ends in a blank is enough.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from imvc.io._checked_table import id_strings, matrix_table
from imvc.io._encoding import single_tabs
from imvc.io._errors import input_error, need, reading
from imvc.io._file_bytes import check_path, check_size, check_sparse, load_bytes
from imvc.io._file_table import FileTable, Request

_HEAD = 2**20


class _Header(NamedTuple):
    layout: str  # "coordinate" or "array"
    field: str  # "real", "integer", "double" or "pattern"
    symmetry: str  # "general", "symmetric" or "skew-symmetric"
    shape: tuple[int, int]
    n_entries: int
    body: int  # bytes before the first entry


def read_mtx(file: Request) -> list[FileTable]:
    """Read a Matrix Market file, which stays sparse if it is written so."""
    source, path = file.source, file.path
    need("pyarrow.csv", source)
    with reading(source, "a Matrix Market file"):
        data = load_bytes(path, source)
        header = _read_header(data, source)
        columns = _read_entries(data, header, source)
        if header.layout == "array":
            values: Any = columns[0].reshape(header.shape, order="F")
        else:
            values = _sparse(columns, header, source)
    rows, cols = files_beside(path)
    ids = _names_in(rows, path, values.shape[0])
    features = _names_in(cols, path, values.shape[1])
    with reading(source, "a Matrix Market file"):
        return [
            matrix_table(
                values,
                file.name,
                source,
                ids=ids,
                features=None if features is None else tuple(features.tolist()),
            )
        ]


def _read_header(data: Any, source: str) -> _Header:
    head = bytes(data[:_HEAD])
    banner = head.split(b"\n", 1)[0].decode("latin-1").lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise input_error(
            source, "does not begin with '%%MatrixMarket matrix'; give a .mtx file.", 1
        )
    layout, field, symmetry = banner[2:]
    known = (
        layout in ("coordinate", "array")
        and field in ("real", "double", "integer", "pattern")
        and symmetry in ("general", "symmetric", "skew-symmetric")
        and not (layout == "array" and (field == "pattern" or symmetry != "general"))
    )
    if not known:
        raise input_error(
            source,
            f"is a {symmetry} {layout} of {field} values, which is not read; write it "
            "as 'coordinate real general' or 'array real general'.",
            1,
        )
    found = re.match(rb"(?:[ \t]*(?:%[^\n]*)?\r?\n)*", head)
    body = found.end() if found else 0
    line = 1 + head.count(b"\n", 0, body)
    end = head.find(b"\n", body)
    text = head[body : end if end >= 0 else len(head)].decode("latin-1").split()
    n_numbers = 3 if layout == "coordinate" else 2
    if len(text) != n_numbers or not all(re.fullmatch(r"\d{1,18}", t) for t in text):
        raise input_error(
            source, f"has no line of sizes ({n_numbers} whole numbers).", line
        )
    numbers = [int(t) for t in text]
    shape = (numbers[0], numbers[1])
    n_entries = numbers[2] if layout == "coordinate" else shape[0] * shape[1]
    # An entry takes at least a digit and the end of its line.
    if 2 * n_entries > len(data) + 2 or min(shape) < 1 or end < 0:
        raise input_error(
            source,
            f"is truncated or damaged: its header tells of {shape[0]} x {shape[1]} "
            f"numbers, {n_entries} of them stored.",
            line,
        )
    check_size(source, 24.0 * n_entries + 8.0 * sum(shape))
    if layout == "coordinate":
        check_sparse(source, shape, n_entries)
    return _Header(layout, field, symmetry, shape, n_entries, end + 1)


def _read_entries(data: Any, header: _Header, source: str) -> list[np.ndarray]:
    """Columns of the body: row, column and value, or the value alone."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    names = ["row", "column"] if header.layout == "coordinate" else []
    types: dict[str, Any] = dict.fromkeys(names, pa.int64())
    if header.field != "pattern":
        types["value"] = pa.float64()

    def parse(body: Any, separator: str) -> Any:
        return pa_csv.read_csv(
            pa.BufferReader(body),
            read_options=pa_csv.ReadOptions(column_names=list(types)),
            parse_options=pa_csv.ParseOptions(delimiter=separator, quote_char=False),
            convert_options=pa_csv.ConvertOptions(column_types=types, null_values=[]),
        )

    if header.body >= len(data):
        raise input_error(source, "has no numbers below its header.")
    body = pa.py_buffer(data).slice(header.body)
    try:
        table = parse(body, " ")
    except pa.ArrowInvalid:  # blanks in other numbers or places
        table = parse(single_tabs(body.to_pybytes()), "\t")
    if table.num_rows != header.n_entries:
        raise input_error(
            source,
            f"is truncated or damaged: {table.num_rows} numbers instead of "
            f"{header.n_entries}.",
        )
    return [column.to_numpy() for column in table.columns]


def _sparse(columns: list[np.ndarray], header: _Header, source: str) -> Any:
    rows, cols = columns[0] - 1, columns[1] - 1
    n, d = header.shape
    outside = (rows < 0) | (rows >= n) | (cols < 0) | (cols >= d)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise input_error(
            source,
            f"entry {i + 1} is at ({rows[i] + 1}, {cols[i] + 1}), outside of the "
            f"{n} x {d} matrix.",
        )
    values = np.ones(len(rows)) if header.field == "pattern" else columns[2]
    if header.symmetry != "general":
        if n != d:
            raise input_error(source, f"is {header.symmetry}, but {n} x {d}.")
        below = rows != cols
        sign = 1.0 if header.symmetry == "symmetric" else -1.0
        rows, cols = np.r_[rows, cols[below]], np.r_[cols, rows[below]]
        values = np.r_[values, sign * values[below]]
    return sp.csr_array((values, (rows, cols)), shape=header.shape)


def files_beside(path: Path) -> list[Path]:
    """Where names of rows and columns of a .mtx file may be; none for other files."""
    if ".mtx" not in path.name.lower():
        return []
    stem = path if path.suffix.lower() == ".mtx" else path.with_suffix("")
    return [stem.with_suffix(".rows"), stem.with_suffix(".cols")]


def _names_in(beside: Path, path: Path, n: int) -> np.ndarray | None:
    if not beside.exists():
        return None
    source = str(beside)
    check_path(beside, source)
    with reading(source, "a list of names"):
        text = bytes(load_bytes(beside, source)).decode("utf-8-sig")
    names = [line.split("\t")[0] for line in text.splitlines() if line.strip()]
    if len(names) != n:
        raise input_error(
            source, f"has {len(names)} names for {n} of the matrix {path.name}."
        )
    return id_strings(np.array(names, dtype=object))
