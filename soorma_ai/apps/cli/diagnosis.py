"""Diagnosis: configuration and state, judged, with advice."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

# As far as a clock may be off before it is told.
MOST_OFF = timedelta(seconds=30)
# As long as an event may wait for the bus before it is told.
LONGEST_UNSENT = timedelta(minutes=1)
MOST_NAMED = 8
CHANGED_DAYS = 7


class Level(StrEnum):
    FINE = "ok"
    NOTE = "note"
    FAULT = "fault"


class Origin(StrEnum):
    ARGUMENT = "argument"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class Finding(Struct, frozen=True):
    """One finding. `advice` is the suggested fix, empty where none is needed."""

    subject: str
    level: Level
    found: str
    advice: str = ""


class Setting(Struct, frozen=True):
    """Setting with its origin. `value` has no passwords. `fault` is the reason it cannot be used."""

    name: str
    value: str
    origin: Origin
    fault: str = ""


class StoreFile(Struct, frozen=True):
    """State of the store. `fault`: the reason it cannot be read. `schema`: None without a store. `owner`: None without
    one; `answers` is whether it takes calls. `size`: None for a database on a server, which has no owner; `server` is
    its version, `ahead` its clock's lead over ours, `unguarded` the reason why row-level security is off, `holding`
    the transactions that others wait for, each with its cure. `mode`: permissions of the file."""

    place: str
    is_there: bool
    size: int | None = 0
    schema: int | None = None
    fault: str = ""
    owner: str | None = None
    answers: bool = False
    server: str = ""
    ahead: timedelta = timedelta()
    unguarded: str = ""
    holding: tuple[tuple[str, str], ...] = ()
    mode: int = 0o600


class Broker(Struct, frozen=True):
    """State of the bus. `fault` is the reason it cannot be reached. `waiting`: undelivered messages; None: nothing has
    used it."""

    server: str = ""
    waiting: int | None = None
    fault: str = ""
    unguarded: str = ""


class ServerState(Struct, frozen=True):
    """State of the server. `fault` is the reason it cannot be reached. `ahead` is its clock's lead over ours."""

    url: str
    fault: str = ""
    ahead: timedelta = timedelta()


class Life(Struct, frozen=True):
    """Work in progress; of `backlog`, None is known. Counts of `most` are that many or more. `newest` is the time of
    the newest event. `unsent` events wait for the bus, the first of them since then. `blocked` plans need an operator,
    the first of them for this reason. `refused_forms` are models, each with its refused form and the reason. `changed`
    are lately changed events, each with the kind of its change."""

    alive: Sequence[str]
    gone: Sequence[str]
    questions: int
    dead_letters: int
    untaken: int
    most: int
    backlog: int | None = None
    newest: datetime | None = None
    unsent: int = 0
    unsent_since: datetime | None = None
    blocked: int = 0
    blocked_by: str = ""
    refused_forms: Sequence[tuple[str, str, str]] = ()
    changed: Sequence[tuple[str, str]] = ()


class DiagnosisFacts(Struct, frozen=True):
    """Facts of this process. `keys` are the names of variables with the endings of model keys. `libraries` are pairs of
    an extra and its library, "" where it is not installed."""

    now: datetime
    zone: str
    versions: Sequence[tuple[str, str]]
    settings: Sequence[Setting]
    keys: Sequence[str]
    libraries: Sequence[tuple[str, str]]
    schema: int
    most_backlog: int
    store: StoreFile | None = None
    server: ServerState | None = None
    life: Life | None = None
    broker: Broker | None = None


def diagnose(facts: DiagnosisFacts) -> list[Finding]:
    """Return all findings, each after the ones it depends on."""
    return [
        *(Finding(name, Level.FINE, version) for name, version in facts.versions),
        *(_setting(one) for one in facts.settings),
        *(_store(facts.store, facts.schema) if facts.store else ()),
        *(_server(facts.server) if facts.server else ()),
        *(_broker(facts.broker) if facts.broker else ()),
        _clock(facts),
        _model(facts),
        *(Finding(f"[{extra}]", Level.FINE, library or "not installed") for extra, library in facts.libraries),
        *(_life(facts.life, facts) if facts.life else ()),
    ]


def is_well(findings: Sequence[Finding]) -> bool:
    return all(one.level is not Level.FAULT for one in findings)


def _setting(one: Setting) -> Finding:
    found = f"{one.value} ({one.origin})"
    return Finding(one.name, Level.FAULT, found, one.fault) if one.fault else Finding(one.name, Level.FINE, found)


def _store(one: StoreFile, known: int) -> Iterator[Finding]:
    yield _database(one, known)
    if one.size is not None:
        yield from _owner(one)
        if one.mode & 0o077:
            found = f"mode {one.mode:04o}: other users of this machine reach it"
            yield Finding("store file", Level.NOTE, found, f"chmod 600 {one.place}, unless it is shared on purpose")
    elif not one.fault:
        yield from _shared_store(one, known)


def _shared_store(one: StoreFile, known: int) -> Iterator[Finding]:
    if abs(one.ahead) > MOST_OFF:
        found = f"{one.ahead.total_seconds():+.0f} s from ours"
        yield Finding("store clock", Level.NOTE, found, "agents go by the store's; let both hosts set theirs by NTP")
    for held in one.holding:
        yield Finding("open transaction", Level.NOTE, *held)
    if one.unguarded:
        yield Finding("rows", Level.NOTE, *one.unguarded.split(": ", 1))
    elif one.schema == known:
        yield Finding("rows", Level.FINE, "row-level security is in force")


def _database(one: StoreFile, known: int) -> Finding:
    size = (f", {one.server}" if one.server else "") if one.size is None else f", {one.size:,} bytes"
    if one.fault:
        return Finding("store", Level.FAULT, one.fault, "follow the advice of the message; soorma backup makes a copy")
    if not one.is_there:
        return Finding("store", Level.NOTE, f"no file at {one.place}", "the first run of agents creates it")
    if one.schema is not None and one.schema < known:
        found = f"{one.place}{size}, schema {one.schema}, older than {known}"
        if one.size is None:
            return Finding(
                "store", Level.FAULT, found, "stop its applications, copy it by pg_dump, then: soorma db upgrade"
            )
        return Finding("store", Level.NOTE, found, "soorma backup, then start the agents on it: this upgrades it")
    return Finding("store", Level.FINE, f"{one.place}{size}, schema {one.schema}")


def _owner(one: StoreFile) -> Iterator[Finding]:
    if one.owner is None:
        if one.is_there:
            yield Finding("owner", Level.NOTE, "no running process", "start the agents: soorma serve, or soorma run")
    elif one.answers:
        yield Finding("owner", Level.FINE, one.owner)
    else:
        advice = "wait a moment; if it stays so, stop that process and start the agents again"
        yield Finding("owner", Level.FAULT, f"{one.owner} does not answer", advice)


def _server(one: ServerState) -> Iterator[Finding]:
    if one.fault:
        yield Finding("server", Level.FAULT, one.fault, "start it there, or correct SOORMA_URL and SOORMA_TOKEN")
        return
    yield Finding("server", Level.FINE, f"{one.url} answers")
    if abs(one.ahead) > MOST_OFF:
        seconds = one.ahead.total_seconds()
        yield Finding("server clock", Level.FAULT, f"{seconds:+.0f} s from ours", "let both hosts set theirs by NTP")


def _broker(one: Broker) -> Iterator[Finding]:
    if one.fault:
        yield Finding("bus", Level.FAULT, one.fault, "follow the advice of the message; nothing is lost meanwhile")
    elif one.waiting is None:
        yield Finding("bus", Level.NOTE, f"{one.server}, nothing has used it yet", "the first run of agents creates it")
    else:
        yield Finding("bus", Level.FINE, f"{one.server}, {one.waiting:,} to bring")


def _clock(facts: DiagnosisFacts) -> Finding:
    found = f"{facts.now:%Y-%m-%d %H:%M:%S} UTC, shown in {facts.zone}"
    newest = facts.life.newest if facts.life else None
    if newest is None or newest - facts.now <= MOST_OFF:
        return Finding("clock", Level.FINE, found)
    behind = f"{found}; the newest event was made {(newest - facts.now).total_seconds():.0f} s later"
    return Finding("clock", Level.FAULT, behind, "set the clock (NTP): deadlines are kept by it")


def _model(facts: DiagnosisFacts) -> Finding:
    if facts.keys:
        return Finding("model keys", Level.FINE, f"set: {_some(facts.keys)}")
    advice = "a planner with a model needs its provider's, such as OPENAI_API_KEY; scripts and recordings need none"
    return Finding("model keys", Level.NOTE, "no variable that ends in _API_KEY is set", advice)


def _life(life: Life, facts: DiagnosisFacts) -> Iterator[Finding]:
    yield _agents(life)
    if life.backlog is not None:
        yield _backlog(life.backlog, life, facts)
    yield _relay(life, facts)
    yield _blocked(life)
    for model, form, reason in life.refused_forms:
        advice = f"the next form is used; mode= of its planner names one, and {form!r} is tried again in a day"
        yield Finding(f"model {model}", Level.NOTE, f"takes no {form}: {reason}", advice)
    if life.changed:
        yield _changed(life.changed)
    yield _count(life.questions, life.most, "questions to people", "soorma inbox")
    yield _count(
        life.untaken, life.most, "requests without a taker", "soorma events untaken, and start agents for them"
    )
    yield _count(life.dead_letters, life.most, "dead letters", "soorma dead-letters ls; fix the agent, then redrive")


def _agents(life: Life) -> Finding:
    if life.alive:
        return Finding(
            "agents",
            Level.FINE,
            f"alive: {_some(life.alive)}" + (f"; stopped: {_some(life.gone)}" if life.gone else ""),
        )
    found = f"all stopped: {_some(life.gone)}" if life.gone else "none has run so far"
    return Finding("agents", Level.NOTE, found, "start them: soorma serve, or soorma run")


def _backlog(backlog: int, life: Life, facts: DiagnosisFacts) -> Finding:
    if backlog >= facts.most_backlog:
        advice = "start more agents, or let them catch up; SOORMA_MAX_BACKLOG sets the limit"
        return Finding("backlog", Level.FAULT, f"{backlog:,} or more: new goals are refused", advice)
    if backlog and not life.alive:
        return Finding("backlog", Level.NOTE, f"{backlog:,} wait, and no agents are running", "start the agents")
    return Finding("backlog", Level.FINE, f"{backlog:,}")


def _relay(life: Life, facts: DiagnosisFacts) -> Finding:
    since = life.unsent_since
    if since is None:
        return Finding("unsent events", Level.FINE, "none")
    waited = max(facts.now - since, timedelta())
    count = f"{life.unsent:,} or more" if life.unsent >= life.most else f"{life.unsent:,}"
    found = f"{count}, the first for {waited.total_seconds():.0f} s"
    if waited <= LONGEST_UNSENT:
        return Finding("unsent events", Level.FINE, found)
    return Finding("unsent events", Level.NOTE, found, "a process that runs agents sends them: start one, see the bus")


def _blocked(life: Life) -> Finding:
    what = "plans that need an operator"
    if not life.blocked:
        return Finding(what, Level.FINE, "none")
    count = f"{life.blocked:,} or more" if life.blocked >= life.most else f"{life.blocked:,}"
    return Finding(what, Level.FAULT, f"{count}; {life.blocked_by}", "fix that, then: soorma plans resume --all")


def _changed(changed: Sequence[tuple[str, str]]) -> Finding:
    names = _some([f"{event} ({kind})" for event, kind in changed])
    return Finding(f"changed events of {CHANGED_DAYS} days", Level.NOTE, names, "soorma registry changes lists them")


def _count(count: int, most: int, what: str, advice: str) -> Finding:
    if not count:
        return Finding(what, Level.FINE, "none")
    return Finding(what, Level.NOTE, f"{count:,} or more" if count >= most else f"{count:,}", advice)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
