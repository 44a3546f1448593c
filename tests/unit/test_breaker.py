"""The breaker's arithmetic: no tree makes more events than its limit, and unused shares come back."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from soorma_ai.errors import LimitExceeded
from soorma_ai.kernel.domain.events import EventEnvelope, Lineage
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.rules import breaker
from soorma_ai.kernel.rules.breaker import (
    FIRST_SHARE,
    OFF,
    Means,
    begin_lineage,
    check_depth,
    first_share,
    from_abroad,
    grant,
    kinds_of,
    means_of,
    most_drawn,
    returning,
)
from soorma_ai.kernel.rules.waits.replies import refuse
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, wake_for
from unit.kit import NOW, event, expectation

USUAL = Limits()
MEANS = Means("root", nesting=16, hops=64, share=100)


def fact(id: str = "f", **fields: Any) -> EventEnvelope:
    return event("it.came", id=id, topic="business-facts", **fields)


def request(id: str = "q", **fields: Any) -> EventEnvelope:
    return event("it.requested", id=id, topic="action-requests", response_event="it.done", **fields)


def answer(id: str = "a", **fields: Any) -> EventEnvelope:
    return event("it.done", id=id, topic="action-results", answers="q", **fields)


def cost_of(events: Sequence[EventEnvelope], means: Means) -> int:
    return breaker.cost_of(kinds_of(events), means)


def spread(events: Sequence[EventEnvelope], means: Means, granted: int = 0) -> list[EventEnvelope]:
    return breaker.spread(events, kinds_of(events), means, means.share + granted - cost_of(events, means))


def shares(events: Sequence[EventEnvelope], means: Means = MEANS, granted: int = 0) -> list[int | None]:
    return [one.share for one in spread(events, means, granted)]


def test_a_request_pays_for_its_answer_and_takes_the_rest_of_the_share() -> None:
    (asked,) = spread([request()], MEANS)
    assert (asked.share, asked.nesting_left, asked.hops_left, asked.origin) == (98, 15, 64, "root")


def test_an_answer_is_free_and_returns_the_rest_at_its_requesters_depth() -> None:
    (told,) = spread([answer()], replace(MEANS, nesting=15, share=98))
    assert (told.share, told.nesting_left, told.hops_left) == (98, 16, 64)


def test_an_event_with_limits_is_a_copy_with_all_other_fields_unchanged() -> None:
    asked = request(ext1="kept", deadline=NOW)
    (stamped,) = spread([asked], MEANS)
    limits = {"nesting_left": 15, "hops_left": 64, "share": 98, "origin": "root"}
    assert stamped == asked.model_copy(update=limits)
    assert EventEnvelope.from_json(stamped.to_json()) == stamped
    assert (asked.share, asked.origin) == (None, None)


def test_a_fact_beside_an_answer_takes_the_smaller_part() -> None:
    told, brought = shares([fact(), answer()])
    assert told is not None and brought is not None
    assert told + brought <= 99 and brought > 7 * told


def test_a_second_answer_and_one_to_several_takers_cost_a_share() -> None:
    assert cost_of([answer("a"), answer("b")], MEANS) == 1
    assert cost_of([answer()], replace(MEANS, is_prepaid=False)) == 1


def test_a_wake_up_of_a_plan_costs_nothing_and_is_unchanged() -> None:
    wake = wake_for(ABANDONED, expectation(), NOW)
    assert spread([wake], replace(MEANS, share=0)) == [wake]
    assert cost_of([wake], MEANS) == 0


@pytest.mark.parametrize(
    ("means", "made", "limit"),
    [
        (replace(MEANS, nesting=0), request(), "max_nesting"),
        (replace(MEANS, hops=0), fact(), "max_hops"),
        (replace(MEANS, hops=0, is_aside=True), request(), "max_hops"),
    ],
)
def test_an_event_too_deep_fails_with_the_name_of_its_limit(means: Means, made: EventEnvelope, limit: str) -> None:
    with pytest.raises(LimitExceeded) as told:
        check_depth([made], means, USUAL)
    assert told.value.limit == limit


@pytest.mark.parametrize("made", [answer(), request()])
def test_an_answer_is_never_too_deep_and_a_tasks_request_never_too_many_hops_away(made: EventEnvelope) -> None:
    check_depth([made], replace(MEANS, hops=0), USUAL)
    check_depth([answer()], replace(MEANS, nesting=0, hops=0), USUAL)


def test_a_root_begins_with_a_first_share_and_its_copies_share_it() -> None:
    assert means_of(fact(), Lineage(), USUAL).share == FIRST_SHARE
    assert means_of(fact(), Lineage(), USUAL, copies=4).share == FIRST_SHARE // 4
    assert means_of(fact(), Lineage(), Limits(max_events=80)).share == 10


def test_an_event_from_another_root_brings_a_plan_no_share() -> None:
    of_plan = Lineage(origin="p-1", goal_id="g-1", nesting_left=9, hops_left=9)
    assert means_of(fact(), of_plan, USUAL, is_owned=True).share == 0
    assert means_of(fact(origin="another", share=50), of_plan, USUAL, is_owned=True).share == 0
    assert means_of(answer(origin="p-1", share=50), of_plan, USUAL, is_owned=True).share == 50
    assert means_of(request("g-1"), of_plan, USUAL, is_owned=True).share == FIRST_SHARE


def test_a_new_plan_sets_its_depth_and_hops_unless_it_lies_within_a_tree() -> None:
    limits = Limits(max_nesting=3, max_hops=None)
    begun = begin_lineage(Lineage(share=7), "p-1", limits)
    assert (begun.origin, begun.share, begun.nesting_left, begun.hops_left) == ("p-1", None, 3, OFF)
    within = begin_lineage(Lineage(origin="r", nesting_left=2, hops_left=5), "p-1", limits)
    assert (within.origin, within.nesting_left, within.hops_left) == ("r", 2, 5)
    assert begin_lineage(within, "p-2").nesting_left == 2


def test_a_refused_request_returns_its_whole_share() -> None:
    told = refuse(request(share=40, nesting_left=5, hops_left=6, origin="r"), "rejected", "no", NOW)
    assert (told.share, told.nesting_left, told.hops_left, told.origin) == (40, 6, 6, "r")
    assert returning(Lineage()) == Lineage()


def test_switched_off_limits_never_count_down() -> None:
    means = means_of(fact(), Lineage(), Limits(max_nesting=None, max_hops=None, max_events=None))
    assert (means.nesting, means.hops, most_drawn(Limits(max_events=None))) == (OFF, OFF, None)
    (made,) = spread([fact()], means)
    assert made.hops_left == OFF


def test_a_foreign_event_raises_no_limit_and_spends_nothing_of_a_local_root() -> None:
    told = fact(share=10**6, nesting_left=10**6, hops_left=10**6, origin="p-1")
    counted = from_abroad(told)
    assert (counted["share"], counted["nesting_left"], counted["hops_left"]) == (FIRST_SHARE, 16, 64)
    assert counted["origin"] not in (None, "p-1")
    again = told.model_copy(update={**counted, "share": 3, "hops_left": 2})
    assert from_abroad(again) == {**counted, "share": 3, "hops_left": 2}, "a returning event keeps its root"
    assert from_abroad(fact()) == dict.fromkeys(counted)


def test_a_missing_share_is_drawn_up_to_the_limit() -> None:
    limits = Limits(max_events=800)
    assert grant(lacking=5, parts=2, drawn=0, limits=limits) == 37
    assert grant(lacking=5, parts=2, drawn=690, limits=limits) == 10
    with pytest.raises(LimitExceeded, match="max_events"):
        grant(lacking=5, parts=2, drawn=696, limits=limits)


class World:
    """A run of handlings; each publishes a given number of facts and requests."""

    def __init__(self, limits: Limits, copies: int) -> None:
        self.limits, self.copies = limits, copies
        self.drawn = self.made = self.tripped = 0
        self.waiting = deque[tuple[EventEnvelope, int]]()

    def handle(self, facts: int, requests: int) -> None:
        cause, copies = self.waiting.popleft()
        is_request = cause.response_event is not None
        events = [fact(f"f-{self.made}-{n}") for n in range(facts)]
        events += [request(f"q-{self.made}-{n}") for n in range(requests)]
        events += [answer(f"a-{self.made}")] if is_request else []
        means = means_of(cause, cause.lineage, self.limits, copies=copies)
        try:
            check_depth(events, means, self.limits)
            stamped = spread(events, means, self._pay(events, means))
        except LimitExceeded:
            self.tripped += 1
            stamped = spread(events[-1:], means) if is_request else []
        self.made += len(stamped)
        for one in stamped:
            copies = 1 if one.answers or one.response_event else self.copies
            self.waiting += [(one, copies)] * copies

    def _pay(self, events: Sequence[EventEnvelope], means: Means) -> int:
        lacking = cost_of(events, means) - means.share
        if lacking <= 0:
            return 0
        granted = grant(lacking, len(events), self.drawn, self.limits)
        self.drawn += granted
        return granted


@given(
    most=st.integers(0, 3_000),
    copies=st.integers(1, 3),
    shape=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60),
    is_request=st.booleans(),
)
def test_no_tree_makes_more_than_max_events(
    most: int, copies: int, shape: list[tuple[int, int]], is_request: bool
) -> None:
    """Every handling publishes facts, requests and its answer; `shape` repeats without end."""
    world = World(Limits(max_events=most, max_hops=None, max_nesting=None), copies)
    world.waiting += [(request("r") if is_request else fact("r"), 1)]
    turns = 0
    while world.waiting and turns < 8_000:
        world.handle(*shape[turns % len(shape)])
        turns += 1
    answer_to_the_root = int(is_request)
    assert world.made <= most + answer_to_the_root
    assert first_share(world.limits) + world.drawn <= max(most, first_share(world.limits))


@given(share=st.integers(0, 10_000), facts=st.integers(0, 20), requests=st.integers(0, 20))
def test_the_parts_of_a_share_never_exceed_the_share(share: int, facts: int, requests: int) -> None:
    events = [*(fact(f"f{n}") for n in range(facts)), *(request(f"q{n}") for n in range(requests)), answer()]
    means = replace(MEANS, share=share)
    given_on = sum(one.share or 0 for one in spread(events, means))
    assert given_on <= max(share - cost_of(events, means), 0)


@given(steps=st.integers(1, 500))
def test_a_share_passed_to_and_fro_shrinks_only_by_the_events_made(steps: int) -> None:
    share = FIRST_SHARE
    for _ in range(steps):
        (asked,) = spread([request()], replace(MEANS, share=share))
        (told,) = spread([answer()], replace(MEANS, share=asked.share or 0, nesting=asked.nesting_left or 0))
        share, nesting = told.share or 0, told.nesting_left
        assert nesting == MEANS.nesting
    assert share == FIRST_SHARE - 2 * steps
