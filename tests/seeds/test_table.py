"""The table of samples is complete and true: every code block is in it, and a test that runs one has its code."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from seeds.documents import SEEDS, Block, blocks, code_of, functions_of, line_of, lines_of, tree_of
from seeds.kinds import Change, Names, NotRun, Runs, Sample, Shown
from seeds.table import SAMPLES

RUN = [sample for sample in SAMPLES if isinstance(sample.how, Runs)]


def name_of(sample: Sample) -> str:
    return f"{sample.document}-{sample.number}"


@pytest.fixture(scope="module")
def seeds() -> dict[tuple[str, int], Block]:
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    return {(block.document, block.number): block for block in blocks()}


def test_every_block_of_the_seeds_is_in_the_table(seeds: dict[tuple[str, int], Block]) -> None:
    told = {(sample.document, sample.number): sample.heading for sample in SAMPLES}
    assert len(told) == len(SAMPLES)
    assert told == {key: block.heading for key, block in seeds.items()}


def test_a_sample_says_what_it_is_and_who_shows_it() -> None:
    for sample in SAMPLES:
        assert sample.name, name_of(sample)
        match sample.how:
            case Runs(tests=tests):
                assert tests, f"{name_of(sample)} is run by no test"
            case Shown(tests=tests, why=why):
                assert tests and why, name_of(sample)
            case NotRun(why=why):
                assert why, name_of(sample)
            case Names():
                pass


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_every_test_of_the_table_exists(sample: Sample) -> None:
    for test in () if isinstance(sample.how, NotRun) else sample.how.tests:
        code_of(test)


@pytest.mark.parametrize("sample", RUN, ids=name_of)
def test_a_test_runs_the_sample_as_it_is_written(sample: Sample, seeds: dict[tuple[str, int], Block]) -> None:
    how = sample.how
    assert isinstance(how, Runs)
    shown = tree_of(seeds[sample.document, sample.number].text, how.ending)
    ours = [code_of(test) for test in how.tests]
    theirs, mine = lines_of(_statements(shown)), [line for tree in ours for line in lines_of(tree.body)]
    assert list(_stale(how.changed, theirs, mine)) == [], "the table names lines that are not there"
    left = [line for line in theirs if line not in {line_of(c.seed) for c in how.changed if c.seed}]
    assert list(_missing(left, mine)) == [], "the sample has lines that its test has not, and the table names no change"
    assert list(_added(shown, ours, how.changed)) == [], "the test adds lines to the sample's own functions, unnamed"


def _statements(shown: ast.Module) -> Iterator[ast.AST]:
    """Of a sample that is a test itself, what is in it: it has our arguments."""
    for node in shown.body:
        if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from _statements(ast.Module(body=node.body, type_ignores=[]))
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield node


def _stale(changed: tuple[Change, ...], theirs: list[str], mine: list[str]) -> Iterator[Change]:
    for change in changed:
        assert change.why
        if (change.seed and line_of(change.seed) not in theirs) or (change.ours and line_of(change.ours) not in mine):
            yield change


def _missing(wanted: list[str], mine: list[str]) -> Iterator[str]:
    """What does not come in `mine` in this order."""
    here = 0
    for line in wanted:
        try:
            here = mine.index(line, here) + 1
        except ValueError:
            yield line


def _added(shown: ast.Module, ours: list[ast.Module], changed: tuple[Change, ...]) -> Iterator[str]:
    theirs = functions_of(shown)
    told = {line_of(change.ours) for change in changed if change.ours}
    mine: dict[str, list[str]] = {}
    for tree in ours:
        for name, lines in functions_of(tree).items():
            mine.setdefault(name, []).extend(lines)
    for name in theirs:
        more = Counter(mine.get(name, [])) - Counter(theirs[name])
        yield from (f"{name}: {line}" for line in more if line not in told)
