"""The entry point: errors become one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

# 0: done; 1: a run failed; 2: wrong usage; 130: interrupted.
FAILED, USAGE, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        from imvc.cli._app import build_app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"typer", "rich", "click"}:
            raise
        _say(f"the command line needs {error.name}: pip install 'imvc[cli]'")
        return FAILED
    try:
        build_app()(arguments, prog_name="imvc")
    except SystemExit as stop:
        return _code(stop.code)
    except KeyboardInterrupt:
        _say("interrupted; what was finished is kept, the same command resumes.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if "--debug" in arguments:
            raise
        _say(" ".join(str(error).split()) or type(error).__name__)
        return USAGE if isinstance(error, ValueError | FileNotFoundError) else FAILED
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"imvc: {text}\n")


def _code(code: object) -> int:
    if code is None:
        return 0
    return code if isinstance(code, int) else FAILED
