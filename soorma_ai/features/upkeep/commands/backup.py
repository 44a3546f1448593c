"""`soorma backup`: copy the store while it is in use."""

from pathlib import Path

import click

from soorma_ai.errors import ConfigError
from soorma_ai.features.upkeep.backup import back_up
from soorma_ai.settings import DEFAULT_STORE_URL, STORE_URL, hide_password, is_postgres, sqlite_path
from soorma_ai.surfaces.options import as_json, must_mean_a_store, refuse_url
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Printer, print_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--store", metavar="URL", envvar=STORE_URL, default=DEFAULT_STORE_URL, show_default=True, help="URL of the store."
)
@click.option("--url", metavar="URL", hidden=True, expose_value=False, callback=refuse_url)
@as_json
def backup(file: Path, *, force: bool, store: str, as_json: bool) -> None:
    """Copy the whole store, of all tenants, to FILE, with or without a running application.

    The copy is all of one moment; it is checked, and put in its place in one step. To use it, stop the application and
    start it with --store on the copy: every plan continues from that moment. Outside work since then is done again, and
    if the original runs on beside the copy, all outside work is done twice: let only one of the two run. To put the
    copy in the original's place, remove the original's -wal file too, since it belongs to the original alone.
    """
    must_mean_a_store()
    if is_postgres(store):
        raise ConfigError(f"--store {hide_password(store)}: copy a database on a server by its own means, as pg_dump")
    source = sqlite_path(store)
    if source is None:
        raise ConfigError(f"--store {store}: a store in memory cannot be copied; give sqlite:///FILE")
    size = back_up(source, file, replace=force)
    if as_json:
        print_json({"file": str(file), "bytes": size})
    else:
        Printer().line(f"{size:,} bytes in {one_line(str(file))}")
