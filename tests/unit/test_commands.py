"""The commands of an owner: what stands on the wire, and what is refused of it."""

from datetime import timedelta
from typing import Any

import pytest

from soorma_ai.domain.people import Person
from soorma_ai.errors import LocalProtocolError
from soorma_ai.ports import Pruned
from soorma_ai.runtime.client.commands import (
    AddKey,
    AnswerWait,
    CancelPlan,
    Command,
    DiscardLetter,
    PrunePlans,
    RedriveLetter,
    RevokeKey,
    parse,
    sender,
    spell,
)

ANSWER: dict[str, Any] = {"wait_id": "w-1", "payload": {"ok": True}, "decision": None, "note": "", "answer_id": "a-1"}
PRUNE: dict[str, Any] = {"older_than": 86400.5, "statuses": ["failed"], "after": "p-1"}


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        (AnswerWait("w-1", {"ok": True}, None, "", "a-1"), {"call": "answer", **ANSWER}),
        (CancelPlan("p-1", "no more"), {"call": "cancel", "plan_id": "p-1", "reason": "no more"}),
        (RedriveLetter(7), {"call": "redrive", "letter_id": 7}),
        (DiscardLetter(7, "torn"), {"call": "discard", "letter_id": 7, "note": "torn"}),
        (AddKey({"key_id": "k-1"}), {"call": "add_key", "key": {"key_id": "k-1"}}),
        (RevokeKey("k-1"), {"call": "revoke_key", "key_id": "k-1"}),
        (PrunePlans(timedelta(days=1, seconds=0.5), ("failed",), "p-1"), {"call": "prune", **PRUNE}),
    ],
    ids=lambda value: value["call"] if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("roles", [None, frozenset[str](), frozenset({"cfo", "boss"})])
def test_a_command_is_spelled_for_the_wire_and_parsed_from_it(
    command: Command[object], fields: dict[str, Any], roles: frozenset[str] | None
) -> None:
    ada = Person("acme", "ada", roles)
    request = spell(command, ada)
    spelled = None if roles is None else sorted(roles)
    assert request == {**fields, "tenant_id": "acme", "user_id": "ada", "roles": spelled}
    assert (parse(request), sender(request)) == (command, ada)


def test_a_sender_that_names_no_roles_has_none() -> None:
    assert sender({"tenant_id": "acme", "user_id": "ada"}).roles == frozenset()
    with pytest.raises(LocalProtocolError, match="'roles' must be a list of names, found 'cfo'"):
        sender({"tenant_id": "acme", "user_id": "ada", "roles": "cfo"})


def test_what_may_be_left_out_has_a_default() -> None:
    assert parse({"call": "answer", "wait_id": "w", "payload": {}}) == AnswerWait("w", {})
    assert parse({"call": "cancel", "plan_id": "p"}) == CancelPlan("p")
    assert parse({"call": "discard", "letter_id": 1}) == DiscardLetter(1)
    assert parse({"call": "prune", **PRUNE, "after": None}) == PrunePlans(timedelta(seconds=86400.5), ("failed",))


@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        ({}, "the commands answer, cancel, redrive, discard, prune, forget, add_key, revoke_key, not None"),
        ({"call": "approve"}, "prune, forget, add_key, revoke_key, not 'approve'"),
        ({"call": ["answer"]}, r"not \['answer'\]"),
        ({"call": "answer", "payload": {}}, "answer: 'wait_id' is nothing: Field required"),
        ({"call": "answer", "wait_id": "w", "payload": [1]}, r"answer: 'payload' is \[1\]: .* dictionary"),
        ({"call": "answer", **ANSWER, "decision": 5}, "answer: 'decision' is 5: .* string"),
        ({"call": "cancel", "plan_id": 5}, "cancel: 'plan_id' is 5: .* string"),
        ({"call": "redrive", "letter_id": "7"}, "redrive: 'letter_id' is '7': .* integer"),
        ({"call": "redrive", "letter_id": True}, "redrive: 'letter_id' is True: .* integer"),
        ({"call": "discard", "letter_id": 7.0}, "discard: 'letter_id' is 7.0: .* integer"),
        ({"call": "prune", **PRUNE, "older_than": "long"}, "prune: 'older_than' is 'long': .* timedelta"),
        ({"call": "prune", **PRUNE, "older_than": 1e300}, "prune: 'older_than' is 1e.300: .* may not exceed"),
        ({"call": "prune", **PRUNE, "statuses": "failed"}, "prune: 'statuses' is 'failed': .* tuple"),
        ({"call": "prune", **PRUNE, "statuses": [1]}, r"prune: 'statuses' is \[1\]: .* string"),
    ],
    ids=str,
)
def test_what_no_owner_understands_is_refused_and_the_fault_is_named(request_: dict[str, Any], refusal: str) -> None:
    with pytest.raises(LocalProtocolError, match=refusal):
        parse(request_)


@pytest.mark.parametrize("who", [{}, {"tenant_id": "acme"}, {"tenant_id": "acme", "user_id": 1}], ids=str)
def test_a_request_of_nobody_is_refused(who: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError, match="'tenant_id' and 'user_id' must be text, found"):
        sender(who)


def test_a_reply_is_read_as_what_the_call_would_have_returned() -> None:
    outcome = AnswerWait("w", {}).read({"outcome": "late", "detail": "by a day"})
    assert (outcome, outcome.detail) == ("late", "by a day")
    assert CancelPlan("p").read({"cancelled": True}) is True
    assert RedriveLetter(1).read({"redriven": False}) is False
    assert DiscardLetter(1).read({"discarded": True}) is True
    reply: dict[str, Any] = {"plans": 1, "events": 2, "kept": 3, "after": "p-1"}
    assert PrunePlans(timedelta(days=1), ()).read(reply) == Pruned(1, 2, 3, "p-1")
