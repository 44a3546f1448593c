"""The generated pages. `python tests/docs/pages.py` writes them, and a test compares them."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from soorma_ai import errors
from soorma_ai.errors import SoormaError
from soorma_ai.settings import VARIABLES

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
REMEDY = " To do: "
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

# Codes of failures without a class: in replies, in a plan's reason, or of one part only.
OTHER_CODES = {
    "rejected": ("A handler raised Reject without a code, or a person rejected a request.", "follow its message."),
    "cancelled": ("Its requester was cancelled meanwhile.", "nothing."),
    "no_next_step": (
        "A handler of a planner ended without a next step for its running plan.",
        "let the handler publish, wait, complete or fail; or leave the steps to the planner.",
    ),
    "no_transition": (
        "A state machine got an answer without a transition in its state.",
        "add the transition, or a `default_next`.",
    ),
    "invalid_request": (
        "A request, after its wait for a taker, does not fit the taker's schema.",
        "repeat it, as in the message; or give the event a new version.",
    ),
    "cannot_arrive": ("An event could not be delivered, by its own fault.", "see its dead letter."),
    "already_owned": (
        "Another process owns the database's file.",
        "use that process (the commands of `soorma` do so by themselves), stop it, or give another file.",
    ),
}

_ERRORS = """\
# Errors

Each error has a `code` for failure replies, a plan's reason, and problems over HTTP. The class, never the message,
decides the next step; a message has the found value, the wanted one, and the cure. The names are those of
`soorma_ai.errors`.

`python tests/docs/pages.py` generates this page from `soorma_ai/errors.py`; a test compares them.

```text
{tree}
```

{classes}

## Codes without a class

{others}
"""

_CONFIGURATION = """\
# Configuration

A platform reads its settings once, at its creation. An argument (`Platform("sqlite:///shop.db")`, `--store`) wins over
the environment, the environment over the default. `soorma doctor` shows each with its origin, and never a password, a
key or a token.

`python tests/docs/pages.py` generates this page from `soorma_ai/settings.py`; a test compares them.

| variable | default | meaning |
|---|---|---|
{rows}

Keys of models are in their providers' variables, such as `OPENAI_API_KEY`. In tests, `SOORMA_CASSETTES` is the mode of
recordings: `replay`, `record` or `live`.
"""


def pages() -> dict[Path, str]:
    """Return the text of each generated page, by its place."""
    made = {
        DOCS / "reference" / "errors.md": errors_page(),
        DOCS / "reference" / "configuration.md": configuration_page(),
    }
    return {**made, DOCS / "llms.txt": summary_page(made)}


def errors_page() -> str:
    drawn = (errors.__doc__ or "").partition("SoormaError\n")
    classes = [_entry(kind.code, *cause_and_remedy(kind), f" (`{kind.__name__}`)") for kind in kinds()]
    others = [_entry(code, cause, remedy) for code, (cause, remedy) in OTHER_CODES.items()]
    tree = f"{drawn[1]}{drawn[2]}".strip()
    return _ERRORS.format(tree=tree, classes="\n\n".join(classes), others="\n\n".join(others))


def _entry(code: str, cause: str, remedy: str, named: str = "") -> str:
    return f"### {code}{named}\n\n{cause}\n\n**To do**: {remedy}"


def kinds(kind: type[SoormaError] = SoormaError) -> Iterator[type[SoormaError]]:
    """Yield the classes of errors.py below the root, in the order of the tree."""
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield below
            yield from kinds(below)


def cause_and_remedy(kind: type[SoormaError]) -> tuple[str, str]:
    cause, _, remedy = " ".join((vars(kind).get("__doc__") or "").split()).partition(REMEDY)
    return cause, remedy


def configuration_page() -> str:
    rows = [f"| `{one.name}` | {f'`{one.default}`' if one.default else ''} | {one.meaning} |" for one in VARIABLES]
    return _CONFIGURATION.format(rows="\n".join(rows))


def summary_page(made: Mapping[Path, str]) -> str:
    """Return llms.txt: each page with its first sentence."""
    texts = {
        place: made.get(DOCS / place) or (DOCS / place).read_text(encoding="utf-8") for place in navigation().values()
    }
    listed = "\n".join(f"- [{title}]({place}): {first_sentence(texts[place])}" for title, place in navigation().items())
    return f"# soorma_ai\n\n> {first_sentence(texts['index.md'])}\n\n## Pages\n\n{listed}\n"


def navigation() -> Mapping[str, str]:
    """Return the places of the pages in the site's navigation, by their titles."""
    text = (PROJECT / "zensical.toml").read_text(encoding="utf-8")
    return dict(re.findall(r'\{ "([^"]+)" = "([^"]+\.md)" \}', text))


def first_sentence(page: str) -> str:
    prose = _FENCED.sub("", page)
    found = next(part for part in prose.split("\n\n") if part.strip()[:1].isalnum() or part.strip()[:1] == "`")
    said = re.split(r"(?<=\.) ", " ".join(found.split()))[0]
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", said).rstrip(":.") + "."


if __name__ == "__main__":
    for place, text in pages().items():
        place.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{place.relative_to(PROJECT)}\n")
