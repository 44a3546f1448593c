"""`soorma completion`: the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from soorma_ai.apps.cli.main import PROGRAM, cli

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the shell completion script.

    \b
    bash:  soorma completion bash >>~/.bashrc
    zsh:   soorma completion zsh >>~/.zshrc
    fish:  soorma completion fish >~/.config/fish/completions/soorma.fish
    """
    made = get_completion_class(shell)
    assert made is not None, shell
    click.echo(made(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())
