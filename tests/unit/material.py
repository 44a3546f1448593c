"""Builders of schemas, and rows of real schemas from the folder `shared` beside the project."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from soorma_ai.kernel.domain.values import Json, JsonObject

DATA = Path(__file__).parents[3] / "shared" / "data"


def rows(name: str) -> list[dict[str, Any]]:
    file = DATA / name
    if not file.exists():
        pytest.skip(f"no data at {file}")
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        return [json.loads(line) for line in lines]


def obj(properties: JsonObject, *required: str, **more: Json) -> JsonObject:
    needed: list[Json] = [*required]
    return {"type": "object", "properties": properties, "required": needed, **more}


def branching(levels: int) -> JsonObject:
    """A small schema with 3 to the power of `levels` leaves after its references are expanded."""
    below = {f"L{n}": obj({f"p{k}": {"$ref": f"#/$defs/L{n + 1}"} for k in range(3)}) for n in range(levels)}
    return {"$ref": "#/$defs/L0", "$defs": {**below, f"L{levels}": {"type": "string"}}}
