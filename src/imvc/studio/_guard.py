"""Who may ask the studio for anything: token, host, origin; and headers of answers."""

from hmac import compare_digest
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>imvc studio</title>{head}</head>
<body><main><h1>imvc studio</h1><p>{text}</p></main></body></html>
"""
_LOCKED = (
    "This page is only for who started the studio: open the address that it printed in "
    "the terminal."
)
_SAFE = ("GET", "HEAD")


class Guard:
    """ASGI middleware that lets through only the page that the studio itself served.

    Parameters
    ----------
    app : ASGI application
    token : str
        Secret of the address that is printed in the terminal.
    port : int
        Of the server; requests must be addressed to it by the name of this machine.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._cookie = f"imvc-studio-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on what may pass."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = self._refusal(scope) or self._entrance(scope)
        if answer is None and not self._has_cookie(Headers(scope=scope)):
            answer = _refused(scope, 403, _LOCKED)
        await (answer or self.app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to requests that no page of ours makes."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _refused(scope, 400, "This address is not that of the studio.")
        site = headers.get("sec-fetch-site", "none")
        if scope["method"] in _SAFE:
            if site in ("none", "same-origin") or self._is_entrance(scope):
                return None
            return _refused(scope, 403, "Another site may not ask the studio.")
        own = headers.get("origin") in self._origins
        if not own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refused(scope, 403, "Another site may not ask the studio.")
        return None

    def _is_entrance(self, scope: Scope) -> bool:
        """Whether a window opens the address with the token."""
        mode = Headers(scope=scope).get("sec-fetch-mode", "navigate")
        is_window = mode == "navigate" and _token_of(scope) is not None
        return scope["path"] == "/" and scope["method"] == "GET" and is_window

    def _entrance(self, scope: Scope) -> Response | None:
        """The answer to the address with the token: a cookie, and on to the page."""
        token = _token_of(scope)
        if not self._is_entrance(scope) or token is None:
            return None
        if not _same(token, self._token):
            return _refused(scope, 403, _LOCKED)
        site = Headers(scope=scope).get("sec-fetch-site", "none")
        answer: Response = RedirectResponse("/", 303)
        if site not in ("none", "same-origin"):
            # After a link elsewhere, a redirect would come without the strict cookie.
            refresh = '<meta http-equiv="refresh" content="0; url=/">'
            answer = HTMLResponse(_PAGE.format(head=refresh, text="One moment."))
        answer.set_cookie(
            self._cookie, self._token, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        # Other programs of this machine may have set cookies of any form beside ours.
        found = cookie_parser(headers.get("cookie", "")).get(self._cookie)
        return found is not None and _same(found, self._token)


def _token_of(scope: Scope) -> str | None:
    try:
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20)
    except ValueError:
        return None
    return query.get("token", [None])[0]


def _same(a: str, b: str) -> bool:
    return compare_digest(a.encode("utf-8", "replace"), b.encode())


def _refused(scope: Scope, status: int, text: str) -> Response:
    if scope["path"].startswith("/api/"):
        return JSONResponse({"error": text}, status)
    return HTMLResponse(_PAGE.format(head="", text=text), status)
