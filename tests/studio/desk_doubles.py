"""Stand-ins for the desk and for tasks of jobs, found by name in other processes."""

import os
import signal
import time
from pathlib import Path


class Desk:
    """Answers in ways that a test can tell apart."""

    def __init__(self):
        self.calls = 0

    def count(self, pause=0.0):
        self.calls += 1
        time.sleep(pause)
        return {"calls": self.calls, "process": os.getpid()}

    def wrong(self):
        raise ValueError("k=1 must be\n at least 2.")

    def bug(self):
        raise KeyError("inside")

    def not_a_number(self):
        return {"x": float("nan")}

    def missing_package(self):
        raise ImportError("reading .xlsx needs python-calamine: pip install it.")

    def die(self):
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def echo(tell, value):
    tell(stage="Doing it", done=1, total=2, share=0.5, left=3.0)
    tell(message="a sentence")
    return value


def fail(tell, inside=False):
    raise (KeyError("bug") if inside else ValueError("that is wrong;\n mend it."))


def die(tell):
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def hang(tell, note, deaf=False):
    """Never ends; with `deaf` it does not even hear that it should."""
    import subprocess
    import sys

    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(note).write_text(f"{os.getpid()} {child.pid}")
    tell(stage="Hanging")
    time.sleep(600)
