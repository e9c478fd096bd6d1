"""The web application: what the pages ask for, answered by project, desk and jobs."""

import json
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from imvc._plain import cut
from imvc.studio._answers import (
    answering,
    body_of,
    checked,
    error_answer,
    json_answer,
    json_object,
    pages,
    plain_error,
)
from imvc.studio._choices import check_roles, checked_request, source_of
from imvc.studio._guard import Guard
from imvc.studio._processes import Desk, Job, Jobs
from imvc.studio._project import MOST_FILES, NotThere, Project

UPLOAD_BYTES = 4 * 2**30
_CHUNK = 2**20
_DOWNLOADS = {
    *("labels.csv", "labels.parquet", "labels.xlsx", "embedding.csv", "model.imvc"),
    *("report.html", "patterns.svg", "labels.h5ad", "labels.h5mu", "script.py"),
    *("command.txt", "run.json", "edits.json"),
}
_NEW_DOWNLOADS = {"labels.csv", "labels.parquet", "labels.xlsx"}
# Questions about a run that the desk answers: what they need, and may have.
_QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "map": ({}, {}),
    "column": ({"kind": str}, {"name": str, "view": str}),
    "features": ({"view": str}, {"find": str}),
    "describe": ({"rows": list[int]}, {"survival": list[str] | None}),
}
# What each edit needs beside its name, and may have.
_EDITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rename": ({"cluster": int, "name": str}, {}),
    "merge": ({"clusters": list[int]}, {}),
    "set": ({"rows": list[int]}, {"name": str | None}),
    "undo": ({}, {}),
    "redo": ({}, {}),
}
_TASKS = "imvc.studio._tasks"


def create_app(
    project: Project,
    token: str,
    port: int,
    *,
    upload_bytes: int = UPLOAD_BYTES,
    desk: Desk | None = None,
) -> "GuardedStudio":
    """The application of a project; it ends its processes when it is shut down.

    Parameters
    ----------
    project : Project
    token : str
        Secret of the address that is printed.
    port : int
        That it will be served at.
    upload_bytes : int
        The most that one upload may have.
    desk : Desk, optional
        Who answers questions about tables and runs.
    """
    studio = Studio(project, desk or Desk(), upload_bytes)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        studio.close()

    errors: Any = {HTTPException: plain_error}
    inner = Starlette(
        routes=[*studio.routes(), *pages()],
        lifespan=lifespan,
        exception_handlers=errors,
    )
    return GuardedStudio(inner, token, port, studio)


class GuardedStudio(Guard):
    """What is served: a studio behind its guard."""

    def __init__(self, app: ASGIApp, token: str, port: int, studio: "Studio") -> None:
        super().__init__(app, token, port)
        self.studio = studio


class Studio:
    """The endpoints of a project.

    Parameters
    ----------
    project : Project
    desk : Desk
    upload_bytes : int
    """

    def __init__(self, project: Project, desk: Desk, upload_bytes: int) -> None:
        self.project = project
        self.desk = desk
        self.jobs = Jobs()
        self.upload_bytes = upload_bytes

    def close(self) -> None:
        """End all processes; what is finished is on disk."""
        self.jobs.close()
        self.desk.close()
        self.project.close()

    def routes(self) -> list[Route]:
        """All that can be asked for, beside the pages."""
        run, new = "/api/runs/{run}", "/api/runs/{run}/predictions"
        table = (
            ("GET", "/api/project", self.get_project),
            ("PUT", "/api/files", self.put_file),
            ("PATCH", "/api/files/{file}", self.patch_file),
            ("DELETE", "/api/files/{file}", self.delete_file),
            ("PATCH", "/api/joint", self.patch_joint),
            ("GET", "/api/reading", self.get_reading),
            ("GET", "/api/methods", self.get_methods),
            ("GET", "/api/command", self.get_command),
            ("POST", "/api/runs", self.post_run),
            ("GET", "/api/jobs", self.get_jobs),
            ("POST", "/api/jobs/{job}/cancel", self.cancel_job),
            ("DELETE", "/api/jobs/{job}", self.delete_job),
            ("GET", run, self.get_run),
            ("PATCH", run, self.patch_run),
            ("DELETE", run, self.delete_run),
            ("GET", f"{run}/map", self.ask),
            ("GET", f"{run}/column", self.ask),
            ("GET", f"{run}/features", self.ask),
            ("POST", f"{run}/describe", self.ask),
            ("POST", f"{run}/edits", self.edit),
            ("POST", f"{run}/split", self.split),
            ("POST", f"{run}/predict", self.predict),
            ("GET", f"{run}/download/{{name}}", self.download),
            ("GET", f"{new}/{{prediction}}", self.get_prediction),
            ("GET", f"{new}/{{prediction}}/download/{{name}}", self.download_new),
            ("GET", "/api/compare", self.compare),
        )
        return [
            Route(path, answering(call, self.project), methods=[method])
            for method, path, call in table
        ]

    # Project and files

    async def get_project(self, request: Request) -> Response:
        return self._project()

    async def put_file(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        if not name:
            raise ValueError("name: an upload needs the name of the file.")
        announced = request.headers.get("content-length", "0")
        if not announced.isdigit() or int(announced) > self.upload_bytes:
            return self._too_large(name)
        id, path = self.project.new_upload(name)
        part = path.with_name(f"{id}.part")
        try:
            if not await self._receive(request, part):
                return self._too_large(name)
            os.replace(part, path)
            try:
                file = self.project.add_upload(id, name, path)
            except ValueError:
                path.unlink()
                raise
        finally:
            part.unlink(missing_ok=True)
        return JSONResponse(self.project.file_dict(file), 201)

    async def _receive(self, request: Request, part: Path) -> bool:
        """Write the body of a request to a file; False if it is too large."""
        size, chunks = 0, bytearray()
        with open(part, "wb") as out:
            async for chunk in request.stream():
                size += len(chunk)
                if size > self.upload_bytes:
                    return False
                chunks += chunk
                if len(chunks) >= _CHUNK:
                    await run_in_threadpool(out.write, bytes(chunks))
                    chunks.clear()
            out.write(chunks)
        return True

    def _too_large(self, name: str) -> Response:
        text = (
            f"{cut(name)}: is larger than {self.upload_bytes / 2**30:.3g} GiB, the "
            f"most that is uploaded; start the studio with its path instead: imvc "
            f"studio FILE."
        )
        return error_answer(text, 413)

    async def patch_file(self, request: Request) -> Response:
        kinds = {"role": str, "view": str, "options": dict[str, Any]}
        body = checked(await body_of(request), {}, kinds)
        self.project.change_file(request.path_params["file"], **body)
        return self._project()

    async def delete_file(self, request: Request) -> Response:
        self.project.remove_file(request.path_params["file"])
        return self._project()

    async def patch_joint(self, request: Request) -> Response:
        body = checked(await body_of(request), {"match_ids": str})
        self.project.change_joint(**body)
        return self._project()

    async def get_reading(self, request: Request) -> Response:
        raw = await self.desk.call("reading", **self._choices())
        found = self.project.with_names(json.loads(raw))
        views = {id: own.get("view_names") for id, own in found["files"].items()}
        self.project.learn_views({id: own for id, own in views.items() if own})
        return JSONResponse(found)

    # What to cluster with, and the work itself

    async def get_methods(self, request: Request) -> Response:
        k = request.query_params.get("k") or None
        if k is not None and not k.isdecimal():
            raise ValueError(f"k={k!r} must be a whole number.")
        number = None if k is None else int(k)
        return json_answer(await self.desk.call("methods", **self._choices(), k=number))

    async def get_command(self, request: Request) -> Response:
        asked = json_object(request.query_params.get("request", "{}"), "request")
        wanted = checked_request(asked)
        choices = self._choices()
        return json_answer(await self.desk.call("command", **choices, request=wanted))

    async def post_run(self, request: Request) -> Response:
        body = await body_of(request)
        again = body.pop("again", None)
        if again is not None:
            run = self.project.run(str(again))
            if self.project.is_done(run.id) or self.jobs.uses(run.id):
                raise ValueError(f"{run.name!r} is not interrupted; start a new run.")
            wanted = checked_request(run.request or {})
        else:
            wanted = checked_request(body)
            run = None
        choices = self._choices()
        check_roles(choices["files"])
        if run is None:
            run = self.project.add_run(body.get("name"), wanted)
        own = run.id
        folder = str(self.project.run_folder(own))
        job = self.jobs.submit(
            "cluster",
            run.name,
            f"{_TASKS}:cluster_files",
            arguments={**choices, "request": wanted, "folder": folder},
            run=own,
            undo=lambda: self.project.remove_run(own),
        )
        return self._job(job)

    async def get_jobs(self, request: Request) -> Response:
        return self._job_list()

    async def cancel_job(self, request: Request) -> Response:
        await run_in_threadpool(self.jobs.cancel, self._known_job(request).id)
        return self._job_list()

    async def delete_job(self, request: Request) -> Response:
        job = self._known_job(request)
        if not job.is_over:
            raise ValueError(f"{job.name!r} is not over; cancel it first.")
        self.jobs.forget(job.id)
        return self._job_list()

    # One run

    async def get_run(self, request: Request) -> Response:
        id, folder = self._finished(request)
        return self._run(id, await self.desk.call("run", folder=folder))

    async def patch_run(self, request: Request) -> Response:
        body = checked(await body_of(request), {"name": str})
        self.project.rename_run(request.path_params["run"], body["name"])
        return self._project()

    async def delete_run(self, request: Request) -> Response:
        run = self.project.run(request.path_params["run"])
        if self.jobs.uses(run.id):
            raise ValueError(f"{run.name!r} is being worked on; cancel that first.")
        folder = str(self.project.run_folder(run.id))
        self.project.remove_run(run.id)
        await self.desk.call("forget", folder=folder)
        return self._project()

    async def ask(self, request: Request) -> Response:
        """What the desk says to a question, as it is."""
        _, folder = self._finished(request)
        question = request.url.path.rpartition("/")[2]
        asked = dict(request.query_params)
        if request.method == "POST":
            asked = await body_of(request)
        checked(asked, *_QUESTIONS[question])
        return json_answer(await self.desk.call(question, folder=folder, **asked))

    async def edit(self, request: Request) -> Response:
        id, folder = self._finished(request)
        body = await body_of(request)
        op = body.pop("op", None)
        if not isinstance(op, str) or op not in _EDITS:
            raise ValueError(f"op={op!r} must be one of {', '.join(_EDITS)}.")
        checked(body, *_EDITS[op])
        return self._run(id, await self.desk.call("edit", folder=folder, op=op, **body))

    async def split(self, request: Request) -> Response:
        id, folder = self._finished(request)
        optional = {"n_clusters": int | None, "name": str | None}
        body = checked(await body_of(request), {"rows": list[int]}, optional)
        rows, k, name = body["rows"], body.get("n_clusters"), body.get("name")

        def keep(labels: list[int]) -> dict[str, Any]:
            edit = {"op": "split", "rows": rows, "labels": labels, "name": name}
            self.desk.call_now("edit", folder=folder, **edit)
            return {"n_clusters": len(set(labels))}

        job = self.jobs.submit(
            "split",
            name or f"Split {len(rows)} samples",
            f"{_TASKS}:split_rows",
            arguments={"folder": folder, "rows": rows, "n_clusters": k},
            run=id,
            then=keep,
        )
        return self._job(job)

    async def predict(self, request: Request) -> Response:
        id, folder = self._finished(request)
        wanted = checked(await body_of(request), {"files": list[str]})["files"]
        for file in wanted:
            self.project.file(file)
        choices = self._choices()
        files = [own for own in choices["files"] if own["id"] in wanted]
        if not files:
            raise ValueError("no files are given; choose files with new samples.")
        described = (f for f in choices["files"] if f["role"] == "metadata")
        metadata = next(map(source_of, described), None)
        own = {"files": files, "folder": folder, "metadata": metadata}
        job = self.jobs.submit(
            "predict",
            ", ".join(file["name"] for file in files),
            f"{_TASKS}:predict_files",
            arguments={**choices, **own},
            run=id,
        )
        return self._job(job)

    async def get_prediction(self, request: Request) -> Response:
        _, folder = self._finished(request)
        name = _prediction(request, folder)
        raw = await self.desk.call("prediction", folder=folder, name=name)
        return JSONResponse(self.project.with_names(json.loads(raw)))

    async def download(self, request: Request) -> Response:
        _, folder = self._finished(request)
        return await self._sent(request, _DOWNLOADS, "export", folder=folder)

    async def download_new(self, request: Request) -> Response:
        _, folder = self._finished(request)
        own = {"folder": folder, "prediction": _prediction(request, folder)}
        return await self._sent(request, _NEW_DOWNLOADS, "export_prediction", **own)

    async def compare(self, request: Request) -> Response:
        given = [request.query_params.get(key, "") for key in ("a", "b")]
        a, b = (self._folder(id) for id in given)
        found = json.loads(await self.desk.call("compare", a=a, b=b))
        for side, id in zip(("a", "b"), given):
            found[side] |= {"id": id, "name": self.project.run(id).name}
        return JSONResponse(found)

    # Shared by several

    async def _sent(
        self, request: Request, names: set[str], method: str, **asked: Any
    ) -> Response:
        """A file that the desk has or makes, as an attachment."""
        name = request.path_params["name"]
        if name not in names:
            raise NotThere(f"there is no download {cut(name)!r}.")
        into = tempfile.TemporaryDirectory(prefix="imvc-studio-")
        try:
            raw = await self.desk.call(method, name=name, into=into.name, **asked)
        except BaseException:
            into.cleanup()
            raise
        return FileResponse(
            json.loads(raw)["path"],
            filename=name,
            media_type="application/octet-stream",
            background=BackgroundTask(into.cleanup),
        )

    def _choices(self) -> dict[str, Any]:
        """The files and what they have in common, for another process."""
        return {"files": self.project.entries(), "joint": dict(self.project.joint)}

    def _project(self) -> Response:
        found = self.project.to_dict(self.jobs.active_runs())
        limits = {"upload_bytes": self.upload_bytes, "files": MOST_FILES}
        jobs = self.project.with_names(self.jobs.to_list())
        return JSONResponse({**found, "jobs": jobs, "limits": limits})

    def _job(self, job: Job) -> Response:
        return JSONResponse(self.project.with_names(job.to_dict()), 202)

    def _job_list(self) -> Response:
        return JSONResponse(self.project.with_names(self.jobs.to_list()))

    def _known_job(self, request: Request) -> Job:
        id = request.path_params["job"]
        job = self.jobs.get(id)
        if job is None:
            raise NotThere(f"there is no job {cut(id)!r}.")
        return job

    def _finished(self, request: Request) -> tuple[str, str]:
        """Id and folder of the run that is asked about."""
        id = request.path_params["run"]
        return id, self._folder(id)

    def _folder(self, id: str) -> str:
        run = self.project.run(id)
        if not self.project.is_done(id):
            raise ValueError(
                f"{run.name!r} is not finished; run it again, or remove it."
            )
        return str(self.project.run_folder(id))

    def _run(self, id: str, raw: bytes) -> Response:
        found = json.loads(raw)
        for key in ("warnings", "notes", "no_data_reason"):
            found[key] = self.project.with_names(found.get(key))
        own = {"id": id, "name": self.project.run(id).name}
        return JSONResponse({**found, **own, "predictions": self._predictions(id)})

    def _predictions(self, id: str) -> list[str]:
        """Ids of what was predicted with a run, the oldest first."""
        found = (self.project.run_folder(id) / "new").glob("p*.json")
        return sorted((path.stem for path in found), key=lambda own: (len(own), own))


def _prediction(request: Request, folder: str) -> str:
    name = request.path_params["prediction"]
    known = re.fullmatch(r"p\d{1,6}", name)
    if not known or not Path(folder, "new", f"{name}.json").is_file():
        raise NotThere(f"there is no prediction {cut(name)!r}.")
    return name
