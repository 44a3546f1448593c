"""The parts of a question are stored once, and missing or changed parts are named."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import NO_ANSWER, Ending, JournalEntry, JournalKey, Sent, Step, StepKind, Verdict
from soorma_ai.kernel.domain.limits import Limits, Payer
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.decisions.prompt import Inputs, Occasion, tell
from soorma_ai.kernel.rules.decisions.sent import LONG, ends_blank, retold_answer, trim_blanks, write_down
from soorma_ai.kernel.rules.decisions.stored_question import (
    StoredQuestion,
    find_faults,
    make_inputs,
    parts_in,
    parts_of,
)
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.prompting.digests import digest_messages
from soorma_ai.kernel.rules.prompting.history import StepLines
from unit.kit import NOW, plan

LINES, KNOWN = "l" * (LONG + 1), "k" * (LONG + 1)
PAYER = Payer("p-1", "p-1", Limits())
STEPS = [Step("p-1", number, StepKind.REPLIED, NOW, "x", {"n": number}, "ok") for number in (1, 2)]
OCCASION = Occasion(plan(), Trigger("x was answered.", {"n": 2}), history=[*map(StepLines, STEPS)])
VALUES: JsonObject = {"choices": LINES, "few": False, "left": 3, "known": [{"data": KNOWN}], "note": ""}
OWN = frozenset({"left", "known", "note"})
INPUTS = Inputs({**VALUES, **tell(OCCASION)}, OWN, is_common=True, made=OCCASION.made)


def entry(sent: Sent | None, ordinal: int = 3, **changes: Any) -> JournalEntry:
    made = JournalEntry(
        JournalKey("orders", "e-1", ordinal),
        *("p-1", "p-1", "planner/decide", "6", "template", "form", "m", "{}", None, "", Verdict.ACCEPTED, ""),
        *(1, 1, 0.0, 0.0, NOW),
        sent=sent,
    )
    return replace(made, **changes)


def stored_question(**changes: Any) -> StoredQuestion:
    sent, kept = write_down(INPUTS, "one", PAYER)
    sent = replace(sent, again="again", after=(1, 2))
    parts = {part.digest: part.body for part in kept} | {"template": "", "form": "", "again": ""}
    before = [entry(None, 1), entry(None, 2)]
    return replace(StoredQuestion(plan(), entry(sent), before, parts, STEPS), **changes)


def without(parts: Mapping[str, str] | None, *bodies: str) -> dict[str, str]:
    return {digest: body for digest, body in (parts or {}).items() if body not in bodies and digest not in bodies}


def test_long_values_are_stored_as_parts_and_stored_rows_only_by_digest() -> None:
    sent, kept = write_down(INPUTS, "one", PAYER)
    frame, *others = [part for part in kept if part.tenant_id]
    own = [part for part in kept if part.plan_id]
    assert {part.body for part in (frame, *others)} >= {LINES} and len(others) == 1
    assert [part.body for part in own] == [KNOWN]
    assert sent.own == {"left": 3, "known": [{"data": {"$part": own[0].digest}}]}
    assert sorted(sent.made) == ["goal", "history", "remembered", "trigger"]
    assert (sent.first, sent.last, sent.text) == (1, 2, "x was answered.")


def test_a_refused_answer_is_repeated_unchanged_but_without_trailing_blanks() -> None:
    assert retold_answer(entry(None, raw="{} \n")) == "{} \n"
    assert retold_answer(entry(None, raw="")) == NO_ANSWER
    assert retold_answer(entry(None, raw="{  \n\t", ending=Ending.BLANK)) == "{"


@pytest.mark.parametrize("is_common", [True, False])
def test_parts_of_a_plans_own_offer_are_stored_with_the_plan(is_common: bool) -> None:
    _, kept = write_down(replace(INPUTS, is_common=is_common), "one", PAYER)
    tenants, plans = {part.tenant_id for part in kept}, {part.plan_id for part in kept}
    assert (tenants, plans) == (({"one", ""}, {"p-1", ""}) if is_common else ({""}, {"p-1"}))


def test_the_next_question_of_a_plan_refers_to_the_same_parts() -> None:
    later = replace(INPUTS, values={**INPUTS.values, "left": 2, "known": "", "note": "look"})
    (_, before), (sent, after) = (
        write_down(replace(INPUTS, values={**INPUTS.values, "known": ""}), "one", PAYER),
        (write_down(later, "one", PAYER)),
    )
    assert {part.digest for part in after} & {part.digest for part in before}
    assert sent.own == {"left": 2, "note": "look"}


def test_a_question_is_rebuilt_from_stored_rows() -> None:
    found = stored_question()
    assert find_faults(found) == []
    assert make_inputs(found) == INPUTS.values
    sent = found.entry.sent
    assert sent is not None and parts_of(found.entry) | parts_in((found.parts or {})[sent.frame]) == {
        *(found.parts or {})
    }


def test_a_trigger_outside_the_steps_is_stored_whole() -> None:
    occasion = replace(OCCASION, trigger=Trigger("A customer called.", {"about": "rain"}))
    inputs = Inputs(
        {"trigger": {"text": "t", "data": "d"}, **tell(occasion)}, frozenset({"trigger"}), True, occasion.made
    )
    sent, kept = write_down(inputs, "one", PAYER)
    assert "trigger" in sent.own and "trigger" not in sent.made and sent.text == ""
    parts = {part.digest: part.body for part in kept} | {"template": "", "form": ""}
    again = StoredQuestion(plan(), entry(sent), (), parts, STEPS)
    assert make_inputs(again) == inputs.values and find_faults(again) == []


def test_results_of_a_join_are_rebuilt() -> None:
    occasion = Occasion(plan(), Trigger("All came.", [{"status": "ok"}], join_id="j"), history=OCCASION.history)
    sent, kept = write_down(Inputs(tell(occasion), made=occasion.made), "one", PAYER)
    parts = {part.digest: part.body for part in kept} | {"template": "", "form": ""}
    again = StoredQuestion(plan(), entry(sent), (), parts, STEPS, [{"status": "ok"}])
    assert make_inputs(again) == tell(occasion) and find_faults(again) == []
    assert find_faults(replace(again, results=None)) == [
        "trigger is told in other words by this version of the code, or of other rows"
    ]


CHANGED = [STEPS[0], replace(STEPS[1], data={"n": 3})]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: replace(one, entry=entry(None)), ["it was asked by a version of this code"]),
        (
            lambda one: replace(one, parts=without(one.parts, "template")),
            ["the template planner/decide of version 6 is not"],
        ),
        (lambda one: replace(one, parts=without(one.parts, "form")), ["the offer: the form of the answer is not kept"]),
        (lambda one: replace(one, parts=without(one.parts, one.entry.sent.frame)), ["the frame: instructions"]),
        (
            lambda one: replace(one, parts=without(one.parts, "again")),
            ["the template by which a refusal is told is not"],
        ),
        (lambda one: replace(one, parts=without(one.parts, LINES)), ["choices is not kept any more"]),
        (lambda one: replace(one, parts=without(one.parts, KNOWN)), ["known is not kept any more"]),
        (lambda one: replace(one, before=one.before[1:]), ["the refused answer of call 1 is not in the journal"]),
        (lambda one: replace(one, steps=()), ["goal cannot be made", "history", "remembered", "trigger"]),
        (lambda one: replace(one, steps=CHANGED), ["history is told in other words"]),
        (lambda one: replace(one, plan=replace(one.plan, goal_data={"n": 9})), ["goal is told in other words"]),
        (
            lambda one: replace(one, entry=replace(one.entry, remembered=({"m": 1},))),
            ["remembered is told in other words"],
        ),
        (lambda one: replace(one, parts={**one.parts, one.entry.sent.frame: "{"}), []),
    ],
)
def test_a_missing_or_changed_part_is_named(change: Any, said: list[str]) -> None:
    faults = find_faults(change(stored_question()))
    assert len(faults) == len(said)
    assert all(words in fault for words, fault in zip(said, faults, strict=True)), faults
    assert len(make_inputs(change(stored_question()))) <= len(INPUTS.values)


def test_the_digest_of_messages_marks_the_end_of_each() -> None:
    one = [("system", "ab"), ("user", "c")]
    assert digest_messages(one) == digest_messages(tuple(one))
    assert len({digest_messages(other) for other in (one, [("system", "a"), ("user", "bc")], one[:1], [])}) == 4
    assert digest_messages([("user", "\ud800")])


def test_inputs_without_rows_have_no_digests_of_rows() -> None:
    sent, _ = write_down(Inputs({"work": "w"}), "one", PAYER)
    assert sent.made == {}


@pytest.mark.parametrize("blanks", [" " * 100, "\n\t" * 50, "\\n" * 50])
def test_an_answer_with_a_long_run_of_blanks_ends_blank(blanks: str) -> None:
    assert ends_blank(f'{{"reasoning": "{blanks}') and trim_blanks(f"{{1{blanks}") == "{1"
    assert not ends_blank(f"{blanks}1") and not ends_blank("{ \n")
