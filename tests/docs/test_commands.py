"""The reference of commands has each command, and a text for each option."""

import click
from commands import commands, reference

from soorma_ai.apps.cli.main import cli


def test_every_command_is_in_the_reference_with_a_help_text() -> None:
    found = dict(commands())
    assert {words.split()[1] for words in found} == set(cli.list_commands(click.Context(cli)))
    assert {"soorma plans show", "soorma inbox link", "soorma db move"} <= found.keys()
    assert [words for words, command in found.items() if not (command.help or command.short_help)] == []
    text = reference()
    assert [words for words in found if f"## {words}\n" not in text] == []


def test_every_option_is_in_the_reference_of_its_command() -> None:
    entries = {entry.partition("\n")[0]: entry for entry in reference().split("## ")}
    missing = [
        f"{words} {option.opts[0]}"
        for words, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden and option.opts[0] not in entries[words]
    ]
    assert missing == []
