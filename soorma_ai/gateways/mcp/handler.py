"""Requests of MCP clients. Each reads plans or steers them; there is no other store."""

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ToolsListChanged, event_to_notification
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    TextResourceContents,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import TypeAdapter

from soorma_ai.errors import NotFound, SoormaError
from soorma_ai.features.tracking.plan_views import trace_of
from soorma_ai.gateways.goals import begin_goal, known_events, shown_events
from soorma_ai.gateways.mcp.caller import Context, as_mcp, call_request_of, caller_of
from soorma_ai.gateways.mcp.goals import (
    META_PLAN_ID,
    PLAN_ID,
    PLAN_TOOL,
    form_of,
    goals_of,
    output_of,
    read_state,
    request_of,
    result_of,
    state_text,
    tools_of,
)
from soorma_ai.gateways.mcp.standing import Standing, find, turn_of
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject, clip, compact, derived_id, digest, json_object
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.process.signals import until

if TYPE_CHECKING:
    from soorma_ai.features.tracking.trace import Trace

# Name in the `_meta` of a call: the same key is the same plan.
KEY = "soorma/idempotency_key"
LOOK_AT_TOOLS_SECONDS = 2.0
MOST_LISTED = 100
_SCHEME = "soorma://plans/"


class Round(Struct, frozen=True):
    """Round of a call. The questions in `linked` were shown as links before, and `refused` are those that the client
    did not answer."""

    task_id: str
    linked: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


class GoalTools:
    """Handlers of the requests. `only` are the offered goals, None for all of a tenant."""

    def __init__(self, only: tuple[str, ...] | None, patience: float, url: str) -> None:
        self._only = only
        self._patience = patience
        self._url = url

    async def list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        _, client = caller_of(context)
        with as_mcp():
            return ListToolsResult(tools=tools_of(await self._goals(client, only_present=True)))

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Begin a plan, or go on with it, and return its result, its question, or its id."""
        visit, client = caller_of(context)
        with as_mcp():
            goals = await self._goals(client)
            goal = goals.get(params.name)
            if goal is None and params.name != PLAN_TOOL:
                raise MCPError(INVALID_PARAMS, f"there is no tool {clip(repr(params.name), 80)}")
            try:
                now = await self._round(context, client, params)
                standing = await turn_of(visit, client, now.task_id, self._patience)
            except SoormaError as error:  # the caller can mend it
                return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
            return self._answer(context, standing, now, goal)

    async def list_resources(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        _, client = caller_of(context)
        with as_mcp():
            plans = await client.plans(limit=MOST_LISTED)
            return ListResourcesResult(
                resources=[
                    Resource(
                        uri=_SCHEME + plan.plan_id,
                        name=plan.title or plan.goal_event,
                        description=f"{plan.goal_event}, {plan.status}",
                        mime_type="application/json",
                    )
                    for plan in plans
                ]
            )

    async def list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=f"{_SCHEME}{{plan_id}}",
            name="plan",
            description="The story of a plan: each effect with its cause.",
            mime_type="application/json",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the trace of a plan. A plan invisible to the caller counts as missing."""
        _, client = caller_of(context)
        with as_mcp():
            try:
                trace = await trace_of(client.services, client.person, params.uri.removeprefix(_SCHEME))
            except NotFound as error:
                raise MCPError(INVALID_PARAMS, f"there is no resource {clip(repr(params.uri), 80)}") from error
            text = _trace_form().dump_json(trace, by_alias=True).decode()
            return ReadResourceResult(
                contents=[TextResourceContents(uri=params.uri, mime_type="application/json", text=text)]
            )

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Tell changes of the caller's tools, until the caller leaves."""
        _, client = caller_of(context)
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
        wants_tools = bool(params.notifications.tools_list_changed)
        with as_mcp():
            before = await self._mark(client)
            heard = SubscriptionFilter(tools_list_changed=wants_tools or None)
            told = SubscriptionsAcknowledgedNotificationParams(notifications=heard, _meta=meta)
            acknowledged = SubscriptionsAcknowledgedNotification(params=told)
            await context.session.send_notification(acknowledged, related_request_id=context.request_id)
            while True:
                await until(asyncio.Event(), client.services.clock, LOOK_AT_TOOLS_SECONDS)
                mark = await self._mark(client)
                if wants_tools and mark != before:
                    changed = event_to_notification(ToolsListChanged(), meta)
                    await context.session.send_notification(changed, related_request_id=context.request_id)
                before = mark

    async def _goals(self, client: Client, *, only_present: bool = False) -> dict[str, RegisteredEvent]:
        """Return the offered goals of the caller's tenant; only those of present agents, or all."""
        find = shown_events if only_present else known_events
        return goals_of(await find(client.services, client.person.tenant_id), self._only)

    async def _mark(self, client: Client) -> str:
        tools = tools_of(await self._goals(client, only_present=True))
        return digest([json_object("a tool", one.model_dump(mode="json", exclude_none=True)) for one in tools])

    async def _round(self, context: Context, client: Client, params: CallToolRequestParams) -> Round:
        """Begin the plan of a call, or take the answers of a client to the questions of an earlier one."""
        if params.request_state is not None:
            task_id, linked = read_state(params.request_state)
            standing = await find(client, task_id)
            responses = params.input_responses or {}
            for wait in standing.asked:
                given = responses.get(wait.wait_id)
                if isinstance(given, ElicitResult) and given.action == "accept" and wait.wait_id not in linked:
                    await _answer(client, wait.wait_id, given)
            refused = {name for name, one in responses.items() if not _is_accepted(one)}
            return Round(task_id, linked, frozenset(refused))
        data: JsonObject = json_object("arguments", params.arguments or {})
        if params.name == PLAN_TOOL:
            return Round(str(data.get(PLAN_ID, "")))
        key = (context.meta or {}).get(KEY)
        begun = await begin_goal(client, params.name, data, idempotency_key=key if isinstance(key, str) else None)
        return Round(begun.task_id)

    def _answer(
        self, context: Context, standing: Standing, now: Round, goal: RegisteredEvent | None
    ) -> CallToolResult | InputRequiredResult:
        """Return the result of a round. A question is asked once as a link, and not again after a refusal."""
        links = {wait.wait_id: self._link(context, wait.wait_id) for wait in standing.asked}
        asked: dict[str, ElicitRequest] = {}
        linked = set(now.linked)
        for wait in () if standing.is_over else standing.asked:
            form = form_of(wait)
            if not _may_ask(context, is_form=form is not None) or wait.wait_id in now.linked | now.refused:
                continue
            asked[wait.wait_id] = request_of(wait, form, links[wait.wait_id])
            if form is None:
                linked.add(wait.wait_id)
        if asked:
            return InputRequiredResult(
                input_requests=dict(asked),
                request_state=state_text(standing.task_id, linked),
                _meta={META_PLAN_ID: standing.task_id},
            )
        link = next(iter(links.values()), None)
        return result_of(standing, link, has_output=goal is not None and output_of(goal) is not None)

    def _link(self, context: Context, wait_id: str) -> str:
        return f"{self._url or str(call_request_of(context).base_url).rstrip('/')}/inbox/{wait_id}"


async def _answer(client: Client, wait_id: str, given: ElicitResult) -> None:
    """Answer a question. The same round again is the same answer; a late or invalid one changes nothing."""
    person = client.person
    content = json_object("an answer", {name: one for name, one in (given.content or {}).items() if one is not None})
    answer_id = derived_id("mcp answer", person.tenant_id, person.user_id, wait_id, compact(content))
    await client.answer(wait_id, content, answer_id=answer_id)


def _is_accepted(given: object) -> bool:
    return isinstance(given, ElicitResult) and given.action == "accept"


def _may_ask(context: Context, *, is_form: bool) -> bool:
    """Tell whether the client takes questions of this kind. Older revisions have no second round of a call."""
    told = context.session.client_capabilities
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS or told is None or told.elicitation is None:
        return False
    if is_form:  # a client without details takes forms
        return told.elicitation.form is not None or told.elicitation.url is None
    return told.elicitation.url is not None


@cache
def _trace_form() -> "TypeAdapter[Trace]":
    from soorma_ai.features.tracking.trace import Trace  # most programs never look at one

    return TypeAdapter(Trace)
