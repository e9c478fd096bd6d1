"""Records and suites as rows of the records file, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from imvc.experiments._config import MethodSpec, RunSpec, Suite
from imvc.experiments._record import Record

COLUMNS = (
    *("dataset", "method", "parameters", "rate", "mask_seed", "seed"),
    *("status", "reason", "scores", "seconds", "peak_memory", "objective"),
    *("n_iter", "converged", "grouped", "resolved", "shape", "machine", "finished"),
)


def to_row(record: Record, machine: int) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    spec = record.spec
    return (
        spec.dataset,
        spec.method,
        _dump(spec.parameters),
        float(spec.rate),
        spec.mask_seed,
        spec.seed,
        record.status,
        record.reason,
        _dump(record.scores),
        _dump(record.seconds),
        int(record.peak_memory),
        _dump(_history(record)),
        int(record.n_iter),
        int(record.converged),
        record.grouped,
        _dump(record.resolved),
        _dump(record.shape),
        machine,
        record.finished,
    )


def _history(record: Record) -> list[float]:
    """The objective, to fewer digits where there are thousands of such runs."""
    if record.grouped == 1:
        return list(record.objective)
    return [float(f"{value:.8g}") for value in record.objective]


def from_row(row: Sequence[Any]) -> Record:
    """The record of the values of `COLUMNS`, with the machine's JSON in its place."""
    value = dict(zip(COLUMNS, row))
    spec = RunSpec(
        value["dataset"],
        value["method"],
        json.loads(value["parameters"]),
        value["rate"],
        value["mask_seed"],
        value["seed"],
    )
    return Record(
        spec=spec,
        status=value["status"],
        reason=value["reason"],
        scores=json.loads(value["scores"]),
        seconds=json.loads(value["seconds"]),
        peak_memory=value["peak_memory"],
        objective=tuple(json.loads(value["objective"])),
        n_iter=value["n_iter"],
        converged=bool(value["converged"]),
        grouped=value["grouped"],
        resolved=json.loads(value["resolved"]),
        shape=json.loads(value["shape"]),
        machine=json.loads(value["machine"]),
        finished=value["finished"],
    )


def suite_to_json(suite: Suite, old: Suite | None) -> str:
    """The suite, with the methods and datasets that earlier calls ran as well."""
    if old is not None:
        methods = {m.label: m for m in (*old.methods, *suite.methods)}
        datasets = dict.fromkeys((*old.datasets, *suite.datasets))
        suite = replace(
            suite, methods=tuple(methods.values()), datasets=tuple(datasets)
        )
    return json.dumps(asdict(suite), sort_keys=True)


def suite_from_json(text: str) -> Suite:
    """Back from `suite_to_json`."""
    content = json.loads(text)
    methods = tuple(
        MethodSpec(**{k: _frozen(v) for k, v in method.items()})
        for method in content.pop("methods")
    )
    return Suite(methods=methods, **{k: _frozen(v) for k, v in content.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _dump(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """What JSON can hold: NumPy scalars become numbers, anything odd its repr."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(value)
