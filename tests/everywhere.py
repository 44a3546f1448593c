"""Runs the unchanged suites in each place of a platform, by the environment alone: embedded, on PostgreSQL, and on
PostgreSQL with NATS.

    python tests/everywhere.py [PLACE...] [-- ARGUMENTS]    all places, with further arguments for pytest
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
SUITES = ("tests/flow", "tests/contract", "tests/server", "tests/console", "tests/acceptance", "examples")
POSTGRES, NATS = {"SOORMA_TEST_STORE": "postgresql"}, {"SOORMA_TEST_BUS": "nats"}
PLACES: dict[str, Mapping[str, str]] = {"embedded": {}, "postgresql": POSTGRES, "nats+postgresql": {**POSTGRES, **NATS}}


def main(words: Sequence[str]) -> int:
    divided = words.index("--") if "--" in words else len(words)
    places, told = words[:divided] or [*PLACES], words[divided + 1 :]
    if unknown := [name for name in places if name not in PLACES]:
        print(f"no place is named {', '.join(unknown)}: there are {', '.join(PLACES)}", file=sys.stderr)
        return 2
    ran = {name: run(name, told) for name in places}
    print(*(line for lines, _ in ran.values() for line in lines), sep="\n")
    return max(code for _, code in ran.values())


def run(place: str, told: Sequence[str]) -> tuple[list[str], int]:
    """Return the last lines to print, and the exit code. The whole output of pytest is in a file."""
    folder = ROOT / ".make" / "everywhere"
    folder.mkdir(parents=True, exist_ok=True)
    log, results = folder / f"{place}.log", folder / f"{place}.xml"
    results.unlink(missing_ok=True)
    print(f"{place}: runs, and writes {log.relative_to(ROOT)}", flush=True)
    names_tests = any(Path(one.partition("::")[0]).exists() for one in told)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", f"--junitxml={results}", *told]
    with log.open("w") as said:
        code = subprocess.run(
            command if names_tests else [*command, *SUITES],
            check=False,
            cwd=ROOT,
            env={**os.environ, **PLACES[place]},
            stdout=said,
            stderr=subprocess.STDOUT,
        ).returncode
    if not results.exists():
        return [f"{place}: did not run, see {log}"], code or 1
    return _summed(place, ElementTree.parse(results).getroot()), code


def _summed(place: str, results: ElementTree.Element) -> list[str]:
    """Return the failures, a line each, and a line of figures."""
    cases = list(results.iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    reasons = Counter(_why(skipped) for case in cases if (skipped := case.find("skipped")) is not None)
    named = [f"  failed in {place}: {case.get('classname')}::{case.get('name')}" for case in failed]
    passed = len(cases) - len(failed) - reasons.total()
    told = "; ".join(f"{count} {why}" for why, count in reasons.most_common())
    figures = f"{place}: {passed} passed, {len(failed)} failed, {reasons.total()} skipped"
    return [*named, f"{figures} ({told})" if told else figures]


def _why(skipped: ElementTree.Element) -> str:
    return re.sub(r"\s+", " ", skipped.get("message") or "for no reason that is told")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
