"""`soorma` for people and scripts: its output on each stream, and its exit codes."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import places
import pytest
from cli_kit import APPS, SOORMA, Shop, run_to_the_end, seed
from kit import until

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.apps.cli.failures import UserCodeError
from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.surfaces.ids import only_one
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

DONE, ERROR, USAGE, FAILED, WAITS = 0, 1, 2, 3, 4

Busy = tuple[Shop, subprocess.Popen[str]]


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One plan completed, one held for approval, one failed, one waiting for an answer."""
    store = tmp_path_factory.mktemp("seeded") / "shop.db"
    sys.path.insert(0, str(APPS))
    try:
        asyncio.run(seed(store))
    finally:
        sys.path.remove(str(APPS))
    return store


@pytest.fixture
def shop(seeded: Path, tmp_path: Path) -> Shop:
    places.copy(seeded, tmp_path / "shop.db")
    return Shop(tmp_path / "shop.db")


@pytest.fixture
def empty(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "new.db")


def test_the_help_lists_every_command_and_loads_neither_the_framework_nor_rich() -> None:
    look = "import sys; from soorma_ai.apps.cli.main import main\ntry: main()\nfinally: print(*sys.modules)"
    command = [sys.executable, "-c", look, "--help"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    for name in ("run", "plans", "why", "inbox", "approve", "reject", "answer", "dead-letters", "events"):
        assert f"\n  {name} " in run.stdout
    loaded = run.stdout.splitlines()[-1].split()
    assert "click" in loaded
    assert {"pydantic", "rich", "soorma_ai.platform"} & set(loaded) == set()


def test_every_command_has_a_help_text(empty: Shop) -> None:
    groups = {
        "": "run why inbox approve reject answer prune backup plans events dead-letters",
        "events": "tail untaken",
    }
    groups |= {"plans": "ls show cancel", "dead-letters": "ls show redrive discard"}
    for words in (f"{group} {name}".split() for group, names in groups.items() for name in ["", *names.split()]):
        result = empty(*words, "--help")
        assert (result.exit_code, "Usage:" in result.stdout) == (DONE, True), words
    assert empty("--version").stdout.startswith("soorma, version 0.")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("plan ls", USAGE, "plans"),
        ("plans ls --status asleep", USAGE, ""),
        ("plans show abc", USAGE, ""),
        ("plans show zzzz", ERROR, "Error: no plan of tenant 'default' begins with 'zzzz'\n"),
        ("approve zzzz", ERROR, "Error: no question of tenant 'default' begins with 'zzzz'\n"),
        ("plans ls --store mysql://somewhere/else", ERROR, "sqlite:///FILE"),
        ("run orders:agents --key k", USAGE, ""),
        *((f"answer abcd --data {data}", USAGE, "") for data in ("{", "[1]", '"text"', "@nowhere.json")),
    ],
)
def test_a_wrong_command_exits_with_usage_or_an_error_naming_the_possible_values(
    shop: Shop, command: str, code: int, said: str
) -> None:
    with chdir(APPS):
        result = shop(*command.split())
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr
    assert not said.endswith("\n") or result.stderr == said, "the whole message is one line"


# Plans


def test_plans_are_listed_newest_first_as_tabbed_lines_and_filtered_by_status(shop: Shop) -> None:
    rows = [line.split("\t") for line in shop("plans", "ls").stdout.splitlines()]
    assert [row[1] for row in rows] == ["paused", "failed", "paused", "completed"]
    assert [row[2] for row in rows] == ["order.deliver", "order.break", "order.place", "order.check"]
    assert all(len(row[0]) == 36 for row in rows)
    assert "not offered" in rows[1][5]
    assert rows[2][5].startswith("people have to approve 'payment.charge' (soorma approve "), "the reason of the pause"
    assert rows[0][5].startswith("it waits for 'slot.chosen', for which people are asked (soorma answer ")
    paused = shop("plans", "ls", "--status", "paused").stdout.splitlines()
    assert len(paused) == 2
    assert shop("plans", "ls", "--status", "paused", "--limit", "1").stdout.splitlines() == paused[:1]


def test_another_tenant_sees_no_plans_and_the_notice_goes_to_stderr(shop: Shop) -> None:
    result = shop("plans", "ls", "--tenant", "other")
    assert (result.exit_code, result.stdout, result.stderr) == (DONE, "", "no plans\n")
    plan_id = shop.plan("order.check")["plan_id"]
    assert shop("plans", "show", plan_id, "--tenant", "other").exit_code == ERROR


def test_a_plan_is_shown_as_a_causal_tree_of_events_and_decisions(shop: Shop) -> None:
    shown = shop("plans", "show", shop.plan("order.place")["plan_id"][:8]).stdout
    for told in (
        "order.place paused",
        "people have to approve 'payment.charge' (soorma approve ",
        'order.place requested by local  {"order_id": "o-order.place"}\n  decided publish:stock.reserve',
        "Nothing can be sold before it is reserved.",
        '  published stock.reserve  {"sku": "A-1"}\n    stock published stock.low',
        "    stock answered after ",
        "  refused publish:payment.chrage",
        "did you mean 'payment.charge'",
        '  held payment.charge  {"amount": 120.5}  May payment.charge be published?',
        "    no answer yet after ",
        "people ",
    ):
        assert told in shown


def test_a_failed_plan_is_shown_with_every_refusal_and_exit_code_0(shop: Shop) -> None:
    result = shop("plans", "show", shop.plan("order.break")["plan_id"])
    assert result.exit_code == DONE
    assert result.stdout.count("refused publish:payment.chrage") == 3
    assert "  failed: event 'payment.chrage' is not offered" in result.stdout


def test_a_plan_as_json_has_its_causal_tree_with_seconds_from_its_start(shop: Shop) -> None:
    told = shop.json("plans", "show", shop.plan("order.check")["plan_id"])
    assert (told["status"], told["result"]) == ("completed", {"in_stock": True})
    request = told["lines"][0]["lines"][1]
    assert (request["kind"], request["because"]) == ("request", told["lines"][0]["event_id"])
    assert [line["kind"] for line in request["lines"]] == ["event", "reply"]
    assert 0 <= request["time"] <= request["lines"][1]["time"] <= told["shares"]["total"]


def test_a_plan_is_written_as_one_self_contained_page(shop: Shop, tmp_path: Path) -> None:
    plan_id, page = shop.plan("order.place")["plan_id"], tmp_path / "plan.html"
    result = shop("plans", "show", plan_id, "--html", str(page))
    assert (result.exit_code, result.stdout) == (DONE, "")
    told = page.read_text(encoding="utf-8")
    assert plan_id in told and "<svg" in told and 'id="decisions"' in told and "default-src 'none'" in told
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", told) and "<script" not in told
    assert "give one of them" in shop("plans", "show", plan_id, "--html", str(page), "--json").stderr
    assert "cannot be written" in shop("plans", "show", plan_id, "--html", str(tmp_path / "no" / "x")).stderr


def test_a_plan_and_the_choreography_are_drawn_as_flowcharts_and_as_svg(shop: Shop) -> None:
    plan_id = shop.plan("order.place")["plan_id"]
    assert shop("graph", plan_id).stdout.startswith("flowchart TD")
    assert shop("graph", "--registry").stdout.startswith("flowchart LR")
    drawn = shop("graph", plan_id, "--format", "svg").stdout
    assert drawn.startswith("<svg") and "<style>" in drawn and drawn.endswith("</svg>")
    assert "has no states" in shop("graph", plan_id, "--states").stderr
    for arguments in ([], [plan_id, "--registry"], ["--registry", "--states"]):
        assert shop("graph", *arguments).exit_code == USAGE


def test_why_shows_prompt_offer_model_and_answer_of_each_decision(shop: Shop) -> None:
    plan_id = shop.plan("order.place")["plan_id"]
    told = shop("why", plan_id).stdout
    entries = shop.json("why", plan_id)
    assert [entry["verdict"] for entry in entries] == ["accepted", "refused", "accepted"]
    for entry in entries:
        for part in (entry["raw"], entry["prompt_hash"][:12], entry["offer_digest"][:8], entry["model"]):
            assert part in told
    assert "refusal   event 'payment.chrage' is not offered" in told
    assert f"{entries[0]['prompt_tokens']:,}+{entries[0]['completion_tokens']:,} tokens, $0.00" in told


def test_why_shows_the_sent_prompt_of_a_decision_and_names_a_missing_part(shop: Shop) -> None:
    plan_id = shop.plan("order.place")["plan_id"]
    shown = shop("why", plan_id, "--prompt")
    assert (shown.exit_code, "decision 3 of 3, planner/decide version" in shown.stderr) == (DONE, True)
    assert shown.stdout.startswith("--- system ---\nYou are ") and "--- assistant ---" in shown.stdout
    assert "event 'payment.chrage' is not offered" in shown.stdout
    first = shop.json("why", plan_id, "--prompt", "--decision", "1")
    assert [one["role"] for one in first["messages"]] == ["system", "user"] and first["faults"] == []
    assert shop("why", plan_id, "--decision", "1").exit_code == USAGE
    assert "has no decision 4; it has 1 to 3" in shop("why", plan_id, "--prompt", "--decision", "4").stderr
    with places.raw(shop.store) as owner:
        owner.execute("DELETE FROM prompt_part WHERE body LIKE '%Give the corrected step%'")
    partly = shop("why", plan_id, "--prompt")
    assert (partly.exit_code, partly.stdout) == (ERROR, "")
    assert "not as it was sent: the template by which a refusal is told is not kept any more" in partly.stderr


# Ids


def test_four_characters_are_enough_for_an_unambiguous_id(empty: Shop) -> None:
    plan_id = json.loads(empty.run("order.check", "--json").stdout)["plan_id"]
    assert empty.json("plans", "show", plan_id[:4])["plan_id"] == plan_id
    ids = ["abcd-1", "abcd-2", "abce-1"]
    assert only_one("plan", "", "abcd-2", ids) == "abcd-2"
    with pytest.raises(NotFound, match=r"2 plans begin with 'abcd' \(abcd-1, abcd-2\); give more of the id"):
        only_one("plan", "", "abcd", ids)


def test_a_missing_store_is_an_error_and_is_not_created(empty: Shop) -> None:
    reading = "plans ls, plans show abcd, why abcd, inbox, events tail, dead-letters ls, dead-letters show 1"
    reading += ", trial abcd, trial"
    writing = "approve abcd, plans cancel abcd, dead-letters redrive 1, dead-letters discard 1, prune --yes"
    error = f"Error: there is no store at {empty.store}: give --store URL, or run agents here once\n"
    for command in f"{reading}, {writing}".split(", "):
        result = empty(*command.split())
        assert (result.exit_code, result.stdout, result.stderr) == (ERROR, "", error), command
    assert not empty.store.exists()


async def _request_an_untaken_event(store: Path) -> str:
    tool = Tool("hands")

    @tool.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, str]:
        await context.bus.publish("action-requests", "till.requested", {"amount": 9})
        return {}

    reasoner = ScriptedReasoner([publish("work.requested"), complete({})])
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(ChoreographyPlanner("orders", reasoner=reasoner, goals=["order.received"]), tool)
        plan = await platform.submit("order.received", {})
        await plan.result(timeout=20)
        await until(platform, plan.untaken)
        return plan.plan_id


def test_an_untaken_request_is_shown_in_its_plan_and_listed(empty: Shop) -> None:
    plan_id = asyncio.run(_request_an_untaken_event(empty.store))
    shown = empty("plans", "show", plan_id).stdout
    assert "nobody takes till.requested yet; waits since 2" in shown
    assert "nobody takes it yet after" in shown
    (row,) = [line.split("\t") for line in empty("events", "untaken").stdout.splitlines()]
    assert row[1:6] == ["till.requested", "hands", "", plan_id, ""]
    assert empty("events", "untaken", "--tenant", "other").stdout == ""


# Questions


def test_the_inbox_lists_the_most_urgent_question_first_with_its_payload(shop: Shop) -> None:
    rows = [line.split("\t") for line in shop("inbox").stdout.splitlines()]
    assert [row[2] for row in rows] == ["slot.chosen", "payment.charge"]
    assert rows[1][6] == '{"amount": 120.5}'
    assert [wait["deadline"] for wait in shop.json("inbox")] == sorted(w["deadline"] for w in shop.json("inbox"))


def test_on_a_terminal_the_inbox_prints_the_commands_to_type_with_the_given_store(shop: Shop) -> None:
    told = shop("inbox", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    typed = f"soorma approve {shop.wait('payment.charge')[:8]}"
    for part in (typed, "needs approval", "day: monday | tuesday, floor: integer, is_gift: boolean (optional)"):
        assert part in told
    other = f"sqlite:///{shop.store.parent}/my shop.db"
    shop.store.rename(shop.store.parent / "my shop.db")
    told = shop("inbox", "--store", other, env={"FORCE_COLOR": "1", "COLUMNS": "300"}).stdout
    assert f"--store {shlex.quote(other)}" in told


def test_an_answer_has_the_roles_of_its_options_and_root_needs_none(empty: Shop) -> None:
    with chdir(APPS):
        held = empty("run", "guarded:agents", "cash.wanted", "--answer", "approve")
        assert held.exit_code == WAITS
        assert "invalid" in held.stderr and "local has no role; one of cashier must answer" in held.stderr
        assert " --role cashier" in held.stderr, "the command to copy names the role"
        assert (
            empty("run", "guarded:agents", "cash.wanted", "--answer", "approve", "--role", "cashier").exit_code == DONE
        )
    wait = empty.wait("cash.handed")
    unseen = empty("approve", wait, "--as", "ada", "--role", "clerk")
    assert (unseen.exit_code, f"no question {wait}" in unseen.stderr) == (ERROR, True)
    refused = empty("approve", wait, "--as", "ada", "--role", "operator")
    assert refused.stdout == f"invalid {wait[:8]}: ada has operator; one of cashier must answer\n"
    assert empty("approve", wait, "--root", "--role", "cashier").exit_code == USAGE
    assert empty("approve", wait, "--root").stdout == f"accepted {wait[:8]}\n"


def test_an_approval_counts_once_and_a_second_gets_the_first_persons_name(shop: Shop) -> None:
    wait = shop.wait("payment.charge")
    first = shop("approve", wait[:6], "--as", "ada", "--note", "fine by me")
    assert (first.exit_code, first.stdout) == (DONE, f"accepted {wait[:8]}\n")
    assert "the plan continues when they start" in first.stderr
    second = shop("approve", wait[:6], "--as", "bob")
    assert second.exit_code == ERROR
    assert second.stdout.startswith(f"duplicate {wait[:8]}: ada was first: approve")
    assert wait not in [open_now["wait_id"] for open_now in shop.json("inbox")]


def test_an_answer_without_running_agents_moves_the_plan_at_their_next_start(shop: Shop) -> None:
    plan_id = shop.plan("order.place")["plan_id"]
    shop("approve", shop.wait("payment.charge"), "--as", "ada", "--note", "fine by me")
    asyncio.run(run_to_the_end(shop.store, plan_id))
    assert shop.plan("order.place")["status"] == "completed"
    shown = shop("plans", "show", plan_id).stdout
    assert "    ada approved after " in shown
    assert ": fine by me" in shown


def test_a_rejected_payment_is_not_made(shop: Shop) -> None:
    assert shop("reject", shop.wait("payment.charge")).exit_code == DONE
    asyncio.run(run_to_the_end(shop.store, shop.plan("order.place")["plan_id"]))
    assert shop.plan("order.place")["result"] == {"paid": False}


def test_an_answer_or_edit_off_its_schema_is_refused_and_leaves_the_question_open(shop: Shop) -> None:
    edit = (shop.wait("payment.charge"), "--decision", "edit", "--data")
    off = shop("answer", *edit, '{"data": {"amount": -1}}')
    assert (off.exit_code, off.stdout[:7], "$.amount" in off.stdout) == (ERROR, "invalid", True)
    assert shop("answer", *edit, '{"data": {"amount": 7}}').exit_code == DONE
    wait = shop.wait("slot.chosen")
    invalid = shop("answer", wait, "--data", '{"day": "friday", "floor": 1}')
    assert (invalid.exit_code, "$.day" in invalid.stdout) == (ERROR, True)
    (shop.store.parent / "answer.json").write_text('{"day": "monday", "floor": 1}')
    taken = shop("answer", wait, "--data", f"@{shop.store.parent}/answer.json", "--json")
    assert json.loads(taken.stdout) == {"wait_id": wait, "outcome": "accepted", "detail": ""}


# Writes through the owner of the file


@pytest.fixture(scope="module")
def running_shop(seeded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """Start an application on a store."""
    shop = Shop(tmp_path_factory.mktemp("busy") / "shop.db")
    places.copy(seeded, shop.store)
    with shop.background(*SOORMA, "run", "orders:agents", ready="Ctrl-C to stop") as process:
        yield shop, process


def test_an_answer_goes_to_the_running_application_which_acts_on_it_at_once(running_shop: Busy) -> None:
    shop, _ = running_shop
    result = shop("approve", shop.wait("payment.charge"), "--as", "ada")
    assert (result.exit_code, result.stderr) == (DONE, "")
    tail = shop("events", "tail", "--follow", "--plan", shop.plan("order.place")["plan_id"])
    assert tail.stdout.splitlines()[-1].split()[2:4] == ["orders", "order.place.completed"]
    assert shop.plan("order.place")["result"] == {"paid": True}


def test_a_plan_is_cancelled_through_its_owner(running_shop: Busy) -> None:
    shop, _ = running_shop
    plan_id = shop.plan("order.deliver")["plan_id"]
    result = shop("plans", "cancel", plan_id[:8], "--reason", "changed my mind")
    assert (result.exit_code, result.stdout) == (DONE, f"cancelling plan {plan_id}\n")
    shop("events", "tail", "--follow", "--plan", plan_id)
    plan = shop.plan("order.deliver")
    assert (plan["status"], plan["reason"].split(";")[0]) == ("cancelled", "changed my mind")


def test_a_second_application_gets_the_owner_of_the_store(running_shop: Busy) -> None:
    shop, process = running_shop
    run = shop.run("order.check")
    assert run.exit_code == ERROR
    assert f"owned by process {process.pid}" in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux locks a database itself")
def test_an_owner_is_reached_without_the_file_with_its_name(running_shop: Busy) -> None:
    shop, process = running_shop
    shop.store.with_name(f"{shop.store.name}.owner").unlink()
    result = shop("plans", "cancel", shop.plan("order.check")["plan_id"])
    assert (result.exit_code, result.stdout[:20]) == (ERROR, "it has already ended")
    assert process.poll() is None


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_owner_killed_during_an_answer_neither_loses_nor_doubles_it(shop: Shop, moment: str) -> None:
    wait = shop.wait("payment.charge")
    with shop.background(sys.executable, "dying_owner.py", moment, ready="ready") as owner:
        result = shop("approve", wait, "--as", "ada")
        assert owner.wait() == -signal.SIGKILL
    assert (result.exit_code, result.stdout.split(":")[0].split()) == (DONE, ["accepted", wait[:8]])
    assert ("recorded before" in result.stdout) == (moment == "after")
    again = shop("approve", wait, "--as", "bob")
    assert again.stdout.startswith(f"duplicate {wait[:8]}: ada was first")


def test_an_ended_plan_cannot_be_cancelled(shop: Shop) -> None:
    result = shop("plans", "cancel", shop.plan("order.check")["plan_id"])
    assert result.exit_code == ERROR
    assert result.stdout.startswith("it has already ended")


# Events


def test_the_newest_events_are_printed_in_their_order_and_as_json_are_cloudevents(shop: Shop) -> None:
    everything = shop("events", "tail", "--limit", "100").stdout.splitlines()
    assert everything[-3:] == shop("events", "tail", "--limit", "3").stdout.splitlines()
    assert " client order.check  " in everything[0]
    plan_id = shop.plan("order.check")["plan_id"]
    lines = shop("events", "tail", "--plan", plan_id, "--json").stdout.splitlines()
    events = [EventEnvelope.from_json(line) for line in lines]
    assert [event.type for event in events][:2] == ["order.check", "stock.reserve"]
    assert {event.plan_id for event in events[1:]} == {plan_id}


def test_ctrl_c_ends_the_following_of_events_with_exit_code_0(shop: Shop) -> None:
    with shop.background(*SOORMA, "events", "tail", "--follow", ready="notification.human_input") as tail:
        tail.send_signal(signal.SIGINT)
        assert tail.wait() == DONE


# Running agents


def test_a_goal_is_pursued_to_its_end_with_the_result_alone_on_stdout(empty: Shop) -> None:
    run = empty.run("order.check", "--data", '{"order_id": "o-1"}')
    assert (run.exit_code, json.loads(run.stdout)) == (DONE, {"in_stock": True})
    assert "decided publish:stock.reserve" in run.stderr
    assert "stock answered after" in run.stderr


def test_a_failed_plan_exits_with_3_and_its_reason_on_stderr(empty: Shop) -> None:
    run = empty.process(*SOORMA, "run", "orders:agents", "order.break")
    assert (run.returncode, run.stdout) == (FAILED, "")
    assert "failed: event 'payment.chrage' is not offered" in run.stderr
    assert "Traceback" not in run.stderr


def test_off_a_terminal_a_question_is_not_asked_and_without_waiting_exits_with_4(empty: Shop) -> None:
    run = empty.run("order.place", "--no-wait", "--json")
    told = json.loads(run.stdout)
    assert (run.exit_code, told["status"], told["result"]) == (WAITS, "paused", None)
    assert [wait["proposed_data"] for wait in told["waits"]] == [{"amount": 120.5}]
    assert f"soorma approve {told['waits'][0]['wait_id'][:8]}" in run.stderr


def test_the_same_key_continues_the_same_plan(empty: Shop) -> None:
    first = empty.run("order.place", "--key", "k-1", "--no-wait", "--json")
    empty("approve", empty.wait("payment.charge"))
    second = empty.run("order.place", "--key", "k-1", "--json")
    assert json.loads(first.stdout)["plan_id"] == json.loads(second.stdout)["plan_id"]
    assert (second.exit_code, json.loads(second.stdout)["result"]) == (DONE, {"paid": True})
    assert len(empty.json("plans", "ls")) == 1


@pytest.mark.parametrize(("way", "paid"), [("approve", True), ("reject", False)])
def test_a_standing_answer_answers_every_gate(empty: Shop, way: str, paid: bool) -> None:
    run = empty.run("order.place", "--answer", way)
    assert (run.exit_code, json.loads(run.stdout)) == (DONE, {"paid": paid})


def test_a_standing_yes_does_not_answer_a_question_for_data(empty: Shop) -> None:
    run = empty.run("order.deliver", "--answer", "approve")
    assert run.exit_code == WAITS
    assert "'day' is a required property" in run.stderr or "$" in run.stderr


def test_a_person_sees_the_held_payload_and_is_asked_until_the_answer_is_valid(empty: Shop) -> None:
    run = empty.ask("order.place", 'maybe\ne\n{"amount": -1}\ne\n{"amount": 9}\n')
    assert (run.exit_code, json.loads(run.stdout)) == (DONE, {"paid": True})
    assert '{"amount": 120.5}' in run.stderr
    assert "say y, n or e" in run.stderr
    assert "off the schema of 'payment.charge'" in run.stderr
    assert 'published payment.charge  {"amount": 9}' in run.stderr


def test_a_person_is_asked_for_each_property_and_end_of_input_leaves_the_plan_waiting(empty: Shop) -> None:
    assert empty.ask("order.deliver", "").exit_code == WAITS
    assert len(empty.json("inbox")) == 1
    run = empty.ask("order.deliver", "friday\nmonday\nhigh\n3\ny\n\n")
    assert (run.exit_code, json.loads(run.stdout)) == (DONE, {"slot": "chosen"})
    assert "'friday' is not one of" in run.stderr
    assert "'high' is no integer" in run.stderr
    assert '{"day": "monday", "floor": 3, "is_gift": true}' in run.stderr


def test_on_a_terminal_a_person_is_asked_by_default(empty: Shop) -> None:
    code, result, seen = empty.on_a_terminal("run", "orders:agents", "order.place", until=b"[e]dit: ", typed=b"y\n")
    assert (code, json.loads(result)) == (DONE, {"paid": True})
    assert b'{"amount": 120.5}' in seen


def test_a_question_answered_in_another_process_is_withdrawn_from_the_prompt(empty: Shop) -> None:
    command = (*SOORMA, "run", "orders:agents", "order.place", "--answer", "ask")
    reader, writer = os.pipe()
    environment = {**os.environ, "SOORMA_STORE_URL": empty.url}
    process = subprocess.Popen(
        command, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=APPS, env=environment
    )
    os.close(reader)
    assert process.stdout is not None
    assert process.stderr is not None
    seen = b""
    while b"[e]dit: " not in seen:
        seen += os.read(process.stderr.fileno(), 4096)
    assert empty("reject", empty.wait("payment.charge"), "--as", "bob").exit_code == DONE
    result, told = process.communicate()
    os.close(writer)
    assert (process.returncode, json.loads(result)) == (DONE, {"paid": False})
    assert b"was answered by another process" in told
    assert b"bob rejected" in told


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_agents_run_until_a_signal_and_exit_with_0(empty: Shop, name: signal.Signals) -> None:
    with empty.background(*SOORMA, "run", "orders:shop", ready="Agents: orders, stock, till. ") as process:
        process.send_signal(name)
        assert process.stdout is not None
        told = process.stdout.read()
        assert process.wait() == DONE
        assert told.startswith("Stopping: running handlers have ") and "\nStopped. " in told


def test_a_missing_application_is_an_error_with_the_searched_module(empty: Shop) -> None:
    run = empty.process(*SOORMA, "run", "ordres:agents")
    assert run.returncode == ERROR
    assert "no module 'ordres'" in run.stderr


@pytest.mark.parametrize(
    ("app", "error", "told"),
    [
        ("orders", ConfigError, "is no MODULE:APP"),
        ("orders:agent", ConfigError, "orders has no 'agent'"),
        ("orders:nothing", ConfigError, "it must be an Agent"),
        ("orders:agents.append.x", ConfigError, "orders has no 'agents.append.x'"),
        ("orders:decide", UserCodeError, "missing 1 required positional argument"),
    ],
)
def test_an_object_without_agents_is_refused_and_a_bug_in_its_module_is_shown(
    app: str, error: type[Exception], told: str
) -> None:
    with chdir(APPS), pytest.raises(error, match=told):
        load_agents(app)


# Appearance


def test_colours_are_for_terminals_unless_no_color_is_set(shop: Shop) -> None:
    assert "\x1b[" not in shop("plans", "ls").stdout
    assert "\x1b[32m" in shop("plans", "ls", env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[3" not in shop("plans", "ls", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


def test_no_line_is_longer_than_the_terminal_is_wide(shop: Shop) -> None:
    for command in (("plans", "ls"), ("inbox",), ("plans", "show", shop.plan("order.break")["plan_id"][:8])):
        told = shop(*command, env={"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "60"}).stdout
        assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in told.splitlines()) <= 60


def test_control_characters_in_data_are_escaped_on_the_terminal(empty: Shop) -> None:
    evil = {"order_id": "\x1b[2J\x07\u202e\x9b2J"}
    run = empty.run("order.check", "--data", json.dumps(evil))
    plan_id = empty.json("plans", "ls")[0]["plan_id"]
    everything = [run.stderr, *(empty(*c, plan_id).stdout for c in (("plans", "show"), ("why",)))]
    everything += [empty("events", "tail").stdout, empty("events", "tail", "--json").stdout]
    for told in everything:
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(told)
    assert "\\u001b[2J" in everything[1]
