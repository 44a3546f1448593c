"""Structure of a CEL expression, and its possible cost: both are known before the library sees it.

Cost is counted in steps of the evaluation. It depends on the sizes of the values alone, so nothing has to be stopped in
the middle.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from soorma_ai.kernel.domain.values import Json

MOST_CHARS = 8_000
MOST_TOKENS = 1_000
MOST_LEVELS = 24
MOST_LOOPS = 3
MOST_STEPS = 1_000_000  # about a tenth of a second

_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*)
    |(?P<text>[bB]?[rR](?:\"{3}(?:.|\n)*?\"{3}|'{3}(?:.|\n)*?'{3}|"[^"\n]*"|'[^'\n]*')
        |[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?[uU]?)
    |(?P<name>[A-Za-z_]\w*|`[^`\n]+`)
    |(?P<sign>\|\||&&|[=!<>]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.ASCII,
)
_RANKS = (("||",), ("&&",), ("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_KEEPING = ("map", "filter")
_LOOPS = ("all", "exists", "exists_one", "existsOne", *_KEEPING)
_WORDS = ("true", "false", "null", "in")

_CHARS_A_NODE = 256
_STEPS_TO_HAND_OVER = 15  # for each node that the library takes over
# Of a pattern's piece each time that it is compiled: classes are tables of all of Unicode.
_STEPS_OF_A_CHAR = 15
_STEPS_OF_A_CLASS = {
    **dict.fromkeys("wWbBpP", 9_000),
    **dict.fromkeys("dD", 1_500),
    **dict.fromkeys("sS", 500),
    ".": 150,
}
_PIECE = re.compile(r"(?P<piece>\\+[a-zA-Z]|.)(?:\{(?:\d*,)?(?P<most>\d+),?\})?", re.DOTALL)


class Unreadable(ValueError):
    """Raised for an invalid expression, and for one too large to evaluate."""


class ValueBound(Struct, frozen=True):
    """Bound of a value: `nodes` in all, and `items` in any one list or object of it."""

    nodes: int = 1
    items: int = 0


Kind = Literal["name", "literal", "field", "list", "choice", "plus", "comparison", "logic", "match", "call", "loop"]


@dataclass(frozen=True)
class Term:
    """Part of an expression. `word` is a name, a literal, a field, the signs between operands, or the function of a
    call or a loop; `binds` are a loop's variables."""

    kind: Kind
    parts: tuple["Term", ...] = ()
    word: str = ""
    binds: tuple[str, ...] = ()
    levels: int = field(init=False)
    loops: int = field(init=False)

    def __post_init__(self) -> None:
        levels = 1 + max((part.levels for part in self.parts), default=0)
        inner = max((part.loops for part in self.parts[self.kind == "loop" :]), default=0)
        loops = max(inner + 1, self.parts[0].loops) if self.kind == "loop" else inner
        if levels > MOST_LEVELS:
            raise Unreadable(f"it is nested deeper than {MOST_LEVELS} levels")
        if loops > MOST_LOOPS:
            raise Unreadable(f"it goes through lists within lists {loops} deep, {MOST_LOOPS} are possible")
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "loops", loops)


def parse(expression: str) -> Term:
    """Return the structure of an expression. Raise Unreadable."""
    if len(expression) > MOST_CHARS:
        raise Unreadable(f"it has {len(expression)} characters, {MOST_CHARS} are possible")
    return _Parser(_tokens_of(expression)).read()


def uses_in(part: Term) -> set[tuple[str, str]]:
    """Return the values used by an expression, by name and field; an empty field is all of the value. Variables of its
    loops are left out."""
    if part.kind == "name":
        return {(part.word, "")}
    if part.kind == "field" and part.word and part.parts[0].kind == "name":
        return {(part.parts[0].word, part.word)}
    within = {use for inner in part.parts[1:] for use in uses_in(inner) if use[0] not in part.binds}
    return within | (uses_in(part.parts[0]) if part.parts else set())


def size_of(value: Json) -> ValueBound:
    """Return the size of a value; for a huge one, a size too large for any expression."""
    nodes = items = 0
    ahead: list[Json] = [value]
    while ahead and nodes <= MOST_STEPS:
        one = ahead.pop()
        nodes += 1
        if isinstance(one, dict | list):
            items = max(items, len(one))
            ahead += one.values() if isinstance(one, dict) else one
        if isinstance(one, dict):
            nodes += sum(map(len, one)) // _CHARS_A_NODE
        elif isinstance(one, str):
            nodes += len(one) // _CHARS_A_NODE
    return ValueBound(nodes, items)


def cost_of(part: Term, sizes: Mapping[str, ValueBound]) -> int:
    """Return the most steps over values of these sizes, the passing of each value included."""
    given = sum(size.nodes for size in sizes.values())
    return given * _STEPS_TO_HAND_OVER + _weigh(part, sizes)[0]


def _weigh(part: Term, sizes: Mapping[str, ValueBound]) -> tuple[int, ValueBound]:
    """Return the cost of a part, and the size of its value."""
    match part.kind:
        case "name":
            return 1, sizes.get(part.word, ValueBound())
        case "literal":
            return 1, ValueBound(1 + len(part.word) // _CHARS_A_NODE)
        case "loop":
            return _weigh_loop(part, sizes)
        case _:
            weighed = [_weigh(inner, sizes) for inner in part.parts]
    cost = 1 + sum(cost for cost, _ in weighed)
    found = [size for _, size in weighed]
    nodes, items = sum(size.nodes for size in found), max((size.items for size in found), default=0)
    match part.kind:
        case "field":  # lists and objects are not copied
            return cost, found[0]
        case "choice":
            return cost, ValueBound(max(size.nodes for size in found), items)
        case "list":
            return cost + len(found), ValueBound(1 + nodes, max(items, len(found)))
        case "plus":
            return cost + nodes, ValueBound(nodes, sum(size.items for size in found))
        case "match":
            pattern = _cost_of_pattern(part.parts[-1].word)
            return cost + pattern + nodes * (1 + pattern // 512), ValueBound()
        case "comparison":  # it ends with the shorter one
            return cost + nodes - max(size.nodes for size in found), ValueBound()
        case "logic":
            return cost, ValueBound()
        case _:
            return cost + nodes, ValueBound(nodes, items)


def _weigh_loop(part: Term, sizes: Mapping[str, ValueBound]) -> tuple[int, ValueBound]:
    """The items of a list share its nodes. So where an item's cost grows faster than its size, it is the most when one
    of them has all the nodes and the others none; all bodies are weighed at these two ends."""
    over, *bodies = part.parts
    cost, ranged = _weigh(over, sizes)
    turns = min(ranged.items, ranged.nodes)
    nodes, items = 0, ranged.items
    for body in bodies:
        for size, times in ((ranged, 1), (ValueBound(1, 1), turns)):
            body_cost, made = _weigh(body, {**sizes, **dict.fromkeys(part.binds, size)})
            cost += times * (1 + body_cost)
            nodes, items = nodes + times * made.nodes, max(items, made.items)
    if part.word in _KEEPING:
        kept = ranged.nodes if part.word == "filter" else nodes
        return cost + turns * kept, ValueBound(kept, items)  # the library copies at each turn what it has kept
    return cost, ValueBound()


def _cost_of_pattern(written: str) -> int:
    """Return the cost of a pattern, compiled at each use. Repetitions are written out, and nested groups multiply."""
    steps = in_brackets = 0
    times = 1
    for found in _PIECE.finditer(written):
        piece, most = found["piece"], int(found["most"] or 1)
        one = _STEPS_OF_A_CLASS.get(piece[-1], _STEPS_OF_A_CHAR) if piece[0] in "\\." else _STEPS_OF_A_CHAR
        in_brackets = 0 if piece == "[" else in_brackets + one
        if piece == ")":
            times *= max(1, most)
        steps += most * (in_brackets if piece == "]" else one)
    return steps * times


def _tokens_of(expression: str) -> list[tuple[str, str]]:
    """Return kind and text of each token, and an empty one at the end."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(expression):
        token = _TOKEN.match(expression, at)
        if token is None:
            raise Unreadable(f"{expression[at : at + 20]!r} is not understood")
        at = token.end()
        if token.lastgroup not in (None, "gap"):
            found.append((token.lastgroup or "", token[0]))
        if len(found) > MOST_TOKENS:
            raise Unreadable(f"it has more than {MOST_TOKENS} words and signs")
    return [*found, ("end", "")]


class _Parser:
    """Reads more than the language has: the library refuses the rest."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._level = 0

    def read(self) -> Term:
        part = self._expression()
        self._must("")
        return part

    def _take(self, *signs: str) -> str | None:
        """Return the sign or word at this place, and advance past it; None for any other."""
        kind, text = self._tokens[self._at]
        if kind in ("text", "number") or text not in signs:
            return None
        self._at += 1
        return text

    def _must(self, sign: str) -> None:
        _, found = self._tokens[self._at]
        if self._take(sign) is None:
            raise Unreadable(f"{found or 'its end'!r} stands where {sign or 'its end'!r} is wanted")

    def _expression(self) -> Term:
        self._level += 1
        if self._level > MOST_LEVELS:
            raise Unreadable(f"it is nested deeper than {MOST_LEVELS} levels")
        part = self._operation(0)
        if self._take("?"):
            yes = self._expression()
            self._must(":")
            part = Term("choice", (part, yes, self._expression()))
        self._level -= 1
        return part

    def _operation(self, rank: int) -> Term:
        if rank == len(_RANKS):
            return self._value()
        parts, signs = [self._operation(rank + 1)], set[str]()
        while sign := self._take(*_RANKS[rank]):
            signs.add(sign)
            parts.append(self._operation(rank + 1))
        return Term(_kind_of(signs), tuple(parts), " ".join(sorted(signs))) if signs else parts[0]

    def _value(self) -> Term:
        while self._take("!", "-"):
            pass
        part = self._primary()
        while sign := self._take(".", "[", "{"):
            if sign == "[":
                self._take("?")
                part = Term("field", (part, self._expression()))
                self._must("]")
            elif sign == "{":
                part = Term("list", (part, *self._entries("}")))
            else:
                part = self._member(part)
        return part

    def _member(self, part: Term) -> Term:
        self._take("?")
        name = self._name()
        if self._take("("):
            return _call(name, (part, *self._entries(")")))
        return Term("field", (part,), name)

    def _name(self) -> str:
        kind, text = self._tokens[self._at]
        if kind != "name":
            raise Unreadable(f"{text or 'its end'!r} stands where a name is wanted")
        self._at += 1
        return text

    def _primary(self) -> Term:
        kind, text = self._tokens[self._at]
        if kind in ("text", "number") or (kind == "name" and text in _WORDS):
            self._at += 1
            return Term("literal", word=text)
        if self._take("("):
            part = self._expression()
            self._must(")")
            return part
        if sign := self._take("[", "{"):
            return Term("list", self._entries("]" if sign == "[" else "}"))
        self._take(".")
        name = self._name()
        return _call(name, self._entries(")")) if self._take("(") else Term("name", word=name)

    def _entries(self, closing: str) -> tuple[Term, ...]:
        """Read the content of brackets; keys and values of an object are entries alike."""
        found: list[Term] = []
        while not self._take(closing):
            self._take("?")
            found.append(self._expression())
            if not self._take(",", ":"):
                self._must(closing)
                break
        return tuple(found)


def _kind_of(signs: set[str]) -> Kind:
    """Return the kind of a term from the signs between operands of one rank."""
    if "+" in signs:
        return "plus"
    if "in" in signs:
        return "call"
    return "comparison" if signs & {*_RANKS[2]} else "logic"


def _call(name: str, given: tuple[Term, ...]) -> Term:
    if name == "matches":
        if len(given) != 2 or given[1].kind != "literal":
            raise Unreadable("the pattern of matches() has to be written out, as in payload.code.matches('^A')")
        return Term("match", given)
    if name in _LOOPS and len(given) > 2:
        binds = _bound(given[1:-1])
        return Term("loop", (given[0], *given[1 + len(binds) :]), name, binds)
    return Term("call", given, name)


def _bound(leading: Iterable[Term]) -> tuple[str, ...]:
    """Return the plain names before a loop's body: its variables."""
    found: list[str] = []
    for part in leading:
        if part.kind != "name":
            break
        found.append(part.word)
    return tuple(found)
