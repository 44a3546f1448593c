"""Print the cost of the HTTP API on this machine, as one JSON line.

    python -m bench.over_socket [--calls 500] [--streams 1000]

A submit over HTTP is compared with the same submit in the same process, and with the same body posted to a bare route
of Starlette on the same server. Milliseconds are of the server's CPU, the median of five rounds in turns. No agent
runs, so a submit is all the work. A stream's memory is the growth of the server for an open one; all of them must then
get one event. One token is used, and its rate is not limited.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

import httpx

ROUNDS = 5
PER_STREAM = "GET /v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SERVER = """
import asyncio, json, resource, socket, sys, time
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from bench.measure import anonymous_kb
from soorma_ai import ChoreographyPlanner, Platform
from soorma_ai.server import app
from soorma_ai.testing.scripted import ScriptedReasoner

async def main(store):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    async with Platform(store) as platform:
        await platform.start(ChoreographyPlanner("orders", goals=["order.received"], reasoner=ScriptedReasoner([])))
    async with Platform(store) as platform:
        client = platform.as_user(tenant_id="default", user_id="local", roles={"operator"})

        async def bare(request):
            await request.json()
            return JSONResponse({"plan_id": "x" * 36, "goal_id": "x" * 36}, 201)

        async def inside(request):
            body, count = await request.json(), int(request.query_params["count"])
            begin = time.process_time()
            for _ in range(count):
                await client.submit(body["goal"], body["data"])
            return JSONResponse((time.process_time() - begin) * 1000 / count)

        async def state(request):
            return JSONResponse({"cpu": time.process_time(), "kb": anonymous_kb()})

        routes = [Route("/bare", bare, methods=["POST"]), Route("/inside", inside, methods=["POST"])]
        routes += [Route("/state", state), Mount("/", app(platform, rate=None, most_streams=100_000))]
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off", access_log=False)
        await uvicorn.Server(config).serve([listener])

asyncio.run(main(sys.argv[1]))
"""


@contextmanager
def serving() -> Generator[int]:
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", SERVER, f"sqlite:///{folder}/ours.db"], stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def compare_submits(http: httpx.Client, calls: int) -> dict[str, float]:
    body = {"goal": "order.received", "data": {"order_id": "A1", "sku": "lathe", "quantity": 1, "amount": "12000.00"}}

    def posted(path: str) -> float:
        begin = http.get("/state").json()["cpu"]
        for _ in range(calls):
            http.post(path, json=body).raise_for_status()
        return (http.get("/state").json()["cpu"] - begin) * 1000 / calls

    found: dict[str, list[float]] = {"inside": [], "bare": [], "http": []}
    posted("/v1/plans")
    for _ in range(ROUNDS):
        found["inside"].append(http.post("/inside", params={"count": calls}, json=body, timeout=120).json())
        found["bare"].append(posted("/bare"))
        found["http"].append(posted("/v1/plans"))
    ms = {name: statistics.median(rounds) for name, rounds in found.items()}
    return {f"{name}_cpu_ms": round(value, 3) for name, value in ms.items()} | {
        "of_inside": round((ms["http"] - ms["bare"]) / ms["inside"], 2)
    }


async def open_streams(port: int, count: int) -> dict[str, float]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        # The first ones load and create the shared parts.
        first = [await _open(port) for _ in range(10)]
        before = (await http.get("/state")).json()
        streams = [await _open(port) for _ in range(count)]
        after = (await http.get("/state")).json()
        fact = {"topic": "business-facts", "event_type": "shop.opened", "data": {"hour": 9}}
        (await http.post("/v1/events", json=fact)).raise_for_status()
        for reader, _ in streams:
            await asyncio.wait_for(reader.readuntil(b'"hour":9'), 60)
        told = (await http.get("/state")).json()
        for _, writer in (*first, *streams):
            writer.close()
        return {
            "streams": count,
            "kb_per_stream": round((after["kb"] - before["kb"]) / count, 1),
            "cpu_ms_to_open": round((after["cpu"] - before["cpu"]) * 1000 / count, 3),
            "cpu_ms_per_event_and_stream": round((told["cpu"] - after["cpu"]) * 1000 / count, 3),
        }


async def _open(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**16)
    writer.write(PER_STREAM.encode())
    await reader.readuntil(b"retry: 2000")
    return reader, writer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--calls", type=int, default=500)
    options.add_argument("--streams", type=int, default=1000)
    given = options.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serving() as port:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            figures = compare_submits(http, given.calls)
        figures |= asyncio.run(open_streams(port, given.streams))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
