"""Cassettes, recorded over real HTTP and replayed without the server: the same answers, an error on any difference."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml
from model_kit import DECISION, MODEL, SAID, SCHEMA, Pauses, always, in_turn, question, reasoner

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.errors import ConfigError, ModelUnavailable, RateLimited
from soorma_ai.kernel.ports import ModelAnswer
from soorma_ai.testing.cassettes import UnmatchedModelCall, UnplayedModelCalls, cassette
from soorma_ai.testing.model_server import ModelServer, Reply, failure
from soorma_ai.testing.scripted import complete, publish

KEY = "sk-proj-0123456789abcdefghij"


async def answers(asked: LiteLLMReasoner, *texts: str) -> list[ModelAnswer]:
    return [await asked.ask(question(text)) for text in texts]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Three recorded calls; their server is closed."""
    made = tmp_path / "three.yaml"
    replies = [Reply(json.dumps({**DECISION, "reasoning": text})) for text in ("a", "b", "c")]
    with ModelServer(in_turn(*replies)) as server, cassette(made, mode="record"):
        await answers(reasoner(server, api_key=KEY), "one", "two", "three")
    return made


def stand(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mtime_ns


def interactions(path: Path) -> list[Any]:
    return yaml.safe_load(path.read_text())["interactions"]


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        return answer.read()


def replaying_reasoner() -> LiteLLMReasoner:
    """A reasoner as in an example: a model name without key or address."""
    return LiteLLMReasoner(MODEL, sleep=Pauses())


async def test_a_recording_answers_without_its_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = stand(path)
    for _ in range(2):
        with cassette(path) as played:
            replaying_reasoner().check()
            said = await answers(replaying_reasoner(), "one", "two", "three")
            assert (played.calls, played.played) == (3, 3)
        assert [answer.value for answer in said] == [{**DECISION, "reasoning": text} for text in ("a", "b", "c")]
        assert [(answer.prompt_tokens, answer.completion_tokens) for answer in said] == [(100, 20)] * 3
    assert stand(path) == before, "a replay writes nothing"


async def test_calls_may_come_in_another_order_and_concurrently(path: Path) -> None:
    with cassette(path):
        said = await asyncio.gather(*(replaying_reasoner().ask(question(text)) for text in ("three", "one", "two")))
    assert [json.loads(answer.text)["reasoning"] for answer in said] == ["c", "a", "b"]


async def test_a_replay_does_not_block_other_tasks(path: Path) -> None:
    turns: list[str] = []

    async def other() -> None:
        for _ in range(5):
            turns.append("other")
            await asyncio.sleep(0)

    with cassette(path):
        running = asyncio.ensure_future(other())
        await answers(replaying_reasoner(), "one", "two", "three")
        await running
    assert len(turns) == 5


async def test_equal_calls_are_answered_in_recorded_order(tmp_path: Path) -> None:
    path = tmp_path / "limited.yaml"
    limited = failure(429, "slow down", headers={"retry-after": "7", "x-request-id": "abc"})
    with ModelServer(in_turn(limited, Reply(SAID))) as server, cassette(path, mode="record"):
        await reasoner(server).ask(question())
    pauses = Pauses()
    with cassette(path):
        answer = await LiteLLMReasoner(MODEL, sleep=pauses).ask(question())
    assert (answer.value, pauses.taken) == (DECISION, [7.0])


async def test_a_recorded_failure_fails_again(tmp_path: Path) -> None:
    path = tmp_path / "failing.yaml"
    for mode in ("record", "replay"):
        with ModelServer(always(failure(429, "slow down", headers={"retry-after": "90"}))) as server:
            with cassette(path, mode=mode), pytest.raises(RateLimited):
                await reasoner(server).ask(question())
            assert len(server.requests) == (1 if mode == "record" else 0)


async def test_an_unrecorded_call_names_the_difference_and_is_not_retried(path: Path) -> None:
    pauses = Pauses()
    with pytest.raises(UnmatchedModelCall) as missed, cassette(path):
        await LiteLLMReasoner(MODEL, sleep=pauses, fallbacks=["openai/gpt-4o-mini"]).ask(question("twu"))
    assert pauses.taken == []
    told = str(missed.value)
    assert "three.yaml holds no answer to POST https://openai.test/v1/chat/completions (0 of 3 played)" in told
    assert '$.messages[1].content: from character 0, recorded "one", asked "twu"' in told


async def test_a_prompt_with_the_day_is_answered_on_another_day(tmp_path: Path) -> None:
    path = tmp_path / "dated.yaml"
    dated = "Book a table.\n\nToday is 2026-11-22 (Sunday).\n\nDecide the next step."
    with ModelServer(in_turn(Reply(SAID))) as server, cassette(path, mode="record"):
        await reasoner(server).ask(question(dated))
    assert "Today is 2026-11-22 (Sunday).\n" in path.read_text()
    with cassette(path):
        assert (await replaying_reasoner().ask(question(dated.replace("22 (Sunday)", "23 (Monday)")))).value == DECISION
    with pytest.raises(UnmatchedModelCall) as missed, cassette(path):
        await replaying_reasoner().ask(
            question(dated.replace("22 (Sunday)", "23 (Monday)").replace("a table", "a room"))
        )
    told = str(missed.value)
    assert "a room" in told and "2026" not in told, "the day is not reported as a difference"


async def test_a_changed_schema_is_shown_by_its_path(path: Path) -> None:
    changed = json.loads(json.dumps(SCHEMA).replace('"total"', '"sum"'))
    with pytest.raises(UnmatchedModelCall) as missed, cassette(path):
        await replaying_reasoner().ask(question("one", changed))
    where = "$.response_format.json_schema.schema.properties.step.anyOf[0].properties.result"
    assert f"{where}.properties.sum: only asked" in str(missed.value)
    assert f"{where}.properties.total: only recorded" in str(missed.value)


async def test_an_extra_call_is_an_error_unless_repeats_are_allowed(path: Path) -> None:
    with pytest.raises(UnmatchedModelCall, match="call 1 is this one, and it has been played"), cassette(path):
        await answers(replaying_reasoner(), "one", "one")
    with cassette(path, repeat=True, allow_unplayed=True):
        assert len(await answers(replaying_reasoner(), "one", "one", "one")) == 3


async def test_a_miss_is_raised_even_if_its_task_is_not_awaited(path: Path) -> None:
    with pytest.raises(UnmatchedModelCall), cassette(path):
        asking = asyncio.ensure_future(replaying_reasoner().ask(question("unheard of")))
        await asyncio.wait([asking])
        raise TimeoutError("the error of a waiting caller")
    assert isinstance(asking.exception(), UnmatchedModelCall)


async def test_unplayed_calls_fail_at_the_end_and_hide_no_error_of_the_program(path: Path) -> None:
    with pytest.raises(UnplayedModelCalls, match="2 of 3 recorded calls were not made"), cassette(path):
        await answers(replaying_reasoner(), "two")
    with cassette(path, allow_unplayed=True):
        await answers(replaying_reasoner(), "two")
    with pytest.raises(ZeroDivisionError), cassette(path):
        _ = 1 / 0


async def test_the_file_is_readable_and_has_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    text = f"first line\nsecond line with {KEY}\nand Bearer abcdefghijklmnop"
    reply = Reply(
        json.dumps({**DECISION, "reasoning": f"the key is {KEY}"}),
        headers={"set-cookie": "session=secret", "openai-organization": "acme"},
    )
    with ModelServer(always(reply)) as server, cassette(path, mode="record"):
        await reasoner(server, api_key=KEY).ask(question(text))
    written = stand(path)[0].decode()
    assert not re.search(r"0123456789abc|abcdefghijklmnop|session=|acme|127\.0\.0\.1|authorization|user-agent", written)
    (kept,) = interactions(path)
    assert kept["request"]["uri"] == "https://openai.test/v1/chat/completions"
    assert kept["request"]["headers"].keys() == {"content-type"}
    assert kept["response"]["headers"].keys() == {"content-type"}
    assert kept["request"]["body"]["json"]["model"] == "gpt-4o"
    assert kept["response"]["body"]["json"]["usage"]["prompt_tokens"] == 100
    assert "first line\n" in written, "long texts are stored line by line"
    with cassette(path):
        await LiteLLMReasoner(MODEL, api_key=KEY).ask(question(text))


async def test_equal_calls_are_each_written_in_full(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    with ModelServer(always(Reply(SAID))) as server, cassette(path, mode="record"):
        await answers(reasoner(server), "one", "one")
    assert "&id" not in stand(path)[0].decode()
    assert len(interactions(path)) == 2


async def test_a_new_recording_replaces_the_old_one(path: Path) -> None:
    with ModelServer(always(Reply(SAID))) as server, cassette(path, mode="record"):
        await reasoner(server).ask(question("four"))
    assert len(interactions(path)) == 1


async def test_a_failed_recording_keeps_the_old_one(path: Path) -> None:
    before = stand(path)
    with (
        pytest.raises(ModelUnavailable),
        ModelServer(always(failure(500, "boom"))) as server,
        cassette(path, mode="record"),
    ):
        await reasoner(server).ask(question("four"))
    assert stand(path) == before


async def test_other_traffic_of_the_program_is_not_intercepted(path: Path) -> None:
    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hello) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/status"
        with cassette(path, allow_unplayed=True):
            assert await asyncio.to_thread(fetch, url) == b"hello"
            async with httpx.AsyncClient() as client:
                assert (await client.get(url)).text == "hello"
        server.shutdown()


def test_a_missing_cassette_names_the_way_to_record_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mode='record'"), cassette(tmp_path / "none"):
        pass


async def test_a_bare_name_is_a_file_in_the_cassettes_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ModelServer(always(Reply(SAID))) as server, cassette("greeting", mode="record"):
        await reasoner(server).ask(question())
    assert (tmp_path / "cassettes" / "greeting.yaml").is_file()
    with cassette("greeting"):
        assert (await replaying_reasoner().ask(question())).value == DECISION


def test_without_vcrpy_the_extra_to_install_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vcr", None)
    with pytest.raises(ConfigError, match=r"pip install 'soorma-ai\[cassettes\]'"), cassette(path):
        pass


def test_the_plugin_imports_no_heavy_library() -> None:
    program = """
import sys
import soorma_ai.testing.plugin
loaded = {"litellm", "instructor", "openai", "httpx", "vcr"} & sys.modules.keys()
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)


pytest_plugins = ["pytester"]

A_USERS_TEST = """
import os
import pytest
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.ports import Message, ModelQuestion

ASKED = ModelQuestion((Message("user", "hello"),), {"type": "object", "properties": {}})

async def test_asks(soorma_cassette):
    answer = await LiteLLMReasoner("openai/gpt-4o", api_base=os.environ.get("BASE")).ask(ASKED)
    assert answer.value == {}

async def test_may_not_ask():
    with pytest.raises(ConfigError, match="forbidden"):
        await LiteLLMReasoner("openai/gpt-4o", api_key="k").ask(ASKED)

@pytest.mark.live_model
def test_may_ask():
    assert "SOORMA_MODEL_CALLS" not in os.environ
"""


def test_the_fixture_records_and_replays(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOORMA_MODEL_CALLS", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytester.makepyfile(test_user=A_USERS_TEST)
    options = ("-q", "-p", "no:cacheprovider", "--asyncio-mode=auto", "-W", "ignore")
    with ModelServer(always(Reply("{}"))) as server:
        monkeypatch.setenv("BASE", server.url)
        pytester.runpytest(*options, "--soorma-record", "-k", "test_asks").assert_outcomes(passed=1, deselected=2)
        assert len(server.requests) == 1
    monkeypatch.delenv("BASE")
    assert (pytester.path / "cassettes" / "test_user" / "test_asks.yaml").is_file()
    pytester.runpytest(*options).assert_outcomes(passed=3)


def tool_of(**descriptions: str) -> Tool:
    tool = Tool("desk")

    async def act(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"ok": True}

    for name, words in descriptions.items():
        tool.on_invoke(f"{name}.wanted", description=words)(act)
    return tool


async def run_once(base: str | None, tool: Tool) -> Any:
    model = LiteLLMReasoner("openai/gpt-4o", api_base=base, api_key="none")
    async with Platform("sqlite://") as platform:
        await platform.start(ChoreographyPlanner("orders", goals=["order.received"], reasoner=model), tool)
        return await (await platform.submit("order.received", {})).result(timeout=20)


async def test_a_choice_unused_by_any_answer_may_be_added_or_changed(tmp_path: Path) -> None:
    file, said = tmp_path / "kept", iter([publish("room.wanted"), complete({"done": True})] * 2)
    with ModelServer(lambda _: Reply(json.dumps(next(said)))) as server:
        with cassette(file, mode="record"):
            await run_once(server.url, tool_of(room="Books a room.", taxi="Calls a taxi."))
        with cassette(file, mode="replay") as played:
            more = tool_of(room="Books a room.", taxi="Calls a cab.", train="Books a train.")
            assert await run_once(server.url, more) == {"done": True}
        assert played is not None and played.played == 2
        changed = tool_of(room="Books one room.", taxi="Calls a taxi.")
        with pytest.raises(UnmatchedModelCall), cassette(file, mode="replay"):
            await run_once(server.url, changed)
        with cassette(file, mode="changed"):
            assert await run_once(server.url, changed) == {"done": True}
        assert len(server.requests) > 2
        with cassette(file, mode="replay"):
            assert await run_once(server.url, changed) == {"done": True}
