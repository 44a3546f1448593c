"""`soorma init`, `dev`, `doctor` and `completion`: a newcomer's first day. The test of the tutorial runs all of it,
with the demo, a new project and its tests."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import places
import pytest
from cli_kit import SOORMA, Shop
from click.shell_completion import ShellComplete

from soorma_ai import Agent, Platform
from soorma_ai.apps.cli.commands.dev import DEMO, DEMO_GOAL
from soorma_ai.apps.cli.file_watch import list_changes, look
from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.apps.cli.main import cli
from soorma_ai.apps.cli.package_files import find_shipped
from soorma_ai.apps.cli.project import Names, names_of
from soorma_ai.errors import ConfigError

URL = re.compile(r"http://[\d.:]+")
AGENT = """
from soorma_ai import InvocationContext, PlatformContext, Tool

echo = Tool("echo")


@echo.on_invoke("echo.requested")
async def say(request: InvocationContext, context: PlatformContext) -> dict[str, str]:
    return {"said": "first"}
"""


@pytest.fixture(scope="module")
def demo() -> Iterator[tuple[Agent, ...]]:
    """Import the shop's agents; no other test finds its modules with their common names."""
    path, modules = sys.path.copy(), set(sys.modules)
    yield load_agents(DEMO, find_shipped("demo"))
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", "").startswith(str(find_shipped("demo"))):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ({"order_id": "B2", "sku": "drill", "quantity": 2, "amount": "90.00"}, "shipped"),
        ({"order_id": "C3", "sku": "nail", "quantity": 500, "amount": "90.00"}, "rejected"),
    ],
)
async def test_the_demo_shop_takes_orders_of_any_kind_without_a_model(
    demo: tuple[Agent, ...], order: dict[str, Any], status: str
) -> None:
    async with Platform("sqlite://") as platform:
        await platform.start(*demo)
        plan = await platform.submit(DEMO_GOAL, order)
        end = await plan.result(timeout=20)
    assert (end["order_id"], end["status"]) == (order["order_id"], status)


@pytest.mark.timeout(300)
def test_dev_restarts_on_a_changed_source_and_waits_for_the_repair_of_a_broken_one(tmp_path: Path) -> None:
    shop, source, told = Shop(tmp_path / "echo.db"), tmp_path / "talk.py", list[str]()
    source.write_text(AGENT)
    with shop.background(
        *SOORMA, "dev", "talk:echo", "--port", "0", ready="Ctrl-C to stop", told=told, folder=tmp_path
    ) as dev:
        assert dev.stdout is not None
        source.write_text("this is no Python")
        next(line for line in dev.stdout if "Reloading: talk.py changed" in line)
        next(line for line in dev.stdout if "Waiting for a change" in line)
        source.write_text(AGENT.replace("first", "second"))
        begun = next(line for line in dev.stdout if "Listening on " in line)
        url = URL.search(begun)
        assert url is not None
        asked = httpx.post(
            f"{url[0]}/v1/requests?wait=20", json={"event_type": "echo.requested", "data": {}}, timeout=30
        )
        assert "second" in asked.text
        dev.send_signal(signal.SIGTERM)
        assert dev.wait(20) == 0


def test_dev_watches_sources_outside_environments_and_hidden_folders(tmp_path: Path) -> None:
    for place in ("a.py", "b/c.py", "p/d.md.j2", ".git/e.py", "env/f.py", "b/__pycache__/g.py", "data.json"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "lost.py").symlink_to("nothing")
    before, is_all = look(tmp_path)
    assert {str(Path(path).relative_to(tmp_path)) for path in before} == {"a.py", "b/c.py", "p/d.md.j2"}
    assert is_all
    (tmp_path / "a.py").unlink()
    (tmp_path / "new.py").write_text("")
    os.utime(tmp_path / "b" / "c.py", (0, 0))
    after, _ = look(tmp_path)
    assert [Path(path).name for path in list_changes(before, after)] == ["a.py", "c.py", "new.py"]
    assert list_changes(after, after) == []


def test_dev_watches_only_a_part_of_a_tree_that_is_too_large(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.py").write_text("")
    assert look(tmp_path, most=20) == ({}, False)


def test_the_doctor_shows_the_source_of_a_setting_and_no_key(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "none.db")
    secrets = {"OPENAI_API_KEY": "sk-very-secret", "SOORMA_TOKEN": "token-secret"}
    for arguments, origin in (([], "environment"), (["--store", "sqlite:///other.db"], "argument")):
        found = shop("doctor", "--json", *arguments, env=secrets)
        assert found.exit_code == 0, found.output
        assert "secret" not in found.output
        findings = {one["subject"]: one for one in json.loads(found.stdout)["findings"]}
        assert findings["SOORMA_STORE_URL"]["found"].endswith(f"({origin})")
        assert findings["model keys"]["found"] == "set: OPENAI_API_KEY"
        assert findings["store"]["level"] == "note"


@pytest.mark.parametrize(
    ("env", "arguments", "said"),
    [
        ({"SOORMA_MAX_BACKLOG": "many"}, [], "give a number from 1"),
        ({"SOORMA_BUS_URL": "amqp://x:y@z"}, [], "amqp://***@z (environment)"),
        ({"SOORMA_STORE_URL": "postgresql://x:y@127.0.0.1:9/z"}, [], "the database cannot be used now"),
        ({"SOORMA_PROMPTS_DIR": "lost"}, [], "no folder at lost"),
        ({}, ["--url", "http://127.0.0.1:9"], "cannot be reached"),
    ],
)
def test_the_doctor_exits_with_1_for_a_broken_setting(
    tmp_path: Path, env: dict[str, str], arguments: list[str], said: str
) -> None:
    found = Shop(tmp_path / "none.db")("doctor", *arguments, env=env)
    assert found.exit_code == 1, found.output
    assert said in found.stdout
    assert "x:y" not in found.output


def test_the_doctor_examines_an_owned_store_and_a_file_without_one(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    with shop.background(*SOORMA, "run", "orders:agents", ready="Ctrl-C to stop"):
        findings = {one["subject"]: one for one in shop.json("doctor")["findings"]}
    assert findings["owner"]["level"] == "ok" and "process" in findings["owner"]["found"]
    assert findings["agents"]["found"].startswith("alive: ")
    other = Shop(tmp_path / "other.db")
    other.store.write_text("no database")
    assert "is not an SQLite database" in other("doctor").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_each_shell(tmp_path: Path, shell: str) -> None:
    printed = Shop(tmp_path / "none.db")("completion", shell)
    assert printed.exit_code == 0
    assert f"_SOORMA_COMPLETE={shell}_complete" in printed.stdout


@pytest.mark.parametrize(
    ("typed", "beginning", "offered"),
    [([], "do", {"doctor"}), (["plans"], "c", {"cancel"}), (["dev"], "--re", {"--reload"})],
)
def test_subcommands_and_options_are_completed(typed: list[str], beginning: str, offered: set[str]) -> None:
    found = ShellComplete(cli, {}, "soorma", "_SOORMA_COMPLETE").get_completions(typed, beginning)
    assert {item.value for item in found} == offered


def test_a_shell_completes_ids_of_plans_and_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path / "shop.db")
    shop.run("order.place", "--no-wait", "--json")
    (plan,), (wait,) = shop.json("plans", "ls"), shop.json("inbox")
    for name, value in places.environment_of(shop.store).items():
        monkeypatch.setenv(name, value)

    def complete(*typed: str) -> list[tuple[str, str | None]]:
        *before, beginning = typed
        found = ShellComplete(cli, {}, "soorma", "_SOORMA_COMPLETE").get_completions(before, beginning)
        return [(item.value, item.help) for item in found]

    assert complete("plans", "show", plan["plan_id"][:2]) == [(plan["plan_id"], "order.place, paused")]
    ((found, said),) = complete("approve", "")
    assert found == wait["wait_id"] and said is not None and said.startswith("payment.charge: ")
    assert complete("why", "no-such-plan") == complete("why", "--store", "sqlite:///lost.db", "") == []


def test_an_import_error_is_shown_with_the_frames_of_the_module_alone(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import json\n\njson.loads('{')\n")
    for command in ("run", "serve"):
        made = subprocess.run(
            (*SOORMA, command, "broken:agents"), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert made.returncode == 1
        assert made.stderr.startswith("Error: broken cannot be loaded: JSONDecodeError: ")
        assert "broken.py" in made.stderr and "json.loads('{')" in made.stderr
        assert "loader.py" not in made.stderr and "importlib" not in made.stderr


def test_errors_are_red_only_on_a_terminal(tmp_path: Path) -> None:
    shop, red = Shop(tmp_path / "none.db"), "\x1b[31mError: "
    for command in (["plans", "ls"], ["plan", "ls"], ["plans", "show", "a"]):
        assert red not in shop(*command).stderr
        assert red in shop(*command, env={"FORCE_COLOR": "1"}).stderr
        assert red not in shop(*command, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stderr


def test_a_new_project_has_its_name_in_each_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "refund desk"
    made = Shop(tmp_path / "none.db")("init", str(folder))
    assert made.exit_code == 0, made.output
    files = {file for file in folder.rglob("*") if file.is_file()}
    assert set(map(str, files)) == set(made.stdout.splitlines())
    assert (folder / "refund_desk" / "app.py") in files
    assert [
        file for file in files if re.search("first.project", f"{file.relative_to(folder)} {file.read_text()}")
    ] == []


def test_a_new_project_over_existing_files_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "Makefile").symlink_to("nowhere")
    refused = Shop(tmp_path / "none.db")("init", str(tmp_path), "--name", "desk")
    assert refused.exit_code == 1
    assert "Makefile, README.md already" in " ".join(refused.stderr.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "README.md"]


@pytest.mark.parametrize(
    ("name", "module", "distribution"),
    [("refund-desk", "refund_desk", "refund-desk"), ("Refund Desk", "refund_desk", "refund-desk"), ("a1", "a1", "a1")],
)
def test_a_project_takes_its_name_from_its_folder(name: str, module: str, distribution: str) -> None:
    assert names_of(name) == Names(module, distribution)


@pytest.mark.parametrize("name", ["", "1st", "class", "json", "tests", "soorma-ai", "a/b", "..", "é", "a" * 61, "a--b"])
def test_a_name_invalid_for_a_package_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="give --name"):
        names_of(name)
