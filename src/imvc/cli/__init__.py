"""The command line: ``imvc``.

Every module here without a leading underscore is a command (or a group of commands) and
has a function ``register(app)``; a new one needs no other change. Commands import what
they need inside their functions, so that ``imvc --help`` is quick.
"""

from imvc.cli._main import main

__all__ = ["main"]
