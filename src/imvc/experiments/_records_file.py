"""The records file: SQLite, one transaction per finished run, claims between processes.

The plain rollback journal is used, not WAL: the file stays one file and works on any
file system that has locks.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

from imvc._files import no_room
from imvc.experiments._owner import Owner
from imvc.experiments._run_record import COLUMNS, Entry, Record, from_row, to_row
from imvc.experiments._suite import (
    PAIRED_SHARE,
    MethodSpec,
    PlannedRun,
    RunSpec,
    Suite,
    canonical_json,
)

APPLICATION_ID = 0x494D5643  # "IMVC"
SCHEMA_VERSION = 2
_SCHEMA = f"""
CREATE TABLE machines (id INTEGER PRIMARY KEY, content TEXT UNIQUE NOT NULL);
CREATE TABLE records (key TEXT PRIMARY KEY, {", ".join(COLUMNS)});
CREATE TABLE suites (name TEXT, size TEXT, content TEXT, PRIMARY KEY (name, size));
CREATE TABLE plans (suite TEXT, size TEXT, dataset TEXT, label TEXT, role TEXT,
                    position INTEGER, key TEXT,
                    PRIMARY KEY (suite, size, key, label, role));
CREATE TABLE owners (id TEXT PRIMARY KEY, host TEXT, pid INTEGER, started TEXT,
                     seen REAL);
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL);
"""
# What brings a file to each format from the one before it.
_UPGRADES = {
    2: (
        f"ALTER TABLE records ADD COLUMN protocol DEFAULT '{PAIRED_SHARE}'",
        "ALTER TABLE records ADD COLUMN row_order DEFAULT 'shuffled'",
    ),
}
_INSERT = (
    f"INSERT OR IGNORE INTO records (key, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * (1 + len(COLUMNS)))})"
)

# Records as `from_row` takes them: the machine itself, not its number.
_SELECT = ", ".join(
    f"records.{name}" if name != "machine" else "machines.content" for name in COLUMNS
)


class RecordStore:
    """A file of records that several processes may work on.

    Parameters
    ----------
    path : path-like
        Created if it is not there.
    create : bool, default=True
        False: a file that is not there is an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from imvc.experiments import Record, RecordStore, RunSpec
    >>> spec = RunSpec("webkb", "rise", {}, 0.1, 0, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RecordStore(pathlib.Path(folder) / "records.sqlite") as store:
    ...         store.finish([Record(spec, scores={"acc": 0.5})])
    ...         store.records()[0].scores
    {'acc': 0.5}
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        _check_file(self.path, create)
        self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._owner: Owner | None = None
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        try:
            with self._transaction():
                found = self._pragma("application_id")
                version = self._pragma("user_version")
                tables = self._db.execute("SELECT count(*) FROM sqlite_master")
                if tables.fetchone()[0] == 0:
                    for statement in _SCHEMA.split(";"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                    return
                if found == APPLICATION_ID:
                    self._upgrade(version)
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path} cannot be used as a records file ({error}); name another."
            ) from error
        if found != APPLICATION_ID:
            raise ValueError(
                f"{self.path} is a database of another program; name another file."
            )
        if version > SCHEMA_VERSION:
            raise ValueError(
                f"{self.path} was written by a newer imvc (format {version}, this one "
                f"reads {SCHEMA_VERSION}); update imvc."
            )

    def _upgrade(self, version: int) -> None:
        for target in range(version + 1, SCHEMA_VERSION + 1):
            for statement in _UPGRADES[target]:
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {target}")

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it or nothing; the lock is taken at the start."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:  # commits, or rolls back on any exception
                yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            raise no_room(self.path) from error

    def __enter__(self) -> RecordStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up this process's claims and close the file."""
        if self._owner is not None:
            with self._transaction():
                self._drop_owner(self._owner.id)
            self._owner = None
        self._db.close()

    # -- plans ---------------------------------------------------------------------

    def remember(self, suite: Suite, runs: Sequence[PlannedRun]) -> None:
        """Note which runs belong to a suite.

        Replaces what was noted of the same datasets and methods: a suite that was
        edited does not keep its old grid. What was noted of others stays.
        """
        name, size = suite.name, suite.size
        rows = [
            (name, size, run.spec.dataset, run.label, run.role, i, run.spec.key)
            for i, run in enumerate(runs)
        ]
        with self._transaction():
            self._db.executemany(
                "DELETE FROM plans WHERE suite = ? AND size = ? AND dataset = ? "
                "AND label = ?",
                {row[:4] for row in rows},
            )
            for old in self.suites():
                if (old.name, old.size) == (name, size):
                    self._db.executemany(
                        "DELETE FROM plans WHERE suite = ? AND size = ? AND label = ?",
                        [(name, size, label) for label in _of_others(old, suite)],
                    )
                    suite = _united(old, suite)
            content = json.dumps(asdict(suite), sort_keys=True)
            self._db.execute(
                "INSERT OR REPLACE INTO suites VALUES (?, ?, ?)", (name, size, content)
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )

    def suites(self) -> list[Suite]:
        """The suites that were run into this file."""
        rows = self._db.execute("SELECT content FROM suites ORDER BY name, size")
        return [_suite_of(json.loads(content)) for (content,) in rows]

    def entries(self, suite: str, size: str) -> list[Entry]:
        """The records of a suite, with label and role of each."""
        rows = self._db.execute(
            f"SELECT plans.label, plans.role, {_SELECT} FROM plans "
            "JOIN records ON records.key = plans.key "
            "JOIN machines ON machines.id = records.machine "
            "WHERE plans.suite = ? AND plans.size = ? ORDER BY plans.position",
            (suite, size),
        )
        return [Entry(row[0], row[1], from_row(row[2:])) for row in rows]

    def pending(self, suite: str, size: str) -> int:
        """How many runs of a suite have no record yet."""
        (count,) = self._db.execute(
            "SELECT count(DISTINCT plans.key) FROM plans "
            "LEFT JOIN records ON records.key = plans.key "
            "WHERE plans.suite = ? AND plans.size = ? AND records.key IS NULL",
            (suite, size),
        ).fetchone()
        return int(count)

    # -- records -------------------------------------------------------------------

    def records(self) -> list[Record]:
        """All records, in the order in which they were finished."""
        rows = self._db.execute(
            f"SELECT {_SELECT} FROM records "
            "JOIN machines ON machines.id = records.machine ORDER BY records.rowid"
        )
        return [from_row(row) for row in rows]

    def done(self, keys: Iterable[str]) -> set[str]:
        """Those of ``keys`` that have a record."""
        known = {key for (key,) in self._db.execute("SELECT key FROM records")}
        return known & set(keys)

    def finish(self, records: Sequence[Record]) -> None:
        """Write records and end their claims, in one transaction."""
        with self._transaction():
            for record in records:
                key = record.spec.key
                self._db.execute("DELETE FROM claims WHERE key = ?", (key,))
                row = (key, *to_row(record, self._machine(record)))
                # The first result of a run stands: a run counts exactly once.
                self._db.execute(_INSERT, row)

    def forget(self, keys: Iterable[str]) -> int:
        """Remove the records of runs that did not end well; returns how many."""
        with self._transaction():
            return sum(
                self._db.execute(
                    "DELETE FROM records WHERE key = ? AND status != 'ok'", (key,)
                ).rowcount
                for key in keys
            )

    def _machine(self, record: Record) -> int:
        content = canonical_json(record.machine)
        self._db.execute(
            "INSERT OR IGNORE INTO machines (content) VALUES (?)", (content,)
        )
        row = self._db.execute("SELECT id FROM machines WHERE content = ?", (content,))
        return int(row.fetchone()[0])

    # -- claims --------------------------------------------------------------------

    def claim(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """Reserve runs for this process; returns those that are free."""
        if self._owner is None:
            self._owner = Owner.this_process()
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)",
                (*astuple(self._owner), time.time()),
            )
            self._void_claims_of_the_dead()
            free = []
            for spec in specs:
                if self._has("records", spec.key) or self._has("claims", spec.key):
                    continue
                claim = (spec.key, self._owner.id)
                self._db.execute("INSERT INTO claims VALUES (?, ?)", claim)
                free.append(spec)
        return free

    def beat(self) -> None:
        """Tell other hosts that this process is alive."""
        if self._owner is not None:
            with self._transaction():
                self._db.execute(
                    "UPDATE owners SET seen = ? WHERE id = ?",
                    (time.time(), self._owner.id),
                )

    def _has(self, table: str, key: str) -> bool:
        found = self._db.execute(f"SELECT 1 FROM {table} WHERE key = ?", (key,))
        return found.fetchone() is not None

    def _void_claims_of_the_dead(self) -> None:
        now = time.time()
        for *fields, seen in self._db.execute("SELECT * FROM owners").fetchall():
            if not Owner(*fields).alive(now - seen):
                self._drop_owner(fields[0])

    def _drop_owner(self, owner: str) -> None:
        self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._db.execute("DELETE FROM owners WHERE id = ?", (owner,))


def _check_file(path: Path, create: bool) -> None:
    if not path.exists():
        if not create:
            raise FileNotFoundError(
                f"there is no records file {str(path)!r}; make one with imvc reproduce."
            )
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"the folder {str(path.parent)!r} of the records file does not exist; "
                f"create it first."
            )
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file for the records.")
    with open(path, "rb") as file:
        start = file.read(16)
    if start and start != b"SQLite format 3\0":
        raise ValueError(f"{path} is not a records file of imvc; name another file.")


def _of_others(old: Suite, new: Suite) -> list[str]:
    """Labels that stand for another method by now, such as an edited one."""
    names = {method.label: method.name for method in old.methods}
    return [m.label for m in new.methods if names.get(m.label, m.name) != m.name]


def _united(old: Suite, new: Suite) -> Suite:
    """The new suite, with the methods and datasets that earlier calls ran as well."""
    methods = {method.label: method for method in (*old.methods, *new.methods)}
    datasets = dict.fromkeys((*old.datasets, *new.datasets))
    return replace(new, methods=tuple(methods.values()), datasets=tuple(datasets))


def _suite_of(content: dict[str, Any]) -> Suite:
    methods = [MethodSpec(**_frozen(method)) for method in content["methods"]]
    return Suite(**_frozen({**content, "methods": methods}))


def _frozen(content: dict[str, Any]) -> dict[str, Any]:
    """Lists as the tuples that they were before JSON."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
