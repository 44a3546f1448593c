"""The page about deployment: its commands run where possible, and all its names exist."""

import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click
import psycopg
import pytest
import yaml
from click.testing import CliRunner
from pages import DOCS
from postgres_server import Server
from reading import blocks

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.api.server.metrics import metrics
from soorma_ai.api.server.tenant_stats import TenantStats
from soorma_ai.apps.cli.main import cli
from soorma_ai.settings import VARIABLES

PAGE = DOCS / "deploy.md"
BLOCKS = blocks(PAGE)
OURS = {one.name for one in VARIABLES}
# Variables of third-party images.
THEIRS = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD"}


def documents() -> list[Any]:
    return [one for block in BLOCKS if block.language == "yaml" for one in yaml.safe_load_all(block.text)]


def nodes(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield document
    for below in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from nodes(below)


def command_lines() -> list[list[str]]:
    """Return the arguments of every call of `soorma`."""
    words = [line for one in BLOCKS if one.language == "sh" for line in one.text.splitlines()]
    words += [
        line.partition("=")[2] for one in BLOCKS for line in one.text.splitlines() if line.startswith("ExecStart=")
    ]
    found = [shlex.split(line) for line in words if re.match(r"(/\S+/)?soorma ", line)]
    containers = [one for document in documents() for one in nodes(document) if one.get("image") == "shop"]
    return [line[1:] for line in found] + [one.get("args") or one["command"] for one in containers]


def test_every_variable_of_the_page_is_in_the_configuration() -> None:
    environments = [one["environment"] for document in documents() for one in nodes(document) if "environment" in one]
    lists = [one["env"] for document in documents() for one in nodes(document) if "env" in one]
    named = {name for one in environments for name in one} | {item["name"] for one in lists for item in one}
    assert {"SOORMA_STORE_URL", "SOORMA_BUS_URL"} <= named <= OURS | THEIRS
    assert set(re.findall(r"SOORMA_[A-Z_]+", PAGE.read_text(encoding="utf-8"))) <= OURS


@pytest.mark.parametrize("line", command_lines(), ids=" ".join)
def test_every_command_of_the_page_exists(line: list[str]) -> None:
    words, command, context = [word.replace("%i", "8700") for word in line], cli, click.Context(cli)
    while isinstance(command, click.Group):
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
    command.make_context("soorma", words)


def test_the_page_lists_exactly_the_existing_metrics() -> None:
    told = set(re.findall(r"`(soorma_[a-z_]+)`", PAGE.read_text(encoding="utf-8")))
    assert told == {one.name for one in metrics(TenantStats(), {}, datetime(2030, 1, 1, tzinfo=UTC))}


async def test_a_role_with_the_grants_of_the_page_can_run_agents(postgres: Server) -> None:
    postgres.execute("CREATE DATABASE deployed")
    postgres.execute("CREATE ROLE shop LOGIN")
    url = postgres.url("deployed")
    assert CliRunner().invoke(cli, ["db", "upgrade", "--store", url]).exit_code == 0
    (grants,) = (one.text for one in BLOCKS if one.language == "sql")
    with psycopg.connect(url) as db:
        db.execute(grants.encode())
    hands = Tool("hands")

    @hands.on_invoke("work.asked")
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await context.memory.store_knowledge("cats purr")
        return {"found": len(await context.memory.search_knowledge("cats"))}

    async with Platform(url.replace("postgres@", "shop@")) as platform:
        await platform.start(hands)
        reply = await platform.request("work.asked", {}, timeout=60)
    assert reply["success"], reply
