"""Print the cost of a model call on this machine, as one JSON line.

    python bench/ask.py [--events 200] [--asks 50]

The model answers from another process, on loopback. Milliseconds are of this process's CPU, the median of each call;
ratios are to litellm alone and to httpx alone, with the same body. `start` is the CPU of a whole process, from its
beginning to its first answer; `nothing` is a process without a call, outside of this ratio.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.models.litellm.libraries import libraries
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Message, ModelQuestion
from soorma_ai.kernel.rules.schemas.portable import object_schema, wire_of

MODEL = "openai/gpt-4o"
MESSAGES = (Message("system", "You decide. " * 100), Message("user", "What next? " * 300))
SERVER = """
import json, sys
from soorma_ai.testing.model_server import ModelServer, Reply
said = json.dumps({"reasoning": "done", "step": {"action": "complete", "result": {"total": 3}}})
server = ModelServer(lambda body: (server.requests.clear(), Reply(said))[1])
with server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
START = """
import asyncio, json, sys
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.kernel.ports import Message, ModelQuestion
schema = {"type": "object", "properties": {"step": {"type": "string"}}, "required": ["step"]}
way = None if sys.argv[2] == "nothing" else sys.argv[2]
model = LiteLLMReasoner("openai/gpt-4o", api_base=sys.argv[1], api_key="key", transport=way)
if way:
    asyncio.run(model.ask(ModelQuestion((Message("user", "What next?"),), schema)))
"""


def decision(events: int) -> JsonObject:
    requests = [_branch(f"publish:order.step{n}.requested", data=_payload(n)) for n in range(events)]
    request: JsonObject = {"$ref": "#/$defs/request"}
    several: JsonObject = {"type": "array", "minItems": 1, "items": request}
    steps: list[Json] = [request, _branch("publish_all", requests=several), _branch("complete", result=_payload(0))]
    document = object_schema({"reasoning": {"type": "string"}, "step": {"anyOf": steps}})
    return {**document, "$defs": {"request": {"anyOf": [*requests]}}}


def _branch(action: str, **properties: Json) -> JsonObject:
    return object_schema({"action": {"const": action}, **properties})


def _payload(number: int) -> JsonObject:
    text: JsonObject = {"type": "string", "description": f"What is said of it, as part {number} of the order."}
    return object_schema({f"field_{n}": text for n in range(8)}, optional=["field_6", "field_7"])


async def measure(asks: int, ask: Callable[[], Awaitable[object]]) -> float:
    """Return the median milliseconds of this process's CPU."""
    spent: list[float] = []
    for number in range(asks + 5):
        before = time.process_time()
        await ask()
        if number >= 5:
            spent.append((time.process_time() - before) * 1000)
    return statistics.median(spent)


async def compare(url: str, events: int, asks: int) -> dict[str, float]:
    document = decision(events)
    question = ModelQuestion(MESSAGES, document)
    wire = wire_of(document)
    litellm = libraries().litellm
    messages = [{"role": message.role, "content": message.content} for message in MESSAGES]
    exact: JsonObject = {"name": "Decision", "schema": wire.schema, "strict": wire.strict}
    form: dict[str, Any] = {"type": "json_schema", "json_schema": exact}
    body = json.dumps({"model": "gpt-4o", "messages": messages, "max_tokens": 4096, "response_format": form}).encode()
    found: dict[str, float] = {"events": events, "schema_chars": len(wire.text)}

    async def by_litellm() -> object:
        return await litellm.acompletion(
            model=MODEL,
            messages=messages,
            response_format=form,
            max_tokens=4096,
            api_base=url,
            api_key="key",
            num_retries=0,
        )

    async def by_httpx(client: Any) -> object:
        return (
            await client.post(f"{url}/chat/completions", content=body, headers={"content-type": "application/json"})
        ).json()

    through = LiteLLMReasoner(MODEL, api_base=url, api_key="key", transport="litellm")
    direct = LiteLLMReasoner(MODEL, api_base=url, api_key="key", transport="direct")
    import httpx

    async with httpx.AsyncClient() as client:
        found["httpx_ms"] = await measure(asks, lambda: by_httpx(client))
    found["direct_ms"] = await measure(asks, lambda: direct.ask(question))
    found["litellm_ms"] = await measure(asks, by_litellm)
    found["through_litellm_ms"] = await measure(asks, lambda: through.ask(question))
    found["direct_ratio"] = found["direct_ms"] / found["httpx_ms"]
    found["litellm_ratio"] = found["through_litellm_ms"] / found["litellm_ms"]
    return found


def start(url: str, way: str) -> float:
    """Return the CPU seconds of a process with one call; the faster of two, as the first one may have to compile."""
    found: list[float] = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", START, url, way], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--events", type=int, default=200)
    options.add_argument("--asks", type=int, default=50)
    given = options.parse_args()
    piped = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=piped, stdout=piped, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        found = asyncio.run(compare(url, given.events, given.asks))
        found |= {f"start_{way}_s": start(url, way) for way in ("nothing", "litellm", "direct")}
        base = found["start_nothing_s"]
        found["start_ratio"] = (found["start_direct_s"] - base) / (found["start_litellm_s"] - base)
        server.communicate()
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
