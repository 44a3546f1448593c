"""`soorma submit`, `request` and `publish`: work from one process for agents that run in another."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import SOORMA, Shop

DONE, ERROR, FAILED, WAITS = 0, 1, 3, 4


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


@pytest.fixture
def busy(shop: Shop) -> Iterator[Shop]:
    """A store that an application runs on."""
    with shop.background(*SOORMA, "run", "orders:agents", ready="Ctrl-C stops"):
        yield shop


def test_a_goal_reaches_the_running_application_and_the_same_key_is_the_same_plan(busy: Shop) -> None:
    given = [busy("submit", "order.check", "--key", "one", "--json") for _ in range(2)]
    assert [one.exit_code for one in given] == [DONE, DONE]
    first, second = (json.loads(one.stdout) for one in given)
    assert first == second
    told = busy("submit", "order.check", "--key", "one", "--wait", "20", "--json")
    assert (told.exit_code, json.loads(told.stdout)["status"]) == (DONE, "completed")


def test_who_waits_is_told_how_a_plan_failed_and_that_one_goes_on(busy: Shop) -> None:
    failed = busy("submit", "order.break", "--wait", "20")
    assert failed.exit_code == FAILED and failed.stdout.startswith("failed ")
    held = busy("submit", "order.place", "--wait", "0.5")
    assert held.exit_code == WAITS and held.stdout.startswith("goes on plan ")


def test_a_request_is_answered_by_who_takes_it_and_one_that_must_be_approved_is_held(busy: Shop) -> None:
    reply = busy("request", "stock.reserve", "--data", '{"sku": "A-1"}', "--wait", "20", "--json")
    assert (reply.exit_code, json.loads(reply.stdout)["success"]) == (DONE, True)
    held = busy("request", "payment.charge", "--data", '{"amount": 5}', "--json")
    assert held.exit_code == WAITS and json.loads(held.stdout)["wait_id"] == busy.wait("payment.charge")


def test_an_event_is_published_for_whoever_hears_it(busy: Shop) -> None:
    told = busy("publish", "goods.arrived", "--data", '{"count": 2}', "--json")
    assert told.exit_code == DONE
    tail = busy("events", "tail", "--json")
    assert json.loads(told.stdout)["event_id"] in tail.stdout


def test_what_nobody_takes_is_an_error_that_names_what_is_taken(busy: Shop) -> None:
    refused = busy("submit", "order.nonsense")
    assert refused.exit_code == ERROR and "no planner takes the goal 'order.nonsense'" in refused.stderr
