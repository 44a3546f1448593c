"""`soorma doctor` on a database and on a broker."""

import asyncio
import json

from click.testing import CliRunner
from nats_server import NatsServer
from postgres_server import Server

from soorma_ai import Platform
from soorma_ai.apps.cli.main import cli


def test_the_doctor_names_the_servers_and_their_backlog(postgres: Server, nats_server: NatsServer) -> None:
    env = {"SOORMA_STORE_URL": postgres.database(), "SOORMA_BUS_URL": nats_server.namespace_url(), "SOORMA_URL": None}
    assert findings_of(env)["bus"]["found"].endswith("nothing has used it yet")
    asyncio.run(be_there(env))
    findings = findings_of(env)
    assert findings["bus"]["found"].startswith("nats-server 2.")
    assert findings["bus"]["found"].endswith(", 0 to bring")
    assert ", PostgreSQL 1" in findings["store"]["found"]
    assert ", schema " in findings["store"]["found"]
    assert findings["unsent events"]["level"] == "ok"
    assert "store clock" not in findings


def findings_of(env: dict[str, str | None]) -> dict[str, dict[str, str]]:
    told = CliRunner().invoke(cli, ["doctor", "--json"], env=env)
    assert told.exit_code == 0, told.output
    return {one["subject"]: one for one in json.loads(told.stdout)["findings"]}


async def be_there(env: dict[str, str | None]) -> None:
    async with Platform(env["SOORMA_STORE_URL"], env["SOORMA_BUS_URL"]):
        """The first run makes what is not there."""
