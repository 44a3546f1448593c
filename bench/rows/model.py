"""A model on loopback, in a process of its own, to double the numbers from 1 to STEPS again and again.

    python -m bench.rows.model STEPS

It prints its address, and ends at the end of its input.
"""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from bench.rows.agents import DOUBLE
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.model_server import ModelServer, Reply
from soorma_ai.testing.scripted import complete, publish

MODEL = "openai/gpt-4o-mini"
PRICE = (1e-7, 4e-7)


@contextmanager
def running(steps: int) -> Generator[str]:
    """Yield the address of such a model."""
    command = [sys.executable, "-m", "bench.rows.model", str(steps)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def serve(steps: int) -> None:
    said = 0

    def respond(_: JsonObject) -> Reply:
        nonlocal said
        server.requests.clear()
        number = said % (steps + 1) + 1
        said += 1
        return Reply(json.dumps(publish(DOUBLE, n=number) if number <= steps else complete({"doubled": steps})))

    with ModelServer(respond) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
