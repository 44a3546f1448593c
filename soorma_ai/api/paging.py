"""Lists in pages. Where the store knows no cursor, a page is cut out of the first of the list, and its cursor is the id
of its last item."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from soorma_ai.errors import NotFound

T = TypeVar("T")
Item = TypeVar("Item")

WINDOW = 1_000


class Page(BaseModel, Generic[Item]):
    """Page of a list. `next` is the value of `after` for the next page; null without one."""

    model_config = ConfigDict(frozen=True)

    items: list[Item]
    next: str | None = None


async def page_of(
    load: Callable[[int], Awaitable[Sequence[T]]], id_of: Callable[[T], str], after: str | None, limit: int
) -> Page[T]:
    """Return a page of the items that `load` returns. Raise NotFound for a cursor no longer there."""
    return cut(await load(limit + 1 if after is None else WINDOW), id_of, after, limit)


def cut(found: Sequence[T], id_of: Callable[[T], str], after: str | None, limit: int) -> Page[T]:
    begin = 0
    if after is not None:
        place = next((place for place, one in enumerate(found) if id_of(one) == after), None)
        if place is None:
            raise NotFound(f"after={after!r} is not in the list (any more); begin anew without it")
        begin = place + 1
    items = found[begin : begin + limit]
    has_more = len(found) > begin + limit
    return make_page(items, id_of(items[-1]) if has_more else None)


def make_page(items: Sequence[T], after: str | None) -> Page[T]:
    """Return a page of trusted items, without a check."""
    return cast("Page[T]", Page.model_construct(items=[*items], next=after))
