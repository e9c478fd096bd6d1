"""A folder that keeps what does not fit into memory, and lets a killed run go on.

Whatever is in it is checked before it is used again. A file that is damaged, or gone
although its stage was finished, is named, and its stage done again: stages depend on
those before them and on nothing else, so what is made again is what was there.
"""

import json
import os
import shutil
import tempfile
import time
import zlib
from contextlib import contextmanager
from pathlib import Path

from imvc._files import atomic_write, check_folder, naming_full_disk
from imvc._warn import warn_user
from imvc.io._errors import one_line
from imvc.io._file_stamps import changed_files
from imvc.kernels._kmeans import add_results
from imvc.scale._block_files import BlockFiles, RowFile
from imvc.scale._checked_files import DamagedFile, load_state, save_state

_PLAN, LOCK = "plan.json", ".lock"
_ENDINGS = {".state", ".block", ".npy", ".reached", ".partial"}  # of files of a run
_NAMES = {_PLAN, LOCK, "complete"}
_SAVE_SECONDS = 10  # of work that a killed pass may lose


class RunFolder:
    """Results of stages and blocks as files of one folder.

    Parameters
    ----------
    folder : path-like or TemporaryDirectory
        Empty, new, or the folder of the same run that was interrupted. A temporary
        one goes when nothing refers to it any more.
    plan : dict
        What the run is, in JSON's types. A folder with another plan is refused.
    """

    def __init__(self, folder, plan):
        self.folder = folder
        # What goes with this process need not outlive a loss of power.
        self.lasting = not isinstance(folder, tempfile.TemporaryDirectory)
        self.path = Path(folder if self.lasting else folder.name)
        check_work_dir(self.path)
        with naming_full_disk(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.path)
        self._plan = json.loads(json.dumps(plan))
        self._finished = _finished_stages(self.path, self._plan)
        if self._finished is None:
            self._mark([])
        self._come_to = []  # stages, in this process

    def resume(self, name, compute, rows=(), repeatable=True):
        """What was saved under ``name``, or ``compute()``, which is then saved.

        Parameters
        ----------
        rows : sequence of RowFile or Stack
            What ``compute`` writes beside.
        repeatable : bool, default=True
            Whether ``compute`` gives the same again. If not, later stages go with it.
        """
        if not self.lasting:
            return compute()
        self._come_to.append(name)
        saved = self._load(name, rows)
        if saved is None:
            if not repeatable:
                self._drop_later()
            result = compute()
            saved = result, [own.digests for own in rows]
            save_state(self.path / f"{name}.state", saved)
        self._finish(name)
        return saved[0]

    def _load(self, name, rows):
        """What a stage saved, if it did and neither that nor its rows are damaged."""
        file = self.path / f"{name}.state"
        if name not in self._finished and not file.exists():
            return None
        try:
            saved = load_state(file)
            for own, digests in zip(rows, saved[1]):
                own.take_over(digests)
        except DamagedFile as damage:
            self._drop(name, [damage])
            file.unlink(missing_ok=True)
            return None
        return saved

    def blocks(self, name, n_blocks, map):
        """GraphRows or masks of every block, read and written by its number.

        What an earlier run left of them is checked by ``map``, and the damaged ones
        removed. `finish_blocks` is to be called when all blocks are there.
        """
        kept = BlockFiles(self.path / name)
        self._come_to.append(name)
        kept.tidy()
        done = name in self._finished
        there = [i for i in range(n_blocks) if done or i in kept]
        damages = [own for own in map(kept.damage, there) if own is not None]
        if damages:
            self._drop(name, damages)
        return kept

    def finish_blocks(self, name, kept):
        """Note that all blocks are there."""
        if self.lasting and name not in self._finished:
            kept.sync()
        self._finish(name)

    def rows(self, name, starts, width, dtype):
        """One row per sample, read and written by blocks."""
        path = self.path / f"{name}.npy"
        return RowFile(path, starts, width, dtype, self.lasting)

    @contextmanager
    def writing(self, name, files):
        """A pass that writes RowFiles: yields how far an interrupted one had come.

        The files take their names whole, at the end.
        """
        reached = Reached(self.path / f"{name}.reached", files, self.lasting)
        try:
            reached.restore()
        except DamagedFile as damage:
            reached.forget()
            self._drop(name, [damage])
        for file in files:
            file.open(again=reached.n > 0)
        try:
            yield reached
            for file in files:
                file.sync()
            reached.forget()
            for file in files:
                file.finish()
        finally:
            for file in files:
                file.close()

    def _drop(self, name, damages):
        """Remove files that cannot be used, and say that their stage is done again."""
        first, more = damages[0], len(damages) - 1
        others = f" ({more} more files of this stage too)" if more else ""
        fate = "it is removed, and " if first.path.exists() else ""
        for damage in damages:
            damage.path.unlink(missing_ok=True)
        self._mark([own for own in self._finished if own != name])
        warn_user(f"{first}{others}; {fate}stage {name!r} is done again.")

    def _drop_later(self):
        """Remove what stages left that this process has not come to yet."""
        later = [
            own
            for own in sorted(self.path.iterdir())
            if not own.name.startswith(".")
            and own.name != _PLAN
            and own.stem not in self._come_to
        ]
        for own in later:
            shutil.rmtree(own) if own.is_dir() else own.unlink()
        self._mark([own for own in self._finished if own in self._come_to])
        if later:
            warn_user(
                f"{later[0]} and all other files of later stages are removed, and the "
                f"stages done again: they were drawn by chance, without a number as "
                f"random_state, and what was drawn is lost."
            )

    def _finish(self, name):
        """A stage is finished, and its files outlive what may come."""
        if name not in self._finished:
            self._mark([*self._finished, name])

    def _mark(self, finished):
        self._finished = finished
        if self.lasting:
            _write_plan(self.path, self._plan, finished)

    def __getstate__(self):
        return {"path": self.path, "folder": None, "_lock": None}

    def release(self):
        """Let other processes have the folder; what is in it can still be read."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class Reached:
    """The first ``n`` blocks of a pass are done, and what they add up to.

    It is saved every few seconds, after the rows of these blocks.
    """

    def __init__(self, file, rows, lasting):
        self._file, self._rows, self._lasting = file, rows, lasting
        self.n, self.total = 0, None
        self._saved = time.monotonic()

    def restore(self):
        """Go on from what an interrupted pass saved, if it did; or DamagedFile."""
        if not self._file.exists():
            return
        n, total, digests = load_state(self._file)
        for rows, expected in zip(self._rows, digests):
            rows.take_over_part(expected, n)
        self.n, self.total = n, total

    def add(self, summary):
        """One more block is done."""
        self.total = summary if self.n == 0 else add_results(self.total, summary)
        self.n += 1
        if self._lasting and time.monotonic() - self._saved >= _SAVE_SECONDS:
            for rows in self._rows:
                rows.sync()
            digests = [rows.digests for rows in self._rows]
            save_state(self._file, (self.n, self.total, digests))
            self._saved = time.monotonic()

    def forget(self):
        self._file.unlink(missing_ok=True)


class RefusedFolder(ValueError):
    """This run cannot have the folder, or not now."""


class DamagedPlan(RefusedFolder):
    """Nothing tells what the files of a folder are of."""


def check_work_dir(path):
    """Refuse a ``work_dir`` that is no folder and cannot become one."""
    try:
        check_folder(path)
    except OSError as error:
        raise type(error)(
            f"work_dir={str(path)!r} (--work-dir) cannot be used: {error}"
        ) from error
    _check_ours(Path(path))
    _check_kinds(Path(path))


def _check_ours(path):
    """Refuse a folder with files that are of no run."""
    if not path.is_dir() or os.path.lexists(path / _PLAN):
        return
    others = sorted(p.name for p in path.iterdir() if not p.name.startswith("."))
    if others:
        raise RefusedFolder(
            f"work_dir={str(path)!r} is not empty ({others[0]!r} is in it) and no "
            f"run of imvc; give a new or empty folder."
        )


def _check_kinds(path):
    """Refuse what is no file where a run has one, or no folder.

    It may be somebody's, so it is not removed; and a pipe would be waited for.
    """
    ours = any(os.path.lexists(path / own) for own in (_PLAN, ".views"))
    for found in sorted(path.rglob("*")) if ours else ():
        is_file, is_folder = found.is_file(), found.is_dir()
        wants_file = found.suffix in _ENDINGS or found.name in _NAMES
        wants_folder = found.parent == path and (
            found.name == ".views" or not ("." in found.name or wants_file)
        )
        if (is_file and not wants_folder) or (is_folder and not wants_file):
            continue
        if not os.path.lexists(found):  # another run is at work, and is refused later
            continue
        other = "a folder" if is_folder else "neither a file nor a folder"
        kind = "a file" if is_file else other
        raise FileExistsError(
            f"work_dir={str(path)!r} (--work-dir) cannot be used: {found} is {kind}, "
            f"which no run puts there; remove it, then run the same command again."
        )


def read_plan(folder):
    """``(plan, finished stages)`` of the run in a folder; None where there is none.

    A plan that is not as it was written is refused: it alone tells whose files these
    are.
    """
    file = Path(folder) / _PLAN
    if not file.exists():
        return None
    try:
        there = json.loads(file.read_bytes())
        plan, finished = there["plan"], there["finished"]
        if there["crc32"] != _plan_crc(plan, finished):
            raise ValueError("its digest is another")
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise DamagedPlan(
            f"work_dir={str(folder)!r} (--work-dir) cannot be gone on with: its "
            f"{_PLAN} is damaged, or not of this version ({one_line(error)}), and "
            f"nothing else tells which run it holds; delete the folder, or give "
            f"another."
        ) from error
    return plan, finished


def _write_plan(folder, plan, finished):
    text = {"plan": plan, "finished": finished, "crc32": _plan_crc(plan, finished)}
    with atomic_write(folder / _PLAN, "w") as handle:
        json.dump(text, handle, indent=1)


def _plan_crc(plan, finished):
    return zlib.crc32(json.dumps([plan, finished], sort_keys=True).encode())


def _finished_stages(folder, plan):
    """Stages of this very run that were finished; None: the folder is empty."""
    found = read_plan(folder)
    if found is not None:
        there, finished = found
        differ = sorted(k for k in {*plan, *there} if plan.get(k) != there.get(k))
        if differ:
            _name_changed_files(folder, differ, there, plan)
            raise RefusedFolder(
                f"work_dir={str(folder)!r} holds a run that differs in "
                f"{', '.join(differ)}; give an empty folder, or the same data and "
                f"parameters to go on with that run."
            )
        return finished
    return None


def _name_changed_files(folder, differ, there, plan):
    """Say which files changed since the run was begun, if nothing else differs."""
    changed = changed_files(there.get("data"), plan.get("data"))
    if changed and set(differ) <= {"data", "blocks"}:
        raise RefusedFolder(
            f"work_dir={str(folder)!r} was begun with another {', '.join(changed)}; "
            f"give an empty folder, or put the old file back."
        )


def _lock(folder):
    """A lock that dies with the process, where the system has such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    with naming_full_disk(folder):
        file = open(folder / LOCK, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RefusedFolder(
            f"work_dir={str(folder)!r} is in use by another run; wait for it or give "
            f"another folder."
        ) from error
    return file
