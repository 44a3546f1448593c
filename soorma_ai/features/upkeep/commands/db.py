"""`soorma db`: a store's schema, and its way from a file to a server."""

from pathlib import Path

import click

from soorma_ai.adapters.single_writer.lock import OwnerLock
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.upkeep.contents import contents_of
from soorma_ai.features.upkeep.export import Contents, MovedTable
from soorma_ai.settings import DEFAULT_STORE_URL, STORE_URL, hide_password, is_postgres, sqlite_path
from soorma_ai.surfaces.options import as_json, must_mean_a_store, refuse_url
from soorma_ai.surfaces.store_access import features_of_command
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Printer, print_json, print_list

_MISSING = "a store on PostgreSQL needs psycopg: pip install 'soorma-ai[postgres]'"
_DIGITS = 16


@click.group()
def db() -> None:
    """Upgrade a store's schema, and move a store from a file to PostgreSQL."""


@db.command()
@click.option(
    "--store", metavar="URL", envvar=STORE_URL, default=DEFAULT_STORE_URL, show_default=True, help="URL of the store."
)
@click.option("--url", metavar="URL", hidden=True, expose_value=False, callback=refuse_url)
@as_json
def upgrade(store: str, *, as_json: bool) -> None:
    """Upgrade the schema of a store to this version, or create it.

    All of it is done, or nothing. Stop all applications of the store first, and copy it: soorma backup, or pg_dump. A
    file is also upgraded when agents start on it, a database on a server by this command only.
    """
    must_mean_a_store()
    place = hide_password(store)
    before, now = _upgrade(store)
    if as_json:
        print_json({"store": place, "from": before, "to": now})
    elif before == now:
        Printer().line(f"{one_line(place)}: schema {now}, nothing to do")
    elif before:
        Printer().line(f"{one_line(place)}: upgraded from schema {before} to {now}")
    else:
        Printer().line(f"{one_line(place)}: created with schema {now}")


@db.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("url")
@as_json
def move(file: Path, url: str, *, as_json: bool) -> None:
    """Copy the whole store in FILE into the empty database at URL, postgresql://..., and compare them.

    All of it is there at the end, or nothing. Stop all applications of FILE first. FILE stays as it is: let no agents
    run on it afterwards, since they would repeat the work of the database's agents. The command prints the rows of each
    table and a digest over them, the same on both sides.
    """
    if not is_postgres(url):
        raise ConfigError(f"{hide_password(url)} is not a database on a server; give postgresql://HOST/DATABASE")
    if not file.is_file():
        raise NotFound(f"there is no store at {file}: give the path of one")
    with OwnerLock.take(file, purpose="soorma db move"), contents_of(file) as contents:
        moved = _take_in(url, contents)
    print_list(moved, "nothing", _row, (("TABLE", "ROWS", "DIGEST"), _row), as_json=as_json)
    told = f"the same in {one_line(str(file))} and {one_line(hide_password(url))}; point SOORMA_STORE_URL there now"
    Printer(stderr=True).line(f"{sum(one.rows for one in moved):,} rows, {told}")


def _upgrade(store: str) -> tuple[int, int]:
    if is_postgres(store):
        try:
            from soorma_ai.features.upkeep import postgres
        except ImportError as error:
            raise ConfigError(_MISSING) from error
        return postgres.upgrade(store, features_of_command())
    path = sqlite_path(store)
    if path is None:
        raise ConfigError(f"--store {store}: a store in memory keeps no schema; give sqlite:///FILE")
    with OwnerLock.take(path, purpose="soorma db upgrade"):
        return files.upgrade(path, features_of_command())


def _take_in(url: str, contents: Contents) -> list[MovedTable]:
    try:
        from soorma_ai.features.upkeep.intake import take_in
    except ImportError as error:
        raise ConfigError(_MISSING) from error
    return take_in(url, contents, features_of_command())


def _row(one: MovedTable) -> tuple[str, str, str]:
    return one.table, str(one.rows), one.digest[:_DIGITS]
