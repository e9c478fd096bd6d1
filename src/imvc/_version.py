"""The version, of the installed package; apart, for finding it takes a while."""

from importlib.metadata import version

__version__ = version("imvc")
