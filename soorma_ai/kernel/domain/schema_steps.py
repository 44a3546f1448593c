"""Steps of a check in pieces: work done, and faults found."""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from soorma_ai.kernel.domain.schema_graph import Place
from soorma_ai.kernel.domain.values import Json, JsonObject

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MOST_NESTED = 120  # schemas and values within each other
OF_A_STEP = 100  # units of our own code for one schema, and for one item
OF_AN_ITEM = 20
OF_A_LOOK = 5


class SchemaFault(Struct, frozen=True):
    """`where` is the place in the schema, `rule` the broken keyword. Without a `message`, one is made of these."""

    path: Place
    where: Place
    rule: str
    found: Json
    wanted: Json
    message: str = ""


Step = int | SchemaFault
Steps = Iterator[Step]
Verdict = Generator[int, None, bool]
# Returns the faults that a validator finds in a small value, which stands at this path.
Tell = Callable[["Draft202012Validator", Json, Place], Iterable[SchemaFault]]


class At(Struct, frozen=True):
    """Place of the walk: the path in the value, and the number of schemas and values around it."""

    path: Place = ()
    nested: int = 0

    def into(self, *part: str | int) -> "At":
        return At((*self.path, *part), self.nested + 1)


def is_free(steps: Steps) -> Verdict:
    """Tell whether there is no fault; yields the work done."""
    for step in steps:
        if isinstance(step, SchemaFault):
            return False
        yield step
    return True


def list_in(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def map_in(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
