"""The one way from a template to a page."""

from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"


def template_environment() -> Any:
    """A jinja2 environment that escapes every text and refuses unknown names."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the report needs {error.name}: pip install 'imvc[report]'",
            name=error.name,
        ) from error
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
