"""The pages are true: generated pages are compared, programs are run, commands are carried out."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import DOCS, OTHER_CODES, PROJECT, cause_and_remedy, kinds, navigation, pages
from reading import NOT_RUN, Block, Session, blocks, broken_links, programs, steps

from soorma_ai import Platform

NEW = [
    DOCS / name
    for name in (
        "index.md",
        "concepts.md",
        "tutorial.md",
        "from-langgraph.md",
        "from-temporal.md",
        "models.md",
        "webhooks.md",
    )
]
NEW += sorted((DOCS / "how-to").glob("*.md"))
# Each is a session of its own, from its first command to its last.
SESSIONS = [("index.md", "tutorial.md"), ("how-to/django.md",)]
WEB_FRAMEWORK = re.compile(r"^(?:from|import) (fastapi|django)\b", re.MULTILINE)
PROGRAMS = [found for page in NEW for found in programs(page)]
LINKING = [*sorted(DOCS.rglob("*.md")), *sorted(PROJECT.glob("*.md"))]
# All in one process, each in a folder of its own: the imports take longer than the programs.
SEVERAL = """
import contextlib, io, json, os, sys, traceback

for number, program in enumerate(json.load(sys.stdin)):
    os.mkdir(str(number))
    said, fault = io.StringIO(), ""
    with contextlib.chdir(str(number)), contextlib.redirect_stdout(said):
        try:
            exec(compile(program, f"program {number}", "exec"), {"__name__": "__main__"})
        except BaseException:
            fault = traceback.format_exc()
    print(json.dumps({"said": said.getvalue(), "fault": fault}))
"""


@pytest.mark.parametrize("place", pages(), ids=lambda place: place.name)
def test_a_generated_page_is_up_to_date(place: Path) -> None:
    assert place.read_text(encoding="utf-8") == pages()[place], "write it again: python tests/docs/pages.py"


def test_every_error_has_a_cause_and_a_remedy() -> None:
    assert [kind.__name__ for kind in kinds() if not all(cause_and_remedy(kind))] == []


def test_every_code_without_a_class_is_in_the_package() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (PROJECT / "soorma_ai").rglob("*.py"))
    assert [code for code in OTHER_CODES if f'"{code}"' not in source] == []


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken_links(page) == []


def test_a_link_to_a_missing_file_or_heading_or_out_of_the_site_is_named(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# There\n\n## Here and *now*\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md#here-and-now) [b](there.md#gone) [c](gone.md) [d](../out.md) [e](#no) [f](https://x)\n"
    )
    (tmp_path.parent / "out.md").write_text("")
    assert broken_links(page, within=tmp_path) == ["there.md#gone", "gone.md", "../out.md", "#no"]


def test_every_page_is_in_the_navigation() -> None:
    assert set(navigation().values()) == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


def test_the_overview_links_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert set(navigation().values()) - linked == {"index.md"}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    texts = json.dumps([block.text if missing_of(block) is None else "" for block, _ in PROGRAMS])
    folder = tmp_path_factory.mktemp("programs")
    ran = subprocess.run(
        [sys.executable, "-c", SEVERAL], check=False, cwd=folder, input=texts, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if not line.startswith("delivery_failed ")] == []
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[f"{one.page}:{one.line}" for one, _ in PROGRAMS])
def test_a_program_of_a_page_prints_the_output_on_the_page(printed: list[dict[str, str]], number: int) -> None:
    block, said = PROGRAMS[number]
    skip_without(block)
    assert printed[number]["fault"] == ""
    assert printed[number]["said"] == (said or "")


def missing_of(block: Block) -> str | None:
    """Return the missing web framework of a program; the test group has each."""
    return next((name for name in WEB_FRAMEWORK.findall(block.text) if find_spec(name) is None), None)


def skip_without(*found: Block) -> None:
    if missing := next(filter(None, map(missing_of, found)), None):
        pytest.skip(f"{missing} is not installed")


@pytest.fixture
def session(tmp_path: Path) -> Generator[Session]:
    session = Session(tmp_path)
    try:
        yield session
    finally:
        session.kill()


# On a busy machine its processes take their time.
@pytest.mark.timeout(400)
@pytest.mark.parametrize("pages", SESSIONS, ids=lambda pages: pages[-1])
def test_the_commands_of_a_page_work_as_written(session: Session, pages: tuple[str, ...]) -> None:
    found = [block for page in pages for block in steps(DOCS / page)]
    skip_without(*found)
    for block in found:
        session.carry_out(block)
    session.end()


def test_the_commands_of_operations_work(tmp_path: Path) -> None:
    async def make_store() -> None:
        async with Platform(f"sqlite:///{tmp_path / 'soorma.db'}"):
            pass

    asyncio.run(make_store())
    session = Session(tmp_path)
    for block in steps(DOCS / "how-to" / "operations.md"):
        session.carry_out(block)


def test_every_block_of_the_pages_is_run_or_marked_as_not_run() -> None:
    run = {id_of(one) for one, _ in PROGRAMS}
    carried_out = {"how-to/operations.md"}.union(*SESSIONS)
    run |= {id_of(one) for name in carried_out for one in steps(DOCS / name)}
    code = [one for page in NEW for one in blocks(page) if one.language in ("python", "console", "sh", "bash")]
    assert len(code) > 20
    assert [id_of(one) for one in code if id_of(one) not in run and not one.text.startswith(NOT_RUN)] == []


def id_of(block: Block) -> str:
    return f"{block.page}:{block.line}"
