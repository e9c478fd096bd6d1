"""The folder from which a run that was killed goes on."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from imvc.io._file_stamps import changed_files
from imvc.scale import (
    BlockError,
    BlockSource,
    DamagedPlan,
    RefusedFolder,
    check_work_dir,
    data_plan,
    read_plan,
)
from imvc.workflow._stages import Stages

WORK_FOLDER = ".imvc-work"  # in the folder of the results


class UnfinishedRun:
    """Finished stages of a run that is not finished, in a folder.

    Parameters
    ----------
    path : Path
    own : bool, default=False
        Whether the folder is ours, to be removed at the end.
    overwrite : bool, default=False
        Whether stages of another run in our own folder may be dropped.
    """

    def __init__(
        self, path: Path, *, own: bool = False, overwrite: bool = False
    ) -> None:
        check_work_dir(path)
        self.path = path
        # What we find empty or make is ours as long as nothing is finished.
        self._found_empty = not path.is_dir() or not any(path.iterdir())
        self._own = own
        self._overwrite = overwrite

    def finished(self) -> list[str]:
        """Names of finished stages, in their order."""
        states = sorted(
            self.path.glob("*.state"), key=lambda file: file.stat().st_mtime
        )
        return [file.stem for file in states]

    def take(self, model: Any, source: BlockSource, stages: Stages) -> list[str]:
        """Make sure that the folder is of this run; its finished stages."""
        try:
            found = read_plan(self.path)
        except DamagedPlan:
            if not (self._own and self._overwrite):
                raise
            self._drop_stages()
            stages.say("an unfinished run whose plan is damaged is discarded.")
            return []
        if found is None:
            return []
        there, _ = found
        plan = json.loads(json.dumps({**model._plan(), **data_plan(source)}))
        if plan != there:
            if self._own:
                self._give_way(there, plan, stages)
            return []  # the fit refuses a folder that is not ours
        finished = self.finished()
        if finished:
            stages.say(
                f"going on with the run that was interrupted, from {self.path}; "
                f"finished: {', '.join(finished)}."
            )
        return finished

    def _give_way(self, there, plan, stages) -> None:
        """Drop the stages of another run, if they may be dropped."""
        differ = sorted(k for k in {*plan, *there} if plan.get(k) != there.get(k))
        changed = changed_files(there.get("data"), plan["data"])
        if changed and set(differ) <= {"data", "blocks"}:
            why = f"of files that have changed since, {', '.join(changed)},"
        elif self._overwrite:
            why = f"that differed in {', '.join(differ)}"
        else:
            raise ValueError(
                f"{self.path}: holds an unfinished run that differs in "
                f"{', '.join(differ)} (blocks depend on the memory budget and the "
                f"number of threads); repeat that run, discard it with --overwrite "
                f"(overwrite=True), or choose another folder."
            )
        self._drop_stages()
        stages.say(f"an unfinished run {why} is discarded.")

    def _drop_stages(self) -> None:
        for left in self.path.iterdir():
            if left.name.startswith("."):  # the lock, and views of the open source
                continue
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    @contextmanager
    def kept(self, stages: Stages) -> Iterator[None]:
        """Say on an error that finished stages are kept; leave nothing if none are."""
        try:
            yield
        except RefusedFolder:
            raise  # this run does not go on from there
        except BaseException as error:
            blocks = next(self.path.glob("*/*.block"), None)
            if not self.finished() and blocks is None:
                if self._own or self._found_empty:
                    shutil.rmtree(self.path, ignore_errors=True)
                raise
            text = (
                f"Finished stages are kept in {self.path}; the same command goes on "
                f"from them."
            )
            if isinstance(error, BlockError):
                raise BlockError(f"{error} {text}") from error
            stages.say(text)
            raise

    def remove(self) -> None:
        """Remove the folder, if it is ours: the results are written."""
        if self._own:
            shutil.rmtree(self.path, ignore_errors=True)
