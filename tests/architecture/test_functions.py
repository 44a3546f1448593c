"""Functions are short and have few parameters; exceptions have a reason here."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES, MOST_PARAMETERS = 40, 6
Function = ast.FunctionDef | ast.AsyncFunctionDef

OF_A_COMMAND = "the options of one command, which click passes by name"
OF_A_PORT = "the six conditions of a port, and the connection"

# Function: the reason for more than six parameters.
REASONS = {
    "_answer": OF_A_COMMAND,
    "away": OF_A_COMMAND,
    "create": OF_A_COMMAND,
    "fork": "the changes of one call, given by name",
    "link": OF_A_COMMAND,
    "request": OF_A_COMMAND,
    "run": OF_A_COMMAND,
    "serve": OF_A_COMMAND,
    "submit": OF_A_COMMAND,
    "publish": OF_A_COMMAND,
    "lend": OF_A_PORT,
}


def functions() -> Iterator[Function]:
    for path in sorted((ROOT / "soorma_ai").rglob("*.py")):
        yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, Function))


def parameters(function: Function) -> list[str]:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def lines(function: Function) -> int:
    """Count the lines of its body, without the docstring."""
    code = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - code[0].lineno if code else 0


def test_a_function_of_more_than_six_parameters_has_a_reason() -> None:
    wide = {one.name for one in functions() if len(parameters(one)) > MOST_PARAMETERS}
    assert wide == set(REASONS)


def test_no_function_is_longer_than_40_lines() -> None:
    assert [one.name for one in functions() if lines(one) >= MOST_LINES] == []


def test_a_wide_and_a_long_function_are_measured() -> None:
    source = "def f(self, a, /, b, *, c): ...\n\n\ndef g():\n" + "    pass\n" * 41
    wide, long = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    assert (parameters(wide), lines(wide)) == (["a", "b", "c"], 0)
    assert (parameters(long), lines(long)) == ([], 40)
