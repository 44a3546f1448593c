"""Claims, assignments and absences, by forms alone."""

from datetime import timedelta

from console_kit import Browser, ask, key_for, open_browser, shop, site

from soorma_ai import Platform
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.testing.clock import VirtualClock


async def look_at(platform: Platform, wait_id: str, token: str) -> None:
    async with open_browser(site(platform)) as browser:
        await (await browser.sign_in(token)).open(f"/inbox/{wait_id}")


async def sign_in_at(browser: Browser, token: str, path: str) -> Browser:
    return await (await browser.sign_in(token)).open(path)


async def test_a_claim_is_shown_to_others_and_keeps_the_question_open_for_their_answers(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    maria, bob = await key_for(platform, "maria", "manager"), await key_for(platform, "bob", "manager")
    served, path = site(platform), f"/inbox/{wait_id}"
    async with open_browser(served) as hers, open_browser(served) as his:
        await sign_in_at(hers, maria, path)
        assert "Assigned to you" in (await hers.press("claim")).text
        assert "Assigned to maria" in (await sign_in_at(his, bob, path)).text
        assert "assigned to maria" in his.text  # in the words of its line
        assert "Assigned to you" in (await his.press("insist")).text
        assert "Assigned to bob" in (await hers.open(path)).text
        assert "Your answer was recorded" in (await hers.press("approve")).text
        assert "maria was first" in (await his.press("approve")).text
    assert await platform.services.store.part(PEOPLE).claims([wait_id]) == []
    rows = [(row.entry.user_id, row.entry.call, row.entry.outcome) for row in await platform.audit()]
    assert rows == [
        ("bob", "answer", "duplicate"),
        ("maria", "answer", "accepted"),
        ("bob", "inbox.claim", "done"),
        ("maria", "inbox.claim", "done"),
    ]


async def test_a_question_is_assigned_only_to_a_colleague_with_the_role_to_answer(
    platform: Platform, clock: VirtualClock
) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    maria = await key_for(platform, "maria", "manager")
    await key_for(platform, "bob", "manager")
    await key_for(platform, "carl", "clerk")
    async with open_browser(site(platform)) as browser:
        await sign_in_at(browser, maria, f"/inbox/{wait_id}")
        assert ">bob</option>" in browser.page.text and "carl" not in browser.page.text
        assert "Assigned to bob" in (await browser.press("hand", to="bob")).text
        assert "UTC , by maria" in browser.text
        again = await browser.press("hand", to="bob")
        assert "Assigned to bob" in again.text
        assert "carl has clerk; one of manager must answer" in (await browser.press("hand", to="carl")).text
        await clock.advance(timedelta(hours=1))
        assert "Assigned to" not in (await browser.open(f"/inbox/{wait_id}")).text


async def test_a_substitute_answers_for_an_absent_person_and_the_answer_names_both(
    platform: Platform, clock: VirtualClock
) -> None:
    await platform.start(*shop())
    plan = await platform.submit("order.received", {"order_id": "4711"})
    wait = await plan.next_wait()
    assert wait is not None
    maria, zoe = await key_for(platform, "maria", "manager"), await key_for(platform, "zoe")
    until = (clock.now() + timedelta(days=1)).date().isoformat()
    served = site(platform)
    async with open_browser(served) as hers, open_browser(served) as zoes:
        assert "No open questions" in (await sign_in_at(zoes, zoe, "/inbox")).text
        await sign_in_at(hers, maria, "/away")
        assert "you cannot be your own substitute" in (await hers.press("away", until=until, deputy="maria")).text
        assert "zoe is your substitute" in (await hers.press("away", until=until, deputy="zoe")).text
        assert "You answer for maria , absent" in (await zoes.open("/inbox")).text
        assert "Your answer was recorded" in (await zoes.press("approve")).text
        assert "zoe for maria approved this" in (await zoes.open(f"/inbox/{wait.wait_id}")).text
        assert "zoe is your substitute" not in (await hers.press("back")).text
    await plan.result(timeout=5)
    [answer] = [row.entry for row in await platform.audit() if row.entry.call == "answer"]
    assert (answer.user_id, answer.for_user, answer.outcome) == ("zoe", "maria", "accepted")
    [step] = [one for one in (await platform.plan(plan.plan_id)).steps if one.kind == "answered"]
    assert step.note == "approve (zoe for maria)"


async def test_a_substitute_of_a_person_without_a_key_sees_and_answers_nothing(
    platform: Platform, clock: VirtualClock
) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    maria, zoe = await key_for(platform, "maria", "manager"), await key_for(platform, "zoe")
    until = (clock.now() + timedelta(days=1)).date().isoformat()
    async with open_browser(site(platform)) as hers, open_browser(site(platform)) as zoes:
        await (await sign_in_at(hers, maria, "/away")).press("away", until=until, deputy="zoe")
        await sign_in_at(zoes, zoe, f"/inbox/{wait_id}")
        [key] = [key for key in await platform.keys.ls() if key.user_id == "maria"]
        await platform.keys.revoke(key.key_id)
        assert (await zoes.press("approve")).page.status_code == 404
        assert "No open questions" in (await zoes.open("/inbox")).text


async def test_a_view_of_a_question_is_recorded_once_with_the_viewers_roles(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    maria, eve = await key_for(platform, "maria", "manager"), await key_for(platform, "eve")
    for token in (maria, maria, eve):
        await look_at(platform, wait_id, token)
    people = platform.services.store.part(PEOPLE)
    # eve sees her own question, and may not answer it.
    assert [(one.user_id, one.state, one.via) for one in await people.notices(wait_id)] == [("maria", "opened", "")]
    assert [(one.user_id, one.roles) for one in await people.colleagues("default", 9)] == [("maria", {"manager"})]
