"""The one way from a template to a page."""

import base64
import hashlib
import json
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


def script_json(data: object) -> str:
    """JSON that is safe inside ``<script>``: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy_hash(script: str) -> str:
    """The script as the page's policy names it: no other one runs."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
