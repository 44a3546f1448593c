"""`soorma submit`, `request` and `publish`: work from one process for agents in another."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import SOORMA, Shop
from click.shell_completion import ShellComplete

from soorma_ai.apps.cli.main import cli

DONE, ERROR, FAILED, WAITS = 0, 1, 3, 4


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


@pytest.fixture(scope="module")
def running_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Start an application for the tests that only give it work."""
    shop = Shop(tmp_path_factory.mktemp("busy") / "shop.db")
    with shop.background(*SOORMA, "run", "orders:agents", ready="Ctrl-C to stop"):
        yield shop


def test_a_goal_reaches_the_running_application_and_the_same_key_is_the_same_plan(running_shop: Shop) -> None:
    given = [running_shop("submit", "order.check", "--key", "one", "--json") for _ in range(2)]
    assert [one.exit_code for one in given] == [DONE, DONE]
    first, second = (json.loads(one.stdout) for one in given)
    assert first == second
    told = running_shop("submit", "order.check", "--key", "one", "--wait", "20", "--json")
    assert (told.exit_code, json.loads(told.stdout)["status"]) == (DONE, "completed")


def test_a_waiting_submission_reports_a_failed_plan_and_an_unfinished_one(running_shop: Shop) -> None:
    failed = running_shop("submit", "order.break", "--wait", "20")
    assert failed.exit_code == FAILED and failed.stdout.startswith("failed ")
    held = running_shop("submit", "order.place", "--wait", "0.5")
    assert held.exit_code == WAITS and held.stdout.startswith("goes on plan ")


def test_a_request_is_answered_by_its_taker_and_one_in_need_of_approval_is_held(running_shop: Shop) -> None:
    reply = running_shop("request", "stock.reserve", "--data", '{"sku": "A-1"}', "--wait", "20", "--json")
    assert (reply.exit_code, json.loads(reply.stdout)["success"]) == (DONE, True)
    held = running_shop("request", "payment.charge", "--data", '{"amount": 5}', "--json")
    asked = {wait["wait_id"] for wait in running_shop.json("inbox")}
    assert held.exit_code == WAITS and json.loads(held.stdout)["wait_id"] in asked


def test_a_request_is_listed_shown_and_cancelled_by_a_prefix_of_its_id(running_shop: Shop) -> None:
    held = json.loads(running_shop("request", "payment.charge", "--data", '{"amount": 7}', "--json").stdout)
    beginning = held["request_id"][:8]
    complete = ShellComplete(cli, {}, "soorma", "_SOORMA_COMPLETE").get_completions
    offered = complete(["requests", "show", "--store", running_shop.url], beginning)
    assert [(item.value, item.help) for item in offered] == [(held["request_id"], "payment.charge, held")]
    listed = running_shop("requests", "ls")
    assert beginning in listed.stdout and "held" in listed.stdout
    shown = running_shop("requests", "show", beginning)
    assert f"soorma approve {held['wait_id'][:8]}" in shown.stdout
    cancelled = running_shop("requests", "cancel", beginning, "--reason", "a mistake", "--json")
    assert (cancelled.exit_code, json.loads(cancelled.stdout)["cancelled"]) == (DONE, True)
    assert running_shop("requests", "cancel", held["request_id"]).exit_code == ERROR
    ended = json.loads(running_shop("requests", "show", held["request_id"], "--json").stdout)
    assert (ended["status"], ended["error"]) == ("cancelled", "a mistake")
    assert beginning not in running_shop("requests", "ls").stdout


def test_a_published_event_reaches_the_log(running_shop: Shop) -> None:
    told = running_shop("publish", "goods.arrived", "--data", '{"count": 2}', "--json")
    assert told.exit_code == DONE
    tail = running_shop("events", "tail", "--json")
    assert json.loads(told.stdout)["event_id"] in tail.stdout


def test_an_untaken_goal_is_an_error(running_shop: Shop) -> None:
    refused = running_shop("submit", "order.nonsense")
    assert refused.exit_code == ERROR and "no planner takes the goal 'order.nonsense'" in refused.stderr


def test_an_application_prints_the_work_of_other_processes(shop: Shop) -> None:
    with shop.background(*SOORMA, "run", "orders:agents", ready="Ctrl-C to stop") as process:
        plan_id = json.loads(shop("submit", "order.place", "--json").stdout)["plan_id"]
        _read_until(process, "soorma approve ")
        wait = shop.wait("payment.charge")
        assert shop("approve", wait, "--as", "ada").exit_code == DONE
        told = _read_until(process, "plan of orders completed")
        assert told.pop(0).split() == ["soorma", "reject", wait[:8], "--reason", "TEXT"]
        shown, tail = shop("plans", "show", plan_id[:8]).stdout, shop("events", "tail", "--plan", plan_id[:8]).stdout
        process.send_signal(signal.SIGTERM)
        rest = _read_until(process, "Stopped. ")
        assert process.wait() == DONE
    assert "order.place completed" in shown and "ada approved" in shown
    assert tail.splitlines()[-1].split()[3] == "order.place.completed"
    story = [line[20:].strip() for line in told]
    assert story[0].startswith("ada approved payment.charge after ")
    assert story[1].startswith("orders published payment.charge (")
    assert story[2].startswith("till answered payment.charge after ")
    assert story[3:] == ["plan of orders completed: It is paid."]
    assert rest[0].startswith("Stopping: ")


def test_off_a_terminal_a_goal_waits_for_an_answer_by_another_process(shop: Shop) -> None:
    command = (*SOORMA, "run", "orders:agents", "order.place")
    with shop.background(*command, ready="waits until another process answers") as process:
        assert shop("approve", shop.wait("payment.charge")).exit_code == DONE
        told = _read_until(process, '  "paid": true')
        assert process.wait() == DONE
    decided = [line.partition("decided ")[2].split()[0] for line in told if "decided " in line]
    assert decided == ["complete"], "a later run repeats no line of an earlier one"


def test_as_json_each_line_is_an_object(shop: Shop) -> None:
    spoken: list[str] = []
    with shop.background(*SOORMA, "run", "orders:agents", "--log-json", ready="Ctrl-C to stop", told=spoken) as process:
        shop("submit", "order.break", "--wait", "20")
        spoken += _read_until(process, '"kind": "end"')
    kinds = [json.loads(line)["kind"] for line in spoken]
    assert sorted(set(kinds)) == ["decision", "end", "event", "log", "remark"]
    assert kinds.count("decision") == 3


def test_quiet_prints_only_the_end_and_the_result(shop: Shop) -> None:
    failed = shop.run("order.break", "--quiet")
    assert (failed.exit_code, failed.stderr.split()[::2]) == (FAILED, ["plan", "failed"])
    done = shop.run("order.check", "--quiet")
    assert (done.exit_code, done.stderr, json.loads(done.stdout)) == (DONE, "", {"in_stock": True})
    held = shop.run("order.place", "--quiet", "--no-wait")
    assert held.exit_code == WAITS and "soorma approve " in held.stderr


def _read_until(process: "subprocess.Popen[str]", part: str) -> list[str]:
    """Return the next printed lines of a process, up to one with this part."""
    assert process.stdout is not None
    told: list[str] = []
    for line in process.stdout:
        told.append(line)
        if part in line:
            return told
    raise AssertionError(f"it ended before it said {part!r}: {''.join(told)}")
