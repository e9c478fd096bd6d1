"""AnchorBridge: `bridge.py` has the steps in order, the other files one each."""

from imvc.methods.bridge.bridge import AnchorBridge

__all__ = ["AnchorBridge"]
