"""The errors of this room, and how the errors of other libraries become them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any


class InputError(ValueError):
    """A file cannot be used as it is.

    The message starts with the name of the file, and ``:line`` where there is one, and
    ends with what to do.
    """


class ChangedFileError(InputError):
    """A file changed while it was read, so what was made of it is of no use."""


class BlockError(ValueError):
    """Something is wrong with the data of a block.

    The message names the file or view, the block and the row, and what to do.
    """


def input_error(source: str, problem: str, line: int | None = None) -> InputError:
    """``InputError("file:line: problem")``."""
    place = source if line is None else f"{source}:{line}"
    return InputError(f"{place}: {problem}")


@contextmanager
def reading(source: str, kind: str) -> Iterator[None]:
    """Turn whatever a foreign reader raises on a bad file into an InputError."""
    try:
        yield
    except (InputError, ImportError):
        raise
    except PermissionError as error:
        raise input_error(
            source, "may not be read by this user; change its permissions."
        ) from error
    except MemoryError as error:
        raise input_error(
            source, f"does not fit into memory ({error}), or it is damaged."
        ) from error
    # Readers meet damage in many places, and each raises in its own way.
    except Exception as error:
        raise input_error(
            source,
            f"cannot be read as {kind} ({one_line(error)}); it may be damaged or "
            "truncated: make it again.",
        ) from error


def one_line(error: BaseException) -> str:
    """What an error says, kept short."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."


def need(
    package: str, source: str, extra: str = "io", purpose: str = "reading it"
) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{source}: {purpose} needs {package.split('.')[0]}: "
            f"pip install 'imvc[{extra}]'."
        ) from error


def shown(items: Sequence[Any], limit: int = 3) -> str:
    """First few items for a message: ``'a', 'b', 'c' and 7 more``."""
    return listed([_short(item) for item in items[:limit]], len(items))


def listed(texts: Sequence[str], total: int) -> str:
    """Texts of the first of so many things, and how many are left."""
    more = total - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _short(item: Any) -> str:
    text = repr(item.item() if hasattr(item, "item") else item)
    return text if len(text) <= 60 else text[:56] + "...'"
