"""OpenRun: a saved run with its edits, as the pages see it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from imvc._plain import cut, fits, plain
from imvc.insight._describe import OTHERS, SELECTED
from imvc.insight._sample_map import metadata_column, number_column
from imvc.methods._registry import METHODS
from imvc.report.cluster_page._cluster_report import doubtful_clusters
from imvc.report.cluster_page._selection_svg import survival_picture
from imvc.workflow import LabelEdits, SavedRun, command_line, margin_drift
from imvc.workflow._label_edits import checked_rows


class OpenRun:
    """A saved run with its edits, in JSON's types."""

    def __init__(self, folder: str) -> None:
        self.mark = mark_of(folder)
        self.run = SavedRun(folder)
        self.edits = LabelEdits(self.run)

    def to_dict(self) -> dict[str, Any]:
        """`Run`: of what its folder says; no table is read for it."""
        run, edits, problem = self.run, self.edits, self.run.data_problem()
        record, result = run.record.content, run.result
        entry = METHODS.get(run.method)
        seconds = record.get("seconds") or {}
        found = {
            "title": f"{len(edits.clusters)} clusters of {len(run.labels)} samples",
            "method": entry.class_name if entry else run.method,
            "state": "done",
            "n_samples": len(run.labels),
            "labels": edits.labels,
            "clusters": self._clusters(),
            "edited": edits.edited,
            "history": edits.history,
            "can_undo": edits.can_undo,
            "can_redo": edits.can_redo,
            "warnings": record.get("warnings", []),
            "notes": record.get("notes", []),
            "evidence": result.get("evidence"),
            "evidence_reason": result.get("evidence_reason"),
            "candidates": result.get("candidates"),
            "stability_curve": result.get("stability_curve"),
            "command": self._command(),
            "can_predict": run.can_predict,
            "has_data": problem is None,
            "no_data_reason": problem,
            "colours": self._colours(problem is None),
            "views": self._views(),
            "metadata": list(run.described_by()) if problem is None else [],
            "survival": record["request"].get("survival"),
            "seconds": sum(seconds.values()),
        }
        return as_json(found)

    def _command(self) -> str | None:
        try:
            return command_line(self.run.record)
        except ValueError:  # its views came from memory
            return None

    def _clusters(self) -> list[dict[str, Any]]:
        """Clusters after the edits; what is known of one holds while it is whole."""
        labels, original = self.edits.labels, self.run.labels
        low = self.run.columns.get("low_confidence", np.zeros(len(labels), bool))
        known = self.run.result.get("cluster_stability") or []
        shares = [np.nan if share is None else share for share in known]
        doubtful = doubtful_clusters(np.array(shares, float)) if shares else {}
        found = []
        for cluster in self.edits.clusters:
            own = labels == cluster
            same = cluster < len(known) and np.array_equal(own, original == cluster)
            found.append(
                {
                    "id": cluster,
                    "name": self.edits.name(cluster),
                    "size": int(own.sum()),
                    "stability": known[cluster] if same else None,
                    "doubtful": same and cluster in doubtful,
                    "low": int(np.count_nonzero(low[own])),
                }
            )
        return found

    def _colours(self, has_data: bool) -> list[dict[str, str]]:
        given = self.run.columns
        found = [{"kind": "cluster", "name": "", "title": "Cluster"}]
        if self.edits.edited:
            title = "Cluster before the edits"
            found.append({"kind": "original", "name": "", "title": title})
        for kind, title in (
            ("confidence", "Confidence"),
            ("stability", "Stability"),
            ("n_views", "Number of tables"),
        ):
            if kind in given and not np.isnan(given[kind].astype(float)).all():
                found.append({"kind": kind, "name": "", "title": title})
        if has_data:
            found.append({"kind": "pattern", "name": "", "title": "Tables it has"})
            found += [
                {"kind": "metadata", "name": name, "title": name}
                for name, kind in self.run.described_by().items()
                if kind != "text"
            ]
        return found

    def _views(self) -> list[dict[str, Any]]:
        known: Any = self.run.result.get("views")
        known = known if fits(known, dict[str, int]) else {}
        return [{"name": name, "n_features": n} for name, n in known.items()]

    def column(self, kind: str, name: str, view: str) -> dict[str, Any]:
        """`Column`."""
        run, edits = self.run, self.edits
        if kind in ("cluster", "original"):
            labels = edits.labels if kind == "cluster" else run.labels
            clusters, codes = np.unique(labels, return_inverse=True)
            called = edits.name if kind == "cluster" else "Cluster {}".format
            return _levels(
                "Cluster" if kind == "cluster" else "Cluster before the edits",
                [called(c) for c in clusters.tolist()],
                codes,
            )
        if kind in ("confidence", "stability", "n_views"):
            if kind not in run.columns:
                raise ValueError(f"kind={kind!r}: this run says nothing of it.")
            values = run.columns[kind].astype(float)
            if kind != "n_views":
                column = number_column(kind.capitalize(), values, ends=(0, 1))
                return _numbers(column)
            numbers, codes = np.unique(values.astype(int), return_inverse=True)
            texts = [f"{n} table{'' if n == 1 else 's'}" for n in numbers.tolist()]
            return _levels("Number of tables", texts, codes)
        if kind == "pattern":
            views = run.data.views
            patterns, codes = np.unique(views.mask, axis=0, return_inverse=True)
            texts = [", ".join(np.compress(p, views.names)) for p in patterns]
            return _levels("Tables it has", texts, codes.ravel())
        if kind == "metadata":
            return self._metadata(name)
        if kind == "feature":
            return self._feature(view, name)
        raise ValueError(f"kind={kind!r} is nothing to colour by.")

    def _metadata(self, name: str) -> dict[str, Any]:
        known = self.run.data.metadata
        if name not in known:
            raise ValueError(f"name={name!r} is no column of the metadata.")
        column = metadata_column(name, known[name])
        if column is None:
            raise ValueError(
                f"{name!r} is free text or an identifier; colours would tell nothing."
            )
        if column["kind"] == "number":
            return _numbers(column)
        return _levels(name, column["levels"], np.array(column["codes"]))

    def _feature(self, view: str, name: str) -> dict[str, Any]:
        values = self.run.feature(view, name)
        own = next(v for v in self.run.data.preparation.views if v.name == view)
        column = number_column(name, values)
        codes = [own.codes[j] for j in own.owner]
        is_date = bool(codes) and codes[own.features.index(name)].kind == "date"
        found = _numbers({**column, "dates": is_date})
        return {**found, "title": f"{name} (log)" if own.log1p else name}

    def describe(
        self, rows: Sequence[int], survival: Sequence[str] | None
    ) -> dict[str, Any]:
        """`Description`; without the files, only where the selection is."""
        n, labels = len(self.run.labels), self.edits.labels
        chosen = checked_rows(sorted(set(rows)), n)
        clusters, inside = np.unique(labels[chosen], return_counts=True)
        sizes = {c: int(np.sum(labels == c)) for c in clusters.tolist()}
        found: dict[str, Any] = {
            "n": len(chosen),
            "share": len(chosen) / n,
            "clusters": [
                {
                    "id": c,
                    "name": self.edits.name(c),
                    "n": count,
                    "share_of_cluster": count / sizes[c],
                }
                for c, count in zip(clusters.tolist(), inside.tolist())
            ],
            "views": [],
            "features": [],
            "metadata": [],
            "survival": None,
        }
        problem = self.run.data_problem(thorough=True)
        if problem is not None:
            note = f"Only the clusters are known: {problem}."
            return as_json({**found, "note": note})
        lasting: Any = tuple(survival) if survival else None
        own = self.run.describe(chosen, survival=lasting)
        found |= {
            "views": [{"name": v.view, "n_observed": v.n_selected} for v in own.views],
            "features": [
                {
                    "view": effect.view,
                    "feature": effect.feature,
                    "effect": effect.effect,
                    "inside": effect.mean_inside,
                    "outside": effect.mean_outside,
                    "n": effect.n_inside,
                }
                for effect in own.features
            ],
            "metadata": [vars(column) for column in own.metadata],
            "note": own.note,
        }
        if own.survival is not None:
            names = {SELECTED: "selected samples", OTHERS: "others"}
            drawn = {c.cluster for c in own.survival.curves}
            svg = survival_picture(own.survival, names) if drawn else None
            text, p = own.survival_text, own.survival.p
            found["survival"] = {"svg": svg, "text": text, "p": p}
        return as_json(found)

    def name_of_original(self, cluster: int) -> str:
        """What new samples of a cluster of the model are in, after the edits."""
        now = np.unique(self.edits.labels[self.run.labels == cluster])
        # Of a cluster that was split nobody knows which part they would be in.
        whole = len(now) == 1
        return self.edits.name(int(now[0])) if whole else f"Cluster {cluster}"

    def drift(self, margin: np.ndarray) -> dict[str, Any] | None:
        """How doubtful new samples are, against those of the run."""
        fitted = self.run.columns.get("margin")
        if fitted is None or len(margin) == 0:
            return None
        return {**vars(margin_drift(fitted, margin)), "by_view": []}


def _levels(title: str, levels: Sequence[str], codes: np.ndarray) -> dict[str, Any]:
    return {
        "title": title,
        "kind": "levels",
        "levels": [cut(level) for level in levels],
        "codes": codes.tolist(),
    }


def _numbers(column: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": column["name"],
        "kind": "number",
        "values": column["values"],
        "low": column["low"],
        "high": column["high"],
        "is_date": bool(column.get("dates", False)),
    }


def as_json(found: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays as lists, and null for what JSON has no number for."""
    return plain(found, otherwise=_list)


def _list(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return None
    items = value.tolist()
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        items = [x if np.isfinite(x) else None for x in items]
    return items


def mark_of(folder: str) -> tuple[int, int]:
    """By what a run is known to be the same."""
    stat = (Path(folder) / "run.json").stat()
    return stat.st_size, stat.st_mtime_ns
