"""Requests taken apart and answers put together, and errors made answers."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from imvc._plain import cut, fits
from imvc.studio._processes import StudioError, told
from imvc.studio._project import NotThere, Project

logger = logging.getLogger(__name__)

JSON_BYTES = 16 * 2**20
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

Endpoint = Callable[[Request], Awaitable[Response]]


def answering(endpoint: Endpoint, project: Project) -> Endpoint:
    """Let errors become texts: the same as on the command line, and never a trace."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=400)
        except HTTPException:
            raise
        except NotThere as error:
            return error_answer(str(error), 404)
        except Exception as error:
            text, status, trace = told(error)
            if trace:
                logger.error("%s", trace.rstrip())
            return error_answer(project.with_names(text), status)

    return answer


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request carries."""
    text = bytearray()
    async for chunk in request.stream():
        text += chunk
        if len(text) > JSON_BYTES:
            raise StudioError(f"The request is larger than {JSON_BYTES} bytes.", 413)
    return json_object(text or "{}", "the request")


def json_object(text: bytes | bytearray | str, what: str) -> dict[str, Any]:
    """A JSON object, or an error that says what is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{what} is not JSON.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{what} must be a JSON object.")
    return found


def checked(
    body: dict[str, Any],
    needed: Mapping[str, Any],
    optional: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A body that has what is needed, and nothing of a wrong kind."""
    kinds = {**needed, **(optional or {})}
    for key in needed:
        if key not in body:
            raise ValueError(f"{key!r} is missing.")
    for key, value in body.items():
        if key not in kinds:
            raise ValueError(f"{key!r} is nothing that is asked for here.")
        if not fits(value, kinds[key]):
            raise ValueError(f"{key}={cut(value)} is of a wrong kind.")
    return body


def json_answer(raw: bytes) -> Response:
    return Response(raw, media_type="application/json")


def error_answer(text: str, status: int) -> Response:
    return JSONResponse({"error": text}, status)


async def plain_error(request: Request, error: HTTPException) -> Response:
    return error_answer(error.detail, error.status_code)


def pages() -> list[Route]:
    """The files of the page, each by its name and nothing else."""
    routes = []
    for page in package_files("imvc.studio").joinpath("pages").iterdir():
        kind = _TYPES.get(Path(page.name).suffix)
        if kind is None or page.name.startswith("."):
            continue

        async def send(
            request: Request, page: Any = page, kind: str = kind
        ) -> Response:
            return Response(page.read_bytes(), media_type=kind)

        routes.append(Route(f"/{page.name}", send))
        if page.name == "index.html":
            routes.append(Route("/", send))
    return routes
