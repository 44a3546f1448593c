"""The recall of the right event among the lines shown to a planner, and the time to rank 10,000 events.

The folder holds `events.jsonl.gz` and `queries.jsonl.gz`: events with their family of near-twins, and texts with the
events for them. A query counts by the shown share of its families, where a line is "name: description" and four
characters are a token. The 10,000 are the events repeated under further names, so every term has five times as many
events. Halves are every other query: weights were tuned on the first. Prints one JSON line.

    python bench/ranking.py FOLDER
"""

import gzip
import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count, islice
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import identity_of
from soorma_ai.kernel.rules.choices.index import EventIndex, index_of

Row = dict[str, Any]
Rank = Callable[[str, int], Sequence[str]]
BUDGETS = (1_000, 2_000, 4_000)
MANY = 10_000
SHORTEST_LINE = 5


def read(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def definition_of(row: Row) -> EventDefinition:
    return EventDefinition(event_name=row["name"], description=row["description"], payload_schema=row["payload_schema"])


def recall(rank: Rank, events: Sequence[Row], queries: Sequence[Row]) -> dict[int, float]:
    """Return the mean shown share of a query's families, by the number of tokens for the lines."""
    family = {row["name"]: row["family"] for row in events}
    tokens = {row["name"]: len(f"{row['name']}: {row['description']}\n") / 4 for row in events}
    parts: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for query in queries:
        wanted = {family[name] for name in query["gold"]}
        ranked = rank(query["query"], max(BUDGETS) // SHORTEST_LINE)
        for budget, found in parts.items():
            shown, room = set[str](), float(budget)
            for name in ranked:
                room -= tokens[name]
                if room < 0:
                    break
                shown.add(family[name])
            found.append(len(wanted & shown) / len(wanted))
    return {budget: round(mean(found), 3) for budget, found in parts.items()}


def many(events: Sequence[Row]) -> list[Row]:
    return list(islice(({**row, "name": f"{row['name']}.{again}"} for again in count(1) for row in events), MANY))


def milliseconds(work: Callable[[], object]) -> float:
    """Return the CPU time: another process's work is no part of it."""
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


def speed(definitions: Sequence[EventDefinition], queries: Sequence[Row]) -> dict[str, float]:
    same = tuple(map(identity_of, definitions))
    first = milliseconds(lambda: index_of(same))
    changed = (*same[:-1], identity_of(definitions[0].model_copy(update={"event_name": "changed"})))
    after_a_change = milliseconds(lambda: index_of(changed))
    again = milliseconds(lambda: index_of(tuple(map(identity_of, definitions))))
    index = index_of(same)
    each = [milliseconds(lambda text=row["query"]: index.rank(text, 130)) for row in queries]
    everything = " ".join(row["query"] for row in queries)
    return {
        "ms_a_query": mean(each),
        "ms_median": median(each),
        "ms_99_percent": quantiles(each, n=100)[-1],
        "ms_query_of_16000_characters": milliseconds(lambda: index.rank(everything, 130)),
        "ms_first_index": first,
        "ms_index_after_a_change": after_a_change,
        "ms_same_index_again": again,
    }


def main() -> None:
    folder = Path(sys.argv[1])
    events, queries = read(folder / "events.jsonl.gz"), read(folder / "queries.jsonl.gz")
    index, more = EventIndex([definition_of(row) for row in events]), many(events)
    definitions = [definition_of(row) for row in more]
    timed = speed(definitions, queries)
    result = {
        "bench": "ranking",
        "events": len(events),
        "queries": len(queries),
        "recall_by_tokens": recall(index.rank, events, queries),
        "first_half": recall(index.rank, events, queries[::2]),
        "other_half": recall(index.rank, events, queries[1::2]),
        "events_again": len(more),
        "recall_among_them": recall(index_of(tuple(map(identity_of, definitions))).rank, [*events, *more], queries),
        **{what: round(value, 2) for what, value in timed.items()},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
