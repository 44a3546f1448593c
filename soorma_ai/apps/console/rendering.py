"""Templates, rendered: strictly, and with everything escaped that is not a template's own."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from soorma_ai.apps.console.words import FILTERS
from soorma_ai.features.human_tasks import pages
from soorma_ai.features.trials import pages as trial_pages

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
# Folders of templates: those of the console, then those that features bring.
TEMPLATES = (
    FOLDER / "templates",
    Path(pages.__file__).parent / "templates",
    Path(trial_pages.__file__).parent / "templates",
)
_CSS, _SCRIPT = "text/css; charset=utf-8", "text/javascript; charset=utf-8"
STATIC: Mapping[str, str] = {
    "style.css": _CSS,
    "inbox.css": _CSS,
    "plans.css": _CSS,
    "live.js": _SCRIPT,
    "plans.js": _SCRIPT,
}


def render(template: str, values: Mapping[str, object]) -> str:
    return _environment().get_template(template).render({**values, "static_path": static_path})


@cache
def static_file(name: str) -> tuple[bytes, str]:
    """Return a file of ours and its digest. Raise KeyError for a name that is none of theirs."""
    if name not in STATIC:
        raise KeyError(name)
    content = (FOLDER / "static" / name).read_bytes()
    return content, sha256(content).hexdigest()[:16]


def static_path(name: str) -> str:
    """Return the path of a file below the console, which changes with its content."""
    return f"/static/{name}?v={static_file(name)[1]}"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS)
    return made
