"""Pure rules are tested without a platform: a unit test reaches each function of `kernel/rules`, directly or through
other rules. Tests are bound to functions, not to files."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Rules with flow tests, and without a unit test. The list only shrinks.
BY_FLOWS = {"branches_left_behind", "is_indexed", "spell_form", "awaited_by", "ledger_of"}


def trees(*folders: str) -> list[ast.Module]:
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [ast.parse(path.read_text()) for path in paths]


def names_in(*nodes: ast.AST) -> Iterator[str]:
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case _:
                pass


def uses_in(modules: Iterable[ast.Module]) -> Mapping[str, set[str]]:
    """Return the names within each function, class and table, by its own name."""
    uses: dict[str, set[str]] = {}
    for module in modules:
        for node in (*ast.walk(module), *module.body):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    uses.setdefault(name, set()).update(names_in(node))
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    uses.setdefault(name, set()).update(names_in(node))
                case _:
                    pass
    return uses


def functions_in(modules: Iterable[ast.Module]) -> set[str]:
    found = {node.name for module in modules for node in ast.walk(module) if isinstance(node, Function)}
    return {name for name in found if not name.startswith("__")}


def unreached(rules: list[ast.Module], tests: list[ast.Module]) -> set[str]:
    uses, reached = uses_in(rules), set[str]()
    left = [name for name in names_in(*tests) if name in uses]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += [inner for inner in uses[name] if inner in uses]
    return functions_in(rules) - reached


def test_a_unit_test_reaches_every_rule() -> None:
    rules = trees("soorma_ai/kernel/rules")
    assert len(functions_in(rules)) > 500
    assert unreached(rules, trees("tests/unit")) == BY_FLOWS


def test_a_rule_without_a_test_is_named() -> None:
    rules = [ast.parse("def a(): b()\n\ndef b(): ...\n\ndef c(): ...\n\nTABLE = (d,)\n\ndef d(): ...\n")]
    assert unreached(rules, [ast.parse("from rules import a")]) == {"c", "d"}
    assert unreached(rules, [ast.parse("import rules\nrules.TABLE, rules.b")]) == {"a", "c"}
