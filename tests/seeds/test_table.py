"""The table of samples is complete and true: it has every code block, and a sample's test has its code."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from seeds.documents import SEEDS, Block, blocks, code_of, functions_of, line_of, lines_of, tree_of
from seeds.kinds import Change, Names, NotRun, Runs, Sample, Shown
from seeds.table import SAMPLES


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


def test_a_sample_has_a_test_or_a_reason() -> None:
    for sample in SAMPLES:
        match sample.how:
            case Runs(tests=tests):
                assert tests, f"{name_of(sample)} is run by no test"
            case Shown(tests=tests, why=why):
                assert tests and why, name_of(sample)
            case NotRun(why=why):
                assert why, name_of(sample)
            case Names():
                pass
        for test in () if isinstance(sample.how, NotRun) else sample.how.tests:
            assert "::test_" in test
            code_of(test)


def test_tests_run_the_samples_as_printed(seeds: dict[tuple[str, int], Block]) -> None:
    run = [(name_of(sample), sample.how, seeds[sample.document, sample.number]) for sample in SAMPLES]
    faults = {name: list(_faults(how, block)) for name, how, block in run if isinstance(how, Runs)}
    assert len(faults) > 20
    assert {name: found for name, found in faults.items() if found} == {}


def _faults(how: Runs, block: Block) -> Iterator[str]:
    """Lines of a sample missing or changed in its tests without an entry in the table."""
    shown = tree_of(block.text, how.as_python)
    ours = [code_of(one) for one in (*how.within, *how.tests)]
    theirs, mine = lines_of(_statements(shown)), [line for tree in ours for line in lines_of(tree.body)]
    yield from (f"the table names a line that is not there: {change}" for change in _stale(how.changed, theirs, mine))
    left_out = {line_of(change.seed) for change in how.changed if change.seed}
    put_in = {line_of(change.ours) for change in how.changed if change.ours}
    yield from (f"the test lacks {line!r}" for line in _missing(theirs, mine, left_out))
    for name, (wanted, found) in _pairs(shown, ours).items():
        yield from (f"{name} lacks {line!r}" for line in _missing(wanted, found, left_out))
        yield from (f"{name} has also {line!r}" for line in set(Counter(found) - Counter(wanted)) - put_in)


def _statements(shown: ast.Module) -> Iterator[ast.AST]:
    """Statements of a sample; of a sample test, those of its body."""
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


def _missing(theirs: list[str], mine: list[str], left_out: set[str]) -> Iterator[str]:
    """Lines missing in `mine`, in this order."""
    here = 0
    for line in theirs:
        if line in left_out:
            continue
        try:
            here = mine.index(line, here) + 1
        except ValueError:
            yield line


def _pairs(shown: ast.Module, ours: list[ast.Module]) -> dict[str, tuple[list[str], list[str]]]:
    """The lines of each function of a sample, printed and tested."""
    mine: dict[str, list[str]] = {}
    for tree in ours:
        for name, lines in functions_of(tree).items():
            mine.setdefault(name, []).extend(lines)
    theirs = {name: lines for name, lines in functions_of(shown).items() if not name.startswith("test_")}
    return {name: (lines, mine.get(name, [])) for name, lines in theirs.items()}
