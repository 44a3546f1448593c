"""Print the cost of the imports of most programs, as one JSON line.

    python bench/start_up.py [--runs 10]

CPU seconds of a whole process, the least of several, since a busy machine only adds; modules are compiled. `bare` runs
nothing, `libraries` imports the required libraries of the package; the others exclude `bare`. `dearest` are the ten
modules with the longest own time, in milliseconds by the clock.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping

STATEMENTS = {
    "libraries": "import asyncio, jsonschema_rs, rfc8785; from pydantic import BaseModel, TypeAdapter",
    "platform": "import soorma_ai.platform",
    "agents": "from soorma_ai import Platform, Tool, Worker, ChoreographyPlanner",
}
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)")


def cpu_seconds(statement: str, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def microseconds(statement: str, environment: Mapping[str, str]) -> dict[str, int]:
    """Return the own time of each module."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
    return {module: int(own) for own, module in LINE.findall(told)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=10)
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory() as compiled:
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": compiled}
        cpu_seconds(STATEMENTS["agents"], environment)
        bare = min(cpu_seconds("pass", environment) for _ in range(runs))
        found: dict[str, object] = {"bare_s": round(bare, 3)}
        for name, statement in STATEMENTS.items():
            least = min(cpu_seconds(statement, environment) for _ in range(runs))
            found[f"{name}_s"] = round(least - bare, 3)
        timed = [microseconds(STATEMENTS["agents"], environment) for _ in range(runs)]
    own = {module: min(run.get(module, spent) for run in timed) / 1000 for module, spent in timed[0].items()}
    dearest = sorted(own, key=lambda module: -own[module])[:10]
    print(json.dumps(found | {"modules": len(own), "dearest": {module: round(own[module], 1) for module in dearest}}))


if __name__ == "__main__":
    main()
