"""Numbers as parts of sentences."""

from collections.abc import Sequence


def p_text(p: float, name: str = "p") -> str:
    """``p 0.44``, ``p 0.003``, or ``p < 0.001``."""
    if p < 0.001:
        return f"{name} < 0.001"
    return f"{name} {p:.3f}" if p < 0.095 else f"{name} {p:.2f}"


def percent(share: float) -> str:
    """A share in whole per cent; what is not 0 or all of it does not look like it."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def short_number(x: float) -> str:
    """Four digits, and never ten to the power of something for a whole number."""
    return f"{x:.0f}" if 1e4 <= abs(x) < 1e15 else f"{x:.4g}"


def joined(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def few(texts: Sequence[str], most: int) -> str:
    """The first of some texts, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def left_out(n: int, what: str) -> str:
    """A sentence about `n` samples that lack `what`; nothing where there are none."""
    if n == 0:
        return ""
    samples, are = ("sample", "is") if n == 1 else ("samples", "are")
    return f" {n} {samples} without {what} {are} left out."
