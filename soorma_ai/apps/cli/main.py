"""The command line. Commands are loaded when they are called, so that help and completion need only click."""

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

from soorma_ai.apps.cli.failures import failure_of
from soorma_ai.errors import SoormaError
from soorma_ai.surfaces.store_access import CommandSetup, OpenStore

if TYPE_CHECKING:
    from soorma_ai.kernel.sql.storage import FeatureSet

# For each command its module (a bare name is a module of `commands`), and its line of help.
_COMMANDS = {
    "init": ("init", "Write a small project with tests, offline."),
    "dev": ("dev", "Run agents during development, with console and live log; without agents, an example."),
    "run": ("run", "Run agents, or run one goal with them."),
    "serve": ("serve", "Run agents, and serve their platform over HTTP."),
    "submit": ("work", "Submit a goal to a running application."),
    "request": ("work", "Send a request to an agent, and print the reply."),
    "requests": ("requests", "List, show and cancel requests of clients."),
    "publish": ("work", "Publish an event."),
    "plans": ("plans", "List, show, cancel and resume plans."),
    "graph": ("graph", "Draw causes and effects of a plan, or the events of all agents."),
    "why": ("why", "Show the decisions of a plan and their prompts."),
    "trial": (
        "soorma_ai.features.trials.commands",
        "Judge recorded answers by today's code, registry, rules and prompts.",
    ),
    "cases": ("soorma_ai.features.trials.cases.commands", "Make, list, export and import cases for trials."),
    "models": ("soorma_ai.features.trials.retirement.commands", "List, retire and restore models of planners."),
    "upgrade": ("upgrade", "Judge open plans and parked requests by new code."),
    "inbox": ("soorma_ai.features.human_tasks.commands", "List open questions, the most urgent first."),
    "approve": ("answer", "Approve a request that is waiting for approval."),
    "reject": ("answer", "Reject a request that is waiting for approval."),
    "answer": ("answer", "Answer a question with data."),
    "dead-letters": ("soorma_ai.features.dead_letters.commands", "List, show, redrive and discard dead letters."),
    "prune": ("soorma_ai.features.upkeep.commands.prune", "Remove plans that have ended, and old events."),
    "forget": ("soorma_ai.features.upkeep.commands.forget", "Delete all data of a user."),
    "backup": ("soorma_ai.features.upkeep.commands.backup", "Copy the store to a file, while it is in use."),
    "db": (
        "soorma_ai.features.upkeep.commands.db",
        "Upgrade a store's schema, and move a store from a file to PostgreSQL.",
    ),
    "keys": ("soorma_ai.features.identity.commands", "Make, list and revoke API keys."),
    "events": ("events", "Print the event log, and requests without a taker."),
    "registry": ("registry", "List, show and check registered agents and events."),
    "mcp": ("mcp", "Confirm the tools of MCP servers."),
    "doctor": ("doctor", "Check configuration, store and agents, and suggest fixes."),
    "completion": ("completion", "Print the shell completion script."),
}
PROGRAM = "soorma"


def _load_features() -> "FeatureSet":
    from soorma_ai.assembly import ALL_FEATURES

    return ALL_FEATURES


class LazyGroup(click.Group):
    """Group of stubs with a short help, which loads a command when it is called."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, stub, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, stub, rest
        home = _COMMANDS[name][0]
        module = import_module(home if "." in home else f"soorma_ai.apps.cli.commands.{home}")
        return name, getattr(module, name.replace("-", "_")), rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (SoormaError, click.ClickException) as error:
            raise failure_of(error) from error


def _load() -> OpenStore:
    from soorma_ai.apps.cli.store_access import CommandRunner

    return CommandRunner


cli = LazyGroup(
    PROGRAM,
    commands={name: click.Command(name, short_help=line) for name, (_, line) in _COMMANDS.items()},
    context_settings={"obj": CommandSetup(_load, _load_features)},
    help="""Run agents, follow their plans, and answer their questions.

    Exit codes: 0 done, 1 error, 2 wrong usage, 3 the plan failed or was cancelled, 4 it waits for a person.
    """,
)
cli = click.version_option(package_name="soorma-ai", prog_name=PROGRAM)(cli)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main(prog_name=PROGRAM)
