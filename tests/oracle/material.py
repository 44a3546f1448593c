"""Plans with known right decisions, their events, and other plans' events beside them."""

import gzip
import json
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from payloads import Payload

GOAL_EVENT = "customer.help.requested"


@dataclass(frozen=True)
class Event:
    name: str
    description: str
    schema: Payload
    needs_approval: bool
    actor: str


@dataclass(frozen=True)
class Plan:
    """`steps` are the right decisions in order, each with the world's answer. A plan may have a `helper`, a planner
    with a plan of its own; `asks`: it may ask the customer."""

    id: str
    number: int
    goal: str
    instructions: str
    max_actions: int
    steps: tuple[Payload, ...]
    events: dict[str, Event] = field(repr=False)
    helper: "Plan | None" = None
    is_helper: bool = False
    asks: bool = True

    @property
    def requests(self) -> list[Payload]:
        """Return all requests in order, with the helper's in its place."""
        return [request for step in self.steps for request in self._requests_of(step)]

    def _requests_of(self, step: Payload) -> list[Payload]:
        match step["decision"]:
            case "PUBLISH":
                return [step]
            case "PUBLISH_ALL":
                return step["requests"]
            case "DELEGATE":
                return self.helper.requests if self.helper else []
            case _:
                return []

    @property
    def questions(self) -> list[Payload]:
        return [step for step in self.steps if step["decision"] == "WAIT"]


@dataclass(frozen=True)
class Material:
    """`registry` are real events without a use in any plan."""

    plans: tuple[Plan, ...]
    events: dict[str, Event]
    registry: tuple[Event, ...] = ()

    def strangers(self, plan: Plan) -> list[tuple[str, Payload]]:
        """Return requests right in other plans, for events not offered to this one."""
        return [
            (step["event"], step["data"])
            for other in self.plans
            for step in other.requests
            if step["event"] not in plan.events
        ]


def is_there(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ("plans.jsonl", "events.jsonl", "policies.json"))


def registry_beside(folder: Path) -> Path:
    return folder.parent / "registry-dev" / "events.jsonl.gz"


def read(folder: Path, strangers: int = 0) -> Material:
    """Read all plans, and a number of other events beside them."""
    policies: dict[str, str] = json.loads((folder / "policies.json").read_text(encoding="utf-8"))
    events = {
        row["name"]: Event(
            name=row["name"],
            description=row["description"],
            schema=row["payload_schema"],
            needs_approval=row["needs_approval"],
            actor=row["actor"],
        )
        for row in _rows(folder / "events.jsonl")
    }
    plans = tuple(
        Plan(
            id=row["id"],
            number=number,
            goal=row["goal"],
            instructions=policies[row["policy"]] if row["policy"] else "",
            max_actions=row["max_actions"],
            steps=tuple(row["steps"]),
            events={name: events[name] for name in row["events"]},
        )
        for number, row in enumerate(_rows(folder / "plans.jsonl"))
    )
    return Material(plans, events, _read_registry(registry_beside(folder), strangers) if strangers else ())


def _read_registry(path: Path, most: int) -> tuple[Event, ...]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, most)]
    return tuple(Event(row["name"], row["description"], row["payload_schema"], False, "stranger") for row in rows)


def _rows(path: Path) -> list[Payload]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]
