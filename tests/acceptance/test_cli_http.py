"""`soorma` with the URL of a server has the same output as with its store."""

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import places
import pytest
from cli_kit import APPS, SOORMA, Shop, seed
from http_process import ServerProcess, start_server
from test_cli_letters import leave_letters

from soorma_ai import Client, PlanFailed

DONE, ERROR, USAGE = 0, 1, 2
NOBODY = {"SOORMA_STORE_URL": "sqlite:///nothing-here.db"}
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("seeded") / "shop.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(APPS))
        asyncio.run(seed(store))
    return store


@pytest.fixture(scope="module")
def unchanged_shop(seeded: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Shop, ServerProcess]]:
    """Start a server for a shop without changes."""
    store = tmp_path_factory.mktemp("unchanged_shop") / "shop.db"
    places.copy(seeded, store)
    with start_server(store) as served:
        yield Shop(store), served


@pytest.fixture
def changing_shop(seeded: Path, tmp_path: Path) -> Generator[tuple[Shop, ServerProcess]]:
    places.copy(seeded, tmp_path / "shop.db")
    with start_server(tmp_path / "shop.db", "--role", "manager") as served:
        yield Shop(tmp_path / "shop.db"), served


def over_http(shop: Shop, served: ServerProcess, *arguments: str) -> Any:
    """Return the JSON output of a command with only the URL of the server."""
    result = shop(*arguments, "--json", env={**NOBODY, "SOORMA_URL": served.url})
    assert result.exit_code == DONE, result.output
    return json.loads(result.stdout)


def wait_for_end(shop: Shop, served: ServerProcess, plan: str) -> dict[str, Any]:
    with Client(served.url) as client, suppress(PlanFailed):
        client.follow(plan).result(timeout=20)
    return next(one for one in over_http(shop, served, "plans", "ls") if one["plan_id"] == plan)


@pytest.mark.parametrize(
    "command", ["plans ls", "plans ls --status failed --limit 1", "inbox", "events untaken", "dead-letters ls"]
)
def test_a_command_has_the_same_output_by_server_and_store(
    unchanged_shop: tuple[Shop, ServerProcess], command: str
) -> None:
    shop, served = unchanged_shop
    assert over_http(shop, served, *command.split()) == shop.json(*command.split())


@pytest.mark.parametrize("goal", ["order.check", "order.break"])
@pytest.mark.parametrize("command", ["plans show", "why", "why --prompt --decision 1"])
def test_a_plan_is_shown_by_a_prefix_of_its_id_with_the_output_of_the_store(
    unchanged_shop: tuple[Shop, ServerProcess], goal: str, command: str
) -> None:
    shop, served = unchanged_shop
    plan = shop.plan(goal)["plan_id"]
    for id in (plan, plan[:13]):
        assert over_http(shop, served, *command.split(), id) == shop.json(*command.split(), id)
    printed = [shop(*command.split(), plan, *url).stdout for url in ([], ["--url", served.url])]
    assert printed[0] == printed[1] != ""


def test_the_events_of_a_plan_are_printed_and_followed_to_the_plans_end(
    unchanged_shop: tuple[Shop, ServerProcess],
) -> None:
    shop, served = unchanged_shop
    plan = shop.plan("order.check")["plan_id"]
    tail = ("events", "tail", "--plan", plan, "--json", "--limit", "2")
    here, there = (shop(*tail, *url).stdout for url in ([], ["--url", served.url]))
    assert here == there and len(here.splitlines()) == 2
    followed = shop(*tail, "--follow", "--url", served.url)
    assert (followed.exit_code, followed.stdout) == (DONE, here)


def test_the_newest_events_and_one_by_a_prefix_of_its_id_equal_those_of_the_store(
    unchanged_shop: tuple[Shop, ServerProcess],
) -> None:
    shop, served = unchanged_shop
    tail = ("events", "tail", "--json", "--limit", "3")
    here, there = (shop(*tail, *url).stdout for url in ([], ["--url", served.url]))
    assert here == there and len(here.splitlines()) == 3
    newest = json.loads(here.splitlines()[-1])
    one = [shop("events", "show", newest["id"][:-3], *url).stdout for url in ([], ["--url", served.url])]
    assert json.loads(one[0]) == json.loads(one[1]) == newest


def test_all_new_events_are_followed(changing_shop: tuple[Shop, ServerProcess]) -> None:
    _, served = changing_shop
    is_found = threading.Event()

    def publish_repeatedly() -> None:
        """Publish repeatedly, since the command does not signal the begin of its following."""
        with Client(served.url) as client:
            while not is_found.wait(0.2):
                client.publish("business-facts", "order.found", {})

    command = (*SOORMA, "events", "tail", "--follow", "--json", "--url", served.url)
    publishing = threading.Thread(target=publish_repeatedly)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        publishing.start()
        try:
            found = next(line for line in process.stdout if "order.found" in line)
        finally:
            is_found.set()
            publishing.join()
            process.kill()
    assert json.loads(found)["topic"] == "business-facts"


def test_a_registry_is_checked(unchanged_shop: tuple[Shop, ServerProcess]) -> None:
    shop, served = unchanged_shop
    here, there = (shop("registry", "check", "--json", *url) for url in ([], ["--url", served.url]))
    assert (here.exit_code, here.stdout) == (there.exit_code, there.stdout)


def test_an_approval_counts_once_and_a_second_is_a_duplicate(changing_shop: tuple[Shop, ServerProcess]) -> None:
    shop, served = changing_shop
    (wait,) = [one for one in over_http(shop, served, "inbox") if one["expected_event"] == "payment.charge"]
    assert over_http(shop, served, "approve", wait["wait_id"][:13], "--note", "go")["outcome"] == "accepted"
    again = shop("approve", wait["wait_id"], "--url", served.url)
    assert again.exit_code == ERROR and again.stdout.startswith("duplicate")
    assert wait_for_end(shop, served, wait["plan_id"])["result"] == {"paid": True}


def test_a_question_is_answered_with_valid_data_only(changing_shop: tuple[Shop, ServerProcess]) -> None:
    shop, served = changing_shop
    (wait,) = [one for one in over_http(shop, served, "inbox") if one["expected_event"] == "slot.chosen"]
    wrong = shop("answer", wait["wait_id"], "--data", '{"day": "sunday"}', "--url", served.url)
    assert wrong.exit_code == ERROR and wrong.stdout.startswith("invalid")
    right = over_http(shop, served, "answer", wait["wait_id"], "--data", '{"day": "monday", "floor": 1}')
    assert right["outcome"] == "accepted"
    assert wait_for_end(shop, served, wait["plan_id"])["status"] == "completed"


def test_a_plan_is_cancelled_once(changing_shop: tuple[Shop, ServerProcess]) -> None:
    shop, served = changing_shop
    plan = shop.plan("order.deliver")["plan_id"]
    assert over_http(shop, served, "plans", "cancel", plan[:13]) == {"plan_id": plan, "cancelled": True}
    assert wait_for_end(shop, served, plan)["status"] == "cancelled"
    again = shop("plans", "cancel", plan, "--url", served.url)
    assert again.exit_code == ERROR and "has already ended" in again.stdout


def test_dead_letters_are_shown_redriven_and_discarded(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    leave_letters(shop, "o-0")
    with start_server(shop.store, app="breaking:agents") as served:
        first, second, *_ = [str(one["letter_id"]) for one in over_http(shop, served, "dead-letters", "ls")]
        assert over_http(shop, served, "dead-letters", "show", first) == shop.json("dead-letters", "show", first)
        assert over_http(shop, served, "dead-letters", "discard", first, "--note", "known")["status"] == "discarded"
        assert "redriven" in over_http(shop, served, "dead-letters", "redrive", second)


def test_the_commands_to_copy_name_the_server_and_no_token_and_no_role(
    changing_shop: tuple[Shop, ServerProcess],
) -> None:
    shop, served = changing_shop
    printed = shop("inbox", "--url", served.url, "--token", "geheim", env=TERMINAL).stdout
    assert f"--url {served.url}" in printed
    assert "geheim" not in printed and "--role" not in printed and "--store" not in printed


def test_a_token_identifies_the_caller(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    with start_server(shop.store, "--auth", "doors:keys") as served:
        stranger = shop("plans", "ls", "--url", served.url)
        assert stranger.exit_code == ERROR and "give a token" in stranger.stderr
        known = shop("plans", "ls", "--json", env={"SOORMA_URL": served.url, "SOORMA_TOKEN": "maria's"})
        assert (known.exit_code, json.loads(known.stdout)) == (DONE, [])


def test_an_unreachable_server_is_named_with_a_cure(tmp_path: Path) -> None:
    lost = Shop(tmp_path / "shop.db")("plans", "ls", "--url", "http://127.0.0.1:9")
    assert lost.exit_code == ERROR
    assert re.search(r"http://127\.0\.0\.1:9 cannot be reached .*`soorma serve`", " ".join(lost.stderr.split()))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("plans ls --url {url} --store sqlite:///a.db", USAGE, "give one of them"),
        ("plans ls --url {url} --tenant shop", USAGE, "leave out --tenant"),
        ("approve wait-1 --url {url} --role manager", USAGE, "leave out --role"),
        ("approve wait-1 --url {url} --as maria --root", USAGE, "leave out --as, --root"),
        ("dead-letters discard 1 --url {url} --as maria", USAGE, "leave out --as"),
        ("plans ls --token geheim", USAGE, "give --url too"),
        ("plans ls --url nonsense", ERROR, "is no URL of a server"),
        ("plans ls --url http://a:geheim@localhost", ERROR, "give token="),
        ("prune --yes --url {url}", USAGE, "works on a store itself"),
        ("backup copy.db --url {url}", USAGE, "works on a store itself"),
        ("run orders:agents --url {url}", USAGE, "works on a store itself"),
        ("serve orders:agents --url {url}", USAGE, "works on a store itself"),
    ],
)
def test_contradictory_options_are_refused_without_printing_a_token(
    tmp_path: Path, arguments: str, code: int, said: str
) -> None:
    refused = Shop(tmp_path / "shop.db")(*arguments.format(url="http://127.0.0.1:9").split())
    assert (refused.exit_code, refused.stdout) == (code, "")
    assert said in " ".join(refused.stderr.replace("│", "").split())
    assert "geheim" not in refused.stderr


@pytest.mark.parametrize("command", ["prune --yes", "backup copy.db"])
def test_a_command_on_stores_alone_asks_for_a_store_if_the_environment_names_a_server(
    seeded: Path, command: str
) -> None:
    refused = Shop(seeded)(*command.split(), env={"SOORMA_URL": "http://127.0.0.1:9"})
    assert refused.exit_code == USAGE and "give --store" in refused.stderr


def test_a_typed_store_takes_precedence_over_a_server_of_the_environment(seeded: Path) -> None:
    listed = Shop(seeded)("plans", "ls", "--store", Shop(seeded).url, env={"SOORMA_URL": "http://127.0.0.1:9"})
    assert listed.exit_code == DONE and "order.check" in listed.stdout


def test_a_command_on_a_store_loads_no_client_over_http(seeded: Path) -> None:
    look = "import sys; from soorma_ai.apps.cli.main import main\ntry: main()\nfinally: print(*sys.modules)"
    command = [sys.executable, "-c", look, "plans", "ls", "--store", Shop(seeded).url]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "soorma_ai.apps.cli.store_access" in loaded
    assert {"httpx", "soorma_ai.api.clients.asynchronous"}.isdisjoint(loaded)
