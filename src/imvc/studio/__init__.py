"""A page in the browser, on this machine, over what `imvc.workflow` does.

A thin server (`_app`, behind `_guard`) answers the pages in ``pages``. What they ask
about tables and runs is answered by a process of its own (`_desk`), and every fit has
its own (`_processes`, `_tasks`). All that there is lies in a folder (`_project`) as the
commands read and write it.
"""

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from imvc.studio._open_project import open_project
from imvc.studio._project import Project

__all__ = ["PORT", "Project", "open_project", "serve"]

PORT = 8765
_TRIED = 20  # ports, where none was asked for


def serve(
    project: Project,
    *,
    port: int | None = None,
    browser: bool = True,
    say: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a project on this machine until Ctrl-C; then end what is running.

    Parameters
    ----------
    project : Project
        Closed at the end.
    port : int, optional
        By default 8765, or the next one that is free.
    browser : bool, default=True
        Whether to open a browser.
    say : callable, optional
        Told the address, with the secret in it.
    """
    import uvicorn

    from imvc.studio._app import create_app

    with closing(project), bound_socket(port) as listening:
        own = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        url = f"http://127.0.0.1:{own}/?token={token}"
        app = create_app(project, token, own)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=2,
        )
        with closing(app.studio), suppress(KeyboardInterrupt):
            app.studio.desk.start()
            say(url)
            if browser:
                opening = threading.Thread(target=webbrowser.open, args=(url,))
                opening.daemon = True
                opening.start()
            uvicorn.Server(config).run(sockets=[listening])


def bound_socket(port: int | None = None) -> socket.socket:
    """A socket that listens on this machine only.

    Raises
    ------
    ValueError
        If the port is taken, or, where none is given, all that are tried.
    """
    ports: Sequence[int] = range(PORT, PORT + _TRIED) if port is None else (port,)
    for own in ports:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere it would share a port that is in use
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", own))
            listening.listen()
            return listening
        except (OSError, OverflowError):
            listening.close()
    if port is None:
        raise ValueError(
            f"ports {PORT} to {PORT + _TRIED - 1} are in use; give a free one with "
            f"--port."
        )
    raise ValueError(
        f"port {port} is in use, perhaps by another studio; give another with --port, "
        f"or leave --port out, and a free one is taken."
    )
