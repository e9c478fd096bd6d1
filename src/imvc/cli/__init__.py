"""The command line: ``imvc``.

Every module here without a leading underscore is a command: a function of its name, and
``EXAMPLES``; or several, which its function ``group`` brings together. A new one needs
no other change. Commands import what they need inside their functions, so that
``imvc --help`` is quick.
"""

from imvc.cli._main import main

__all__ = ["main"]
