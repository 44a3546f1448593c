"""Ids on a command line, with completions for a shell."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from soorma_ai.errors import SoormaError
from soorma_ai.settings import DEFAULT_STORE_URL, SERVER_URL, STORE_URL, TOKEN
from soorma_ai.surfaces.options import Access, Id, ServerOption
from soorma_ai.surfaces.store_access import StoreAccess, open_store

if TYPE_CHECKING:
    from soorma_ai.api.clients.calls import KernelCalls

MOST_OFFERED = 100

Offer = Callable[["StoreAccess[Any]"], list[tuple[str, str]]]


class PlanId(Id):
    """Id of a plan. A shell completes it from the newest plans."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_ids(ctx, _plans, incomplete)


class WaitId(Id):
    """Id of a question. A shell completes it from the open questions."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_ids(ctx, _questions, incomplete)


def _plans(store: "StoreAccess[KernelCalls]") -> list[tuple[str, str]]:
    """Return the newest plans, each with its goal and status."""
    found = store.look_up(lambda client: client.plans(limit=MOST_OFFERED))
    return [(one.plan_id, f"{one.goal_event}, {one.status}") for one in found]


def _questions(store: "StoreAccess[KernelCalls]") -> list[tuple[str, str]]:
    """Return the open questions, each with its event and its message."""
    found = store.look_up(lambda client: client.waits(limit=MOST_OFFERED))
    return [(one.wait_id, f"{one.expected_event}: {one.message}".removesuffix(": ")) for one in found]


def complete_ids(context: click.Context, offer: Offer, incomplete: str) -> list[CompletionItem]:
    """Return the offered ids of this beginning, none without a reachable store or server."""
    typed = context.params
    url, token = typed.get("url") or os.environ.get(SERVER_URL), typed.get("token") or os.environ.get(TOKEN)
    store = typed.get("store") or os.environ.get(STORE_URL) or DEFAULT_STORE_URL
    server = ServerOption(url, token) if url else None
    with suppress(SoormaError, OSError), context.scope(cleanup=False):
        found = offer(open_store(Access(store, typed.get("tenant") or "default", server=server)))
        return [CompletionItem(id, help=words) for id, words in found if id.startswith(incomplete)]
    return []
