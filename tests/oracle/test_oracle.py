"""The oracle on a part of its plans; and the tests of the test: on a product without one of its checks, and on a
changed store, it must fail."""

import asyncio
import json
import logging
import re
import runpy
import sqlite3
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import run as oracle
from actions import PLAYS, ask_together, play
from faults import BLIND
from judge import Verdict, in_order, judge, without_nulls
from material import Plan, is_there, read, registry_beside
from offered import FIND, NEED
from run import Options, Outcome
from scripted import Habit, Models
from wires import WIRES
from world import World

pytestmark = [
    pytest.mark.skipif(not is_there(oracle.PLANS), reason=f"there are no plans in {oracle.PLANS}"),
    pytest.mark.timeout(300),
]

LAST_LINE = re.compile(r"oracle: (\d+)/(\d+) plans exact, (\d+) invalid events published, (\d+) answers corrupted\Z")


def last_line(said: str) -> tuple[int, int, int, int]:
    found = LAST_LINE.search(said.rstrip("\n"))
    assert found, said
    exact, plans, invalid, corrupted = map(int, found.groups())
    return exact, plans, invalid, corrupted


@pytest.mark.parametrize(("form", "every"), [("json_schema", 10), ("tools", 20)])
def test_plans_are_exact_with_every_first_answer_wrong(
    form: str, every: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RATE", "1")
    assert oracle.main(["--every", str(every), "--form", form]) == 0, capsys.readouterr().out
    exact, plans, invalid, corrupted = last_line(capsys.readouterr().out)
    assert (exact, invalid) == (plans, 0)
    assert corrupted == sum(len(plan.steps) for plan in read(oracle.PLANS).plans[::every])


@pytest.mark.parametrize(("action", "wire"), [*((action, "direct") for action in PLAYS), ("publish_all", "anthropic")])
def test_plans_are_exact_by_each_action_with_every_first_answer_wrong(action: str, wire: str) -> None:
    outcome, refused = oracle.run(Options(oracle.PLANS, rate=1, wire=wire, action=action, every=15))
    assert outcome.passed(Options()), outcome.wrong
    assert refused.passed(Options()), refused.wrong
    assert outcome.corrupted.total() >= outcome.decisions


@pytest.mark.parametrize(("action", "check"), [("publish_all", "validation"), ("delegate", "offer"), ("need", "gate")])
def test_a_product_without_a_check_fails_by_other_actions_too(action: str, check: str) -> None:
    options = Options(oracle.PLANS, rate=1, every=4, action=action, without=check)
    outcome, _ = oracle.run(options)
    assert not outcome.passed(options)
    assert outcome.invalid > 0


@pytest.mark.parametrize("action", PLAYS)
def test_each_action_applies_to_many_plans(action: str) -> None:
    plans = play(read(oracle.PLANS), action).plans
    decisions = [step for plan in plans for step in plan.steps]
    assert len(plans) >= 20
    assert any({"look", "handed", "need"} & step.keys() for step in decisions) == (
        action in ("see_result", "from", "need")
    )
    assert {plan.id for plan in plans if plan.helper} == {plan.id for plan in plans if action == "delegate"}


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("validation", "is not of type|is a required property|is not one of|were unexpected|was unexpected"),
        ("offer", "is not offered"),
        ("gate", "was not approved"),
    ],
)
def test_a_product_without_a_check_fails(check: str, reason: str) -> None:
    options = Options(oracle.PLANS, rate=1, every=10, without=check)
    outcome, _ = oracle.run(options)
    assert not outcome.passed(options)
    assert outcome.invalid > 0
    assert any(re.search(reason, line) for lines in outcome.wrong.values() for line in lines)


# Less room than the tenants' own events take, and room for the lines of all events, with schemas of some.
AMONG_OTHERS = Options(oracle.PLANS, rate=1, only="sgd/dev", every=3, strangers=120, bystanders=3, offer_tokens=600)
LISTED = Options(oracle.PLANS, rate=1, every=6, strangers=150, bystanders=3, offer_tokens=8000, nothing_hidden=True)
among_others = pytest.mark.skipif(not registry_beside(oracle.PLANS).is_file(), reason="there are no events of others")


@among_others
@pytest.mark.parametrize(("options", "asked"), [(LISTED, NEED), (AMONG_OTHERS, FIND)])
def test_among_other_events_a_plan_asks_for_the_events_it_needs(options: Options, asked: str) -> None:
    outcome, _ = oracle.run(options)
    assert outcome.passed(options), outcome.wrong
    assert outcome.asked[asked] > 0
    assert outcome.unasked < outcome.plans
    assert (outcome.hid > 0) == (asked == FIND)


@among_others
def test_a_product_that_publishes_an_event_listed_as_a_line_fails() -> None:
    options = replace(LISTED, without="shown")
    outcome, _ = oracle.run(options)
    assert not outcome.passed(options)
    assert any(f"a wrong answer was taken ({BLIND})" in line for lines in outcome.wrong.values() for line in lines)


def test_a_run_with_wrongly_hidden_events_fails() -> None:
    assert Outcome(plans=1).passed(LISTED)
    assert not Outcome(plans=1, hid=1).passed(LISTED)
    assert not Outcome(plans=1, asked=Counter({FIND: 1})).passed(LISTED)
    assert not Outcome(plans=20, wrong={"p": ["x"]}).passed(LISTED)
    assert Outcome(plans=20, wrong={"p": ["x"]}).passed(AMONG_OTHERS)
    assert not Outcome(plans=19, wrong={"p": ["x"]}).passed(AMONG_OTHERS)


def test_a_failed_run_has_a_summary_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [oracle.__file__, "--without", "gate", "--only", "tau2/retail/86"])
    for name, value in {"RATE": "0", "SEED": "1", "PLANS": str(oracle.PLANS)}.items():
        monkeypatch.setenv(name, value)
    logger = logging.getLogger("soorma_ai")
    usual = logger.level
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(oracle.__file__, run_name="__main__")
    logger.setLevel(usual)
    assert ended.value.code == 1
    assert last_line(capsys.readouterr().out) == (0, 1, 2, 0)


ORDER = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "note": {"type": "string"}, "gift": {"type": ["string", "null"]}},
    "required": ["id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("form", ["json_schema", "tools"])
def test_a_right_product_passes_with_nulls_of_optional_fields_and_without_events(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"name": "order.ship", "description": "", "needs_approval": True, "actor": "assistant"}
    done = {"decision": "COMPLETE", "result": {"message": "done"}}
    asked = {"decision": "WAIT", "expected_event": "user.replied", "message": "Which one?", "answer": {"text": "A"}}
    data = {"id": "A", "note": None, "gift": None}
    ship = {"decision": "PUBLISH", "event": "order.ship", "data": data, "gate": {}, "result": "ok", "error": False}
    plan = {"goal": "Help me.", "policy": None, "max_actions": 5}
    plans = [
        {**plan, "id": "nulls", "events": ["order.ship"], "steps": [ship, done]},
        {**plan, "id": "no-events", "events": [], "steps": [asked, done]},
    ]
    (tmp_path / "plans.jsonl").write_text("\n".join(map(json.dumps, plans)))
    (tmp_path / "events.jsonl").write_text(json.dumps({**event, "payload_schema": ORDER}))
    (tmp_path / "policies.json").write_text("{}")
    monkeypatch.setenv("PLANS", str(tmp_path))
    monkeypatch.setenv("RATE", "0")
    assert oracle.main(["--form", form]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "published"),
    [
        ({"id": "A", "note": None, "gift": None}, {"id": "A", "gift": None}),
        ({"id": None, "note": "x"}, {"id": None, "note": "x"}),
        ({"id": "A", "other": None}, {"id": "A", "other": None}),
        ({"id": "A", "note": ""}, {"id": "A", "note": ""}),
    ],
)
def test_a_null_is_removed_only_for_an_omitted_field(given: Any, published: Any) -> None:
    assert without_nulls(given, ORDER) == published
    assert without_nulls({"orders": [given]}, {"properties": {"orders": {"items": ORDER}}}) == {"orders": [published]}


def request_of(event: str, result: Any = "ok", **data: Any) -> dict[str, Any]:
    return {"decision": "PUBLISH", "event": event, "data": data, "result": result, "error": False}


@pytest.mark.parametrize(
    ("second", "together"),
    [
        (request_of("b", id="other"), True),
        (request_of("b", id="from the first"), False),
        (request_of("b", id="of the goal"), True),
        (request_of("a", id="one"), False),
        (request_of("a", id="two"), True),
    ],
)
def test_requests_are_published_together_unless_one_needs_the_other(second: dict[str, Any], together: bool) -> None:
    first = request_of("a", {"found": ["from the first", "of the goal"]}, id="one")
    question = {"decision": "WAIT", "message": "?"}
    done: dict[str, Any] = {"decision": "COMPLETE", "result": {}}
    made = ask_together(Plan("p", 1, "Do it, of the goal.", "", 9, (first, question, second, done), {}))
    assert (made is not None) == together
    assert made is None or [step["decision"] for step in made.steps] == ["WAIT", "PUBLISH_ALL", "COMPLETE"]


def test_requests_published_together_may_come_in_any_order() -> None:
    assert in_order([["a"], ["b", "c"], ["d"]], ["a", "c", "b", "d"]) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])
    wanted, found = in_order([["a"], ["b", "c"]], ["b", "a", "c", "d"])
    assert (wanted, found) == (["a", "b", "c"], ["b", "a", "c", "d"])


def test_a_long_plan_has_more_time() -> None:
    long, short = (World(Plan("p", 1, "", "", 1, ({"decision": "COMPLETE"},) * n, {}), {}) for n in (50, 1))
    assert long.patience - short.patience == 490


def test_a_run_without_plans_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANS", str(tmp_path))
    assert oracle.main([]) == 2
    assert "no plans in" in capsys.readouterr().out
    monkeypatch.setenv("PLANS", str(oracle.PLANS))
    assert oracle.main(["--only", "no plan has this name"]) == 1


def test_the_wrong_answers_depend_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def corruptions(seed: int) -> list[tuple[str, int]]:
        outcome, _ = oracle.run(Options(oracle.PLANS, rate=0.5, seed=seed, only="sgd/dev", every=12))
        return sorted(outcome.corrupted.items())

    first = corruptions(seed=1)
    monkeypatch.setattr(oracle, "AT_ONCE", 1)
    assert corruptions(seed=1) == first
    assert corruptions(seed=2) != first


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, bytes]:
    """Run a plan with a gate and a question, and return it with its store."""
    material = read(oracle.PLANS)
    plan = next(plan for plan in material.plans if plan.questions and any("gate" in step for step in plan.requests))
    store = tmp_path_factory.mktemp("oracle") / "store.db"
    models = Models(material, [plan], {plan.id: Habit()}, WIRES["openai"])
    outcome, options = Outcome(), Options(oracle.PLANS, rate=0)
    asyncio.run(oracle.go_together(models, store, options, outcome))
    assert outcome.passed(options), outcome.wrong
    return plan, store.read_bytes()


def judged_after(change: str, written: tuple[Plan, bytes], tmp_path: Path) -> Verdict:
    plan, content = written
    store = tmp_path / "store.db"
    store.write_bytes(content)
    with sqlite3.connect(store) as db:
        db.execute(change)
        verdict = judge(db, plan, None)
    db.close()
    return verdict


REQUESTS = "topic = 'action-requests' AND plan_id IS NOT NULL"


def test_the_judge_finds_no_fault_in_an_unchanged_store(written: tuple[Plan, bytes], tmp_path: Path) -> None:
    verdict = judged_after("SELECT 1", written, tmp_path)
    assert (verdict.differs, verdict.invalid) == ("", [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"UPDATE event SET rest = json_set(rest, '$.data.new', 1) WHERE {REQUESTS}", "line"),
        ("DELETE FROM event WHERE type = 'notification.human_input'", 'wanted ["ask"'),
        ("UPDATE expectation SET rest = json_set(rest, '$.ask.message', 'What?') WHERE kind = 'wait'", "What?"),
        (
            "UPDATE event SET rest = json_set(rest, '$.data.result.message', 'no') WHERE topic = 'action-results'",
            "line",
        ),
        ("UPDATE plan SET status = 'running'", "the plan is running"),
        ("UPDATE plan SET rest = json_set(rest, '$.result.message', 'no')", "not what its caller got"),
        (
            "UPDATE event SET rest = json_set(rest, '$.correlationid', 'x') WHERE type LIKE 'customer%completed'",
            "not addressed to its goal",
        ),
    ],
)
def test_the_judge_finds_a_difference_from_the_expected_run(
    change: str, told: str, written: tuple[Plan, bytes], tmp_path: Path
) -> None:
    assert told in judged_after(change, written, tmp_path).differs


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"UPDATE event SET type = 'order.created' WHERE {REQUESTS}", "is not offered"),
        (f"UPDATE event SET rest = json_set(rest, '$.data', json('{{}}')) WHERE {REQUESTS}", "is a required property"),
        ("UPDATE expectation SET answer = NULL WHERE kind = 'gate'", "was not approved"),
        ("UPDATE expectation SET answer = json_set(answer, '$.decision', 'reject')", "was not approved"),
        (
            "UPDATE expectation SET rest = json_set(rest, '$.ask.proposal.data.x', 1) WHERE kind = 'gate'",
            "was not approved",
        ),
    ],
)
def test_the_judge_finds_an_invalid_published_event(
    change: str, told: str, written: tuple[Plan, bytes], tmp_path: Path
) -> None:
    assert any(told in reason for reason in judged_after(change, written, tmp_path).invalid)
