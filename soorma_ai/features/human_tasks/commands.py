"""`soorma inbox`: open questions, and their claims, assignments, absences and links."""

from datetime import UTC, datetime, time, timedelta
from typing import Protocol

import click

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.errors import ConfigError
from soorma_ai.features.human_tasks.calls import InboxCalls
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.records import EVERYBODY, Claim, LinkKind, NewLink, Notice
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.people import Person
from soorma_ai.settings import place_of_store
from soorma_ai.surfaces.completion import PlanId, WaitId
from soorma_ai.surfaces.ids import find_plan, find_wait, goals_of
from soorma_ai.surfaces.options import Access, Age, as_json, with_person, with_platform
from soorma_ai.surfaces.secret import link_secret, secret_of_store
from soorma_ai.surfaces.store_access import StoreAccess, open_store
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Printer, print_json
from soorma_ai.surfaces.terminal.waits import print_commands, print_wait, row
from soorma_ai.surfaces.terminal.wording import short_id

DEFAULT_BASE = "http://127.0.0.1:8700"


class InboxClient(KernelCalls, Protocol):
    """Calls of the kernel and of the inbox."""

    @property
    def inbox(self) -> InboxCalls: ...


_wait = click.argument("wait", type=WaitId())


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Largest number of rows.")
@as_json
@with_platform
def inbox(access: Access, limit: int, as_json: bool) -> None:
    """List open questions, the most urgent first; or claim and assign them, and list absences."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    found, now = _open(access).look_up(lambda client: _load(client, limit + 1)), SystemClock().now()
    open_now, printer = found[:limit], Printer()
    if as_json:
        print_json([wait for wait, _ in open_now])
    elif not open_now:
        Printer(stderr=True).line("no open questions")
    elif printer.is_plain:
        printer.rows(row(wait, now) for wait, _ in open_now)
    else:
        for number, (wait, goal) in enumerate(open_now):
            if number:
                printer.line()
            print_wait(printer, wait, goal, now)
            print_commands(printer, wait, access)
    if len(found) > limit and not as_json:
        Printer(stderr=True).line(f"there are more: --limit {limit * 10}")


@inbox.command()
@_wait
@click.option("--insist", is_flag=True, help="Take it over from its assignee.")
@with_person
@as_json
@with_platform
def claim(
    access: Access, wait: str, *, insist: bool, user_id: str, roles: frozenset[str] | None, as_json: bool
) -> None:
    """Assign a question to yourself, for an hour or until it is answered. Others are notified, and can still answer."""
    wait_id = _open(access).look_up(lambda client: find_wait(client, wait))
    made = _as_person(access, user_id, roles).steer(lambda client: client.inbox.claim(wait_id, insist=insist))
    _print_claim(made, as_json=as_json)


@inbox.command()
@_wait
@with_person
@as_json
@with_platform
def release(access: Access, wait: str, *, user_id: str, roles: frozenset[str] | None, as_json: bool) -> None:
    """Unassign a question of yours."""
    wait_id = _open(access).look_up(lambda client: find_wait(client, wait))
    is_released = _as_person(access, user_id, roles).steer(lambda client: client.inbox.release(wait_id))
    _print_done({"wait_id": wait_id, "released": is_released}, "released", "it is not assigned to you", as_json=as_json)


@inbox.command()
@_wait
@click.option("--to", required=True, metavar="NAME", help="The colleague; needs the right to answer it.")
@with_person
@as_json
@with_platform
def handover(access: Access, wait: str, *, to: str, user_id: str, roles: frozenset[str] | None, as_json: bool) -> None:
    """Assign a question to a colleague."""
    wait_id = _open(access).look_up(lambda client: find_wait(client, wait))
    made = _as_person(access, user_id, roles).steer(lambda client: client.inbox.hand_over(wait_id, to))
    _print_claim(made, as_json=as_json)


@inbox.command()
@_wait
@click.option("--for", "span", type=Age(), required=True, help="How long, such as 2h or 3d; at most 30 days.")
@with_person
@as_json
@with_platform
def snooze(
    access: Access, wait: str, *, span: timedelta, user_id: str, roles: frozenset[str] | None, as_json: bool
) -> None:
    """Put off the reminders and the escalation of a question. Its deadline stays."""
    wait_id = _open(access).look_up(lambda client: find_wait(client, wait))
    until = SystemClock().now() + span
    made = _as_person(access, user_id, roles).steer(lambda client: client.inbox.snooze(wait_id, until))
    said = f"question {short_id(wait_id)}: no reminder before {made.until:%Y-%m-%d %H:%M} UTC"
    print_json(made) if as_json else Printer().line(said)


@inbox.command("told")
@_wait
@as_json
@with_platform
def list_notices(access: Access, wait: str, as_json: bool) -> None:
    """List the notifications of a question, and its readers."""
    found = _open(access).look_up(lambda client: _notices(client, wait))
    if as_json:
        print_json(found)
        return
    Printer().rows(
        (
            one.at.isoformat(timespec="seconds"),
            one_line(one.user_id),
            one.state,
            one_line(one.via),
            one_line(one.detail),
        )
        for one in found
    )


@inbox.command()
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="The last day, in UTC.")
@click.option("--deputy", metavar="NAME", help="The substitute: answers your questions until then, with your rights.")
@click.option("--back", is_flag=True, help="You are back.")
@with_person
@as_json
@with_platform
def away(
    access: Access,
    *,
    until: datetime | None,
    deputy: str | None,
    back: bool,
    user_id: str,
    roles: frozenset[str] | None,
    as_json: bool,
) -> None:
    """Record your absence and its substitute, or your return; without options, list absences."""
    if (until is None) is not (deputy is None) or (back and until is not None):
        raise click.UsageError("give both --until and --deputy, or --back, or no option to list absences")
    store = _as_person(access, user_id, roles)
    if until is not None and deputy is not None:
        end = datetime.combine(until.date(), time(), UTC) + timedelta(days=1)
        made = store.steer(lambda client: client.inbox.away(end, deputy))
        said = f"{one_line(deputy)} is the substitute of {one_line(made.user_id)} until {end:%Y-%m-%d %H:%M} UTC"
        print_json(made) if as_json else Printer().line(said)
    elif back:
        is_back = store.steer(lambda client: client.inbox.back())
        _print_done({"back": is_back}, "back", "you are not away", as_json=as_json)
    else:
        found = _open(access).look_up(lambda client: client.inbox.absences())
        if as_json:
            print_json(found)
        else:
            Printer().rows((one_line(one.user_id), one_line(one.deputy), one.until.isoformat()) for one in found)


@inbox.command()
@click.argument("wait", type=WaitId(), required=False)
@click.option("--plan", type=PlanId(), help="For all questions of a plan and its children.")
@click.option("--for", "for_user", metavar="NAME", help="The person of the link; over HTTP it is you.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role of the person; repeatable.")
@click.option("--lasts", type=Age(), metavar="AGE", help="Validity, such as 36h or 7d; until the deadline at most.")
@click.option("--base", default=DEFAULT_BASE, show_default=True, metavar="URL", help="Public URL of the server.")
@click.option("--revoke", is_flag=True, help="Revoke the person's links to this instead.")
@as_json
@with_platform
def link(
    access: Access,
    wait: str | None,
    *,
    plan: str | None,
    for_user: str | None,
    roles: tuple[str, ...],
    lasts: timedelta | None,
    base: str,
    revoke: bool,
    as_json: bool,
) -> None:
    """Make a link to answer one question without signing in; without WAIT and --plan, to all open questions of a
    person.

    The link has that person's rights: send it to them alone.
    """
    if wait is not None and plan is not None:
        raise click.UsageError("a link is for one question, or for those of a plan: give one of them")
    if access.server is None and for_user is None:
        raise click.UsageError("give the person: --for NAME")
    kind: LinkKind = "question" if wait is not None else "plan" if plan is not None else "inbox"
    about = _open(access).look_up(lambda client: _about(client, wait, plan))
    store = _open(access, Person(access.tenant_id))
    if revoke:
        is_new = store.steer(lambda client: client.inbox.revoke_link(kind, about, user_id=for_user))
        _print_done({"revoked": is_new}, "revoked", "it was revoked already", as_json=as_json)
        return
    given = frozenset(roles) if roles or access.server is None else None
    made = store.steer(lambda client: client.inbox.make_link(kind, about, user_id=for_user, roles=given, lasts=lasts))
    url = f"{(access.server.url if access.server else base).rstrip('/')}{_path(access, made)}"
    print_json({"url": url, "link": made.made.link}) if as_json else Printer().line(url)


@inbox.command("sign-out")
@click.option("--for", "for_user", metavar="NAME", help="The person to sign out; over HTTP by default yourself.")
@click.option("--all", "is_all", is_flag=True, help="All sessions of the tenant.")
@as_json
@with_platform
def sign_out(access: Access, *, for_user: str | None, is_all: bool, as_json: bool) -> None:
    """End all sessions of a person in the console, on every device, copies of their cookies included. They may sign in
    again: to keep them out, revoke their key, or shut them out at the provider."""
    if is_all and for_user is not None:
        raise click.UsageError("give --for NAME or --all, not both")
    if access.server is None and not is_all and for_user is None:
        raise click.UsageError("give the person: --for NAME, or --all")
    name = EVERYBODY if is_all else for_user
    store = _open(access, Person(access.tenant_id))
    store.steer(lambda client: client.inbox.revoke_link("session", user_id=name))
    print_json({"ended": True}) if as_json else Printer().line("sessions ended")


def _path(access: Access, made: NewLink) -> str:
    """Return the path of a link. A store's link is signed here, as by its server.

    Raise ConfigError for a store in memory, since its secret ends with its process, and for a server without pages.
    """
    if access.server is not None:
        if not made.path:
            raise ConfigError("this server has no pages to open a link: start it with its console")
        return made.path
    return Links(link_secret(secret_of_store(place_of_store(access.store_url)))).path(made.made.link)


async def _about(client: KernelCalls, wait: str | None, plan: str | None) -> str:
    if wait is not None:
        return await find_wait(client, wait)
    return await find_plan(client, plan) if plan is not None else ""


async def _notices(client: InboxClient, beginning: str) -> list[Notice]:
    return await client.inbox.notices(await find_wait(client, beginning))


def _open(access: Access, person: Person | None = None) -> StoreAccess[InboxClient]:
    return open_store(access, person)


def _as_person(access: Access, user_id: str, roles: frozenset[str] | None) -> StoreAccess[InboxClient]:
    return _open(access, Person(access.tenant_id, user_id, roles))


def _print_claim(made: Claim, *, as_json: bool) -> None:
    if as_json:
        print_json(made)
    else:
        until = f"until {made.until:%Y-%m-%d %H:%M} UTC"
        Printer().line(f"{short_id(made.wait_id)} is assigned to {one_line(made.user_id)} {until}")


def _print_done(told: dict[str, object], done: str, otherwise: str, *, as_json: bool) -> None:
    """Print the outcome; exit with 1 where nothing changed."""
    has_changed = bool([*told.values()][-1])
    print_json(told) if as_json else Printer().line(done if has_changed else one_line(otherwise))
    if not has_changed:
        raise click.exceptions.Exit(1)


async def _load(client: KernelCalls, limit: int) -> list[tuple[Wait, str]]:
    """Return the open questions, each with the goal of its plan."""
    waits = await client.waits(limit=limit)
    goals = await goals_of(client, {wait.plan_id for wait in waits if wait.plan_id})
    return [(wait, goals.get(wait.plan_id or "", "")) for wait in waits]
