"""`soorma inbox`: claims, assignments, absences and links at the shell."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from cli_kit import Shop
from kit import until

from soorma_ai import Approval, ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.tokens import new_key
from soorma_ai.errors import Held, RateLimited
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.records import Notice, NoticeState
from soorma_ai.testing.scripted import ScriptedReasoner

DONE, ERROR, USAGE = 0, 1, 2
MANAGER = ("--role", "manager")
ANN, BOB = ("--as", "ann", *MANAGER), ("--as", "bob", *MANAGER)


def till() -> Tool:
    made = Tool("till")

    @made.on_invoke("cash.handed", approval=Approval(approvers=("manager",)))
    async def hand(request: InvocationContext, context: PlatformContext) -> None: ...

    return made


async def ask(store: Path) -> str:
    """Hold a payment with a manager's approval, with a notice to ann; bob is a manager too."""
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(till())
        now = platform.services.clock.now()
        await platform.keys.add(new_key("default", "bob", now, roles=["manager"])[0])
        eve = platform.as_user(tenant_id="default", user_id="eve")
        with pytest.raises(Held) as held:
            await eve.request("cash.handed", {"amount": 5}, timeout=1)
        told = Notice(held.value.wait_id, "default", "ann", NoticeState.DELIVERED, now, "mail")
        await platform.services.store.part(PEOPLE).tell(told)
        return held.value.wait_id


@pytest.fixture
def held_question(tmp_path: Path) -> tuple[Shop, str]:
    store = tmp_path / "shop.db"
    return Shop(store), asyncio.run(ask(store))


def test_a_question_is_claimed_assigned_and_released_at_the_shell(held_question: tuple[Shop, str]) -> None:
    shop, wait = held_question
    short = wait[:8]
    claimed = shop("inbox", "claim", short, *ANN)
    assert claimed.exit_code == DONE and claimed.stdout.startswith(f"{short} is assigned to ann until ")
    refused = shop("inbox", "claim", short, *BOB)
    assert (refused.exit_code, "ann is the assignee until" in refused.stderr) == (ERROR, True)
    assert shop.json("inbox", "claim", short, "--insist", *BOB)["user_id"] == "bob"
    assert (shop("inbox", "release", short, *ANN).exit_code, shop("inbox", "release", short, *BOB).stdout) == (
        ERROR,
        "released\n",
    )
    snoozed = shop("inbox", "snooze", short, "--for", "2h", *ANN)
    assert snoozed.exit_code == DONE and snoozed.stdout.startswith(f"question {short}: no reminder before ")
    too_long = shop("inbox", "snooze", short, "--for", "31d", *ANN)
    assert too_long.exit_code == ERROR and "is not before the question's deadline" in too_long.stderr
    given = shop.json("inbox", "handover", short, "--to", "bob", *ANN)
    assert (given["user_id"], given["given_by"], given["wait_id"]) == ("bob", "ann", wait)
    unknown = shop("inbox", "handover", short, "--to", "eve", *ANN)
    assert (unknown.exit_code, "the roles of eve are not known here" in unknown.stderr) == (ERROR, True)
    assert shop("inbox", "claim", short, "--as", "eve").exit_code == ERROR


def test_notices_of_a_question_are_listed_as_lines_and_as_json(held_question: tuple[Shop, str]) -> None:
    shop, wait = held_question
    assert [line.split("\t")[1:4] for line in shop("inbox", "told", wait[:8]).stdout.splitlines()] == [
        ["ann", "delivered", "mail"]
    ]
    assert [one["user_id"] for one in shop.json("inbox", "told", wait)] == ["ann"]


def test_an_absence_names_a_substitute_until_a_day_and_can_be_ended(held_question: tuple[Shop, str]) -> None:
    shop, _ = held_question
    assert shop("inbox", "away", "--until", "2030-01-01", *ANN).exit_code == USAGE
    far = shop("inbox", "away", "--until", "2999-01-01", "--deputy", "bob", *ANN)
    assert (far.exit_code, "is too far away" in far.stderr) == (ERROR, True)
    day = f"{SystemClock().now() + timedelta(days=1):%Y-%m-%d}"
    away = shop("inbox", "away", "--until", day, "--deputy", "bob", *ANN)
    assert away.exit_code == DONE and away.stdout.startswith("bob is the substitute of ann until ")
    assert [line.split("\t")[:2] for line in shop("inbox", "away").stdout.splitlines()] == [["ann", "bob"]]
    assert shop("inbox", "away", "--back", *ANN).stdout == "back\n"
    assert shop("inbox", "away", "--back", *ANN).exit_code == ERROR
    assert shop.json("inbox", "away") == []


def test_a_link_is_printed_once_and_ended(held_question: tuple[Shop, str]) -> None:
    shop, wait = held_question
    assert shop("inbox", "link", wait).exit_code == USAGE, "a link made at a store needs its addressee"
    for_ann = ("--for", "ann", *MANAGER)
    url = shop("inbox", "link", wait[:8], "--base", "https://shop.example/", *for_ann).stdout.strip()
    assert url.startswith("https://shop.example/v1/answers/")
    assert shop.json("inbox", "link", *for_ann)["link"]["kind"] == "inbox"
    assert shop("inbox", "link", wait, "--plan", "abcd", *for_ann).exit_code == USAGE
    for _ in "twice":
        assert shop("inbox", "link", wait, "--revoke", "--for", "ann").stdout == "revoked\n"


def test_a_truncated_list_says_so(held_question: tuple[Shop, str]) -> None:
    shop, _ = held_question
    asyncio.run(ask(shop.store))
    assert shop("inbox").stderr == ""
    cut = shop("inbox", "--limit", "1")
    assert (len(cut.stdout.splitlines()), "there are more" in cut.stderr) == (1, True)
    assert len(shop.json("inbox", "--limit", "1")) == 1


async def leave_resting_plan(store: Path) -> str:
    """Leave a plan with its model unavailable for an hour."""
    mind = ScriptedReasoner([RateLimited("slow down", retry_after=timedelta(hours=1))])
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(ChoreographyPlanner("buyer", goals=["buy.wanted"], reasoner=mind), till())
        plan = await platform.submit("buy.wanted", {})
        now, queue = platform.services.clock.now(), platform.services.store.queue
        await until(platform, lambda: queue.find_rest("buyer", plan.plan_id, now))
        return plan.plan_id


def test_why_shows_the_reason_and_end_of_a_plans_rest(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    plan_id = asyncio.run(leave_resting_plan(shop.store))
    told = shop("why", plan_id[:8])
    assert (told.exit_code, told.stderr) == (DONE, "this plan made no model call\n")
    assert "it is paused; it sleeps until 20" in told.stdout and told.stdout.endswith("UTC: slow down\n")
    assert shop.json("why", plan_id) == []


def test_console_sessions_are_ended_for_one_user_or_for_all(tmp_path: Path) -> None:
    asyncio.run(ask(tmp_path / "shop.db"))
    shop = Shop(tmp_path / "shop.db")
    assert "give the person" in shop("inbox", "sign-out").output
    assert shop("inbox", "sign-out", "--for", "maria", "--all").exit_code == 2
    assert shop.json("inbox", "sign-out", "--for", "maria") == {"ended": True}
    assert "sessions ended" in shop("inbox", "sign-out", "--all").output
