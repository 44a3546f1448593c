"""The recall of stored knowledge, the time of a search among ten thousand entries, and the disk of a hundred thousand.

The folder holds `events.jsonl.gz` and `queries.jsonl.gz` as for `ranking.py`: each event's name, description and
parameters are stored as knowledge, and a query counts by the share of its families among the first ten. Prints one JSON
line.

    python bench/memories.py FOLDER
"""

import asyncio
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice, pairwise
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.context_parts.memos import About, MemoKind
from soorma_ai.embeddings.vectors import by_cosine, contenders, pack, unpacked_signs, vector_of
from soorma_ai.features.knowledge.ports import MEMOS
from soorma_ai.features.knowledge.records import KeepMemo, MemoVector
from soorma_ai.features.knowledge.rules import keep, make_memo, make_query, own_shelf
from soorma_ai.kernel.domain.values import Json
from soorma_ai.testing.clock import START

Row = dict[str, Any]
SHELF = own_shelf("default", "ann", MemoKind.KNOWLEDGE)
PLACES = (5, 10, 20)
MANY, VERY_MANY = 10_000, 100_000
AT_ONCE = 500
DIMENSIONS = 384


def read(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def parameters(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        for name, below in properties.items() if isinstance(properties, dict) else ():
            yield name
            yield from parameters(below)
        yield from parameters(schema.get("items"))


def change_of(row: Row, key: str, embedded: MemoVector | None = None) -> KeepMemo:
    content = f"{row['description']}\n{' '.join(parameters(row['payload_schema']))}"[:30_000] or "-"
    return keep(make_memo(SHELF, key, content, "bench", START, About()), embedded)


def endlessly(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    return ((f"{row['name']}.{again}", row) for again in count() for row in rows)


async def fill(store: SqliteStore, rows: Sequence[tuple[str, Row]]) -> None:
    for begin in range(0, len(rows), AT_ONCE):
        await store.part(MEMOS).change([change_of(row, key) for key, row in rows[begin : begin + AT_ONCE]], START)


async def recall(store: SqliteStore, events: Sequence[Row], queries: Sequence[Row]) -> dict[str, float]:
    family = {row["name"]: row["family"] for row in events}
    parts: dict[int, list[float]] = {places: [] for places in PLACES}
    for query in queries:
        wanted = {family[name] for name in query["gold"]}
        found = await store.part(MEMOS).search(make_query((SHELF,), query["query"], max(PLACES), {}), START)
        for places, shares in parts.items():
            shares.append(len(wanted & {family[memo.key] for memo in found[:places]}) / len(wanted))
    return {f"recall_{places}": round(mean(shares), 3) for places, shares in parts.items()}


async def speed(store: SqliteStore, queries: Sequence[Row]) -> dict[str, float]:
    """Return milliseconds of the CPU: another process's work is no part of them."""
    each = list[float]()
    for query in queries:
        begin = time.process_time()
        await store.part(MEMOS).search(make_query((SHELF,), query["query"], 10, {}), START)
        each.append((time.process_time() - begin) * 1000)
    return {"ms_mean": mean(each), "ms_median": median(each), "ms_99_percent": quantiles(each, n=100)[-1]}


def size_of(path: Path) -> int:
    return path.stat().st_size


async def growth(path: Path, rows: Sequence[tuple[str, Row]]) -> dict[str, float]:
    """Return the bytes on disk of each entry, by tenths, and the time to store one."""
    store, sizes, part = SqliteStore(path, ALL_FEATURES), [0], len(rows) // 10
    begin = time.process_time()
    for place in range(10):
        await store.open(START)
        await fill(store, rows[place * part : (place + 1) * part])
        await store.close()
        sizes.append(size_of(path))
    each = [(after - before) / part for before, after in pairwise(sizes)]
    return {
        "bytes_each": sizes[-1] / len(rows),
        "bytes_each_first_tenth": each[0],
        "bytes_each_last_tenth": each[-1],
        "bytes_of_text": mean(len(json.dumps([row["name"], row["description"]])) for _, row in rows[:2_000]),
        "ms_to_keep_one": (time.process_time() - begin) * 1000 / len(rows),
    }


def vectors() -> dict[str, float]:
    """Return the milliseconds to find ten among ten thousand random vectors, without a vector library."""
    made = [vector_of([byte - 127.5 for byte in os.urandom(DIMENSIONS)]) for _ in range(MANY)]
    stored = [pack(vector) for vector in made]
    begin = time.process_time()
    likely = contenders({n: unpacked_signs(signs) for n, (_, signs) in enumerate(stored)}, made[7], 10)
    found = by_cosine({n: stored[n][0] for n in likely}, made[7], 10)
    assert found[0] == 7
    return {"vectors_ms": (time.process_time() - begin) * 1000}


async def measure(folder: Path) -> dict[str, Any]:
    events, queries = read(folder / "events.jsonl.gz"), read(folder / "queries.jsonl.gz")
    with tempfile.TemporaryDirectory() as made:
        found, many = (SqliteStore(Path(made, name), ALL_FEATURES) for name in ("found.db", "many.db"))
        for store, rows in (
            (found, [(row["name"], row) for row in events]),
            (many, [*islice(endlessly(events), MANY)]),
        ):
            await store.open(START)
            await fill(store, rows)
        figures = {**await recall(found, events, queries), **await speed(many, queries)}
        for store in (found, many):
            await store.close()
        grown = await growth(Path(made, "grown.db"), [*islice(endlessly(events), VERY_MANY)])
    return {"bench": "memories", "among": MANY, "grown_to": VERY_MANY, **figures, **grown, **vectors()}


def main() -> None:
    figures = asyncio.run(measure(Path(sys.argv[1])))
    print(json.dumps({name: round(x, 3) if isinstance(x, float) else x for name, x in figures.items()}))


if __name__ == "__main__":
    main()
