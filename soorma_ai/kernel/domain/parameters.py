"""Types of the parameters of calls, with their bounds over HTTP."""

from datetime import timedelta
from typing import Annotated, Any

from msgspec import Struct
from pydantic import Field, StringConstraints

LONGEST_ID = 200
MOST_ITEMS = 500
LONGEST_PATIENCE = 30.0


class WireForm(Struct, frozen=True):
    """Form of a parameter over HTTP, if it differs from that in Python: its type, its name, the unit of a span, or its
    place in the query of a POST."""

    kind: Any = None
    name: str = ""
    unit: timedelta | None = None
    in_query: bool = False


class Fields(Struct, frozen=True):
    """Base of records that are parameters of calls: over HTTP, each field is one of the form's own."""


Id = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
Short = Annotated[str, StringConstraints(max_length=LONGEST_ID)]
Note = Annotated[str, StringConstraints(max_length=2_000)]
Agent = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID), WireForm(name="name")]
Limit = Annotated[int, Field(ge=1, le=MOST_ITEMS)]
Ordinal = Annotated[int, Field(ge=1, le=2**31)]
Position = Annotated[int, Field(ge=0, le=2**62)]
Patience = Annotated[float, Field(ge=0, le=LONGEST_PATIENCE), WireForm(in_query=True)]
