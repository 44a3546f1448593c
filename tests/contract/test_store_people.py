"""Acts of people about questions are kept, replace earlier ones, and go with their question or their person."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from store_kit import NOW, answer, do, event, find, gate, later, question, save_running_plan, unsent_ids, wait

from soorma_ai.features.human_tasks.claims import announce_claim
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.records import (
    Absence,
    Claim,
    Colleague,
    Link,
    MadeLink,
    Notice,
    NoticeState,
    Snooze,
)
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.states import WAIT_HANDED_OVER
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED, wake_for
from soorma_ai.kernel.sql.parts import SqlStore

ANNS = Claim("a-1", "default", "ann", NOW, later(60))
BOBS = replace(ANNS, user_id="bob", at=later(5), given_by="ann")
AWAY = Absence("default", "ann", "bob", frozenset({"manager"}), NOW, later(60), "k-1")
OPENED = Notice("a-1", "default", "ann", NoticeState.OPENED, NOW)
FAILED = Notice("a-1", "default", "ann", NoticeState.FAILED, NOW, "mail", "e-1", "the server is away")
ANN = Colleague("default", "ann", frozenset({"manager"}), NOW)
LINK = Link("question", "a-1", "default", "ann", frozenset({"manager"}), NOW, later(60))


async def test_a_claim_replaces_only_the_claim_that_was_read(store: Store) -> None:
    await save_running_plan(store, gate("a-1"))
    people = store.part(PEOPLE)
    assert await people.claim(ANNS, None) is True
    assert await people.claim(BOBS, None) is False
    assert await people.claim(BOBS, replace(ANNS, at=later(1))) is False
    assert await people.claims(["a-1", "a-2"]) == [ANNS]
    assert await people.claim(BOBS, ANNS) is True
    assert await people.release(ANNS) is False
    assert await people.claims(["a-1"]) == [BOBS]
    assert (await people.release(BOBS), await people.claims(["a-1"])) == (True, [])


async def test_a_claim_is_announced_with_it_and_only_with_it(store: Store) -> None:
    asked = gate("a-1")
    await save_running_plan(store, asked)
    assert await store.part(PEOPLE).claim(ANNS, None)
    assert not await store.part(PEOPLE).claim(BOBS, None, announce_claim(asked, BOBS))
    assert await store.part(PEOPLE).claim(BOBS, ANNS, announce_claim(asked, BOBS))
    told = [row.event for row in await store.events.events() if row.event.type == WAIT_HANDED_OVER]
    assert [(one.subject, one.data["to"], one.data["given_by"]) for one in told] == [("a-1", "bob", "ann")]


async def test_of_several_concurrent_claims_one_counts(store: Store) -> None:
    await save_running_plan(store, gate("a-1"))
    crowd = [replace(ANNS, user_id=f"user-{n}") for n in range(5)]
    assert sorted(await asyncio.gather(*(store.part(PEOPLE).claim(one, None) for one in crowd))) == [False] * 4 + [True]


async def test_a_claim_ends_with_its_question(store: Store) -> None:
    asked = gate("a-1")
    await save_running_plan(store, asked)
    assert await store.part(PEOPLE).claim(ANNS, None)
    assert await store.plans.answer("a-1", answer("act-1"), wake_for(ANSWERED, asked, later(5)), later(5))
    assert await store.part(PEOPLE).claims(["a-1"]) == []
    assert await store.part(PEOPLE).claim(ANNS, None) is False
    assert await store.part(PEOPLE).claim(replace(ANNS, wait_id="nothing"), None) is False


SNOOZE = Snooze("a-1", "default", "ann", NOW, later(60))


async def open_escalating_question(store: Store, *timers: str) -> None:
    """Open a question with an escalation at ten seconds and a reminder at eight, and these timers of the two."""
    ask = replace(
        question(approvers=("manager",)),
        reminders=(timedelta(seconds=8),),
        escalate_after=timedelta(seconds=10),
        escalate_to=("director",),
    )
    await save_running_plan(store, gate("a-1", ask=ask))
    for due, series in ((8, "reminder"), (10, "escalation")):
        if series in timers:
            await do(store, Schedule(f"{series}:a-1", later(due), event(series), guards="a-1", series=series))


async def escalation_of(store: Store) -> timedelta | None:
    ask = (await find(store, "a-1")).ask
    return ask.escalate_after if ask else None


async def test_a_snooze_moves_timers_and_the_escalation_and_is_kept(store: Store) -> None:
    await open_escalating_question(store, "reminder", "escalation")
    assert await store.part(PEOPLE).snooze(SNOOZE, later(5))
    assert await store.part(PEOPLE).snoozed("a-1") == SNOOZE
    assert (await store.queue.fire(later(59), 9), await escalation_of(store)) == (0, timedelta(seconds=60))
    longer = replace(SNOOZE, user_id="bob", until=later(70))
    assert await store.part(PEOPLE).snooze(longer, later(59))
    assert await store.part(PEOPLE).snoozed("a-1") == longer
    await store.queue.fire(later(70), 9)
    assert sorted(await unsent_ids(store)) == ["escalation", "reminder"]


async def test_a_snooze_leaves_due_timers_that_have_not_fired(store: Store) -> None:
    await open_escalating_question(store, "reminder", "escalation")
    assert await store.part(PEOPLE).snooze(SNOOZE, later(11))
    assert await store.queue.fire(later(12), 9) == 2
    assert await escalation_of(store) == timedelta(seconds=10)


async def test_a_snooze_at_the_firing_of_the_escalation_leaves_it(store: Store) -> None:
    await open_escalating_question(store, "reminder", "escalation")
    await store.queue.fire(later(10), 9)
    assert await store.part(PEOPLE).snooze(SNOOZE, later(9.9))
    assert await escalation_of(store) == timedelta(seconds=10)


async def test_of_two_snoozes_at_once_the_longer_stands(store: Store) -> None:
    await open_escalating_question(store, "escalation")
    shorter = replace(SNOOZE, user_id="bob", until=later(30))
    people = store.part(PEOPLE)
    assert await asyncio.gather(people.snooze(SNOOZE, later(5)), people.snooze(shorter, later(5))) == [True, False]
    assert (await people.snoozed("a-1"), await escalation_of(store)) == (SNOOZE, timedelta(seconds=60))


async def test_a_snooze_up_to_a_deadline_returned_meanwhile_is_not_kept(store: Store) -> None:
    await save_running_plan(store, gate("a-1", deadline=later(60)))
    people = store.part(PEOPLE)
    assert (await people.snooze(SNOOZE, later(5)), await people.snoozed("a-1")) == (False, None)
    assert await people.snooze(replace(SNOOZE, until=later(59)), later(5))


async def test_an_unreadable_timer_holds_up_no_snooze(store: Store) -> None:
    assert isinstance(store, SqlStore)
    await open_escalating_question(store, "reminder", "escalation")
    await store.database.write(lambda db: db.execute("UPDATE timer SET body = '{' WHERE id = 'reminder:a-1'"))
    assert await store.part(PEOPLE).snooze(SNOOZE, later(5))
    assert await store.queue.fire(later(59), 9) == 0
    await store.queue.fire(later(60), 9)
    assert await unsent_ids(store) == ["escalation"]


async def test_an_absence_ends_by_itself_and_a_person_has_one_at_a_time(store: Store) -> None:
    people = store.part(PEOPLE)
    for one in (replace(AWAY, deputy="zoe"), AWAY, replace(AWAY, tenant_id="other"), replace(AWAY, user_id="eve")):
        await people.leave(one)
    assert await people.absences("default", later(59)) == [AWAY, replace(AWAY, user_id="eve")]
    assert await people.stood_in_for("default", "bob", later(59)) == [AWAY, replace(AWAY, user_id="eve")]
    assert await people.stood_in_for("default", "zoe", NOW) == []
    assert await people.absences("default", later(60)) == []
    assert (await people.come_back("default", "eve"), await people.come_back("default", "eve")) == (True, False)
    assert await people.absences("default", NOW) == [AWAY]


async def test_a_notice_has_its_last_state_and_a_view_is_recorded_once(store: Store) -> None:
    people, delivered = store.part(PEOPLE), replace(FAILED, state=NoticeState.DELIVERED, at=later(5), detail="")
    assert await people.look(OPENED, ANN) is True
    assert await people.look(replace(OPENED, at=later(9)), replace(ANN, roles=frozenset())) is False
    await people.tell(FAILED)
    assert await people.notices("a-1") == [OPENED, FAILED]
    await people.tell(delivered)
    assert await people.notices("a-1") == [OPENED, delivered]
    again = replace(ANN, roles=frozenset({"clerk"}), seen_at=later(9))
    assert await people.look(replace(OPENED, wait_id="a-2"), again)
    assert await people.colleague("default", "ann") == again
    assert await people.colleagues("default", 9) == [again]
    assert (await people.colleague("other", "ann"), await people.colleagues("other", 9)) == (None, [])


async def test_answers_to_questions_of_one_kind_are_found_the_last_first(store: Store) -> None:
    asked = [gate(f"a-{n}") for n in range(4)]
    others = [gate("other", subject="another.event"), wait("w-1")]
    await save_running_plan(store, *asked, *others)
    for n, one in enumerate([*asked[:3], *others]):
        assert await store.plans.answer(one.id, answer(f"act-{n}"), wake_for(ANSWERED, one, later(n)), later(n))
    assert [one.id for one in await store.part(PEOPLE).find_alike(asked[3], 9)] == ["a-2", "a-1", "a-0"]
    assert [one.id for one in await store.part(PEOPLE).find_alike(asked[1], 1)] == ["a-2"]
    assert await store.part(PEOPLE).find_alike(replace(asked[3], tenant_id="elsewhere"), 9) == []


async def test_a_link_is_listed_in_the_place_of_the_one_before_and_revoked_once(store: Store) -> None:
    people, made = store.part(PEOPLE), MadeLink(LINK, "root")
    later_made = MadeLink(replace(LINK, made_at=later(5)), "ann")
    await people.add_link(made)
    await people.add_link(later_made)
    assert await people.link("default", "question", "a-1", "ann") == later_made
    assert await people.links("default", "a-1", 9) == [later_made]
    revoked = replace(later_made, revoked_at=later(9))
    assert (await people.revoke_link(revoked), await people.revoke_link(revoked)) == (True, False)
    assert await people.links("default", "a-1", 9) == [revoked]
    assert await people.revoke_link(replace(revoked, link=replace(LINK, about="a-2"))) is True
    assert await people.links("other", "a-1", 9) == []
    newest = MadeLink(replace(LINK, made_at=later(12)), "ann")
    await people.add_link(newest)
    [found] = await people.links("default", "a-1", 9)
    assert (found, found.is_revoked) == (replace(newest, revoked_at=later(9)), False), "those before stay revoked"
    assert await people.revoke_link(replace(newest, revoked_at=later(15))) is True
    assert [one.is_revoked for one in await people.links("default", "a-1", 9)] == [True]


@pytest.mark.parametrize("who", ["ann", "bob"])
async def test_a_forgotten_user_has_no_claim_no_absence_and_no_link(store: Store, who: str) -> None:
    await save_running_plan(store, gate("a-1", user_id="eve"))
    people = store.part(PEOPLE)
    await people.claim(replace(ANNS, user_id=who), None)
    await people.leave(AWAY)
    await people.look(replace(OPENED, user_id=who), replace(ANN, user_id=who))
    await people.add_link(MadeLink(replace(LINK, user_id=who), "root"))
    await store.part(UPKEEP).begin_forgetting("default", who, NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    assert (await people.claims(["a-1"]), await people.notices("a-1")) == ([], [])
    assert await people.colleagues("default", 9) == []
    assert (await people.absences("default", NOW), await people.links("default", "a-1", 9)) == ([], [])


async def test_a_revoked_link_stays_revoked_when_its_user_is_forgotten(store: Store) -> None:
    people, revoked = store.part(PEOPLE), MadeLink(LINK, "root", later(5))
    await people.revoke_link(revoked)
    await people.add_link(MadeLink(replace(LINK, made_at=later(9)), "root"))
    await store.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    found = await people.link("default", "question", "a-1", "ann")
    assert found is not None and found.is_revoked, "the one made since is no good either"
    assert found.revoked_at is not None and found.revoked_at >= later(5)


async def test_notices_links_and_absences_long_over_are_pruned(store: Store) -> None:
    await save_running_plan(store, gate("a-1"))
    people, then = store.part(PEOPLE), NOW + timedelta(days=40)
    await people.leave(AWAY)
    await people.tell(FAILED)
    await people.tell(replace(FAILED, wait_id="gone"))
    await people.add_link(MadeLink(LINK, "root"))
    after = None
    while True:
        pruned = await store.part(UPKEEP).prune(AgeConditions("default", then, [], then), 10, after=after)
        after = pruned.after
        if after is None:
            break
    assert (await people.notices("a-1"), await people.notices("gone")) == ([FAILED], [])
    assert (await people.come_back("default", "ann"), await people.links("default", "a-1", 9)) == (False, [])
