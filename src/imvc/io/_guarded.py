"""Files that can crash their library or keep it busy for ever, tried elsewhere first.

A damaged HDF5 file can make the HDF5 library loop or crash. Of workbooks, one in some
hundred damaged .xls files fills the memory until the process is aborted, an .ods that
is cut off is read for ever, and a crafted .xlsx with a cell far out aborts as well.
pyarrow (26) ends the process on Parquet files whose statistics do not add up, and a few
bytes of Parquet can stand for billions of rows. So such a file is first read completely
by a process of its own, with a limit of time and memory; one that is read by blocks, by
blocks. Only its exit status and one word on its standard output are looked at; what the
reader itself has to say about a file is left to the reading that follows.

That costs a second reading and the start of a process: 0.5 s for HDF5 and Parquet,
0.9 s for workbooks (two busy cores).

Not guarded, since nothing of the kind was seen among thousands of damaged files of each
(`make fuzz`, figures in benchmarks/RESULTS.md):

- text and Matrix Market: the CSV parser of pyarrow works on lines that were looked at
  before (`_file_bytes`, `_dialect`);
- .npy and .npz: heads are compared with the bytes that follow before anything is
  allocated, and places of sparse matrices are checked before SciPy uses them;
- .mat before 7.3: its structure is walked first (`_mat5`);
- zarr: Python code that reads one chunk at a time, packed by codecs that check their
  input.
"""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from imvc._machine import available_memory
from imvc.io._anndata_rows import open_h5ad, open_h5mu
from imvc.io._errors import input_error
from imvc.io._file_bytes import memory_limit
from imvc.io._file_table import WORKBOOKS, Request
from imvc.io._matlab import kind_of_mat
from imvc.io._parquet import ParquetRows, has_parquet, open_parquet
from imvc.io._row_reader import RowReader, local_path, must_exist

SECONDS = "IMVC_HDF5_SECONDS"
_HDF5 = (".h5ad", ".h5mu")
_ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
_SECONDS, _BYTES_PER_SECOND = 60.0, 5e6
# No file holds more, however well it is packed; and libraries and threads reserve
# addresses that they never fill.
_SMALL, _PACKING, _RESERVED = 2 * 2**30, 2000, 2 * 2**30
_CHILD = "from imvc.io._guarded import read_in_child; read_in_child()"
_IN_CHILD = "IMVC_GUARDED"
# The last word of a child that was not ended by what it read.
_DONE, _NO_MEMORY = "done", "memory"

Outcome = Literal["done", "time", "memory", "crash"]


def check_guarded(file: Request, kind: str) -> None:
    """Read a file in another process; refuse it if that does not end well.

    Parameters
    ----------
    file : Request
    kind : str
        The ending by which the file is read. Files that are neither HDF5 nor a
        workbook, Parquet or Feather are not looked at; nor is any file if this is the
        other process.

    Raises
    ------
    InputError
        Reading took longer than 60 s and 1 s for each 5 MB (or the number of seconds in
        the environment variable ``IMVC_HDF5_SECONDS``), needed more memory than is
        free, or crashed.
    """
    if kind in (*_HDF5, *WORKBOOKS, *_ARROW) or _is_mat73(file.path, kind):
        asked = {"source": file.source, "layer": file.layer, "sheet": file.sheet}
        _try_elsewhere(file.source, file.path, asked)


def check_guarded_rows(view: Any) -> None:
    """`check_guarded` of a view that is read by blocks: a pass over all its rows.

    Parameters
    ----------
    view : path-like or ParquetRows
        What is neither HDF5 nor Parquet, or not on this machine, is not looked at.
    """
    rows = view if isinstance(view, ParquetRows) else ParquetRows(view)
    local = local_path(rows.path)
    if local is not None and (local.endswith(_HDF5) or has_parquet(local)):
        must_exist(local, rows.path)
        asked = {"rows": rows.path, "id_column": rows.id_column}
        _try_elsewhere(rows.path, Path(local), asked)


def _try_elsewhere(source: str, path: Path, asked: dict[str, str | None]) -> None:
    """Let another process read what is asked for, unless this is that process."""
    if _IN_CHILD in os.environ:
        return
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    size = sum(file.stat().st_size for file in files)
    seconds, n_bytes = _time_limit(size), _memory_limit(size)
    # -P: nothing is imported from the current folder.
    command = [sys.executable, "-P", "-c", _CHILD, json.dumps(asked)]
    outcome, status = run_guarded(command, seconds, n_bytes)
    if outcome == "time":
        raise input_error(
            source,
            f"was not read within {seconds:.3g} s, the limit for files that may be "
            "damaged; make it again or, if it is only large, set the environment "
            f"variable {SECONDS} to more seconds.",
        )
    if outcome == "memory":
        raise input_error(
            source,
            f"needs more than {n_bytes / 2**30:.1f} GiB of memory, which is all that "
            "is free or that a file of its size can hold; take fewer rows or columns, "
            "or make it again if it is damaged.",
        )
    if outcome == "crash":
        raise input_error(
            source,
            f"crashed the library that reads it ({status}), so it is damaged: make it "
            "again.",
        )


def run_guarded(
    command: Sequence[str], seconds: float, n_bytes: int
) -> tuple[Outcome, str]:
    """Run a command of ours with limits; how it ended, and its exit status in words.

    Parameters
    ----------
    command : sequence of str
        It prints the word ``done`` when it has finished, or ``memory`` if it knows that
        it ran out of memory.
    seconds : float
        After so many seconds it is killed.
    n_bytes : int
        It may have so many bytes of memory. Systems other than Linux do not keep this.

    Returns
    -------
    outcome : {"done", "time", "memory", "crash"}
    status : str
        Like ``SIGSEGV`` or ``exit status 1``.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )
    with process:
        _limit(process.pid, seconds, n_bytes)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "time", ""
        finally:
            process.kill()
    words = output.decode("ascii", "replace").split()
    if process.returncode == 0 and words[-1:] == [_DONE]:
        return "done", ""
    status = _status(process.returncode)
    # SIGKILL comes from the system when memory is short.
    if words[-1:] == [_NO_MEMORY] or status == "SIGKILL":
        return "memory", status
    return "crash", status


def read_in_child() -> None:
    """What the other process does: read the file that its argument describes."""
    asked, word = json.loads(sys.argv[1]), _DONE
    try:
        if "rows" in asked:
            _read_rows(asked["rows"], asked["id_column"])
        else:
            _read_table(asked)
    except MemoryError:
        word = _NO_MEMORY
    # All but a lack of memory is left to the reading that follows, which meets it too.
    except Exception as error:
        cause = error.__cause__
        # The HDF5 library says "unable to allocate" in an error of its own.
        if isinstance(cause, MemoryError) or "allocat" in str(cause):
            word = _NO_MEMORY
    sys.stdout.write(word)
    sys.stdout.flush()
    os._exit(0)  # threads of older pyarrow abort a process that takes its leave


def _read_table(asked: dict[str, str | None]) -> None:
    from imvc.io._read_file import read_raw

    read_raw(Request(**asked))  # type: ignore[arg-type]


def _read_rows(source: str, id_column: str | None) -> None:
    """Every row and id, of which nothing is kept."""
    readers: Sequence[RowReader]
    if source.endswith(".h5mu"):
        readers = list(open_h5mu(source).values())
    elif source.endswith(".h5ad"):
        readers = [open_h5ad(source)]
    else:
        readers = [open_parquet(ParquetRows(source, id_column), ids_needed=False)]
    for reader in readers:
        ids = reader.read_ids(0, reader.shape[0]) if reader.has_ids else ()
        for _ in chain(reader.stream(), ids):
            pass


def _is_mat73(path: Path, kind: str) -> bool:
    return kind == ".mat" and kind_of_mat(path) == "a MATLAB 7.3 file"


def _time_limit(n_bytes: int) -> float:
    given = os.environ.get(SECONDS)
    if given is None:
        return _SECONDS + n_bytes / _BYTES_PER_SECOND
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ValueError(f"{SECONDS}={given!r} must be a number of seconds.")
    return seconds


def _memory_limit(size: int) -> int:
    free = available_memory()
    return min(memory_limit() if free is None else free, _SMALL + _PACKING * size)


def _environment() -> dict[str, str]:
    """The same package, wherever it is, and few threads, which cost addresses."""
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        _IN_CHILD: "1",
    }


def _limit(pid: int, seconds: float, n_bytes: int) -> None:
    """Limit the addresses of a process, and spare the disk its memory if it crashes.

    Its time on all processors is limited too: nobody else ends it if we are killed.
    From outside, since code between fork and exec may deadlock where there are threads.
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        limit = n_bytes + _RESERVED
        busy = math.ceil(seconds * (os.cpu_count() or 1)) + 1
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_CPU, (busy, busy))
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def _status(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
