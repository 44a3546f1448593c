"""The closed schema of an answer: one branch for each possible decision or lookup."""

from typing import Any

import pytest

from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import JsonObject, compact
from soorma_ai.kernel.rules.choices.form import REFERENCE, choice_form_of, digest_of, form_of
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice
from soorma_ai.kernel.rules.choices.showing import LINE_CHARS
from soorma_ai.kernel.rules.schemas.bounded import MAX_CHARS
from soorma_ai.kernel.rules.schemas.portable import wire_of
from soorma_ai.testing.scripted import complete, delegate, give_up, publish, publish_all, wait
from unit.material import branching, obj
from unit.shown import everything_of, whole_form

NUMBER: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PAID = WaitChoice(EventDefinition(event_name="paid"), ("bank",))
BUY = Delegate("buyer", EventDefinition(event_name="buy"))
TWO = Offer((EventDefinition(event_name="x", payload_schema=NUMBER),), (BUY,), (PAID,))
ENDS = {"complete", "give_up"}
SAID = (complete(), give_up("nobody sells it", "a shop"), give_up("nobody sells it"))
WIDE = obj({f"p{n}": {"type": "string", "description": "x" * 200} for n in range(5_000)}, "p1")


def event(name: str, **known: Any) -> EventDefinition:
    return EventDefinition(event_name=name, **known)


def actions(form: JsonObject) -> set[str]:
    found = compact(form).split('"const":"')[1:]
    return {text.partition('"')[0] for text in found}


def lookup(action: str, **fields: Any) -> JsonObject:
    return {"reasoning": "", "step": {"action": action, **fields}}


def test_the_form_has_a_branch_for_each_possible_action_and_no_other() -> None:
    form = whole_form(TWO)
    for item in (publish("x", n=1), delegate("buyer", "buy", {}), wait("paid", "?"), wait("paid", "?", 5), *SAID):
        assert violations(form, item) == []
    for item in (publish("x"), publish("y"), delegate("x", "buy", {}), wait("x", "?"), wait("paid", "?", 0)):
        assert violations(form, item) != []
    for item in (lookup("need_schema", events=["x"]), lookup("find_events", words="x"), lookup("see_result", path="s")):
        assert violations(form, item) != []
    assert digest_of(form) == digest_of(whole_form(TWO)) != digest_of(whole_form(Offer()))


@pytest.mark.parametrize(
    ("offer", "at_once", "expected"),
    [
        (Offer(), None, set()),
        (Offer(waits=(PAID,)), None, {"wait"}),
        (Offer(delegates=(BUY,)), 9, {"delegate:buyer/buy"}),
        (Offer((event("x"),)), None, {"publish:x", "publish_all"}),
        (Offer((event("x"),)), 2, {"publish:x", "publish_all"}),
        (Offer((event("x"),)), 1, {"publish:x"}),
    ],
)
def test_the_form_has_no_branch_for_an_action_outside_the_offer(
    offer: Offer, at_once: int | None, expected: set[str]
) -> None:
    assert actions(whole_form(offer, at_once)) == expected | ENDS


@pytest.mark.parametrize(("at_once", "possible"), [(None, 9), (2, 2)])
def test_publish_all_accepts_as_many_requests_as_may_be_open(at_once: int | None, possible: int) -> None:
    form = whole_form(Offer((event("x"),)), at_once)
    for number in (2, 9):
        assert bool(violations(form, publish_all(*[publish("x")] * number))) is (number > possible)
    assert violations(form, publish("x")) == []


def test_each_event_is_in_the_form_once_without_a_description_of_one_line() -> None:
    offer = Offer(tuple(event(f"e{n}", description=f"Does {n}.", payload_schema=NUMBER) for n in range(40)))
    text = compact(whole_form(offer))
    assert [text.count(f'"publish:e{n}"') for n in range(40)] == [1] * 40
    assert "Does 7." not in text and text.count('"integer"') == 41
    long = compact(whole_form(Offer((event("x", description="y" * (LINE_CHARS + 1)),))))
    assert "y" * (LINE_CHARS + 1) in long


def test_an_event_shown_later_is_appended_to_the_form() -> None:
    offer = Offer(tuple(event(f"e{n}", payload_schema=NUMBER) for n in range(9)))
    names = tuple(f"publish:e{n}" for n in (5, 3, 7, 1, 0))
    few, more = (str(form_of(offer, Showing(names[:count], names), 8)) for count in (3, 4))
    at = few.rindex("publish:e7")
    assert few[:at] == more[:at] and more.rindex("publish:e1") > at


def test_a_listed_event_can_be_asked_for_and_a_hidden_one_searched() -> None:
    names = ("publish:x", "wait:paid", "delegate:buyer/buy")
    expected = {"publish:x", "publish_all", "wait"} | ENDS
    assert actions(form_of(TWO, Showing(names[:1], names[:2]), None)) == expected
    assert actions(form_of(TWO, Showing(names[:1], names), None)) == expected | {"need_schema"}
    hidden = form_of(TWO, Showing(names[:1], names[:2], hidden=1), None, refers=True)
    assert actions(hidden) == expected | {"find_events", "see_result", "find_steps"}
    assert violations(hidden, lookup("find_events", words="pay")) == []
    assert (
        violations(form_of(TWO, Showing((), names), None), lookup("need_schema", events=["delegate:buyer/buy"])) == []
    )


def test_the_form_of_a_choice_has_a_branch_for_each_event_and_one_for_none() -> None:
    offer = Offer((event("x", payload_schema=NUMBER), event("y")))
    names = ("publish:x", "publish:y")
    whole, few = (
        choice_form_of(offer, Showing(names, names)),
        choice_form_of(offer, Showing(names[:1], names, hidden=7)),
    )
    none = {"reasoning": "", "step": {"action": "none"}}
    assert actions(whole) == {*names, "none"}
    assert actions(few) == {"publish:x", "none", "need_schema", "find_events"}
    for item in (publish("x", n=1), publish("y"), none):
        assert violations(whole, item) == []
    for item in (publish("x"), complete(), wait("paid", "?"), publish_all(publish("x", n=1)), delegate("a", "b", {})):
        assert violations(whole, item) != []
    assert choice_form_of(offer, Showing(names, names)) is whole


def test_a_long_value_may_be_a_reference() -> None:
    short: JsonObject = {"type": "string", "enum": ["a"]}
    rows: JsonObject = {"type": "array", "items": {"type": "integer"}}
    offer = Offer((event("x", payload_schema=obj({"rows": rows, "kind": short, "n": {"type": "integer"}}, "rows")),))
    form = form_of(offer, everything_of(offer), None, refers=True)
    assert violations(form, publish("x", rows={"$from": "step3.result.rows"}, kind="a", n=1)) == []
    assert violations(form, publish("x", rows=[1], kind={"$from": "step3.result"})) != []
    assert "$from" not in compact(whole_form(offer)) and compact(form).count(compact(REFERENCE)) == 1


@pytest.mark.parametrize("schema", [branching(30), WIDE, {**WIDE, "required": [f"p{n}" for n in range(5_000)]}])
def test_an_oversized_schema_becomes_an_outline_and_leaves_the_others_whole(schema: JsonObject) -> None:
    large = event("y", description="Does it.", payload_schema={**schema, "description": "Much."})
    form = whole_form(Offer((event("x", payload_schema=NUMBER), large)))
    assert '"Much. Its schema is too large to be shown' in compact(form) and len(compact(form)) < MAX_CHARS
    assert violations(form, publish("x", n=1)) == [] != violations(form, publish("x"))
    some: Any = dict.fromkeys(schema.get("required", []), "a")
    assert violations(form, publish("y", **some, more=1)) == []


def test_publish_all_is_possible_with_any_number_of_events() -> None:
    fields: JsonObject = {f"f{n}": {"type": "string"} for n in range(10)}
    closed = obj(fields, *fields, additionalProperties=False)
    many = Offer(tuple(event(f"e.{n}", payload_schema=closed) for n in range(400)), result_schema=closed)
    assert "publish_all" in actions(whole_form(many)) and wire_of(whole_form(many)).strict
