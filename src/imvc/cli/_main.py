"""The entry point: errors become one line and an exit code."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from imvc._plain import error_text, is_wrong_input
from imvc.cli._wrap import hanging

# 0: done; 1: a run failed; 2: wrong usage or input; 130: interrupted, or 128 and the
# number of the signal that did it.
FAILED, USAGE, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    with _stopped_like_ctrl_c() as came:
        try:
            code = _run(arguments)
        except KeyboardInterrupt:
            code = INTERRUPTED
    if code == INTERRUPTED:
        _say(_interrupted(arguments))
        code = 128 + came[0] if came else INTERRUPTED
    return code


@contextmanager
def _stopped_like_ctrl_c() -> Iterator[list[int]]:
    """Let what else ends a program be cleaned up after as well; yields what came.

    Signals that are ignored (by nohup) or handled already are left as they are.
    """
    came: list[int] = []
    taken = []
    if threading.current_thread() is threading.main_thread():
        known = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
        taken = [s for s in known if s and signal.getsignal(s) == signal.SIG_DFL]

    def stop(number: int, frame: object) -> None:
        for own in taken:  # a second one would interrupt the cleaning up
            signal.signal(own, signal.SIG_IGN)
        came.append(number)
        raise KeyboardInterrupt

    for own in taken:
        signal.signal(own, stop)
    try:
        yield came
    finally:
        for own in taken:
            signal.signal(own, signal.SIG_DFL)


def _run(arguments: list[str]) -> int:
    """The exit code of a command, its error told."""
    try:
        from imvc.cli._app import build_app
    except ModuleNotFoundError as error:
        if not _is_ours(error):
            raise
        return _explain(error)
    try:
        code = build_app()(
            arguments,
            prog_name="imvc",
            standalone_mode=False,
            obj={"arguments": arguments},
        )
    except SystemExit as stop:
        code = stop.code
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if "--debug" in arguments:
            raise
        code = _explain(error)
    if code is None:
        return 0
    return code if isinstance(code, int) else FAILED


def _explain(error: Exception) -> int:
    """Say what went wrong in one line; its exit code."""
    if _is_ours(error):
        package = getattr(error, "name", None)
        _say(f"the command line needs {package}: pip install 'imvc[cli]'")
        return FAILED
    if hasattr(error, "format_message"):  # wrong options and arguments, found by typer
        return _explain_usage(error)
    if isinstance(error.__cause__, KeyboardInterrupt):  # older versions of typer
        return INTERRUPTED
    _say(error_text(error))
    return USAGE if is_wrong_input(error) else FAILED


def _is_ours(error: Exception) -> bool:
    """Whether a package is missing that the extra brings."""
    name = getattr(error, "name", None) or ""
    return isinstance(error, ModuleNotFoundError) and (
        name.split(".")[0] in {"typer", "rich", "click"}
    )


def _explain_usage(error) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        context = getattr(error, "ctx", None)
        text = " ".join(error.format_message().split())
        text += "" if text.endswith((".", "?", "!")) else "."
        hint = f" See {context.command_path} --help." if context is not None else ""
        _say(text + hint)
    return error.exit_code


def _interrupted(arguments: Sequence[str]) -> str:
    if "reproduce" in arguments:
        return "interrupted; what was finished is kept, the same command resumes."
    return "interrupted; no half-written file is left."


def _say(text: str) -> None:
    """One line on stderr, wrapped at words in a terminal; nothing if that is gone."""
    with suppress(OSError, ValueError):
        line = f"imvc: {text}"
        if sys.stderr.isatty():
            line = hanging(line, _width())
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _width() -> int:
    """Columns of the terminal behind stderr; 80 where that is unknown."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdigit() and int(wanted):
        return int(wanted)
    with suppress(OSError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80
