"""Input of a run: the last words of a person, and answers to questions.

A client sends its history, tools and state with each run. They are left out: the past is read in the store.
"""

from typing import cast

from ag_ui.core import ResumeEntry, RunAgentInput, TextPart, UserMessage
from msgspec import Struct
from pydantic import ValidationError

from soorma_ai.errors import LocalProtocolError
from soorma_ai.gateways.goals import payload_of
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.values import Json, JsonObject, clip, json_object
from soorma_ai.kernel.rules.waits.answers import say_approved

LONGEST_ID = 200
DECISION = "decision"
NOTE = "note"
_CURE = "give the answer as an object in `payload`"


class RunInput(Struct, frozen=True):
    """Goal of a run, as `words` and `data`; or answers to questions, `resumed`, in its place."""

    thread_id: str
    run_id: str
    words: str
    data: JsonObject
    resumed: tuple[ResumeEntry, ...]


class GivenAnswer(Struct, frozen=True):
    """Answer to a question; `decision` is None where the payload decides."""

    payload: JsonObject
    decision: str | None
    note: str


def read_input(body: bytes) -> RunInput:
    """Return the input of a run. Raise LocalProtocolError for a body off the protocol, and for a goal without words or
    data."""
    try:
        given = RunAgentInput.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise LocalProtocolError(f"{place}: {first['msg']}; give a RunAgentInput of AG-UI 1.0") from error
    for name, value in (("threadId", given.thread_id), ("runId", given.run_id)):
        if not 0 < len(value) <= LONGEST_ID or not value.isprintable():
            raise LocalProtocolError(f"{name}: give 1 to {LONGEST_ID} printable characters")
    resumed = tuple(given.resume or ())
    if resumed:
        return RunInput(given.thread_id, given.run_id, "", {}, resumed)
    words = _words_of(given)
    data = json_object("forwardedProps", given.forwarded_props or {})
    if not words and not data:
        raise LocalProtocolError("a run needs a goal: let the last message be the user's, or give forwardedProps")
    return RunInput(given.thread_id, given.run_id, words, data, ())


def answer_of(wait: Wait, entry: ResumeEntry) -> GivenAnswer:
    """Return the answer of an entry to this question.

    A cancelled question is a rejection. Raise LocalProtocolError where it allows none, and for a payload that the
    question has no place for.
    """
    about = entry.metadata or {}
    note, decision = about.get(NOTE), _decision_of(entry, about.get(DECISION))
    if decision == AnswerDecision.REJECT and decision not in wait.allowed_decisions:
        raise LocalProtocolError(f"the question {clip(entry.interrupt_id, 80)} cannot be rejected: answer it")
    given = cast("Json", entry.payload)
    if isinstance(given, str):
        payload = payload_of(given, {}, wait.response_schema, _CURE)
    else:
        payload = {} if given is None or isinstance(given, bool) else json_object("payload", given)
    payload = say_approved(decision, payload, wait.response_schema)
    return GivenAnswer(payload, decision, note if isinstance(note, str) else "")


def _decision_of(entry: ResumeEntry, named: object) -> str | None:
    """Return the decision of an entry, None where its payload decides: the one that it names, or a yes or no alone."""
    if entry.status == "cancelled":
        return AnswerDecision.REJECT
    if named is not None and not isinstance(named, str):
        raise LocalProtocolError(f"metadata.{DECISION}: give one of {', '.join(AnswerDecision)}")
    if named is None and isinstance(entry.payload, bool):
        return AnswerDecision.APPROVE if entry.payload else AnswerDecision.REJECT
    return named


def _words_of(given: RunAgentInput) -> str:
    last = given.messages[-1] if given.messages else None
    if not isinstance(last, UserMessage):
        return ""
    if isinstance(last.content, str):
        return last.content
    words: list[str] = []
    for part in last.content:
        if not isinstance(part, TextPart):
            raise LocalProtocolError(f"a part of the message is {part.type}; give text")
        words.append(part.text)
    return "\n".join(words)
