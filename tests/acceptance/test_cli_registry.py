"""`soorma registry check` for people and scripts."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from cli_kit import Shop

from soorma_ai import (
    AgentCapability,
    ChoreographyPlanner,
    EventDefinition,
    InvocationContext,
    Limits,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

DONE, ERROR = 0, 1
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
PAY = "Pay an invoice of a supplier."


def tool(name: str, *described: tuple[str, str], hint: str = "") -> Tool:
    capabilities = [
        AgentCapability(task_name=event, consumed_event=EventDefinition(event_name=event), when_to_use=hint)
        for event, _ in described
    ]
    made = Tool(name, capabilities=capabilities)
    for event, description in described:

        @made.on_invoke(event, description=description)
        async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
            return {}

    return made


def unstyled(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def register(store: Path, *tools: Tool) -> Shop:
    async def start() -> None:
        async with Platform(f"sqlite:///{store}") as platform:
            await platform.start(*tools)

    asyncio.run(start())
    return Shop(store)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    till = tool("till", ("invoice.pay", PAY), ("drawer.open", ""))
    return register(
        tmp_path / "shop.db", till, tool("bank", ("supplier.pay", PAY)), tool("stock", ("stock.count", "Count."))
    )


def test_the_check_names_undiscoverable_events_with_their_agents_and_exits_with_1(shop: Shop) -> None:
    result = shop("registry", "check")
    assert result.exit_code == ERROR
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["no_description", "drawer.open", "till"],
        ["same_words", "invoice.pay", "till", "supplier.pay", "bank"],
    ]


def test_the_check_as_json_is_complete(shop: Shop) -> None:
    result = shop("registry", "check", "--json")
    assert result.exit_code == ERROR
    silent, alike = json.loads(result.stdout)
    assert silent["problem"] == "no_description" and "when_to_use" in silent["advice"]
    assert silent["events"] == [{"event_name": "drawer.open", "agents": ["till"]}]
    assert alike["events"][1] == {"event_name": "supplier.pay", "agents": ["bank"]}


@pytest.mark.parametrize("columns", [80, 140])
def test_on_a_terminal_the_check_shows_cures(shop: Shop, columns: int) -> None:
    result = shop("registry", "check", env={**TERMINAL, "COLUMNS": str(columns)})
    lines = unstyled(result.stdout).splitlines()
    assert lines[0] == "1 without a description"
    assert "  drawer.open (till)" in lines
    assert "  invoice.pay (till), supplier.pay (bank)" in lines
    assert "when_to_use" in result.stdout
    assert max(map(len, lines)) <= columns


def test_a_check_without_findings_exits_with_0(tmp_path: Path) -> None:
    shop = register(tmp_path / "shop.db", tool("till", ("invoice.pay", PAY)))
    result = shop("registry", "check")
    assert (result.exit_code, result.stdout) == (DONE, "")
    assert result.stderr == "Registry check passed.\n"
    assert shop.json("registry", "check") == []


def test_similar_events_with_when_to_use_texts_pass_the_check(tmp_path: Path) -> None:
    till = tool("till", ("invoice.pay", PAY), hint="At the counter, in cash.")
    bank = tool("bank", ("supplier.pay", PAY), hint="Abroad, by transfer.")
    assert register(tmp_path / "shop.db", till, bank).json("registry", "check") == []


def test_control_characters_in_a_name_are_escaped_on_the_terminal(tmp_path: Path) -> None:
    """Registration refuses such a name; the command distrusts names stored by others."""
    till = tool("till", ("drawer.open", ""))
    till.name = "red\x1b[2J\x07\u202e\nevil\t!"
    shop = register(tmp_path / "shop.db", till)
    for env in ({}, TERMINAL):
        told = unstyled(shop("registry", "check", env=env).stdout)
        assert not {"\x1b", "\x07", "\u202e"} & set(told)
        assert "evil !" in told


def test_agents_are_listed_and_shown_with_their_events_by_either_name(shop: Shop) -> None:
    assert "No agents running" in shop("registry", "ls").stderr
    listed = [line.split("\t") for line in shop("registry", "ls", "--all").stdout.splitlines()]
    assert [(row[0], row[3], row[4]) for row in listed] == [
        ("bank", "gone", "supplier.pay"),
        ("stock", "gone", "stock.count"),
        ("till", "gone", "invoice.pay, drawer.open"),
    ]
    assert "invoice.pay" in shop("registry", "show", "till").stdout
    told = shop.json("registry", "show", "invoice.pay")
    assert (told["agents"], [one["agent"] for one in told["events"]]) == ([], ["till"])
    assert "no agent or event is named 'lost'" in shop("registry", "show", "lost").stderr


def relay_worker(name: str, takes: str, asks: str) -> Worker:
    worker = Worker(name)

    @worker.on_task(takes, description=f"Has {asks} done.")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(asks, {}, "passed")

    @worker.on_result("passed")
    async def done(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).fail(result.error or "")

    return worker


async def go_in_a_circle(store: Path) -> str:
    """Return the id of a plan with a request to two workers in a circle."""
    minds = ScriptedReasoner([publish("ping"), complete({})])
    asks = ChoreographyPlanner("asks", goals=["round.wanted"], reasoner=minds, limits=Limits(max_nesting=4))
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(asks, relay_worker("one", "ping", "pong"), relay_worker("two", "pong", "ping"))
        plan = await platform.submit("round.wanted", {})
        await plan.result(timeout=60)
        return plan.plan_id


def test_a_circle_of_delegations_is_found_in_the_log_and_why_names_its_limit(tmp_path: Path) -> None:
    """The circle is undeclared: only the log shows a worker's requests."""
    shop = Shop(tmp_path / "shop.db")
    plan_id = asyncio.run(go_in_a_circle(shop.store))
    lines = [line.split("\t") for line in shop("registry", "check").stdout.splitlines()]
    assert ["circle", "ping", "asks,two", "pong", "one"] in lines
    told = shop("why", plan_id)
    assert "ping: limit_exceeded: max_nesting" in told.stdout.splitlines()[-1]


def test_changes_of_events_are_listed_for_people_and_scripts(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    register(store, tool("payments", ("payment.charge", "Pay.")))
    shop = register(store, tool("payments", ("payment.charge", PAY)))
    (found,) = shop.json("registry", "changes")
    assert (found["user_id"], found["outcome"]) == ("agent payments", "reworded")
    (row,) = shop("registry", "changes").stdout.splitlines()
    assert row.split("\t")[1:3] == ["payments", "payment.charge"]
    table = unstyled(shop("registry", "changes", env=TERMINAL).stdout)
    assert "payment.charge" in table
    assert "reworded" in table
    assert "payment.charge (reworded)" in shop("doctor").stdout


def test_without_a_change_none_is_listed(shop: Shop) -> None:
    result = shop("registry", "changes")
    assert (result.exit_code, result.stdout) == (DONE, "")
    assert "No event has changed" in result.stderr
