"""Drafts of state machines by a model: the schema shown, the checks, the messages of faults."""

from typing import Any

import pytest

from soorma_ai import AgentCapability, DiscoveredAgent, EventDefinition, PlanDefinition
from soorma_ai.errors import InvalidPlan, LocalProtocolError, MalformedDecision
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventRole
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.slices import at_once
from soorma_ai.kernel.domain.states import HUMAN_INPUT, states_of
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.choices.drafts import (
    Material,
    allow_templates,
    gather_material,
    parse_machine,
    prepare_machine,
)
from soorma_ai.kernel.rules.decisions.review import review
from soorma_ai.kernel.rules.schemas.portable import wire_of
from soorma_ai.testing.scripted import draw

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "number"}


def obj(*required: str, **properties: Json) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


ASKED = EventDefinition(
    event_name="a.asked",
    payload_schema=obj("n", n=NUMBER, tags={"type": "array", "items": TEXT}, deep=obj(m={"type": "integer"})),
    response_schema=obj(total=NUMBER, lines={"type": "array"}, of=obj(name=TEXT)),
)
GATED = EventDefinition(event_name="b.asked", approval="always")
RESULT = EventDefinition(event_name="a.empty", topic=EventTopic.ACTION_RESULTS)
REPLIED = EventDefinition(event_name="user.replied", topic=EventTopic.BUSINESS_FACTS)


def agent(name: str, *taken: EventDefinition, makes: Any = (), capabilities: Any = ()) -> DiscoveredAgent:
    events = [*((EventRole.TAKES, one) for one in taken), *((EventRole.MAKES, one) for one in makes)]
    return DiscoveredAgent(name, name, "", "1", tuple(capabilities), AgentKind.TOOL, tuple(events))


A, B = agent("a", ASKED), agent("b", GATED)


def material(*live: DiscoveredAgent, chosen: Any = (), result: JsonObject | None = None) -> Material:
    return gather_material("planner", live or (A, B), chosen, [REPLIED], result)


def way(on: str, to: str = "end", condition: str | None = None) -> dict[str, Any]:
    return {"on_event": on, "to_state": to, "condition": condition}


ASK: dict[str, Any] = {"event_type": "a.asked", "data": {"n": 1}}
ONE: dict[str, Any] = {
    "start": {"action": ASK, "transitions": [way("a.asked.completed")]},
    "end": {"is_terminal": True},
}


def faults(machine: dict[str, Any], what: Material | None = None, **goal_data: Json) -> str:
    drawn = PlanDefinition(plan_type="p", states=states_of(machine))
    try:
        at_once(review(drawn, what or material(), goal_data))
    except InvalidPlan as error:
        return str(error)
    return ""


def machine_with_data(data: JsonObject, **more: Any) -> dict[str, Any]:
    return ONE | {"start": {"action": {"event_type": "a.asked", "data": data, **more}, "default_next": "end"}}


def machine_with_transitions(*ways: Any, action: Any = ASK, **more: Any) -> dict[str, Any]:
    return ONE | {"start": {"action": action, "transitions": [*ways], **more}}


def machine_with_result(result: Json) -> dict[str, Any]:
    return ONE | {"end": {"is_terminal": True, "result": result}}


@pytest.mark.parametrize(
    "machine",
    [
        ONE,
        {"start": {"is_terminal": True, "result": "nothing to do"}},
        machine_with_data({"n": "{goal_data.n}"}),
        machine_with_data({"n": 1, "tags": ["{goal_data.text}", "of {goal_data.n}"]}),
        machine_with_data({"n": 1, "tags": "{goal_data.tags}"}),
        machine_with_data({"n": "{state.n}", "deep": {"m": "{{results.user_input.m}}"}}),
        machine_with_result(
            {"of": "{results.start.of.name}", "all": "{results.start}", "why": "{results.start.error.code}"}
        ),
        machine_with_transitions(way("a.asked.completed"), way("a.asked.failed")),
        machine_with_transitions(
            way("a.asked.completed"), way("timeout"), way("a.asked.timeout"), action={**ASK, "timeout_seconds": 5}
        ),
        machine_with_transitions(way("b.asked.completed"), way("b.asked.rejected"), action={"event_type": "b.asked"}),
        machine_with_transitions(way("user.replied"), action=None),
        machine_with_transitions(way("a.asked.completed", condition="payload.l.all(x, x>1)")),
        machine_with_transitions(way("a.asked.failed", "start"), default_next="end"),
    ],
)
def test_a_runnable_machine_has_no_fault(machine: dict[str, Any]) -> None:
    assert faults(machine, n=1, text="x", tags=["x"]) == ""


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (machine_with_data({"n": "{goal_data.text}"}), "$.n"),
        (machine_with_data({"n": "{goal_data.n} pieces"}), "$.n"),
        (machine_with_data({"n": 1, "deep": "{goal_data.n}"}), "$.deep"),
        (machine_with_data({"n": 1, "deep": {"m": "{results.user_input.m}", "k": 1}}), "'k'"),
        (machine_with_data({"n": 1, "tags": [["{results.user_input.m}"]]}), "$.tags[0]"),
        (machine_with_data({}), '"n" is a required property'),
        (machine_with_data({"n": 1}, response_event="other"), "names a response_event"),
        (machine_with_data({"n": "{results.start.total}"}), "never in 'start' before it is in 'start'"),
        (machine_with_result("{results.start.sum}"), "what 'a.asked' answers has 'total', 'lines', 'of' there"),
        (machine_with_result("{results.start.of.title}"), "what 'a.asked' answers has 'name' there"),
        (machine_with_result("{goal_data.price}"), "the goal has 'n', 'text'"),
        (machine_with_result("{nothing.x}"), "{nothing.x}"),
        (
            machine_with_result("{results.start}") | {"start": {"default_next": "mid"}, "mid": ONE["start"]},
            "'start' asks nothing",
        ),
        (machine_with_transitions(way("user.replied"), action=None, default_next="end"), "ever taken"),
        (machine_with_transitions(way("a.asked.completed"), action=None), "Possible now: user.replied."),
        (machine_with_transitions(way("a.asked.completed"), way("out_of_stock")), "out_of_stock"),
        (
            machine_with_transitions(action={"event_type": HUMAN_INPUT, "data": {"question": 1}}, default_next="end"),
            "$.question",
        ),
        (
            machine_with_transitions(action={"event_type": HUMAN_INPUT, "data": {"question": "?"}}, default_next="end"),
            "asks a person: response_event '' is not offered",
        ),
        ({"st.art": {"default_next": "end"}} | ONE | {"start": {"default_next": "st.art"}}, "'st.art' is no name"),
        (
            machine_with_transitions(
                way("a.asked.completed", condition="payload.l.all(x, payload.l // all\n . all((y), " * 2 + "x > y))))")
            ),
            "is no CEL expression: it goes through lists within lists 4 deep",
        ),
    ],
)
def test_a_fault_names_its_place_and_its_reason(machine: dict[str, Any], words: str) -> None:
    assert words in faults(machine, n=1, text="x")


def test_a_value_from_the_goal_is_plain_data_and_never_a_template() -> None:
    assert "$.n" in faults(machine_with_data({"n": "{goal_data.text}"}), text="much")
    assert faults(machine_with_result("{goal_data.text}"), text="{nothing}") == ""


def test_a_machines_result_fits_the_goals_result_schema() -> None:
    promised = material(result=obj("total", total=NUMBER))
    assert faults(machine_with_result({"total": "{results.start.total}"}), promised) == ""
    assert faults(machine_with_result("{results.start}"), promised) == ""
    assert "without a result" in faults(ONE, promised)
    assert "$.total" in faults(machine_with_result({"total": "much"}), promised)
    assert faults(ONE | {"end": {"is_terminal": True, "outcome": "failed"}}, promised) == ""


def test_other_answers_come_from_agents_and_their_capabilities() -> None:
    capability = AgentCapability(task_name="t", consumed_event=ASKED, produced_events=(RESULT,))
    empty = machine_with_transitions(way("a.asked.completed"), way("a.empty"))
    assert "a.empty" in faults(empty)
    assert faults(empty, material(agent("a", ASKED, makes=[RESULT]))) == ""
    assert faults(empty, material(agent("a", ASKED, capabilities=[capability]))) == ""
    read = {"end": {"is_terminal": True, "result": "{results.start.whatever}"}}
    assert faults(empty | read, material(agent("a", ASKED, makes=[RESULT]))) == "", "another answer may have this field"
    assert "whatever" in faults(ONE | read, material(agent("a", ASKED, makes=[RESULT])))


def test_chosen_agents_limit_requests_and_outside_events_to_their_own() -> None:
    fact = EventDefinition(event_name="goods.came", topic=EventTopic.BUSINESS_FACTS)
    maker = agent("b", GATED, makes=[fact])
    assert [*material(A, maker).requests] == ["a.asked", "b.asked"]
    assert material(A, maker).outside == ["goods.came", "user.replied"]
    chosen = material(A, maker, chosen=[A])
    assert ([*chosen.requests], chosen.outside) == (["a.asked"], ["user.replied"])
    assert material(maker, chosen=[A]).wanted == ("a.asked",)
    with pytest.raises(LocalProtocolError, match="idle, maker"):
        material(A, chosen=[agent("idle"), agent("maker", makes=[fact])])


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        (TEXT, ["x", "{goal_data.x}", "a {goal_data.x}"]),
        (NUMBER, [1, "{goal_data.x}"]),
        ({"enum": ["a", "b"]}, ["a", "{results.s.x}"]),
        ({"type": "string", "format": "date"}, ["2026-01-01", "{goal_data.x}"]),
        ({"anyOf": [NUMBER, {"type": "null"}]}, [1, None, "{goal_data.x}"]),
        (obj("n", n=NUMBER), [{"n": 1}, {"n": "{goal_data.x}"}, "{goal_data.x}"]),
        ({"type": "array", "items": obj("n", n=NUMBER)}, [[{"n": "{goal_data.x}"}], ["{goal_data.x}"]]),
        ({"type": "object", "additionalProperties": NUMBER}, [{"k": "{goal_data.x}"}]),
        ({"oneOf": [obj("a", a=NUMBER), obj("b", b=NUMBER)]}, [{"a": "{goal_data.x}"}, {"b": 1}]),
        ({"type": "array", "prefixItems": [NUMBER], "items": TEXT}, [["{goal_data.x}", "y"]]),
        ({"allOf": [obj("n", n=NUMBER), {"properties": {"n": {"minimum": 1}}}]}, [{"n": "{goal_data.x}"}]),
        ({"type": "array", "items": NUMBER, "uniqueItems": True}, [["{goal_data.x}", "{goal_data.x}"]]),
        (True, [1, "x"]),
    ],
)
def test_the_shown_schema_accepts_templates_for_values(schema: Json, fits: list[Json]) -> None:
    shown = allow_templates(schema)
    for value in fits:
        assert not isinstance(shown, dict) or violations(shown, value) == []


def test_the_shown_schema_refuses_a_value_of_a_wrong_type_without_a_template() -> None:
    shown = allow_templates(obj("n", n=NUMBER))
    assert isinstance(shown, dict)
    for value in ({"n": "some {goal_data.x}"}, {"n": "much"}, {}, {"n": 1, "m": 1}):
        assert violations(shown, value)


def test_event_names_are_an_enum_unless_there_are_too_many() -> None:
    few = material().schema
    assert wire_of(few).strict
    assert wire_of(few, held=False).strict is False, "b.asked takes anything"
    on_event = _at(few, "states", "items", "transitions", "items", "on_event")
    assert isinstance(on_event, dict)
    of_a = [f"a.asked.{end}" for end in ("completed", "failed", "timeout")] + ["timeout"]
    of_b = [f"b.asked.{end}" for end in ("completed", "failed", "timeout", "rejected")] + ["rejected"]
    of_people = ["user.replied", "user.replied.failed", "user.replied.timeout", f"{HUMAN_INPUT}.timeout"]
    assert on_event["enum"] == of_a + of_b + of_people
    many = material(agent("a", *(EventDefinition(event_name=f"event.{n}.asked") for n in range(400)))).schema
    assert _at(many, "states", "items", "transitions", "items", "on_event") == TEXT


def _at(schema: Json, *path: str) -> Json:
    for name in path:
        assert isinstance(schema, dict)
        below = schema if name == "items" else schema["properties"]
        assert isinstance(below, dict)
        schema = below[name]
    return schema


def test_a_drawn_machine_is_read_back_and_a_null_stays_if_its_schema_accepts_it() -> None:
    drawn = parse_machine(draw(ONE), "", "p")
    assert (drawn.plan_type, drawn.initial_state, drawn.states) == ("p", "start", states_of(ONE))
    takes_null = EventDefinition(
        event_name="a.asked", payload_schema=obj("n", n=NUMBER, m={"type": ["number", "null"]}, k=NUMBER)
    )
    drawn = parse_machine(draw(machine_with_data({"n": 1, "m": None, "k": None})), "", "p")
    action = at_once(prepare_machine(drawn, material(agent("a", takes_null)))).states["start"].action
    assert action is not None
    assert action.data == {"n": 1, "m": None}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (None, "it was cut off"),
        ([], "it was cut off"),
        ({"reasoning": "?"}, "'initial_state' must name a state"),
        ({"initial_state": "s", "states": {"s": {}}}, "'initial_state' must name a state"),
        ({"initial_state": "s", "states": ["s"]}, "states.0"),
        ({"initial_state": "s", "states": [{"state_name": "s", "is_termnial": True}]}, "states.0.is_termnial"),
        ({"initial_state": "s", "states": [{"state_name": "s", "is_terminal": 1}]}, "states.0.is_terminal"),
        ({"initial_state": "s", "states": [{"state_name": "s"}] * 2}, "two states are called 's'"),
    ],
)
def test_a_malformed_machine_is_refused_with_the_place_of_the_fault(said: Any, words: str) -> None:
    with pytest.raises(MalformedDecision, match=words):
        parse_machine(said, "it was cut off", "p")
