"""Commands in a terminal of a given width, as people see them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios


def run_in_terminal(*arguments, columns=80):
    """Exit code and lines that a command leaves on a terminal, colours taken off."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
    environment = {k: v for k, v in os.environ.items() if k not in unset}
    process = subprocess.Popen(
        [sys.executable, "-m", "imvc.cli", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm"},
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            told += (part := os.read(ours, 65536))
        except OSError:  # how Linux says that nobody writes any more
            break
        if not part:
            break
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", told.decode())
    return process.wait(), re.split(r"[\r\n]+", plain)
