"""Findings of the doctor."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from soorma_ai.apps.cli.diagnosis import (
    Broker,
    DiagnosisFacts,
    Finding,
    Level,
    Life,
    Origin,
    ServerState,
    Setting,
    StoreFile,
    diagnose,
    is_well,
)

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
STORE = StoreFile("shop.db", True, 4096, 8, owner="process 7 (shop)", answers=True)
LIFE = Life(alive=["stock"], gone=[], questions=0, dead_letters=0, untaken=0, most=1000, backlog=0, newest=NOW)
FACTS = DiagnosisFacts(
    now=NOW,
    zone="UTC",
    versions=[("soorma-ai", "0.1.0")],
    settings=[Setting("SOORMA_STORE_URL", "sqlite:///shop.db", Origin.DEFAULT)],
    keys=["OPENAI_API_KEY"],
    libraries=[("llm", "litellm 1"), ("a2a", "")],
    schema=8,
    most_backlog=100,
    store=STORE,
    life=LIFE,
)

DATABASE = StoreFile("postgresql://***@host/shop", True, None, 8, server="PostgreSQL 16.4")


def unsent_for(minutes: float) -> Life:
    return replace(LIFE, unsent=2, unsent_since=NOW - timedelta(minutes=minutes))


def about(subject: str, facts: DiagnosisFacts) -> Finding:
    (found,) = [one for one in diagnose(facts) if one.subject == subject]
    return found


def test_a_healthy_system_gets_no_advice() -> None:
    findings = diagnose(FACTS)
    assert is_well(findings)
    assert [(one.level, one.advice) for one in findings if one.level is not Level.FINE or one.advice] == []


def test_a_finding_comes_after_the_findings_it_depends_on() -> None:
    subjects = [one.subject for one in diagnose(FACTS)]
    assert subjects.index("SOORMA_STORE_URL") < subjects.index("store") < subjects.index("owner")
    assert subjects.index("owner") < subjects.index("agents") < subjects.index("backlog")


@pytest.mark.parametrize(
    ("subject", "facts", "level", "said", "advice"),
    [
        (
            "changed events of 7 days",
            replace(FACTS, life=replace(LIFE, changed=[("pay.asked", "narrower")])),
            Level.NOTE,
            "pay.asked (narrower)",
            "soorma registry changes",
        ),
        ("SOORMA_STORE_URL", FACTS, Level.FINE, "sqlite:///shop.db (default)", ""),
        (
            "SOORMA_PROMPTS_DIR",
            replace(FACTS, settings=[Setting("SOORMA_PROMPTS_DIR", "lost", Origin.ENVIRONMENT, "no folder at lost")]),
            Level.FAULT,
            "lost (environment)",
            "no folder at lost",
        ),
        ("store", FACTS, Level.FINE, "schema 8", ""),
        ("store", replace(FACTS, store=StoreFile("shop.db", False), life=None), Level.NOTE, "no file", "creates it"),
        ("store", replace(FACTS, store=replace(STORE, schema=7)), Level.NOTE, "older than 8", "soorma backup"),
        (
            "store",
            replace(FACTS, store=replace(STORE, fault="it is damaged")),
            Level.FAULT,
            "damaged",
            "follow the advice",
        ),
        ("store file", replace(FACTS, store=replace(STORE, mode=0o644)), Level.NOTE, "mode 0644", "chmod 600 shop.db"),
        ("store", replace(FACTS, store=DATABASE), Level.FINE, "PostgreSQL 16.4, schema 8", ""),
        ("store", replace(FACTS, store=replace(DATABASE, schema=7)), Level.FAULT, "older than 8", "soorma db upgrade"),
        (
            "store clock",
            replace(FACTS, store=replace(DATABASE, ahead=timedelta(hours=-1))),
            Level.NOTE,
            "-3600 s from ours",
            "NTP",
        ),
        ("bus", replace(FACTS, broker=Broker("nats-server 2.11.0", 3)), Level.FINE, "3 to bring", ""),
        ("bus", replace(FACTS, broker=Broker("nats-server 2.11.0")), Level.NOTE, "nothing has used it", "first run"),
        ("bus", replace(FACTS, broker=Broker(fault="it is away")), Level.FAULT, "away", "nothing is lost"),
        ("unsent events", FACTS, Level.FINE, "none", ""),
        ("unsent events", replace(FACTS, life=unsent_for(minutes=0.5)), Level.FINE, "2, the first for 30 s", ""),
        ("unsent events", replace(FACTS, life=unsent_for(minutes=10)), Level.NOTE, "for 600 s", "see the bus"),
        ("owner", FACTS, Level.FINE, "process 7 (shop)", ""),
        ("owner", replace(FACTS, store=replace(STORE, owner=None)), Level.NOTE, "no running process", "soorma serve"),
        ("owner", replace(FACTS, store=replace(STORE, answers=False)), Level.FAULT, "does not answer", "stop"),
        ("server", replace(FACTS, store=None, server=ServerState("http://x")), Level.FINE, "http://x answers", ""),
        ("server", replace(FACTS, server=ServerState("http://x", "gone")), Level.FAULT, "gone", "SOORMA_URL"),
        (
            "server clock",
            replace(FACTS, server=ServerState("http://x", ahead=timedelta(minutes=-2))),
            Level.FAULT,
            "-120 s",
            "NTP",
        ),
        ("clock", FACTS, Level.FINE, "2026-11-22 12:00:00 UTC", ""),
        (
            "clock",
            replace(FACTS, life=replace(LIFE, newest=NOW + timedelta(hours=1))),
            Level.FAULT,
            "3600 s later",
            "NTP",
        ),
        ("model keys", FACTS, Level.FINE, "OPENAI_API_KEY", ""),
        ("model keys", replace(FACTS, keys=[]), Level.NOTE, "no variable", "recordings need none"),
        ("[llm]", FACTS, Level.FINE, "litellm 1", ""),
        ("[a2a]", FACTS, Level.FINE, "not installed", ""),
        ("agents", FACTS, Level.FINE, "alive: stock", ""),
        ("agents", replace(FACTS, life=replace(LIFE, gone=["till"])), Level.FINE, "stopped: till", ""),
        ("agents", replace(FACTS, life=replace(LIFE, alive=[], gone=["till"])), Level.NOTE, "all stopped", "start"),
        ("agents", replace(FACTS, life=replace(LIFE, alive=[])), Level.NOTE, "none has run so far", "start"),
        ("backlog", FACTS, Level.FINE, "0", ""),
        ("backlog", replace(FACTS, life=replace(LIFE, backlog=7)), Level.FINE, "7", ""),
        (
            "backlog",
            replace(FACTS, life=replace(LIFE, alive=[], backlog=7)),
            Level.NOTE,
            "no agents are running",
            "start",
        ),
        ("backlog", replace(FACTS, life=replace(LIFE, backlog=100)), Level.FAULT, "refused", "SOORMA_MAX_BACKLOG"),
        ("questions to people", replace(FACTS, life=replace(LIFE, questions=3)), Level.NOTE, "3", "soorma inbox"),
        (
            "model openai/next",
            replace(FACTS, life=replace(LIFE, refused_forms=[("openai/next", "json_schema", "Invalid schema")])),
            Level.NOTE,
            "takes no json_schema: Invalid schema",
            "mode=",
        ),
        ("dead letters", replace(FACTS, life=replace(LIFE, dead_letters=1000)), Level.NOTE, "1,000 or more", "redrive"),
        ("requests without a taker", replace(FACTS, life=replace(LIFE, untaken=1)), Level.NOTE, "1", "untaken"),
    ],
)
def test_each_fact_gets_a_level_and_advice(
    subject: str, facts: DiagnosisFacts, level: Level, said: str, advice: str
) -> None:
    found = about(subject, facts)
    assert found.level is level
    assert said in found.found
    assert advice in found.advice and bool(advice) is bool(found.advice)
    assert is_well(diagnose(facts)) is (level is not Level.FAULT)


def test_a_missing_backlog_is_left_out_and_ten_thousand_names_are_cut_to_a_few() -> None:
    many = replace(LIFE, alive=[f"agent{number}" for number in range(10_000)], backlog=None)
    facts = replace(FACTS, life=many)
    assert "backlog" not in {one.subject for one in diagnose(facts)}
    assert about("agents", facts).found.endswith("agent7 and 9992 more")


def test_a_database_on_a_server_has_no_size_and_no_owner() -> None:
    found = diagnose(replace(FACTS, store=StoreFile("postgresql://***@host/shop", True, None, 8)))
    assert [one.found for one in found if one.subject == "store"] == ["postgresql://***@host/shop, schema 8"]
    assert [one for one in found if one.subject == "owner"] == []


@pytest.mark.parametrize(
    ("unguarded", "wanted"),
    [
        ("", Finding("rows", Level.FINE, "row-level security is in force")),
        ("not in force, because x: do y", Finding("rows", Level.NOTE, "not in force, because x", "do y")),
    ],
)
def test_the_state_of_row_level_security_is_a_finding(unguarded: str, wanted: Finding) -> None:
    found = diagnose(replace(FACTS, store=StoreFile("postgresql://***@host/shop", True, None, 8, unguarded=unguarded)))
    assert [one for one in found if one.subject == "rows"] == [wanted]
