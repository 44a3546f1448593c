"""Routes of long-term memory: knowledge, interactions, skills."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.context_parts.memos import Memo
from soorma_ai.errors import NotFound
from soorma_ai.features.knowledge.records import MOST_TAGS, AgentName, Content, LookupResult, Sought, Title
from soorma_ai.features.knowledge.service import CALLS, memos_of
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.parameters import Fields, Id, Name
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, JsonObject

HANDLERS = CallTable()
Tags = Annotated[Sequence[Name], Field(max_length=MOST_TAGS)]
Expiry = Annotated[float, Field(gt=0, le=LONGEST_WAIT_SECONDS)]


class KnowledgeFields(Fields, frozen=True):
    """Fields of a text to keep."""

    content: Content
    key: Name | None = None
    title: Title = ""
    tags: Tags = ()
    source: AgentName = ""
    metadata: JsonObject | None = None
    expires_in: Expiry | None = None
    shared: bool = False
    user_id: Id | None = None


class SearchFields(Fields, frozen=True):
    """Fields of a search of knowledge."""

    query: Sought = ""
    limit: LookupResult = 10
    shared: bool | None = None
    tags: Tags = ()
    source: AgentName | None = None
    owner: AgentName | None = None
    metadata: JsonObject | None = None
    user_id: Id | None = None


class SkillFields(Fields, frozen=True):
    """Fields of a skill to keep."""

    name: Name
    text: Content
    when_to_use: Title = ""
    agent: AgentName = ""
    shared: bool = False
    user_id: Id | None = None


@HANDLERS("POST /memory/knowledge", CALLS["store_knowledge"], "store_knowledge", key="key", raises=(NotFound,))
async def store_knowledge(call: Call, fields: KnowledgeFields) -> str:
    """Keep a text beyond plans, in place of the former one of this key.

    `shared`: the whole tenant's. `expires_in`: seconds. `user_id`: another user, with the right to steer theirs.
    """
    span: dict[str, Any] = {} if fields.expires_in is None else {"expires_in": fields.expires_in}
    return await memos_of(call.client).store_knowledge(
        fields.content,
        key=fields.key,
        shared=fields.shared,
        user_id=fields.user_id,
        title=fields.title,
        tags=[*fields.tags],
        source=fields.source,
        metadata=fields.metadata or {},
        **span,
    )


@HANDLERS("POST /memory/knowledge/search", CALLS["search_knowledge"], "search_knowledge", raises=(NotFound,))
async def search_knowledge(call: Call, fields: SearchFields) -> list[Memo]:
    """Return knowledge, best first.

    Without a query, the newest come first. `shared`: the tenant's (true), the user's (false), or both (null). All other
    fields are conditions; `owner` is the storing agent.
    """
    given: dict[str, Any] = {"source": fields.source, "owner": fields.owner}
    return await memos_of(call.client).search_knowledge(
        fields.query,
        limit=fields.limit,
        shared=fields.shared,
        user_id=fields.user_id,
        tags=[*fields.tags],
        metadata=fields.metadata or {},
        **{name: value for name, value in given.items() if value is not None},
    )


@HANDLERS("POST /memory/interactions/search", CALLS["search_interactions"], "search_interactions", raises=(NotFound,))
async def search_interactions(
    call: Call, agent: Name, query: Sought = "", limit: LookupResult = 20, user_id: Id | None = None
) -> list[Memo]:
    """Return messages between an agent and a user, best first. Without a query, the newest come first."""
    return await memos_of(call.client).search_interactions(agent, query, limit=limit, user_id=user_id)


@HANDLERS("POST /memory/skills", CALLS["store_skill"], "store_skill", key="key", raises=(NotFound,))
async def store_skill(call: Call, fields: SkillFields) -> str:
    """Keep a prompt or a rule, in place of the former one of this name; with an `agent`, for that agent alone."""
    await memos_of(call.client).store_skill(
        fields.name,
        fields.text,
        when_to_use=fields.when_to_use,
        agent=fields.agent,
        shared=fields.shared,
        user_id=fields.user_id,
    )
    return fields.name


OPERATIONS = (*operations(HANDLERS, "memory"), *operations(CALLS, "memory", lambda call: memos_of(call.client)))
