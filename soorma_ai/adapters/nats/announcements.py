"""Announcements as they travel: JSON, in as many messages as they need."""

from collections.abc import Iterator
from functools import cache
from typing import TypeVar

from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from soorma_ai.adapters.nats.subjects import registry_subject
from soorma_ai.errors import RemoteProtocolError, SoormaError
from soorma_ai.kernel.domain.stores import Announcement
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.runtime.handling.logs import warn

T = TypeVar("T")


@cache
def _announcements() -> TypeAdapter[Announcement]:
    return TypeAdapter(Announcement)


def write(said: Announcement, most: int) -> Iterator[bytes]:
    """Yield messages of at most so many bytes. An agent that no message can hold is left out, which is told."""
    body = _announcements().dump_json(said, exclude_defaults=True)
    if len(body) <= most:
        yield body
    elif len(said.living) > 1 or len(said.left) > 1:
        (first, second), (gone, also_gone) = _halves(said.living), _halves(said.left)
        yield from write(replace(said, living=first, left=gone), most)
        yield from write(replace(said, living=second, left=also_gone, asks=False), most)
    else:
        names = ", ".join((*(one.registration.agent for one in said.living), *said.left))
        warn("agent_not_announced", agent=names, reason=f"it has {len(body):,} bytes, and NATS takes {most:,}")


def read(namespace: str, subject: str, body: bytes) -> Announcement:
    """Return the announcement. Permissions are given by subjects, so raise RemoteProtocolError for one with another
    store or tenant than its subject's."""
    try:
        said = _announcements().validate_json(body)
    except (ValidationError, SoormaError) as error:
        raise RemoteProtocolError(f"not an announcement: {clip(str(error), 200)}") from error
    wanted = registry_subject(namespace, said.store, said.tenant_id)
    if wanted != subject:
        raise RemoteProtocolError(f"an announcement of {wanted} was published under another subject")
    return said


def _halves(items: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[T, ...]]:
    middle = len(items) // 2
    return items[:middle], items[middle:]
