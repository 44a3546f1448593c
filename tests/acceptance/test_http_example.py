"""The order over HTTP by the curl commands of its page and its example."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_process import ServerProcess, start_server
from offline_kit import ROOT, contents_of, offline

EXAMPLE = ROOT / "examples" / "06_http"
PAGE = ROOT / "docs" / "http.md"
PLACE = "localhost:8700"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")


@pytest.fixture
def shop(tmp_path: Path) -> Generator[ServerProcess]:
    with start_server(tmp_path / "shop.db", "--role", "manager", folder=EXAMPLE, app="agents:agents") as served:
        yield served


def test_the_commands_of_the_page_take_an_order_to_its_end(shop: ServerProcess) -> None:
    commands = [line for line in PAGE.read_text().splitlines() if line.startswith("curl ")]
    assert len(commands) == 5
    known: dict[str, str] = {PLACE: f"127.0.0.1:{shop.port}"}
    answers: list[str] = []
    for command in commands:
        meant = re.sub("|".join(known), lambda word: known[word[0]], command)
        answers.append(_run(*shlex.split(meant), "--silent"))
        for word, field in (("PLAN", "plan_id"), ("WAIT", "wait_id")):
            if found := re.search(rf'"{field}":"([^"]+)"', answers[-1]):
                known.setdefault(word, found[1])
        if "PLAN" in known and "WAIT" not in known:
            _run(
                "curl",
                "--silent",
                "--no-buffer",
                f"{shop.url}/v1/plans/{known['PLAN']}/events",
                until="notification.human_input",
            )
    end = json.loads(answers[3])
    assert (end["status"], end["result"]) == ("completed", {"receipt": "receipt-A1"})
    assert "event: end" in answers[4]


def test_the_example_s_script_does_the_same(shop: ServerProcess) -> None:
    told = _run("sh", str(EXAMPLE / "order.sh"), shop.url)
    assert '"outcome":"accepted"' in told and '"receipt":"receipt-A1"' in told


def test_an_order_runs_in_three_processes_by_the_commands_of_the_page(tmp_path: Path) -> None:
    """The server, the stock without a store, and the client; its order arrives before the stock starts."""
    words = [line.split() for line in PAGE.read_text().splitlines()]
    serves = next(line for line in words if line[:3] == ["soorma", "serve", "agents:beside"])
    (runs,) = [line for line in words if line[:2] == ["python", "stock.py"]]
    (orders,) = [line for line in words if line[:2] == ["sh", "order.sh"]]
    with start_server(tmp_path / "shop.db", *serves[3:], folder=EXAMPLE, app=serves[2]) as shop:
        place = f"http://127.0.0.1:{shop.port}"
        assert runs[2] == orders[2] == f"http://{PLACE}"
        with subprocess.Popen([sys.executable, "stock.py", place], cwd=EXAMPLE, env=offline(tmp_path)) as stock:
            told = _run("sh", str(EXAMPLE / "order.sh"), place)
            stock.send_signal(signal.SIGTERM)
            assert stock.wait(20) == 0
    assert '"outcome":"accepted"' in told and '"receipt":"receipt-A1"' in told
    events, _ = contents_of(tmp_path / "shop.db")
    assert [event.type for event in events if event.source == "stock@default"] == [
        "inventory.reserve.requested.completed"
    ]


async def test_a_platform_is_mounted_into_another_application_by_the_program_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"^```python\n(?!# not run)(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "http.md", "exec"), names)
    application = names["application"]
    async with application.router.lifespan_context(application):
        browser = httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://desk")
        assert (await browser.get("/soorma/healthz")).json() == {"status": "alive"}
        assert (await browser.get("/soorma/v1/plans")).status_code == 401


def _run(*command: str, until: str | None = None) -> str:
    """Return the output of a command; with `until`, up to the line with these words."""
    told = ""
    with subprocess.Popen(("timeout", "30", *command), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told += line
            if until is not None and until in line:
                process.terminate()
                return told
    assert process.returncode == 0, told
    return told
