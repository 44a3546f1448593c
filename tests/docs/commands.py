"""The reference of all commands with their options, generated from the command line when the site is built."""

from collections.abc import Iterator
from pathlib import Path

import click

from soorma_ai.apps.cli.main import PROGRAM, cli

PLACE = Path(__file__).parents[2] / ".make" / "commands.md"


def commands(group: click.Group = cli, path: tuple[str, ...] = (PROGRAM,)) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group with its words, in the order of the names."""
    context = click.Context(group)
    for name in sorted(group.list_commands(context)):
        _, command, _ = group.resolve_command(context, [name])
        assert command is not None
        words = (*path, name)
        yield " ".join(words), command
        if isinstance(command, click.Group):
            yield from commands(command, words)


def reference() -> str:
    return "\n\n".join(_entry(words, command) for words, command in commands()) + "\n"


def _entry(words: str, command: click.Command) -> str:
    context = click.Context(command, info_name=words)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## {words}", f"```text\n{words} {usage}\n```", _prose(command.help or command.short_help or "")]
    options = (one for one in command.params if isinstance(one, click.Option))
    rows = [found for one in options if (found := one.get_help_record(context)) is not None]
    if rows:
        table = "\n".join(f"| `{_cell(names)}` | {_cell(text)} |" for names, text in rows)
        parts.append(f"| option | effect |\n|---|---|\n{table}")
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.replace("\b", "").split("\n\n"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PLACE.parent.mkdir(exist_ok=True)
    PLACE.write_text(reference(), encoding="utf-8")
