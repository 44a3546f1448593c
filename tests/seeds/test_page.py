"""The page for readers of the documents says what the tables say, and leaves out no name that the documents print."""

import pytest

from seeds.documents import SEEDS, Block, blocks
from seeds.explained import EXPLAINED, HABITS
from seeds.kinds import Names, Runs
from seeds.page import PAGE, page
from seeds.printed import is_here, names_in
from seeds.table import SAMPLES


@pytest.fixture(scope="module")
def printed() -> dict[str, list[str]]:
    """The names that are printed, each with the blocks that do."""
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    hows = {(sample.document, sample.number): sample.how for sample in SAMPLES}
    found: dict[str, list[str]] = {}
    for block in (block for block in blocks() if block.is_code):
        how = hows[block.document, block.number]
        for name in names_in(block, how.as_python if isinstance(how, Runs | Names) else ()):
            found.setdefault(name, []).append(f"{block.document} {block.number}")
    return found


def test_the_page_says_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python tests/seeds/page.py"


def test_every_printed_name_is_here_or_explained(printed: dict[str, list[str]]) -> None:
    missing = {name: places for name, places in sorted(printed.items()) if not (is_here(name) or name in EXPLAINED)}
    assert len(printed) > 300
    assert missing == {}


def test_what_is_explained_is_printed_and_not_here(printed: dict[str, list[str]]) -> None:
    assert [name for name in EXPLAINED if name not in printed] == []
    assert [name for name in EXPLAINED if is_here(name)] == []


def test_every_reason_is_told() -> None:
    assert all(why for table in (EXPLAINED, HABITS) for why in table.values())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("await context.bus.fly(x=1)", {"context", "context.bus", "bus.fly", "x"}),
        ("from soorma.wings import Wing", {"Wing"}),
        ("class Wing:\n    span: int\n    def flap(self, hard: bool): ...", {"Wing", "span", "flap", "int", "bool"}),
        ("def mine(given): return given.size", {"size"}),
        ("not python but Wing", {"not", "python", "but", "Wing"}),
    ],
)
def test_the_names_of_a_block_are_those_of_others(text: str, names: set[str]) -> None:
    assert names_in(Block("document", 1, "", "python", text)) == names


@pytest.mark.parametrize("name", ["bus.fly", "Wing", "TaskContext.flap", "context.wing"])
def test_a_name_that_is_nobodys_is_not_here(name: str) -> None:
    assert not is_here(name)
