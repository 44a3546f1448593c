"""What is remembered beyond plans: knowledge, what was said, and prompts and rules."""

from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from soorma_ai.api.paging import make_page
from soorma_ai.api.server.operation import (
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Name,
    Nothing,
    Page,
    delete,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made
from soorma_ai.api.server.routes.memory import Deleted
from soorma_ai.errors import NotFound
from soorma_ai.features.knowledge.records import Memo
from soorma_ai.features.knowledge.rules import (
    LONGEST_NAME,
    MOST_CHARS,
    MOST_FOUND,
    MOST_QUERY_CHARS,
    MOST_TAGS,
    MOST_TITLE_CHARS,
)
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, JsonObject

Text = Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARS)]
Title = Annotated[str, StringConstraints(max_length=MOST_TITLE_CHARS)]
Short = Annotated[str, StringConstraints(max_length=LONGEST_NAME)]
Tags = Annotated[list[Name], Field(max_length=MOST_TAGS)]
Sought = Annotated[str, StringConstraints(max_length=MOST_QUERY_CHARS)]
Found = Annotated[int, Field(ge=1, le=MOST_FOUND)]


class Whose(Form):
    """`user_id`: somebody else, for who may see or steer theirs."""

    user_id: Id | None = None


class NewKnowledge(Whose):
    """A text, in the place of what has this key. `shared`: the whole tenant's. `expires_in`: seconds."""

    content: Text
    key: Name | None = None
    title: Title = ""
    tags: Tags = Field(default_factory=list[str])
    source: Short = ""
    metadata: JsonObject = Field(default_factory=dict)
    expires_in: Annotated[float, Field(gt=0, le=LONGEST_WAIT_SECONDS)] | None = None
    shared: bool = False


class SoughtKnowledge(Whose):
    """Without a query, the newest come first. `shared`: the tenant's (true), the user's (false), or both (null). All
    other fields are conditions; `owner` is the agent that kept it."""

    query: Sought = ""
    limit: Found = 10
    shared: bool | None = None
    tags: Tags = Field(default_factory=list[str])
    source: Short | None = None
    owner: Short | None = None
    metadata: JsonObject = Field(default_factory=dict)


class OfKnowledge(Whose):
    key: Name
    shared: bool = False


class Said(Whose):
    agent: Name
    role: Title
    content: Text
    metadata: JsonObject = Field(default_factory=dict)


class SoughtInteractions(Whose):
    """Without a query, the newest come first."""

    agent: Name
    query: Sought = ""
    limit: Found = 20


class NewSkill(Whose):
    """A prompt or a rule, in the place of the one of this name; with an `agent`, for that one alone."""

    name: Name
    text: Text
    when_to_use: Title = ""
    agent: Short = ""
    shared: bool = False


class SoughtSkills(Whose):
    query: Sought
    agent: Short = ""
    limit: Found = 5


class OfSkill(Whose):
    name: Name
    agent: Short = ""
    shared: bool = False


class Kept(Made):
    key: str


async def store_knowledge(call: Call[Nothing, NewKnowledge]) -> Answer:
    """Keep a text beyond plans."""
    sent = call.sent
    span: dict[str, Any] = {} if sent.expires_in is None else {"expires_in": sent.expires_in}
    key = await call.client.memory.store_knowledge(
        sent.content,
        key=sent.key,
        shared=sent.shared,
        user_id=sent.user_id,
        title=sent.title,
        tags=sent.tags,
        source=sent.source,
        metadata=sent.metadata,
        **span,
    )
    return Answer(Kept(key=key))


async def search_knowledge(call: Call[Nothing, SoughtKnowledge]) -> Answer:
    """Return what is known, best first."""
    sent = call.sent
    given: dict[str, Any] = {"source": sent.source, "owner": sent.owner}
    found = await call.client.memory.search_knowledge(
        sent.query,
        limit=sent.limit,
        shared=sent.shared,
        user_id=sent.user_id,
        tags=sent.tags,
        metadata=sent.metadata,
        **{name: value for name, value in given.items() if value is not None},
    )
    return Answer(make_page(found, None))


async def get_knowledge(call: Call[OfKnowledge, Nothing]) -> Answer:
    """Return the text of a key."""
    asked = call.asked
    found = await call.client.memory.get_knowledge(asked.key, shared=asked.shared, user_id=asked.user_id)
    if found is None:
        raise NotFound(f"nothing is known as {asked.key!r}")
    return Answer(found)


async def delete_knowledge(call: Call[OfKnowledge, Nothing]) -> Answer:
    """Remove the text of a key."""
    asked = call.asked
    existed = await call.client.memory.delete_knowledge(asked.key, shared=asked.shared, user_id=asked.user_id)
    return Answer(Deleted(deleted=existed))


async def log_interaction(call: Call[Nothing, Said]) -> Answer:
    """Write down what was said between an agent and a user."""
    sent = call.sent
    key = await call.client.memory.log_interaction(
        sent.agent, sent.role, sent.content, sent.metadata, user_id=sent.user_id
    )
    return Answer(Kept(key=key))


async def search_interactions(call: Call[Nothing, SoughtInteractions]) -> Answer:
    """Return what was said between an agent and a user."""
    sent = call.sent
    found = await call.client.memory.search_interactions(sent.agent, sent.query, limit=sent.limit, user_id=sent.user_id)
    return Answer(make_page(found, None))


async def store_skill(call: Call[Nothing, NewSkill]) -> Answer:
    """Keep a prompt or a rule."""
    sent = call.sent
    await call.client.memory.store_skill(
        sent.name, sent.text, when_to_use=sent.when_to_use, agent=sent.agent, shared=sent.shared, user_id=sent.user_id
    )
    return Answer(Kept(key=sent.name))


async def get_relevant_skills(call: Call[Nothing, SoughtSkills]) -> Answer:
    """Return the prompts and rules that are about something, best first."""
    sent = call.sent
    found = await call.client.memory.get_relevant_skills(
        sent.query, agent=sent.agent, limit=sent.limit, user_id=sent.user_id
    )
    return Answer(make_page(found, None))


async def delete_skill(call: Call[OfSkill, Nothing]) -> Answer:
    """Remove a prompt or a rule."""
    asked = call.asked
    existed = await call.client.memory.delete_skill(
        asked.name, agent=asked.agent, shared=asked.shared, user_id=asked.user_id
    )
    return Answer(Deleted(deleted=existed))


_OK = HTTPStatus.OK
_KNOWLEDGE, _SAID, _SKILLS = (f"/v1/memory/{name}" for name in ("knowledge", "interactions", "skills"))

OPERATIONS: tuple[AnyOperation, ...] = (
    post(_KNOWLEDGE, store_knowledge, Nothing, NewKnowledge, {_OK: Kept}, NOT_FOUND),
    post(f"{_KNOWLEDGE}/search", search_knowledge, Nothing, SoughtKnowledge, {_OK: Page[Memo]}, NOT_FOUND),
    get(f"{_KNOWLEDGE}/{{key:path}}", get_knowledge, OfKnowledge, Memo, NOT_FOUND),
    delete(f"{_KNOWLEDGE}/{{key:path}}", delete_knowledge, OfKnowledge, Deleted, NOT_FOUND),
    post(_SAID, log_interaction, Nothing, Said, {_OK: Kept}, NOT_FOUND),
    post(f"{_SAID}/search", search_interactions, Nothing, SoughtInteractions, {_OK: Page[Memo]}, NOT_FOUND),
    post(_SKILLS, store_skill, Nothing, NewSkill, {_OK: Kept}, NOT_FOUND),
    post(f"{_SKILLS}/search", get_relevant_skills, Nothing, SoughtSkills, {_OK: Page[Memo]}, NOT_FOUND),
    delete(f"{_SKILLS}/{{name:path}}", delete_skill, OfSkill, Deleted, NOT_FOUND),
)
