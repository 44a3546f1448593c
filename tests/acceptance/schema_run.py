"""Calls a server by its OpenAPI document, with valid and invalid input, by schemathesis; exits with 1 for a finding.

python tests/acceptance/schema_run.py --examples 100 --phases coverage,fuzzing,stateful --seed 1
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from http_process import start_server

HEADERS = {"authorization": "Bearer root's"}
# Without 'positive_data_acceptance': a valid body may name a goal without a planner, or an ended plan.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)


def run(examples: int, phases: str, seed: int) -> subprocess.CompletedProcess[str]:
    with (
        tempfile.TemporaryDirectory() as folder,
        start_server(Path(folder, "shop.db"), "--auth", "doors:keys") as served,
    ):
        config = Path(folder, "schemathesis.toml")
        config.write_text("[parameters]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in _known(served.url).items()))
        command = [
            *(Path(sys.executable).with_name("schemathesis"), "--config-file", config),
            *("run", f"{served.url}/v1/openapi.json", "--header", f"Authorization: {HEADERS['authorization']}"),
            *("--checks", ",".join(CHECKS), "--exclude-operation-id", "stream_events"),
            *("--max-examples", str(examples), "--phases", phases, "--seed", str(seed)),
            *("--generation-database", "none", "--no-shrink", "--continue-on-failure", "--request-timeout", "60"),
        ]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
        served.process.poll()
        assert served.process.returncode is None, "the server has died"
        return ran


def _known(url: str) -> dict[str, str | int]:
    """Return existing ids, so not every answer is a 404."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=30) as http:
        ended = http.post("/v1/plans?wait=20", json={"goal": "order.check"}).json()["plan_id"]
        asking = http.post("/v1/plans", json={"goal": "order.place", "session_id": "talk"}).json()
        with http.stream("GET", f"/v1/plans/{asking['plan_id']}/events") as stream:
            next(line for line in stream.iter_lines() if "notification.human_input" in line)
        (wait,) = http.get("/v1/waits").json()["items"]
        asked = http.post("/v1/requests", json={"event_type": "stock.reserve", "data": {"sku": "A"}}).json()
    return {
        "plan_id": ended,
        "wait_id": wait["wait_id"],
        "request_id": asked["request_id"],
        "session_id": "talk",
        "correlation_id": asking["goal_id"],
        "event_name": "stock.reserve",
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--examples", type=int, default=100)
    options.add_argument("--phases", default="coverage,fuzzing,stateful")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    ran = run(given.examples, given.phases, given.seed)
    print(ran.stdout + ran.stderr)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
