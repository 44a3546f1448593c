"""Reads a store's file and judges it by another validator. A program of its own, independent of the product except for
stored words: `judge.py STORE PLANS ACTION`, with the plans to end early on its input, and their endings."""

import json
import re
import sqlite3
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from actions import HELP_EVENT, play
from material import GOAL_EVENT, Payload, Plan, read
from payloads import Json, faults_in, is_valid

ANSWER = f"{GOAL_EVENT}.completed"
CLIENT = "client"


@dataclass
class Verdict:
    """`differs` is the first difference from the expected run; `invalid` are invalid published events."""

    plan: str
    differs: str = ""
    published: int = 0
    invalid: list[str] = field(default_factory=list[str])
    tokens: int = 0
    answers: int = 0


@dataclass(frozen=True)
class Ending:
    """The expected failure of a plan before step `at`, with this code, and with a reason matching the pattern
    `because`."""

    at: int
    code: str
    because: str

    def fits(self, reason: str) -> bool:
        return re.search(self.because, reason) is not None


class Record:
    """All rows of one plan in the store; the plan has a tenant to itself."""

    def __init__(self, db: sqlite3.Connection, plan: Plan) -> None:
        self.plan = plan
        self.events = [json.loads(body) for (body,) in db.execute(_EVENTS, (plan.id,))]
        self.asked: dict[str, Payload] = {}
        for id, kind, status, answer, body in db.execute(_ASKED, (plan.id,)):
            told = {"kind": kind, "status": status, "answer": json.loads(answer) if answer else None}
            self.asked[id] = json.loads(body) | told
        self.plans = [json.loads(body) for (body,) in db.execute(_PLANS, (plan.id,))]
        spent = db.execute(_SPENT, (plan.id,)).fetchone()
        self.tokens, self.answers = spent[0] or 0, db.execute(_JOURNAL, (plan.id,)).fetchone()[0]

    def happened(self) -> list[list[Any]]:
        """Return waits, requests and the end, in stored order."""
        lines: list[list[Any]] = []
        for event in self.events:
            data = event.get("data", {})
            if event["type"] == "notification.human_input":
                asked = self.asked[data["wait_id"]]["ask"]
                held = asked.get("proposal")
                wait = ["gate", held["event_type"], held["data"]] if held else ["ask", data["response_event"]]
                lines.append(wait if held else [*wait, asked["message"]])
            elif event["topic"] == "action-requests" and event["source"] != CLIENT:
                lines.append(["publish", event["type"], data])
            elif event["type"] == ANSWER:
                lines.append(["complete", data["result"]] if data["success"] else ["fail"])
        return lines

    def invalid(self) -> list[str]:
        """Return requests without an offer, off their schema, or without an approval, each payload for itself."""
        found: list[str] = []
        yes = [
            self._yes(event["data"]["wait_id"]) for event in self.events if event["type"] == "notification.human_input"
        ]
        approved = [payload for payload in yes if payload is not None]
        for event in self.events:
            if event["topic"] != "action-requests" or event["source"] == CLIENT:
                continue
            data = event.get("data", {})
            known = self.plan.events.get(event["type"])
            if known is None and event["type"] == HELP_EVENT and self.plan.helper:
                continue
            if known is None:
                found.append(f"{event['type']} is not offered")
                continue
            found += [f"{event['type']}: {fault}" for fault in faults_in(data, known.schema)]
            held = [event["type"], spelling(data)]
            if known.needs_approval and held not in approved:
                found.append(f"{event['type']} was not approved")
            elif known.needs_approval:
                approved.remove(held)
        return found

    def _yes(self, wait_id: str) -> list[Any] | None:
        asked = self.asked[wait_id]
        answer, held = asked["answer"], asked["ask"].get("proposal")
        if asked["kind"] != "gate" or asked["status"] != "met" or answer is None or answer["decision"] != "approve":
            return None
        return [held["event_type"], spelling(held["data"])]

    def unanswered(self, ending: Ending | None) -> str:
        """Return the fault of the one reply to the caller, and of the plan's own row."""
        goals = [event for event in self.events if event["type"] == GOAL_EVENT]
        answers = [event for event in self.events if event["type"] == ANSWER]
        roots = [plan for plan in self.plans if not plan.get("parent_plan_id")]
        if [len(goals), len(answers), len(roots)] != [1, 1, 1]:
            return f"{len(goals)} goals, {len(answers)} answers, {len(roots)} plans"
        plan, told = roots[0], answers[0]["data"]
        if answers[0]["correlationid"] != goals[0]["id"] or told["request_id"] != goals[0]["id"]:
            return "the answer is not addressed to its goal"
        status = "failed" if ending else "completed"
        if [plan["status"], told["status"], told["success"]] != [status, status, not ending]:
            return f"the plan is {plan['status']} ({plan.get('reason')}), its caller heard {told['status']}"
        if ending and not (ending.fits(plan.get("reason")) and plan.get("reason") == told["error"]["message"]):
            return f"the reason is {plan.get('reason')!r}, the caller heard {told['error']}"
        if ending and told["error"]["code"] != ending.code:
            return f"the caller heard the code {told['error']['code']}, and not {ending.code}"
        if not ending and spelling(plan.get("result")) != spelling(told["result"]):
            return "the plan's result is not what its caller got"
        return ""


def expected_lines(plan: Plan, ending: Ending | None) -> list[list[list[Any]]]:
    """Return the expected lines in order; lines in any order are grouped."""
    found: list[list[list[Any]]] = []
    for step in plan.steps[: ending.at if ending else None]:
        match step["decision"]:
            case "PUBLISH":
                found += [[line] for line in _lines_of(step, plan)]
            case "PUBLISH_ALL":
                found.append([line for request in step["requests"] for line in _lines_of(request, plan)])
            case "DELEGATE" if plan.helper:
                found.append([["publish", HELP_EVENT, step["data"]]])
                found += [lines for lines in expected_lines(plan.helper, None) if lines[0][0] != "complete"]
            case "WAIT":
                found.append([["ask", step["expected_event"], step["message"]]])
            case "COMPLETE":
                found.append([["complete", step["result"]]])
            case _:
                pass
    return [*found, [["fail"]]] if ending else found


def _lines_of(request: Payload, plan: Plan) -> list[list[Any]]:
    """Return the lines of a request; an unanswered one is published, unless it is held."""
    event = plan.events[request["event"]]
    told = [request["event"], without_nulls(request["data"], event.schema)]
    gate = [["gate", *told]] if event.needs_approval else []
    return gate if gate and request.get("is_silent") else [*gate, ["publish", *told]]


def without_nulls(value: Json, schema: Payload) -> Json:
    """Return `value` in its published form: without the nulls of optional fields, a model's way to leave them out."""
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    fields, required = schema.get("properties", {}), schema.get("required", [])
    kept = {
        name: item
        for name, item in value.items()
        if item is not None or name in required or name not in fields or _knows_null(fields[name])
    }
    return {name: without_nulls(item, fields.get(name, {})) for name, item in kept.items()}


def _knows_null(schema: Payload) -> bool:
    return is_valid(None, schema)


def judge(db: sqlite3.Connection, plan: Plan, ending: Ending | None) -> Verdict:
    record = Record(db, plan)
    happened = [spelling(line) for line in record.happened()]
    wanted = [[spelling(line) for line in lines] for lines in expected_lines(plan, ending)]
    return Verdict(
        plan=plan.id,
        differs=difference(*in_order(wanted, happened)) or record.unanswered(ending),
        published=sum(line.startswith('["publish"') for line in happened),
        invalid=record.invalid(),
        tokens=record.tokens,
        answers=record.answers,
    )


def in_order(wanted: list[list[str]], found: list[str]) -> tuple[list[str], list[str]]:
    """Return both as plain lists, sorted within free groups."""
    one: list[str] = []
    other: list[str] = []
    for lines in wanted:
        one += sorted(lines)
        other += sorted(found[len(other) : len(other) + len(lines)])
    return one, [*other, *found[len(other) :]]


def difference(wanted: list[str], found: list[str]) -> str:
    for number in range(max(len(wanted), len(found))):
        one = wanted[number] if number < len(wanted) else "nothing more"
        other = found[number] if number < len(found) else "nothing more"
        if one != other:
            return f"line {number + 1}: wanted {one[:300]}, found {other[:300]}"
    return ""


def spelling(value: Any) -> str:
    """Return one spelling for each value: 1, 1.0 and true are three."""
    return json.dumps(value, sort_keys=True)


_EVENTS = "SELECT body FROM event WHERE tenant = ? ORDER BY seq"
_ASKED = "SELECT id, kind, status, answer, body FROM expectation WHERE tenant = ? AND kind IN ('wait', 'gate')"
_PLANS = "SELECT body FROM plan WHERE tenant = ?"
_SPENT = "SELECT sum(tokens) FROM budget WHERE root_plan_id IN (SELECT root_plan_id FROM plan WHERE tenant = ?)"
_JOURNAL = "SELECT count(*) FROM journal JOIN plan USING (plan_id) WHERE tenant = ?"


def main() -> None:
    store, folder, action = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    wanted: dict[str, Payload | None] = json.load(sys.stdin)
    endings = {id: Ending(**ending) if ending else None for id, ending in wanted.items()}
    db = sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)
    plans = [plan for plan in play(read(folder), action).plans if plan.id in endings]
    json.dump([asdict(judge(db, plan, endings[plan.id])) for plan in plans], sys.stdout)
    db.close()


if __name__ == "__main__":
    main()
