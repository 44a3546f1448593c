"""Foreign agents submit goals by A2A: the protocol's own client, over a socket, sees plans as tasks."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_kit import (
    ASKS,
    CANCELED,
    COMPLETED,
    FAILED,
    REJECTED,
    SUBMITTED,
    WORKING,
    connect_client,
    request_of,
    send_message,
    serve_gateway,
    state_in,
)
from google.protobuf.json_format import MessageToDict
from http_kit import Keys, caller
from kit import payments, planner

from soorma_ai import Agent, Approval, EventDefinition, Platform
from soorma_ai.testing.scripted import complete, give_up, publish

CHARGE = publish("payment.charge.requested", amount=12)
DONE = complete({"paid": 12, "big": 2**60})
BY_MANAGER = Approval(approvers=("manager",), timeout=timedelta(days=1))
KEYS = Keys(maria=caller(), boss=caller("shop", "boss", "manager"), eve=caller("evil", "eve"))


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'a2a.db'}") as opened:
        yield opened


def shop(*script: Any, approval: Approval | None = None, **options: Any) -> tuple[Agent, Agent]:
    return planner(list(script) or [CHARGE, DONE], **options), payments(approval)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_blocking_message_returns_the_completed_task(platform: Platform, binding: str) -> None:
    async with (
        serve_gateway(platform, *shop(), auth=KEYS) as url,
        connect_client(url, "maria", binding=binding) as client,
    ):
        task = await send_message(client, {"order_id": "A1"})
        assert (task.status.state, task.metadata["goal"]) == (COMPLETED, "order.received")
        # A float would not hold the number, so the result goes as text.
        assert task.artifacts[0].parts[0].text == '{"big":1152921504606846976,"paid":12}'
        assert [one.role for one in task.history] == [1]
        assert (await client.get_task(GetTaskRequest(id=task.id))) == task
        plan = await platform.as_user(tenant_id="shop", user_id="maria").plan(task.id)
        assert (plan.goal_data, plan.session_id) == ({"order_id": "A1"}, task.context_id)


async def test_the_same_message_is_the_same_task(platform: Platform) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS) as url, connect_client(url, "maria") as client:
        first = await send_message(client, {"order_id": "A1"}, message_id="once")
        again = await send_message(client, {"order_id": "A1"}, message_id="once")
        assert (first.id, first.context_id) == (again.id, again.context_id)
        with pytest.raises(InvalidParamsError, match="with other content"):
            await send_message(client, {"order_id": "A2"}, message_id="once")


async def test_a_message_without_waiting_returns_the_task_at_once(platform: Platform) -> None:
    async with (
        serve_gateway(platform, *shop(approval=BY_MANAGER), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        task = await send_message(client, "an order", at_once=True, context_id="talk 1")
        assert task.status.state in (SUBMITTED, WORKING, ASKS)
        assert task.context_id == "talk 1"


async def test_a_question_is_asked_of_the_caller_and_answered_by_a_message(platform: Platform) -> None:
    async with (
        serve_gateway(platform, *shop(approval=Approval()), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        task = await send_message(client, {"order_id": "A1"})
        assert task.status.state == ASKS
        about = MessageToDict(task.status.message.parts[-1].data)
        assert about["proposed_data"] == {"amount": 12}
        assert about["allowed_decisions"][:2] == ["approve", "edit"]
        with pytest.raises(InvalidParamsError, match="does not count"):
            await send_message(client, {"approved": "perhaps"}, task_id=task.id)
        with pytest.raises(InvalidParamsError, match="belongs to"):
            await send_message(client, "approve", task_id=task.id, context_id="another")
        answered = await send_message(client, "approve", task_id=task.id, message_id="yes")
        assert (answered.status.state, answered.id) == (COMPLETED, task.id)
        assert [one.role for one in answered.history] == [1, 2, 1]
        with pytest.raises(UnsupportedOperationError, match="asks nothing"):
            await send_message(client, "approve", task_id=task.id)
        again = await send_message(client, "approve", task_id=task.id, message_id="yes")
        assert again.status.state == COMPLETED


async def test_a_repeated_answer_answers_no_other_question(platform: Platform) -> None:
    agents = shop(CHARGE, publish("payment.charge.requested", amount=9999), DONE, approval=Approval())
    async with serve_gateway(platform, *agents, auth=KEYS) as url, connect_client(url, "maria") as client:
        task = await send_message(client, {"order_id": "A1"})
        for _ in range(2):
            asks = await send_message(client, "approve", task_id=task.id, message_id="yes")
            about = MessageToDict(asks.status.message.parts[-1].data)
            assert (asks.status.state, about["proposed_data"]) == (ASKS, {"amount": 9999})


async def test_a_repeated_approval_of_a_goal_returns_the_task(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", approval=Approval())
    async with serve_gateway(platform, *shop(goals=[goal]), auth=KEYS) as url, connect_client(url, "maria") as client:
        task = await send_message(client, {"order_id": "A1"})
        await send_message(client, "approve", task_id=task.id, message_id="yes", at_once=True)
        again = await send_message(client, "approve", task_id=task.id, message_id="yes")
        assert again.status.state == COMPLETED


async def test_an_answer_without_the_approvers_role_is_an_error_and_the_question_stays_open(platform: Platform) -> None:
    async with (
        serve_gateway(platform, *shop(approval=BY_MANAGER), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        task = await send_message(client, {"order_id": "A1"})
        with pytest.raises(InvalidParamsError, match="manager must answer"):
            await send_message(client, "approve", task_id=task.id)
        assert (await client.get_task(GetTaskRequest(id=task.id))).status.state == ASKS


async def test_an_answer_through_another_client_continues_the_task(platform: Platform) -> None:
    async with (
        serve_gateway(platform, *shop(approval=BY_MANAGER), auth=KEYS) as url,
        connect_client(url, "maria", streaming=True) as client,
    ):
        turn = [state_in(one) async for one in client.send_message(request_of({"order_id": "A1"}))]
        assert turn[-1] == ASKS, "the turn of the caller ends the stream"
        (wait,) = await platform.as_user(tenant_id="shop", user_id="boss", roles={"manager"}).waits()
        task_id = str(wait.plan_id)
        came: list[Any] = []
        async for one in client.subscribe(SubscribeToTaskRequest(id=task_id)):
            came.append(one)
            if len(came) == 1:
                boss = platform.as_user(tenant_id="shop", user_id="boss", roles={"manager"})
                assert await boss.answer(wait.wait_id, {"approved": True}) == "accepted"
        states = [state for one in came if (state := state_in(one)) is not None]
        assert (states[0], states[-1]) == (ASKS, COMPLETED)
        assert [one.WhichOneof("payload") for one in came][-2:] == ["artifact_update", "status_update"]
        with pytest.raises(UnsupportedOperationError, match="over"):
            _ = [one async for one in client.subscribe(SubscribeToTaskRequest(id=task_id))]


async def test_a_goal_held_for_approval_is_already_a_task(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", approval=BY_MANAGER)
    async with (
        serve_gateway(platform, *shop(goals=[goal]), auth=KEYS) as url,
        connect_client(url, "maria", streaming=True) as client,
        connect_client(url, "boss") as boss,
    ):
        task = await send_message(client, {"order_id": "A1"})
        assert task.status.state == ASKS
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(TaskNotFoundError):
            await boss.get_task(GetTaskRequest(id=task.id))
        manager = platform.as_user(tenant_id="shop", user_id="boss", roles={"manager"})
        (wait,) = await manager.waits()
        assert await manager.answer(wait.wait_id, {"approved": True}) == "accepted"
        seen = [one async for one in client.subscribe(SubscribeToTaskRequest(id=task.id))]
        assert state_in(seen[-1]) == COMPLETED
        refused = await send_message(client, {"order_id": "A2"}, message_id="m2")
        (wait,) = await manager.waits()
        assert await manager.answer(wait.wait_id, {"approved": False}, note="too dear") == "accepted"
        ended = await client.get_task(GetTaskRequest(id=refused.id))
        assert (ended.status.state, ended.status.message.parts[0].text) == (REJECTED, "rejected by boss: too dear")
        again = await send_message(client, {"order_id": "A2"}, message_id="m2")
        assert (again.id, again.status.state) == (refused.id, REJECTED)


async def test_a_task_is_cancelled_once(platform: Platform) -> None:
    async with (
        serve_gateway(platform, *shop(approval=BY_MANAGER), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        task = await send_message(client, {"order_id": "A1"})
        ended = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert ended.status.state == CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))


async def test_a_failed_plan_is_a_failed_task(platform: Platform) -> None:
    async with serve_gateway(platform, *shop([]), auth=KEYS) as url, connect_client(url, "maria") as client:
        task = await send_message(client, {"order_id": "A1"})
        assert (task.status.state, bool(task.status.message.parts[0].text)) == (FAILED, True)


async def test_a_plan_given_up_is_a_failed_task_with_its_reason(platform: Platform) -> None:
    script = [CHARGE, give_up("No shop sells it.", "a shop")]
    async with serve_gateway(platform, *shop(*script), auth=KEYS) as url, connect_client(url, "maria") as client:
        task = await send_message(client, {})
        assert task.status.state == FAILED
        assert task.status.message.parts[0].text == "gave_up: No shop sells it.; missing: a shop"


async def test_a_message_is_the_hint_to_a_plan_about_to_give_up(platform: Platform) -> None:
    script = [give_up("No shop sells it."), DONE]
    async with (
        serve_gateway(platform, *shop(*script, on_give_up="ask"), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        asked = await send_message(client, {})
        assert asked.status.state == ASKS
        done = await send_message(client, "Ask Ink & Co.", task_id=asked.id)
        assert done.status.state == COMPLETED
    maria = platform.as_user(tenant_id="shop", user_id="maria")
    (step,) = [one for one in (await maria.plan(asked.id)).steps if one.kind == "answered"]
    assert step.data == {"hint": "Ask Ink & Co."}


async def test_the_word_reject_ends_a_plan_about_to_give_up(platform: Platform) -> None:
    script = [give_up("No shop sells it.")]
    async with (
        serve_gateway(platform, *shop(*script, on_give_up="ask"), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        asked = await send_message(client, {})
        failed = await send_message(client, "reject", task_id=asked.id)
        assert failed.status.state == FAILED
        assert failed.status.message.parts[0].text == "gave_up: No shop sells it.; maria ended the plan"


async def test_tasks_are_listed_in_pages_by_last_change(platform: Platform) -> None:
    async with (
        serve_gateway(platform, *shop(*[complete({"done": 1})] * 5), auth=KEYS) as url,
        connect_client(url, "maria") as client,
    ):
        made = [await send_message(client, {"order_id": str(number)}, context_id="talk") for number in range(5)]
        first = await client.list_tasks(ListTasksRequest(page_size=3, context_id="talk"))
        behind = await client.list_tasks(
            ListTasksRequest(page_size=3, context_id="talk", page_token=first.next_page_token)
        )
        listed = [one.id for one in (*first.tasks, *behind.tasks)]
        assert (listed, first.total_size) == ([one.id for one in reversed(made)], 5)
        assert (behind.next_page_token, first.tasks[0].artifacts) == ("", [])
        of_state = await client.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_WORKING))
        assert list(of_state.tasks) == []
        for wrong in (ListTasksRequest(page_token="made up"), ListTasksRequest(page_size=0)):
            with pytest.raises(InvalidParamsError):
                await client.list_tasks(wrong)


@pytest.mark.parametrize("who", ["boss", "eve"])
async def test_a_task_of_another_user_or_tenant_does_not_exist(platform: Platform, who: str) -> None:
    async with (
        serve_gateway(platform, *shop(approval=BY_MANAGER), auth=KEYS) as url,
        connect_client(url, "maria") as client,
        connect_client(url, who, streaming=True) as other,
    ):
        task = await send_message(client, {"order_id": "A1"})
        calls: list[Callable[[], Awaitable[Any]]] = [
            lambda: other.get_task(GetTaskRequest(id=task.id)),
            lambda: other.cancel_task(CancelTaskRequest(id=task.id)),
            lambda: send_message(other, "approve", task_id=task.id),
            lambda: _all(other.subscribe(SubscribeToTaskRequest(id=task.id))),
            lambda: other.get_task(GetTaskRequest(id="made up")),
        ]
        for call in calls:
            with pytest.raises(TaskNotFoundError) as raised:
                await call()
            assert str(raised.value) == "Task not found"
        assert list((await other.list_tasks(ListTasksRequest())).tasks) == []


async def _all(stream: Any) -> list[Any]:
    return [one async for one in stream]


async def test_every_a2a_endpoint_refuses_a_request_without_a_valid_token(platform: Platform) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS) as url, httpx.AsyncClient(base_url=url) as http:
        for path in ("/a2a", "/a2a/v1/message:send", "/tasks/send"):
            for headers in ({}, {"authorization": "Bearer made-up"}):
                refused = await http.post(path, json={}, headers=headers)
                assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([Part(raw=b"x", media_type="image/png")], ContentTypeNotSupportedError),
        ([Part(url="http://169.254.169.254/")], ContentTypeNotSupportedError),
        ([Part(text="x", media_type="text/html")], ContentTypeNotSupportedError),
        ([Part(text="{", media_type="application/json")], InvalidParamsError),
        ([Part(text="[1]", media_type="application/json")], InvalidParamsError),
        ([Part()], InvalidParamsError),
        ([[1, 2]], InvalidParamsError),
        ([], InvalidParamsError),
        ([{"order_id": 7}], InvalidParamsError),
    ],
)
async def test_a_message_unfit_as_a_goal_starts_no_plan(platform: Platform, parts: list[Any], error: type) -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    goal = EventDefinition(event_name="order.received", payload_schema=schema)
    async with serve_gateway(platform, *shop(goals=[goal]), auth=KEYS) as url, connect_client(url, "maria") as client:
        with pytest.raises(error):
            await send_message(client, *parts)
        assert await platform.as_user(tenant_id="shop", user_id="maria").plans() == []
        task = await send_message(client, "A7")
        assert (await platform.as_user(tenant_id="shop", user_id="maria").plan(task.id)).goal_data == {"order_id": "A7"}


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":' + b'{"message":' * 200 + b"1" + b"}" * 201,
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",'
        b'"parts":[{"data":NaN}]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER",'
        b'"parts":[{"text":"\\ud800"}]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"Nonsense","params":{}}',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"GetTask","params":{"id":["x"]}}',
    ],
    ids=range(8),
)
async def test_a_hostile_body_is_an_error_without_internal_details(
    platform: Platform, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS) as url:
        headers = {"authorization": "Bearer maria", "a2a-version": "1.0", "content-type": "application/json"}
        async with httpx.AsyncClient(base_url=url, headers=headers) as http:
            answer = await http.post("/a2a", content=body)
            assert (answer.status_code, answer.json()["error"]["code"] in range(-32700, -31999)) == (200, True)
            assert "soorma" not in answer.text and "Traceback" not in answer.text
            assert (await http.post("/a2a", content=b" " * 2**20 + b"{}")).status_code == 413


async def test_a_card_lists_the_goals_as_skills(platform: Platform) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS) as url, httpx.AsyncClient(base_url=url) as http:
        answer = await http.get("/.well-known/agent-card.json")
        card = answer.json()
        assert [skill["id"] for skill in card["skills"]] == ["order.received"]
        assert [one["url"] for one in card["supportedInterfaces"]] == [f"{url}/a2a", f"{url}/a2a/v1"]
        assert "bearer" in card["securitySchemes"]
        again = await http.get("/.well-known/agent-card.json", headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304
        early = (await http.get("/.well-known/agent.json")).json()
        assert (early["skills"][0]["id"], early["authentication"]) == ("order.received", {"schemes": ["apiKey"]})
        async with connect_client(url, "maria") as client:
            whole = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
            assert [skill.id for skill in whole.skills] == ["order.received"]


async def test_a_card_hides_the_goals_of_gone_agents_and_takes_them(platform: Platform) -> None:
    second = planner([complete({})], name="returns", goals=["order.returned"])
    async with serve_gateway(platform, *shop(), second, auth=KEYS) as url, httpx.AsyncClient(base_url=url) as http:
        await platform.services.store.registry.leave(["returns"])
        for card in ("agent-card.json", "agent.json"):
            found = (await http.get(f"/.well-known/{card}")).json()["skills"]
            assert [skill["id"] for skill in found] == ["order.received"]
        async with connect_client(url, "maria") as client:
            whole = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
            assert [skill.id for skill in whole.skills] == ["order.received"]
            task = await send_message(client, {"order_id": "A1"}, about={"skill": "order.returned"}, at_once=True)
            assert task.metadata["goal"] == "order.returned"


async def test_a_tenants_goals_are_on_no_card_but_its_own(platform: Platform) -> None:
    secret = planner([complete({})], name="secret", goals=["secret.goal"], tenant_id="shop")
    async with serve_gateway(platform, secret, auth=KEYS) as url, httpx.AsyncClient(base_url=url) as http:
        assert (await http.get("/.well-known/agent-card.json")).json().get("skills", []) == []
        for token, ids in (("maria", ["secret.goal"]), ("eve", [])):
            async with connect_client(url, token) as client:
                whole = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
                assert [skill.id for skill in whole.skills] == ids


async def test_a_message_names_its_skill_if_the_card_has_several(platform: Platform) -> None:
    agents = shop(*[complete({})] * 9, goals=["order.received", "order.returned"])
    async with serve_gateway(platform, *agents, auth=KEYS) as url, connect_client(url, "maria") as client:
        with pytest.raises(InvalidParamsError, match=r"order\.received, order\.returned"):
            await send_message(client, {"order_id": "A1"})
        with pytest.raises(InvalidParamsError, match=r"no skill 'order\.eaten'"):
            await send_message(client, {}, about={"skill": "order.eaten"})
        task = await send_message(client, {"order_id": "A1"}, about={"skill": "order.returned"})
        assert task.metadata["goal"] == "order.returned"


async def test_push_is_refused_in_the_protocols_words(platform: Platform) -> None:
    async with serve_gateway(platform, *shop(), auth=KEYS) as url, connect_client(url, "maria") as client:
        with pytest.raises(PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id="x", url="http://127.0.0.1:1/")
            )


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_message_with_push_is_refused_before_it_starts_a_plan(platform: Platform, *, streaming: bool) -> None:
    push = TaskPushNotificationConfig(url="http://127.0.0.1:1/")
    asked = request_of({"order_id": "A1"})
    asked.configuration.task_push_notification_config.CopyFrom(push)
    async with (
        serve_gateway(platform, *shop(), auth=KEYS) as url,
        connect_client(url, "maria", streaming=streaming) as client,
    ):
        with pytest.raises(PushNotificationNotSupportedError):
            [one async for one in client.send_message(asked)]
    assert await platform.as_user(tenant_id="shop", user_id="maria").plans() == []


async def test_a_task_outlives_an_abandoned_stream(platform: Platform) -> None:
    async with serve_gateway(platform, *shop(approval=BY_MANAGER), auth=KEYS) as url:
        async with connect_client(url, "maria", streaming=True) as client:
            turn = [one async for one in client.send_message(request_of({"order_id": "A1"}))]
            task_id = turn[0].task.id
            stream = client.subscribe(SubscribeToTaskRequest(id=task_id))
            assert state_in(await anext(stream)) == ASKS
        async with connect_client(url, "maria") as client:
            task = await client.get_task(GetTaskRequest(id=task_id))
            assert task.status.state == ASKS
