"""RISE: `rise.py` is the paper, top to bottom; the rest is beside its way."""

from imvc.methods.rise.rise import RISE

__all__ = ["RISE"]
