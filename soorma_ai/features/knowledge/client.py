"""Long-term memory over HTTP: the calls of more than one request."""

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

from typing_extensions import Unpack

from soorma_ai.api.clients.address import PathTail
from soorma_ai.api.clients.messages import Page, get, post
from soorma_ai.context_parts.memos import About, Filter, Memo
from soorma_ai.errors import NotFound
from soorma_ai.features.knowledge.rows import MemoRows
from soorma_ai.kernel.domain.values import Json, json_object

_KNOWLEDGE, _INTERACTIONS, _SKILLS = "knowledge", "interactions", "skills"


class AsyncMemos(MemoRows):
    """Memos of the caller, or of another `user_id` with the right to see or steer theirs. A `shared` memo is the
    tenant's: everybody reads it, and an operator changes it."""

    async def store_knowledge(
        self,
        content: str,
        *,
        key: str | None = None,
        shared: bool = False,
        user_id: str | None = None,
        **about: Unpack[About],
    ) -> str:
        """Keep a text, in place of the former one of this key, and return its key. For `about` see `About`."""
        body: dict[str, object] = {**about, "content": content, "key": key, "shared": shared, "user_id": user_id}
        if isinstance(span := about.get("expires_in"), timedelta):
            body["expires_in"] = span.total_seconds()
        return await self._keep(_KNOWLEDGE, body)

    async def get_knowledge(self, key: str, *, shared: bool = False, user_id: str | None = None) -> Memo | None:
        asked = get("memory", _KNOWLEDGE, PathTail(key), shared=shared, user_id=user_id)
        try:
            return await self._caller.read(asked, Memo)
        except NotFound:
            if user_id is not None:
                await self.search_knowledge(limit=1, user_id=user_id)  # raises where it is the user that is not seen
            return None

    async def search_knowledge(
        self,
        query: str = "",
        *,
        limit: int = 10,
        shared: bool | None = None,
        user_id: str | None = None,
        **given: Unpack[Filter],
    ) -> list[Memo]:
        """Return the knowledge about a query, best first; without a query, the newest first. `shared` None searches the
        user's and the tenant's. For the conditions see `Filter`."""
        body = {**given, "query": query, "limit": limit, "shared": shared, "user_id": user_id}
        return await self._search(_KNOWLEDGE, body)

    async def get_recent_history(self, agent: str, *, limit: int = 20, user_id: str | None = None) -> list[Memo]:
        """Return the last messages between an agent and a user, the newest first."""
        return await self._search(_INTERACTIONS, {"agent": agent, "limit": limit, "user_id": user_id})

    async def search_interactions(
        self, agent: str, query: str, *, limit: int = 10, user_id: str | None = None
    ) -> list[Memo]:
        body = {"agent": agent, "query": query, "limit": limit, "user_id": user_id}
        return await self._search(_INTERACTIONS, body)

    async def store_skill(
        self,
        name: str,
        text: str,
        *,
        when_to_use: str = "",
        agent: str = "",
        shared: bool = False,
        user_id: str | None = None,
    ) -> None:
        """Keep a prompt or a rule, in place of the former one of this name; with an `agent`, for that agent alone."""
        body = {"name": name, "text": text, "when_to_use": when_to_use, "agent": agent, "shared": shared}
        await self._keep(_SKILLS, {**body, "user_id": user_id})

    async def _keep(self, what: str, body: Mapping[str, object]) -> str:
        return await self._caller.read_key(post("memory", what, body=_json(what, body)), "key", str)

    async def _search(self, what: str, body: Mapping[str, object]) -> list[Memo]:
        asked = post("memory", what, "search", body=_json(what, body), is_safe=True)
        return (await self._caller.read(asked, Page[Memo])).items


def _json(what: str, body: Mapping[str, object]) -> Mapping[str, Json]:
    lists = {name: [*cast("tuple[object, ...]", value)] for name, value in body.items() if isinstance(value, tuple)}
    return json_object(f"what is sent of {what}", {**body, **lists})
