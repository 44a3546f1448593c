"""The pages that are made of the code. `python tests/docs/pages.py` writes them, and a test holds them to it."""

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

# Codes of failures that no class stands for: they are in replies, in a plan's reason, or told by one part only.
OTHER_CODES = {
    "rejected": ("A handler raised Reject without a code, or a person said no to what was asked.", "what it says."),
    "cancelled": ("What asked for it was cancelled meanwhile.", "nothing."),
    "no_next_step": (
        "A handler of a planner ended, and nothing more was to come for its running plan.",
        "let the handler publish, wait, complete or fail; or leave the steps to the planner.",
    ),
    "no_transition": (
        "A state machine got an answer that no transition of its state takes.",
        "add the transition, or a `default_next`.",
    ),
    "invalid_request": (
        "A request that had waited for a taker does not fit the one that came.",
        "ask again, as the message says; or give the event a new version.",
    ),
    "cannot_arrive": ("An event could be brought to nobody, for a fault of its own.", "see its dead letter."),
    "already_owned": (
        "Another process owns the database's file.",
        "use that process (the commands of `soorma` do so by themselves), stop it, or give another file.",
    ),
}

_ERRORS = """\
# Errors

Each error has a `code`, which is what travels: in failure replies, in a plan's reason, in problems over HTTP. The
class decides what happens, and nobody reads messages; a message says what was found, what was wanted, and what to do.
The names are those of `soorma_ai.errors`.

This page is made of `soorma_ai/errors.py` by `python tests/docs/pages.py`, and a test holds it to that.

```text
{tree}
```

{classes}

## Codes without a class

{others}
"""

_CONFIGURATION = """\
# Configuration

Read once, when a platform is made. What a program gives (`Platform("sqlite:///shop.db")`, `--store`) goes before the
environment, and that before the default. `soorma doctor` shows each with its origin, and never a password, a key or a
token.

This page is made of `soorma_ai/settings.py` by `python tests/docs/pages.py`, and a test holds it to that.

| variable | by default | |
|---|---|---|
{rows}

Keys of models stand in the variables that their providers name, such as `OPENAI_API_KEY`. In tests, `SOORMA_CASSETTES`
says what is done with recordings: `replay`, `record` or `live`.
"""


def pages() -> dict[Path, str]:
    """Return the text of each page that is made, by its place."""
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
