"""The scripted model knows the content of a request and no more, and complains if its questions or its wrong answers
reach something forbidden."""

import json
import random
from typing import Any

import pytest
from faults import BLIND, KINDS, Case, fault, fault_of
from material import Event, Payload, Plan
from offered import FIND, NEED, as_texts, branches_of, lines_of, spelled, spelled_step, texts_in, with_texts, words_for
from scripted import Habit, PlanModel
from wires import WIRES
from wires.form import Question, ScriptedAnswer

SCHEMA: Payload = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
SHIP = Event("shop.Ship", "Sends it: shop.Ship, or ship what was bought.", SCHEMA, False, "assistant")
STEP = {"decision": "PUBLISH", "event": SHIP.name, "data": {"id": "A"}, "result": "ok", "error": False}
DONE = {"decision": "COMPLETE", "result": {"message": "done"}}
PLAN = Plan("p", 0, "Help me.", "", 5, (STEP, DONE), {SHIP.name: SHIP})


def branch(action: str, **fields: Any) -> Payload:
    properties = {"action": {"enum": [action]}, **fields}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


NEED_BRANCH = branch(NEED, events={"type": "array", "items": {"type": "string"}})
FIND_BRANCH = branch(FIND, words={"type": "string"})
COMPLETE = branch("complete", result={"type": "object"})
WAIT = branch("wait", expected_event={"type": "string"}, message={"type": "string"})
PUBLISH = branch(f"publish:{SHIP.name}", data=SCHEMA)
USUAL = (NEED_BRANCH, FIND_BRANCH, COMPLETE, WAIT)
REQUEST: Payload = {"action": f"publish:{SHIP.name}", "data": {"id": "A"}}
LINE = '<data>{\n"wait:reply":"y",\n"shop.Ship":"x"\n}</data>'


def question(*branches: Payload, system: str = "", more: tuple[str, ...] = ()) -> Question:
    told = [("system", system), ("user", 'Help me. "ok"')]
    told += [("assistant" if number % 2 == 0 else "user", text) for number, text in enumerate(more)]
    return Question(tuple(told), {"properties": {"step": {"anyOf": [*branches]}}}, None, 400)


def model(rate: float = 0.0) -> PlanModel:
    return PlanModel(PLAN, [], Habit(rate), WIRES["openai"], frozenset({SHIP.name}))


def step_of(reply: object) -> Payload:
    assert isinstance(reply, ScriptedAnswer)
    return json.loads(reply.text)["step"]


@pytest.mark.parametrize(
    ("shown", "step"),
    [
        (question(*USUAL, PUBLISH), REQUEST),
        (question(*USUAL, PUBLISH, system=LINE), REQUEST),
        (question(*USUAL, system=LINE), {"action": NEED, "events": [SHIP.name]}),
        (
            question(*USUAL, system=f"x\n{LINE.replace('shop.', 'publish:shop.')}"),
            {"action": NEED, "events": [SHIP.name]},
        ),
        (question(*USUAL, system="shop.Ship"), {"action": FIND, "words": "Sends it: , or what was bought."}),
    ],
)
def test_the_model_takes_the_step_possible_with_the_shown_events(shown: Question, step: Payload) -> None:
    asked = model()
    assert step_of(asked.reply(shown)) == step
    assert asked.complaints == []
    assert asked.asked.total() == (step["action"] in (NEED, FIND))


def test_a_question_of_the_model_keeps_its_step() -> None:
    asked = model()
    asked.reply(question(*USUAL))
    asked.reply(question(*USUAL, system=LINE))
    said = step_of(asked.reply(question(*USUAL, PUBLISH, system=LINE, more=("asked", "Here it is."))))
    assert (said["action"], asked.step) == (f"publish:{SHIP.name}", 0)
    assert asked.asked == {FIND: 1, NEED: 1}
    asked.reply(question(*USUAL, PUBLISH))
    assert (asked.step, asked.hid, asked.complaints) == (1, 1, [])


@pytest.mark.parametrize(("system", "questions"), [("", 2), (LINE, 3)])
def test_the_model_repeats_a_question_a_bounded_number_of_times(system: str, questions: int) -> None:
    asked = model()
    steps = [step_of(asked.reply(question(*USUAL, system=system)))["action"] for _ in range(questions + 1)]
    assert steps[-1] == "complete"
    assert len({*steps[:-1]}) == 1
    assert "is not shown; looked for before" in asked.complaints[0]


def test_the_model_complains_about_a_request_without_a_way_to_ask() -> None:
    asked = model()
    asked.reply(question(COMPLETE, WAIT, FIND_BRANCH, system=LINE))
    assert f"{NEED} is not offered" in asked.complaints[0]


def test_the_model_complains_about_an_accepted_blind_request() -> None:
    asked = model(rate=1)
    asked.habit = Habit(1, next(seed for seed in range(99) if kind_at(seed) == BLIND))
    assert step_of(asked.reply(question(*USUAL, system=LINE))) == {
        "action": f"publish:{SHIP.name}",
        "data": {"id": "A"},
    }
    asked.reply(question(*USUAL, PUBLISH, system=LINE))
    assert f"a wrong answer was taken ({BLIND})" in asked.complaints[0]


def kind_at(seed: int) -> str:
    asked = model(rate=1)
    asked.habit = Habit(1, seed)
    asked.reply(question(*USUAL, system=LINE))
    (kind,) = asked.corrupted
    return kind


@pytest.mark.parametrize(
    "step",
    [{"action": NEED, "events": ["x"]}, {"action": FIND, "words": "x"}, {"action": "complete", "result": {"a": 1}}],
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_changes_the_answer_or_does_not_apply(kind: str, step: Payload) -> None:
    case = Case({"reasoning": "", "step": step}, None, frozenset({"x"}), [("y", {})], random.Random(1))
    made = fault_of(kind, case)
    assert made is None or not isinstance(made.reply, ScriptedAnswer) or made.reply.text != case.text


@pytest.mark.parametrize("seed", range(20))
def test_a_fault_of_type_changes_a_value_and_no_omitted_null(seed: int) -> None:
    """A strict provider spells an omitted field as null, without any other error."""
    right = {"action": REQUEST["action"], "data": {"id": "A", "note": None}}
    properties = {"id": {"type": "string"}, "note": {"type": "string"}}
    schema: Payload = {"type": "object", "properties": properties, "required": ["id"]}
    case = Case({"reasoning": "", "step": right}, schema, frozenset({SHIP.name}), [], random.Random(seed))
    made = fault_of("wrong type", case)
    assert made is not None
    data = step_of(made.reply)["data"]
    assert not isinstance(data["id"], str) or not isinstance(data["note"], str | None)


@pytest.mark.parametrize("seed", range(20))
def test_a_null_in_an_untyped_field_is_no_fault(seed: int) -> None:
    schema: Payload = {"type": "object", "properties": {"id": {"type": "string"}, "any": {}}, "required": ["id", "any"]}
    right = {"action": REQUEST["action"], "data": {"id": "A", "any": None}}
    made = fault_of("wrong type", Case({"reasoning": "", "step": right}, schema, frozenset(), [], random.Random(seed)))
    assert made is not None
    assert not isinstance(step_of(made.reply)["data"]["id"], str)


BOTH: Payload = {"action": "publish_all", "requests": [REQUEST, {"action": "publish:shop.Pay", "data": {"id": "B"}}]}
HANDED: Payload = {"action": REQUEST["action"], "data": {"id": {"$from": "step3.result.id"}}}
SEEN: Payload = {"action": "see_result", "path": "step3.result.items[2:4]"}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [BOTH, HANDED, SEEN, {"action": "give_up", "reason": "?", "missing": ["a key"]}])
def test_no_kind_of_fault_returns_the_right_answer(step: Payload, seed: int) -> None:
    schemas = {"publish:shop.Ship": SCHEMA, "publish:shop.Pay": SCHEMA}
    answer = {"reasoning": "", "step": step}
    case = Case(answer, None, frozenset({SHIP.name}), [("y", {})], random.Random(seed), schemas=schemas)
    made = {kind: fault_of(kind, case) for kind in KINDS}
    said = [one.reply.text for one in made.values() if one and isinstance(one.reply, ScriptedAnswer)]
    assert case.text not in said
    assert (made["impossible join"] is not None) == (step is BOTH)
    assert (made["wrong reference"] is not None) == (step in (HANDED, SEEN))


def test_half_of_the_wrong_questions_are_blind_requests() -> None:
    blind: Payload = {"action": "publish:x", "data": {}}
    answer = {"reasoning": "", "step": {"action": NEED, "events": ["x"]}}
    kinds = [
        fault(Case(answer, None, frozenset({"x"}), [], random.Random(seed), blind=blind)).kind for seed in range(100)
    ]
    assert 30 < kinds.count(BLIND) < 70


def test_branches_are_found_at_any_place_of_the_schema() -> None:
    request = {"anyOf": [branch("publish:a", data={}), branch("publish:b", data={})]}
    several = branch("publish_all", requests={"type": "array", "items": {"$ref": "#/$defs/request"}})
    schema = {"properties": {"step": {"anyOf": [{"$ref": "#/$defs/request"}, several, COMPLETE]}}}
    found = branches_of({**schema, "$defs": {"request": request}})
    assert found.keys() == {"publish:a", "publish:b", "publish_all", "complete"}
    assert found["publish_all"]["$defs"] == {"request": request}
    constant = {"properties": {"step": {"properties": {"action": {"const": "wait"}}}}}
    assert branches_of(constant).keys() == {"wait"}


def test_only_names_in_a_fenced_list_count_as_listed() -> None:
    listed = '<data>{{\n"publish:a":"x {0}",\n"delegate:p/{0}":""\n}}</data>'
    told = listed.format(2) + '\n<data>{"c":"publish:c"}</data>'
    asked = question(COMPLETE, system=told, more=(listed.format(4), f"There is also:\n{listed.format(5)}"))
    assert lines_of(asked) == {"a", "delegate:p/2", "delegate:p/5"}


def test_data_too_loose_for_a_providers_schema_is_sent_as_a_text() -> None:
    loose = branch("publish:x", data={"type": "string", "description": "JSON text"})
    step: Payload = {"action": "publish:x", "data": {"id": 1}}
    assert texts_in(loose) == {"data"} and spelled(step, loose) == step
    assert as_texts(step, texts_in(loose)) == {"action": "publish:x", "data": '{"id": 1}'}
    assert texts_in(PUBLISH) == frozenset()


def test_each_of_several_requests_is_spelled_by_its_own_outline() -> None:
    alone = branch(
        "publish:x", data={"type": "object", "properties": {"id": {}, "note": {}}, "required": ["id", "note"]}
    )
    outline = branch("publish:x", data={"type": "string", "description": "the same as for this action alone"})
    several = branch("publish_all", requests={"type": "array", "items": outline})
    one: Payload = {"action": "publish:x", "data": {"id": 1}}
    branches = branches_of(question(alone, several).schema)
    assert with_texts(spelled_step(one, branches), branches)["data"] == {"id": 1, "note": None}
    both = spelled_step({"action": "publish_all", "requests": [one, one]}, branches)
    assert both["requests"] == [one, one]
    assert with_texts(both, branches)["requests"] == [{"action": "publish:x", "data": '{"id": 1}'}] * 2


def test_the_search_words_for_an_event_omit_its_name() -> None:
    assert words_for("a.b.GetIt", "Calls a.b.GetIt, to getit\n now") == "Calls , to now"
