"""The page for readers of the documents is generated from the tables and covers every printed name."""

import ast
import re
from importlib import import_module

import pytest

import soorma_ai
from seeds.documents import SEEDS, Block, blocks, tables
from seeds.explained import EXPLAINED, HABITS, HELPERS, IMPORTS, TABLES
from seeds.kinds import Names, Runs
from seeds.page import PAGE, page
from seeds.printed import is_here, names_in
from seeds.table import SAMPLES


@pytest.fixture(scope="module")
def printed_names() -> dict[str, list[str]]:
    """The printed names, each with its blocks."""
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    hows = {(sample.document, sample.number): sample.how for sample in SAMPLES}
    found: dict[str, list[str]] = {}
    for block in (block for block in blocks() if block.is_code):
        how = hows[block.document, block.number]
        for name in names_in(block, how.as_python if isinstance(how, Runs | Names) else ()):
            found.setdefault(name, []).append(f"{block.document} {block.number}")
    return found


def test_the_page_is_that_generated_from_the_tables() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/seeds/page.py"


def test_every_printed_name_exists_or_is_explained(printed_names: dict[str, list[str]]) -> None:
    missing = {
        name: places for name, places in sorted(printed_names.items()) if not (is_here(name) or name in EXPLAINED)
    }
    assert len(printed_names) > 300
    assert missing == {}


def test_an_explained_name_is_printed_and_missing(printed_names: dict[str, list[str]]) -> None:
    assert [name for name in EXPLAINED if name not in printed_names] == []
    assert [name for name in EXPLAINED if is_here(name)] == []


def test_every_entry_has_a_reason() -> None:
    assert all(why for table in (EXPLAINED, HABITS, HELPERS, IMPORTS) for why in table.values())
    assert all(TABLES.values())


@pytest.mark.parametrize("line", IMPORTS)
def test_a_printed_import_works_with_the_packages_name(line: str) -> None:
    (node,) = ast.parse(line).body
    assert isinstance(node, ast.ImportFrom) and node.module
    module = import_module(re.sub("^soorma(_common)?", "soorma_ai", node.module))
    assert [alias.name for alias in node.names if not getattr(module, alias.name, None)] == []


def test_every_printed_import_is_listed() -> None:
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    printed_names = set[tuple[str, str]]()
    for block in blocks():
        for module, grouped, plain in re.findall(r"from (soorma\S*) import (?:\(([^)]*)\)|(.*))", block.text):
            printed_names |= {
                (module, name) for name in re.findall(r"[A-Za-z]\w+", re.sub("#.*", "", grouped or plain))
            }
    nodes = [node for line in IMPORTS for node in ast.parse(line).body if isinstance(node, ast.ImportFrom)]
    listed = {(str(node.module), alias.name) for node in nodes for alias in node.names}
    common = {one for one in printed_names if one[0] == "soorma_common"}
    assert len(common) > 10
    assert printed_names - common == {one for one in listed if one[0] != "soorma_common"}
    places = (soorma_ai, import_module("soorma_ai.gateways.a2a"))
    found = {name for _, name in common if any(hasattr(place, name) for place in places)}
    assert {name for _, name in common} - found - set(EXPLAINED) == set()


def test_every_printed_table_is_listed() -> None:
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    assert tables() == set(TABLES)


def test_every_printed_helper_of_the_base_agent_is_a_hook_or_is_refused() -> None:
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    own = [block for block in blocks() if block.document == "knowledge-forge-agent-architecture"]
    texts = [block.text for block in own if "class ToolWrapper" not in block.text]
    printed_names = {
        name for text in texts for name in re.findall(r"(?:self\.|def )(_[a-z]\w+|get_phase_prompt)\(", text)
    }
    here = {name for name in printed_names if hasattr(soorma_ai.PhaseAgent, name)}
    assert {f"`{name}`" for name in printed_names - here} == set(HELPERS)


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
def test_the_names_of_a_block_are_its_foreign_names(text: str, names: set[str]) -> None:
    assert names_in(Block("document", 1, "", "python", text)) == names


@pytest.mark.parametrize("name", ["bus.fly", "Wing", "TaskContext.flap", "context.wing"])
def test_an_unknown_name_does_not_exist(name: str) -> None:
    assert not is_here(name)
