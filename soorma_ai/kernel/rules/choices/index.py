"""Search of relevant events among very many: BM25 over their fields (Robertson and Zaragoza 2009, BM25F).

The weights of an event's terms depend on nothing but the event, so they are computed once for as long as its
registration stays as it is. All foreign text is bounded: text by characters, a schema by nodes, the rest by the
saturation of a term's sum and the lower weight of a long field.
"""

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import log
from typing import NamedTuple

from msgspec import Struct

from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import Json, JsonObject, Same, identity_of
from soorma_ai.kernel.rules.choices.words import terms

SATURATION = 1.0
SHORTENING = 0.6
MOST_NODES = 500
MOST_REPEATS = 3
MOST_SYNONYMS = 30
MOST_CHOICES = 20
MOST_QUERY_CHARS = 16_000
MOST_QUERY_TERMS = 128
# Places of the ranking by one part of a query that count, for each event wanted.
DEPTH = 2
# How often a term in an event is looked up, rarer terms first; the commoner ones decide only between the best found so
# far. Four times as much finds nothing more among 10,000 events.
MOST_LOOKED_AT = 2_000
CONTENDERS = 4
# Events of one agent that are looked up for a term, those that it tells most of.
MOST_OF_AGENT = 300
# Part of what is found that one agent's events may be, while others have any.
SHARE = 0.75
_NOT_FOR_WEIGHT, _NOT_FOR_CHARS = 0.5, 1_000
# How little being first in one ranking counts against being good in several: the usual value of reciprocal rank fusion.
SMOOTHING = 60


class IndexField(NamedTuple):
    """How much a term in a field counts, how many terms the field usually has (measured on 2,000 published tools), and
    how many characters of it are read."""

    weight: float
    usual_terms: float
    most_chars: int


_NAME = IndexField(1.5, 4, 200)
_DESCRIPTION = IndexField(1.0, 13, 2_000)
_WHEN_TO_USE = IndexField(1.0, 13, 2_000)
_SYNONYMS = IndexField(1.5, 4, 1_000)
_PROPERTIES = IndexField(0.5, 5, 2_000)
_SCHEMA_WORDS = IndexField(0.4, 40, 4_000)


class Query(Struct, frozen=True):
    """Texts of a search, each with its weight. Each ranks by itself, so a long one does not drown a short one."""

    parts: tuple[tuple[str, float], ...]


class EventIndex:
    """Events by their terms. Definitions of one name are one event, as good as the best of them.

    `agents` are the owners of the definitions, in the same order: with them, none gets more than its share of the
    results, with any number of events. Raises ValueError for another number of them.
    """

    def __init__(self, definitions: Sequence[EventDefinition], agents: Sequence[str] = ()) -> None:
        # In the order of their names, so that whoever registers first wins no tie.
        owned = zip(definitions, agents or [""] * len(definitions), strict=True)
        ordered = sorted(owned, key=lambda one: (one[0].event_name, one[1]))
        self._names = [definition.event_name for definition, _ in ordered]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._agents = [agent for _, agent in ordered] if agents else []
        self._impacts = [impacts_of(identity_of(definition)) for definition, _ in ordered]
        # By term: the events that have it, and its impact in each. Arrays, since loose numbers miss the cache.
        self._postings: defaultdict[str, tuple[array[int], array[float]]] = defaultdict(_no_posting)
        for number, impacts in enumerate(self._impacts):
            for term, impact in impacts.items():
                numbers, weights = self._postings[term]
                numbers.append(number)
                weights.append(impact)
        if agents:
            self._trim()

    def _trim(self) -> None:
        """Drop an agent's entries of one term beyond its most telling events, so a flood of them hides nobody."""
        for term, (numbers, impacts) in self._postings.items():
            if len(numbers) > MOST_OF_AGENT and self._most_of_one(numbers) > MOST_OF_AGENT:
                of_agent: Counter[str] = Counter()
                kept = list[tuple[int, float]]()
                for number, impact in sorted(zip(numbers, impacts, strict=True), key=lambda one: -one[1]):
                    of_agent[self._agents[number]] += 1
                    if of_agent[self._agents[number]] <= MOST_OF_AGENT:
                        kept.append((number, impact))
                kept.sort()
                self._postings[term] = array("I", (one[0] for one in kept)), array("f", (one[1] for one in kept))

    def _most_of_one(self, numbers: Iterable[int]) -> int:
        return max(Counter(map(self._agents.__getitem__, numbers)).values(), default=0)

    def rank(self, query: Query | str, most: int) -> list[str]:
        """Return the names of at most so many events that share a term with the query, best first."""
        if isinstance(query, str):
            return [name for name, _ in self.weigh(query, most)]
        rankings = [(self.rank(text, DEPTH * most), worth) for text, worth in query.parts]
        fused = fuse(rankings, DEPTH * most * len(rankings))
        return [self._names[number] for number in self._share_out([self._numbers[name] for name in fused], most)]

    def weigh(self, text: str, most: int) -> list[tuple[str, float]]:
        """Return the results of `rank`, each with its weight; weights compare within one text only."""
        wanted = self._terms_of(text)
        weights: dict[int, float] = {}
        room, looked_up = MOST_LOOKED_AT, 0
        for term, worth in wanted:
            numbers, impacts = self._postings[term]
            room -= len(numbers)
            if room < 0 and weights:
                break
            looked_up += 1
            for number, impact in zip(numbers, impacts, strict=True):
                weights[number] = weights.get(number, 0.0) + worth * impact
        found: dict[str, float] = {}
        for number in self._decide(weights, wanted[looked_up:], most):
            found.setdefault(self._names[number], weights[number])
        return list(found.items())

    def _decide(self, weights: dict[int, float], common: Sequence[tuple[str, float]], most: int) -> list[int]:
        """Return the heaviest, heaviest first; several times as many are weighed by the common terms before."""
        best = sorted(weights, key=weights.__getitem__, reverse=True)
        if common:
            best = self._share_out(best, CONTENDERS * most)
            for number in best:
                impacts = self._impacts[number]
                for term, worth in common:
                    if term in impacts:
                        weights[number] += worth * impacts[term]
            best.sort(key=weights.__getitem__, reverse=True)
        return self._share_out([number for number in best if weights[number] > 0], most)

    def _share_out(self, best: list[int], most: int) -> list[int]:
        """Return the first `most`. An agent's results beyond its share come after all results of the others."""
        share = SHARE * most
        if not self._agents or len(best) <= most or self._most_of_one(best[:most]) <= share:
            return best[:most]
        of_agent: Counter[str] = Counter()
        within, beyond = list[int](), list[int]()
        for number in best:
            of_agent[self._agents[number]] += 1
            (within if of_agent[self._agents[number]] <= share else beyond).append(number)
        return [*within, *beyond][:most]

    def _terms_of(self, text: str) -> list[tuple[str, float]]:
        """Return the terms of the text with an event, each with its worth: of many, the most telling. The rarest comes
        first."""
        all_events = len(self._names)
        wanted = list[tuple[str, float]]()
        for term, count in Counter(terms(text, MOST_QUERY_CHARS)).items():
            if term in self._postings:
                having = len(self._postings[term][0])
                wanted.append((term, _saturate(count) * log(1 + (all_events - having + 0.5) / (having + 0.5))))
        telling = sorted(wanted, key=lambda item: (-item[1], item[0]))
        return sorted(telling[:MOST_QUERY_TERMS], key=lambda item: (len(self._postings[item[0]][0]), item[0]))


@lru_cache(maxsize=8)
def index_of(definitions: tuple[Same[EventDefinition], ...], agents: tuple[str, ...] = ()) -> EventIndex:
    """Return the index of these registrations, made once for as long as they stay as they are."""
    return EventIndex([same() for same in definitions], agents)


@lru_cache(maxsize=20_000)
def impacts_of(same: Same[EventDefinition]) -> dict[str, float]:
    """Return the terms of an event, each with its weight: from 0 to 1 + SATURATION, and below 0 for a term found only
    in the text about wrong uses."""
    definition = same()
    sums: defaultdict[str, float] = defaultdict(float)
    for text, field in _fields(definition):
        found = terms(text, field.most_chars)
        share = field.weight / (1 - SHORTENING + SHORTENING * len(found) / field.usual_terms)
        for term, count in Counter(found).items():
            sums[term] += share * min(count, MOST_REPEATS)
    impacts = {term: _saturate(value) for term, value in sums.items()}
    for term in terms(definition.not_for, _NOT_FOR_CHARS):
        impacts.setdefault(term, -_NOT_FOR_WEIGHT)
    return impacts


def _fields(definition: EventDefinition) -> Iterator[tuple[str, IndexField]]:
    yield definition.event_name, _NAME
    yield definition.description, _DESCRIPTION
    yield definition.when_to_use, _WHEN_TO_USE
    yield " ".join(definition.synonyms[:MOST_SYNONYMS]), _SYNONYMS
    names, words = _schema_texts(definition.payload_schema)
    yield " ".join(names), _PROPERTIES
    yield " ".join(words), _SCHEMA_WORDS


def _schema_texts(schema: JsonObject) -> tuple[list[str], list[str]]:
    """Return the names of a schema's properties, and their texts: descriptions, and values to choose from. Nested ones
    come after the outer ones, and not all of very many."""
    names, words = list[str](), list[str]()
    for node in _objects_in(schema):
        if isinstance(properties := node.get("properties"), dict):
            names += islice(properties, MOST_NODES)
        if isinstance(description := node.get("description"), str):
            words.append(description)
        if isinstance(choices := node.get("enum"), list):
            words += (choice for choice in choices[:MOST_CHOICES] if isinstance(choice, str))
    return names, words


def _objects_in(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield the schema and the objects in it, level by level. Not all of them are schemas, which does no harm."""
    following: deque[Json] = deque([schema])
    for _ in range(MOST_NODES):
        if not following:
            return
        node = following.popleft()
        if isinstance(node, dict):
            yield node
            following.extend(islice(node.values(), MOST_NODES))
        elif isinstance(node, list):
            following.extend(node[:MOST_NODES])


def _no_posting() -> "tuple[array[int], array[float]]":
    return array("I"), array("f")


def _saturate(value: float) -> float:
    return value * (1 + SATURATION) / (value + SATURATION)


def fuse(rankings: Sequence[tuple[Sequence[str], float]], most: int) -> list[str]:
    """Return names that any ranking has, best first: each ranking gives its worth / (SMOOTHING + place). Ties go by
    name."""
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking, worth in rankings:
        for place, name in enumerate(dict.fromkeys(ranking), 1):
            scores[name] += worth / (SMOOTHING + place)
    return sorted(scores, key=lambda name: (-scores[name], name))[:most]
