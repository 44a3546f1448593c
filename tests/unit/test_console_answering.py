"""Answers from forms of the console, checked before they are sent."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.features.human_tasks.pages.answering import (
    AnswerDraft,
    AnswerRefusal,
    Sheet,
    answer_form,
    change_list,
    judge,
    payload_form,
    sheet_of,
)
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.people import AnswerDecision, Ask, Proposal
from soorma_ai.kernel.rules.waits.gates import APPROVAL_ANSWER

A, E, R, S = AnswerDecision
AMOUNT: Any = {"type": "object", "properties": {"amount": {"type": "number", "maximum": 10}}, "required": ["amount"]}
WHICH: Any = {"type": "object", "properties": {"day": {"enum": ["monday", "tuesday"]}}, "required": ["day"]}
BOTH: Any = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["approved", "limit"],
}
HELD = Proposal("pay", {"amount": 5}, "0" * 64, AMOUNT)
GATE = Ask("confirmation", "Pay?", APPROVAL_ANSWER, (A, E, R), proposal=HELD)
QUESTION = Ask("input_required", "Which day?", WHICH, (S,))
SAME = {"$.amount": "5"}


def question_of(ask: Ask) -> Expectation:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    topic = EventTopic.NOTIFICATION_EVENTS
    return Expectation("w", ExpectationKind.GATE, "a", "t", None, None, "pay", topic, now, None, "pay", ask=ask)


@pytest.mark.parametrize(
    ("ask", "sheet", "given"),
    [
        (GATE, Sheet("approve", "", SAME), AnswerDraft(A, {"approved": True}, "")),
        (GATE, Sheet("approve", "fine", {}), AnswerDraft(A, {"note": "fine", "approved": True}, "fine")),
        (GATE, Sheet("reject", "no", {"$.amount": "x"}), AnswerDraft(R, {"note": "no", "approved": False}, "no")),
        (GATE, Sheet("edit", "", {"$.amount": "7"}), AnswerDraft(E, {"data": {"amount": 7}}, "")),
        (QUESTION, Sheet("respond", "", {}, {"$.day": '"monday"'}), AnswerDraft(S, {"day": "monday"}, "")),
        (
            replace(GATE, response_schema=BOTH),
            Sheet("approve", "", SAME, {"$.limit": "3"}),
            AnswerDraft(A, {"limit": 3, "approved": True}, ""),
        ),
        (
            replace(GATE, response_schema=BOTH),
            Sheet("reject", "no", SAME),
            AnswerDraft(R, {"note": "no", "approved": False}, "no"),
        ),
    ],
)
def test_a_button_and_the_form_fields_make_one_answer(ask: Ask, sheet: Sheet, given: AnswerDraft) -> None:
    assert judge(question_of(ask), sheet) == given


@pytest.mark.parametrize(
    ("ask", "sheet", "words"),
    [
        (GATE, Sheet("", "", SAME), "Choose one of the buttons."),
        (GATE, Sheet("respond", "", SAME), "Choose one of the buttons."),
        (GATE, Sheet("reject", "", SAME), "Give a reason: the requester will see it."),
        (GATE, Sheet("reject", "x" * 2_001, SAME), "The note is too long."),
        (GATE, Sheet("edit", "", SAME), "Nothing was changed. Approve it as it is, or edit it."),
        (GATE, Sheet("edit", "", {"$.amount": "11"}), "The changed payload cannot be published yet."),
        (
            GATE,
            Sheet("approve", "", {"$.amount": "7"}),
            "You edited the payload. Approve it with changes, or undo your edits.",
        ),
        (QUESTION, Sheet("respond", "", {}, {"$.day": ""}), "The answer is not complete yet."),
        (replace(GATE, response_schema=BOTH), Sheet("approve", "", SAME), "The answer is not complete yet."),
    ],
)
def test_an_invalid_form_is_refused_with_its_first_fault(ask: Ask, sheet: Sheet, words: str) -> None:
    found = judge(question_of(ask), sheet)
    assert isinstance(found, AnswerRefusal)
    assert found.words == words


def test_form_fields_belong_to_the_payload_or_to_the_answer_by_their_prefix() -> None:
    sheet = sheet_of(
        [("do", "edit"), ("note", " a "), ("payload$.amount", "7"), ("answer$.day", "x"), ("payload", "y")]
    )
    assert sheet == Sheet("edit", "a", {"$.amount": "7"}, {"$.day": "x"})


@pytest.mark.parametrize(
    ("do", "payload", "answer"),
    [
        ("add payload$.a", {"$.a#": "2", "$.a[0]": "x"}, {"$.a#": "1"}),
        ("remove payload$.a 0", {"$.a#": "0"}, {"$.a#": "1"}),
        ("add answer$.a", {"$.a#": "1", "$.a[0]": "x"}, {"$.a#": "2"}),
        ("remove payload$.a x", {"$.a#": "1", "$.a[0]": "x"}, {"$.a#": "1"}),
    ],
)
def test_list_buttons_change_the_typed_fields(do: str, payload: dict[str, str], answer: dict[str, str]) -> None:
    changed = change_list(Sheet(do, "", {"$.a#": "1", "$.a[0]": "x"}, {"$.a#": "1"}))
    assert changed == Sheet(do, "", payload, answer)


def test_a_question_answered_by_button_and_note_has_no_fields() -> None:
    assert answer_form(GATE, Sheet(), None) is None
    assert payload_form(QUESTION, Sheet(), None) is None
    fields = answer_form(replace(GATE, response_schema=BOTH), Sheet(), None)
    assert fields is not None
    assert [one.label for one in fields.fields] == ["limit"]
    assert change_list(Sheet("approve")) is None
