"""Kill the order flow at every point it passes, start it again, and compare with the run that nobody killed.

python tests/crash/proof.py            every point
python tests/crash/proof.py 40 7       a stratified sample of 40, by seed 7
"""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("order_flow.py")
# Each planted bug, with the point that shows it first; the others are tried if that one does not.
REVEALING = {"ack_first": "sql.insert.step:2", "publish_outside": "sql.insert.event:3", "answer_without_cas": ""}
PLANTED = tuple(REVEALING)
WORKERS = 2
RUN_SECONDS = 60


@dataclass(frozen=True)
class End:
    """What a finished run left behind, without moments and latencies."""

    plan: tuple[str, str]
    steps: tuple[tuple[str, str], ...]
    events: frozenset[tuple[str, str]]
    journal: tuple[tuple[str, int, str], ...]
    actions: int


@dataclass(frozen=True)
class Trial:
    point: str
    killed: bool
    violations: tuple[str, ...]
    absorbed: int


def run(folder: Path, point: str = "", bug: str = "") -> int:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), point, bug],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=RUN_SECONDS,
        check=False,
    )
    return done.returncode


def crash_free() -> tuple[End, dict[str, int]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert run(folder) == 0, "the flow does not finish even when nobody kills it"
        return end_of(folder), json.loads((folder / "counts.json").read_text())


def positions(passed: dict[str, int]) -> list[str]:
    return [f"{name}:{n}" for name, count in sorted(passed.items()) for n in range(1, count + 1)]


def sample(all_positions: list[str], size: int, seed: int) -> list[str]:
    """Every kind of point at least once, then by chance."""
    rng = random.Random(seed)
    by_name: dict[str, list[str]] = {}
    for position in all_positions:
        by_name.setdefault(position.rpartition(":")[0], []).append(position)
    chosen = [rng.choice(group) for group in by_name.values()]
    rest = sorted(set(all_positions) - set(chosen))
    return (chosen + rng.sample(rest, min(len(rest), max(0, size - len(chosen)))))[: max(size, len(chosen))]


def trial(point: str, expected: End, bug: str = "") -> Trial:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        killed = run(folder, point, bug) == -signal.SIGKILL
        journalled = {row[2] for row in journal_of(folder)}
        asked_before = len(rows(folder, "model.jsonl"))
        again = run(folder, "", bug)
        violations = [] if again == 0 else [f"the second run ended with {again}"]
        violations += differences(expected, folder)
        asked_after = {row["asked"] for row in rows(folder, "model.jsonl")[asked_before:]}
        repeated = asked_after & {json.loads(value)["reasoning"] for value in journalled}
        if killed and repeated:
            violations.append(f"{len(repeated)} journalled decisions were asked again")
        return Trial(point, killed, tuple(violations), absorbed(folder))


def differences(expected: End, folder: Path) -> Iterable[str]:
    found = end_of(folder)
    for name in ("plan", "steps", "events", "journal", "actions"):
        if getattr(found, name) != getattr(expected, name):
            yield f"{name}: found {getattr(found, name)}, wanted {getattr(expected, name)}"
    payments = rows(folder, "payments.jsonl")
    if len(payments) != 1:
        yield f"{len(payments)} payments"
    accepted: dict[str, set[str]] = {}
    for row in rows(folder, "answers.jsonl"):
        if row["outcome"] == "accepted":
            accepted.setdefault(row["wait"], set()).add(row["who"])
    yield from (f"wait {wait} was answered by {sorted(who)}" for wait, who in accepted.items() if len(who) > 1)


def end_of(folder: Path) -> End:
    with _look(folder) as db:
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return End(("damaged", ""), (), frozenset(), (), 0)
        plans = [json.loads(body) for (body,) in db.execute("SELECT body FROM plan")]
        steps = [json.loads(body) for (body,) in db.execute("SELECT body FROM step ORDER BY ordinal")]
        events = [json.loads(body) for (body,) in db.execute("SELECT body FROM event")]
        spent = db.execute("SELECT actions FROM budget").fetchone()
    plan = plans[0] if plans else {"status": "missing", "result": None}
    return End(
        plan=(plan["status"], json.dumps(plan["result"])),
        steps=tuple((step["kind"], step["name"]) for step in steps),
        events=frozenset((event["id"], event["type"]) for event in events),
        journal=tuple(journal_of(folder)),
        actions=spent[0] if spent else 0,
    )


def journal_of(folder: Path) -> list[tuple[str, int, str]]:
    if not (folder / "store.db").exists():
        return []
    with _look(folder) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
            return []
        entries = [json.loads(body) for (body,) in db.execute("SELECT body FROM journal")]
    keyed = [(e["key"]["cause_id"], e["key"]["ordinal"], json.dumps(e["value"])) for e in entries]
    return sorted(keyed)


def absorbed(folder: Path) -> int:
    """Calls that a crash repeated and the payment's key took in."""
    return len(rows(folder, "calls.jsonl")) - len(rows(folder, "payments.jsonl"))


def rows(folder: Path, file: str) -> list[dict[str, Any]]:
    path = folder / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class _look:
    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(f"file:{folder / 'store.db'}?mode=ro", uri=True)

    def __enter__(self) -> sqlite3.Connection:
        return self._db

    def __exit__(self, *_: object) -> None:
        self._db.close()


def prove(chosen: list[str], expected: End, bug: str = "") -> list[Trial]:
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(lambda point: trial(point, expected, bug), chosen))


def caught(bug: str, passed: dict[str, int], expected: End) -> bool:
    """A planted bug is caught when some kill, at most one of each kind of point, shows a difference."""
    points = (REVEALING[bug], *sample(positions(passed), 0, seed=1))
    return any(trial(point, expected, bug).violations for point in points)


def main(arguments: list[str]) -> int:
    expected, passed = crash_free()
    everything = positions(passed)
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    chosen = sample(everything, int(arguments[0]), seed) if arguments else everything
    trials = prove(chosen, expected)
    bad = [t for t in trials if t.violations]
    for t in bad:
        print(f"{t.point}: {'; '.join(t.violations)}")
    bugs = [bug for bug in PLANTED if caught(bug, passed, expected)]
    kills, calls = sum(t.killed for t in trials), sum(t.absorbed for t in trials)
    print(
        f"crash: {kills} kills, {len(everything)} positions, seed {seed}, {len(bad)} violations, "
        f"{calls} calls absorbed by keys, {len(bugs)}/{len(PLANTED)} planted bugs caught"
    )
    return 0 if not bad and len(bugs) == len(PLANTED) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
