"""Ask six duties of resumed work of our platform, over both stores, and of rivals.

make resume                     all; ARGS="--ours", "--systems LangGraph,DBOS", "--duties 'consume once'"
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.resume.probes import DUTIES, Subject, probe
from tests.postgres_server import Server, serving

OURS = "bench.resume.drive_ours"


def subjects(server: Server) -> list[Subject]:
    """Return ours over both stores, and the rivals over their own."""

    def file(prefix: str) -> tuple[Callable[[Path], str], Callable[[str, Path], str]]:
        def copy(store: str, folder: Path) -> str:
            for part in Path(store.removeprefix(prefix)).parent.glob("store.db*"):
                if not part.name.endswith(".owner"):
                    shutil.copy(part, folder)
            return f"{prefix}{folder}/store.db"

        return (lambda folder: f"{prefix}{folder}/store.db"), copy

    def plain(_: object) -> str:
        name = f"plain_{time.monotonic_ns()}"
        server.execute(f"CREATE DATABASE {name}")
        return server.url(name)

    def copy_database(store: str, _: Path) -> str:
        name = f"copy_{time.monotonic_ns()}"
        server.execute(f"CREATE DATABASE {name} TEMPLATE {store.rsplit('/', 1)[1]}")
        return server.url(name)

    def like(store: str, _: Path) -> str:
        return server.database(store.rsplit("/", 1)[1])

    postgres = "PostgreSQL"
    return [
        Subject("soorma_ai", "SQLite", OURS, None, *file("sqlite:///")),
        Subject("soorma_ai", postgres, OURS, None, lambda _: server.database(), like),
        Subject("LangGraph", "SQLite", "bench.rivals.resume_langgraph", "langgraph", *file("")),
        Subject("Burr", "SQLite", "bench.rivals.resume_burr", "burr", *file("")),
        Subject("DBOS", postgres, "bench.rivals.resume_dbos", "dbos", plain, copy_database),
    ]


def main() -> int:
    given = argparse.ArgumentParser()
    given.add_argument("--ours", action="store_true", help="without the rivals")
    given.add_argument("--systems", default="")
    given.add_argument("--duties", default=",".join(DUTIES))
    options = given.parse_args()
    duties = options.duties.split(",")
    print("| system | store |", *(f" {duty} |" for duty in duties), sep="")
    print("|---" * (2 + len(duties)) + "|")
    faults: list[str] = []
    is_ours_whole = True
    with serving() as server:
        for subject in subjects(server):
            is_ours = subject.rival is None
            if (options.ours and not is_ours) or (options.systems and subject.name not in options.systems.split(",")):
                continue
            found = [probe(subject, duty) for duty in duties]
            print(f"| {subject.name} | {subject.store} |", *(f" {'no' if one else 'yes'} |" for one in found), sep="")
            sys.stdout.flush()
            named = zip(duties, found, strict=True)
            faults += [f"{subject.name}, {subject.store}, {duty}: {one}" for duty, one in named if one]
            is_ours_whole &= not (is_ours and any(found))
    print("", *(f"- {fault}" for fault in faults), sep="\n")
    return 0 if is_ours_whole else 1


if __name__ == "__main__":
    sys.exit(main())
