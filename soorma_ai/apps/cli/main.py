"""The command line. Commands are loaded when they are called, so that help and completion need only click."""

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

from soorma_ai.errors import SoormaError
from soorma_ai.surfaces.store_access import CommandSetup, OpenStore
from soorma_ai.surfaces.terminal.escapes import one_line

if TYPE_CHECKING:
    from soorma_ai.kernel.sql.storage import FeatureSet

# For each command its module (a bare name is a module of `commands`), and its line of help.
_COMMANDS = {
    "init": ("init", "Write a small project to begin with, which runs and passes its tests offline."),
    "dev": ("dev", "Run agents while you write them, with pages and a live log; without any, a shop to try."),
    "run": ("run", "Run agents, and pursue a goal with them if one is given."),
    "serve": ("serve", "Run agents, and serve their platform over HTTP."),
    "submit": ("work", "Give a goal to agents that run in another process."),
    "request": ("work", "Ask an agent, and print its reply."),
    "publish": ("work", "Publish an event, for whoever hears it."),
    "plans": ("plans", "List, show and cancel plans."),
    "graph": ("graph", "Draw what caused what in a plan, or which agent's events reach whom."),
    "why": ("why", "Show what a model decided in a plan, and what it was told."),
    "inbox": ("soorma_ai.features.human_tasks.commands", "List what waits for a person, the most urgent first."),
    "approve": ("answer", "Let go what a plan holds back for approval."),
    "reject": ("answer", "Refuse what a plan holds back for approval."),
    "answer": ("answer", "Answer a question with data."),
    "dead-letters": (
        "soorma_ai.features.dead_letters.commands",
        "List, show, redrive and discard what could not be handled.",
    ),
    "prune": ("soorma_ai.features.upkeep.commands.prune", "Remove plans that have ended, and old events."),
    "forget": ("soorma_ai.features.upkeep.commands.forget", "Remove all that is a user's."),
    "backup": ("soorma_ai.features.upkeep.commands.backup", "Copy the store to a file, while it is in use."),
    "db": (
        "soorma_ai.features.upkeep.commands.db",
        "Bring a store's schema forward, and move a store from a file to PostgreSQL.",
    ),
    "keys": ("soorma_ai.features.identity.commands", "Make, list and revoke API keys."),
    "events": ("events", "Look at the events of all plans and agents."),
    "registry": ("registry", "List, show and check what agents have registered."),
    "doctor": ("doctor", "Say what is set up, where from, who is alive, and what to do about what is wrong."),
    "completion": ("completion", "Print what makes a shell complete these commands."),
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
        except SoormaError as error:
            raise click.ClickException(one_line(str(error))) from error


def _load() -> OpenStore:
    from soorma_ai.apps.cli.store_access import CommandRunner

    return CommandRunner


cli = LazyGroup(
    PROGRAM,
    commands={name: click.Command(name, short_help=line) for name, (_, line) in _COMMANDS.items()},
    context_settings={"obj": CommandSetup(_load, _load_features)},
    help="""Run agents, see what their plans do and why, and answer what they ask.

    Exit codes: 0 done, 1 error, 2 wrong usage, 3 the plan failed or was cancelled, 4 it waits for a person.
    """,
)
cli = click.version_option(package_name="soorma-ai", prog_name=PROGRAM)(cli)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli.main(prog_name=PROGRAM)
