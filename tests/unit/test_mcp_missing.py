"""Without the package mcp the rest works, and a server that is started names the extra to install."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['mcp'] = None; "
START = """
import asyncio
from soorma_ai import McpServer
asyncio.run(McpServer("files", "files-mcp /srv").prepare())
"""
SERVE = """
import asyncio, sys
from soorma_ai import Platform
from soorma_ai.gateways.mcp import McpServer
from soorma_ai.server import app


async def serve():
    async with Platform("sqlite://") as platform:
        app(platform)


asyncio.run(serve())
assert not [name for name in sys.modules if name.startswith("mcp")]
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((sys.executable, "-c", program), check=False, capture_output=True, text=True)


def test_a_server_without_the_package_names_the_extra_to_install() -> None:
    done = run(WITHOUT + START)
    assert done.returncode == 1
    assert "ConfigError: McpServer needs the package mcp: pip install 'soorma-ai[mcp]'" in done.stderr


def test_an_agent_for_a_server_loads_nothing_of_the_package() -> None:
    made = "import sys; from soorma_ai import McpServer, Platform; McpServer('files', 'files-mcp /srv'); "
    done = run(f"{made}assert not [name for name in sys.modules if name.startswith(('mcp', 'httpx2'))]")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_platform_without_a_server_loads_no_gateway() -> None:
    made = "import sys; from soorma_ai import Platform, Tool; Platform(), Tool('t'); "
    done = run(f"{made}assert not [name for name in sys.modules if 'gateways.mcp' in name]")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_gateway_without_the_package_names_the_extras_to_install() -> None:
    done = run(f"{WITHOUT}from soorma_ai.gateways.mcp import McpGateway")
    assert done.returncode == 1
    assert "ConfigError: McpGateway needs the package mcp: pip install 'soorma-ai[mcp,server]'" in done.stderr


def test_a_server_without_a_gateway_loads_nothing_of_the_package() -> None:
    done = run(SERVE)
    assert (done.returncode, done.stderr) == (0, "")
