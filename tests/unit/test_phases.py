"""Phases: order of transitions, moves of a journey, answers at a checkpoint."""

from datetime import timedelta
from enum import Enum, StrEnum
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, LimitExceeded, LocalProtocolError
from soorma_ai.features.phases.hooks import REPLACED_HELPERS, PhaseHooks
from soorma_ai.features.phases.records import (
    CHECKPOINT_ANSWERED,
    Checkpoint,
    CheckpointEvent,
    CheckpointKind,
    DataEvent,
    DecidedBy,
    JourneyState,
    OpenTransition,
    PhaseTransition,
    ToolStartEvent,
)
from soorma_ai.features.phases.rules import (
    MESSAGE_CHARS,
    MOST_MESSAGES,
    CheckpointAnswer,
    PhaseGraph,
    Say,
    answers_checkpoint,
    back_by,
    begin_in,
    check_graph,
    check_journey_state,
    count_actions,
    expression_holds,
    in_order,
    keep_message,
    move_on,
    name_of,
    read_journey_state,
    record_of,
    tell_messages,
    texts_in,
    untold,
    verdict_of,
    write_journey_state,
)
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.values import Json
from unit.kit import HOUR, NOW, answer, expectation


class P(StrEnum):
    A = "A"
    B = "B"
    C = "C"
    END = "END"


def way(start: P, end: P, condition: str, back: bool = False, priority: int = 0, **more: str) -> PhaseTransition:
    return PhaseTransition(start, end, condition, back, priority, **more)


WAYS = (
    way(P.A, P.B, "a_done"),
    way(P.B, P.C, "b_done"),
    way(P.B, P.END, "nothing_left", priority=5),
    way(P.B, P.A, "more_needed", back=True),
    way(P.C, P.A, "all_wrong", back=True),
    way(P.C, P.B, "gap", back=True, priority=2),
    way(P.C, P.END, "c_done", priority=9),
)
GRAPH = PhaseGraph(("A", "B", "C", "END"), WAYS, "A", "END")


@pytest.mark.parametrize(
    ("phase", "conditions"),
    [
        ("A", ["a_done"]),
        ("B", ["more_needed", "nothing_left", "b_done"]),
        ("C", ["gap", "all_wrong", "c_done"]),
        ("END", []),
    ],
)
def test_backward_transitions_are_tried_first_then_by_priority_then_in_order(phase: str, conditions: list[str]) -> None:
    assert [one.condition for one in in_order(GRAPH, phase)] == conditions


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"initial": "X"}, "there is no phase 'X'"),
        ({"complete": "X"}, "there is no phase 'X'"),
        ({"transitions": (*WAYS, way(P.END, P.A, "again", back=True))}, "'END' is the end"),
        ({"transitions": WAYS[1:]}, "no way leads to B, C, END"),
        ({"transitions": (way(P.A, P.B, "x"), way(P.A, P.C, "y"), way(P.A, P.END, "z"))}, "leads on from B, C"),
        ({"transitions": (*WAYS, way(P.A, P.A, "stay", back=True))}, "leads back to the phase that it comes from"),
        ({"transitions": (*WAYS, way(P.A, P.B, "x", expression="1 +"))}, "is no CEL expression"),
        ({"transitions": (*WAYS, way(P.A, P.B, "x", expression="plan.cost > 1"))}, "uses plan"),
        ({"transitions": (*WAYS, way(P.A, P.B, "x", expression="true", question="?"))}, "one of them decides"),
        ({"phases": ("A", "B", "END")}, "about 'C'"),
    ],
)
def test_a_graph_that_cannot_run_is_refused_with_its_fault(changes: dict[str, Any], told: str) -> None:
    check_graph(GRAPH)
    with pytest.raises(ConfigError, match=told):
        check_graph(replace(GRAPH, **changes))


def test_a_phase_is_named_by_its_text() -> None:
    class Numbered(Enum):
        ONE = 1
        TWO = "two:2"
        NONE = ""

    assert name_of(P.A) == "A"
    for strange in Numbered:
        with pytest.raises(ConfigError, match="give it text without a colon"):
            name_of(strange)


def transition_to(to: str, reason: str, back: bool = False, detail: str = "") -> OpenTransition:
    return OpenTransition(to, reason, back, DecidedBy.METHOD, detail)


def test_the_first_phase_counts_as_visited_at_the_start() -> None:
    begun = begin_in("A")
    assert (begun.visit, begun.trigger, begun.moves) == (1, None, 0)


def test_a_backward_trigger_belongs_to_its_visit_and_ends_with_the_next_transition() -> None:
    there = move_on(begin_in("A"), transition_to("B", "a_done"), {})
    back = move_on(there, transition_to("A", "more_needed", back=True, detail="owls"), {})
    again = move_on(back, transition_to("B", "a_done"), {})
    assert [one.trigger for one in (there, back, again)] == [None, "more_needed", None]
    assert [one.detail for one in (there, back, again)] == ["", "owls", ""]
    assert (again.visits, again.moves, again.visit) == ({"A": 2, "B": 2}, 3, 2)


@pytest.mark.parametrize(("most", "entered"), [({"A": 2}, 2), ({"A": 1}, 1), ({}, 10), ({"A": None}, 30)])
def test_a_phase_is_visited_at_most_max_visits_times(most: dict[str, int | None], entered: int) -> None:
    standing, to = begin_in("A"), [transition_to("B", "x"), transition_to("A", "y", back=True)]
    most = {"B": None, **most}
    for number in range(2 * (entered - 1)):
        standing = move_on(standing, to[number % 2], most)
    assert standing.visits["A"] == entered
    if most.get("A", 10) is not None:
        standing = move_on(standing, to[0], most)
        with pytest.raises(LimitExceeded, match="max_visits"):
            move_on(standing, to[1], most)


def test_actions_are_counted_for_each_visit() -> None:
    used = count_actions(begin_in("A"), 2, 3)
    with pytest.raises(LimitExceeded, match="2 of 3 used in visit 1 of A"):
        count_actions(used, 2, 3)
    assert count_actions(used, 90, None).actions == 92
    assert move_on(used, transition_to("B", "x"), {}).actions == 0


def test_a_move_clears_the_checkpoint_of_its_phase() -> None:
    stopped = replace(begin_in("A"), checkpoint="w-1", leading=transition_to("B", "a_done"))
    assert (move_on(stopped, transition_to("B", "a_done"), {}).checkpoint, stopped.checkpoint) == (None, "w-1")


def test_a_move_is_recorded_with_its_phases_reason_time_and_decider() -> None:
    assert record_of(begin_in("A"), OpenTransition("B", "a_done", False, DecidedBy.MODEL, "x" * 9_000), NOW) == {
        "from": "A",
        "to": "B",
        "reason": "a_done",
        "is_backward": False,
        "timestamp": "2026-03-01T12:00:00+00:00",
        "detail": "x" * (MESSAGE_CHARS - 1) + "…",
        "decided_by": "model",
    }


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (answer("approve"), CheckpointAnswer(Say.APPROVE)),
        (answer("approve", approved=True), CheckpointAnswer(Say.APPROVE)),
        (answer("reject", "dull"), CheckpointAnswer(Say.REJECT, "dull")),
        (answer("reject", reason="dull", back="gap"), CheckpointAnswer(Say.REJECT, "dull", "gap")),
        (answer("respond", action="approve"), CheckpointAnswer(Say.APPROVE)),
        (answer("respond", action="reject"), CheckpointAnswer(Say.REJECT)),
        (
            answer("respond", action="modify", modifications={"n": 1}),
            CheckpointAnswer(Say.MODIFY, modifications={"n": 1}),
        ),
        (answer("respond", action="modify", reason="later"), CheckpointAnswer(Say.MODIFY, "later")),
        (answer("respond", action="modify", modifications=[1]), CheckpointAnswer(Say.MODIFY)),
        (answer("respond", text="shorter", colour="red"), CheckpointAnswer(Say.MODIFY, "shorter")),
        (answer("approve", modifications={"n": 1}), CheckpointAnswer(Say.APPROVE)),
        (
            answer("approve", action="modify", modifications={"n": 1}),
            CheckpointAnswer(Say.MODIFY, modifications={"n": 1}),
        ),
        (answer("approve", action="reject", reason="dull"), CheckpointAnswer(Say.REJECT, "dull")),
        (answer("reject", action="approve"), CheckpointAnswer(Say.REJECT)),
        (answer("approve", action="dance"), CheckpointAnswer(Say.APPROVE)),
        (answer("respond", action="dance", reason=7), CheckpointAnswer(Say.MODIFY)),
        (None, CheckpointAnswer(Say.GO_ON)),
    ],
)
def test_an_answer_at_a_checkpoint_approves_modifies_or_rejects(given: Any, verdict: CheckpointAnswer) -> None:
    assert verdict_of(expectation("wait", "met", answer=given)) == verdict


def test_a_checkpoint_without_an_answer_in_time_lets_the_journey_go_on() -> None:
    assert verdict_of(expectation("wait", "expired")) == CheckpointAnswer(Say.GO_ON)


@pytest.mark.parametrize(
    ("phase", "named", "to"), [("C", "gap", "B"), ("C", "all_wrong", "A"), ("C", "c_done", None), ("A", "gap", None)]
)
def test_a_rejection_takes_the_backward_transition_it_names(phase: str, named: str, to: str | None) -> None:
    found = back_by(GRAPH, phase, CheckpointAnswer(Say.REJECT, "so", named))
    assert (found.to_phase if found else None) == to
    if found:
        assert (found.decided_by, found.detail, found.is_backward) == (DecidedBy.PERSON, "so", True)


def test_only_its_own_wait_ends_a_checkpoint() -> None:
    standing = replace(begin_in("A"), checkpoint="x-1")
    asked = expectation("wait", event_type=CHECKPOINT_ANSWERED)
    assert answers_checkpoint(asked, standing)
    assert not answers_checkpoint(replace(asked, id="x-2"), standing)
    assert not answers_checkpoint(replace(asked, event_type="other"), standing)
    assert asked.status is ExpectationStatus.OPEN


def test_messages_are_bounded_and_shown_once() -> None:
    kept: list[Json] = []
    for number in range(10_000):
        kept = keep_message(kept, f"{number} " + "x" * 9_000)
    assert len(kept) == MOST_MESSAGES
    assert max(map(len, texts_in(kept))) == MESSAGE_CHARS
    told = tell_messages(kept)
    assert untold(keep_message(told, "new")) == [{"text": "new", "told": False}]
    assert (untold(told), texts_in([7, {"text": 8}])) == ([], [""])


def test_an_expression_sees_the_journeys_values_and_is_false_if_undecided() -> None:
    values: dict[str, Json] = {"context": {"n": 3}, "work": None, "visits": {"A": 2}, "messages": ["more"], "brief": {}}
    assert expression_holds(way(P.A, P.B, "x", expression="context.n > 2 && visits.A == 2"), values)
    assert not expression_holds(way(P.A, P.B, "x", expression="work.done"), values)


def test_the_state_of_a_journey_survives_a_round_trip() -> None:
    standing = JourneyState("B", {"A": 1, "B": 2}, "gap", "owls", True, 3, 4, "w-1", transition_to("C", "b_done"))
    assert read_journey_state(write_journey_state(standing)) == standing
    with pytest.raises(LocalProtocolError, match="no state of a journey"):
        read_journey_state({"phase": "A"})


@pytest.mark.parametrize(
    ("standing", "told"),
    [
        (JourneyState("X", {"X": 1}), "tells of 'X'"),
        (JourneyState("A", {"A": 1, "X": 1}), "tells of 'X'"),
        (JourneyState("A", {"B": 1}), "visits"),
        (JourneyState("A", {"A": 1, "B": -1}), "visits"),
    ],
)
def test_the_state_of_a_journey_through_another_graph_is_refused(standing: JourneyState, told: str) -> None:
    with pytest.raises(LocalProtocolError, match=told):
        check_journey_state(standing, GRAPH)


def test_an_imported_journey_has_no_checkpoint() -> None:
    assert check_journey_state(replace(begin_in("A"), checkpoint="w"), GRAPH) == begin_in("A")


@pytest.mark.parametrize(
    ("kind", "timeout"), [(CheckpointKind.BLOCKING, HOUR), (CheckpointKind.OPTIONAL, None), ("informational", HOUR)]
)
def test_an_optional_checkpoint_needs_a_timeout_and_others_have_none(kind: Any, timeout: timedelta | None) -> None:
    with pytest.raises(ConfigError, match="an optional one has a timeout"):
        Checkpoint("c", "?", kind=CheckpointKind(kind), timeout=timeout)


def test_a_stream_event_has_a_type_and_its_fields() -> None:
    assert DataEvent(name="source.found", value={"id": "s"}).type == "data.source.found"
    started = ToolStartEvent(tool_name="search", parameters={"q": "owls"})
    assert (started.type, started.data) == ("tool.start", {"tool_name": "search", "parameters": {"q": "owls"}})
    shown = CheckpointEvent(checkpoint_id="c", message="?").data
    assert (shown["options"], shown["requires_approval"]) == (["approve", "modify", "reject"], True)


def test_every_loop_of_a_graph_ends_at_a_limit() -> None:
    """A limit trips after a number of moves along any transitions."""
    standing = begin_in("A")
    loop = [transition_to("B", "a_done"), transition_to("A", "more_needed", back=True)]
    with pytest.raises(LimitExceeded):
        for step, _ in pairwise(range(100)):
            standing = move_on(standing, loop[step % 2], {})


@pytest.mark.parametrize("name", REPLACED_HELPERS)
def test_a_helper_method_of_the_documents_is_refused_with_its_hook(name: str) -> None:
    def helper() -> None: ...

    with pytest.raises(ConfigError, match=f"Mine has {name}, never called here. Wanted are hooks. {name}: "):
        type("Mine", (PhaseHooks,), {name: helper})


def test_a_class_with_only_hooks_is_accepted() -> None:
    assert type("Mine", (PhaseHooks,), {"_get_checkpoint": lambda *_: None})
