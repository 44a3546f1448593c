"""`soorma init`: a small project to begin with."""

import os
import shlex
from pathlib import Path

import click

from soorma_ai.apps.cli.package_files import find_shipped
from soorma_ai.apps.cli.project import names_of, write_project
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import DIM, Printer


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the project.  [default: that of DIR]")
def init(folder: Path, name: str | None) -> None:
    """Write a small project into DIR, by default the current folder.

    It has a planner, two tools, an approval, and tests, one of them with a recording. It runs and passes its tests
    without a network. Existing files are never replaced.
    """
    names = names_of(name or folder.resolve().name)
    files = write_project(find_shipped("template"), folder, names)
    for file in files:
        Printer().line(one_line(str(file)))
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(os.fspath(folder))} && "
    Printer(stderr=True).line((f"Next: {enter}make install test dev", DIM))
