"""Tables, parts and hooks of features in a store."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.effects import FeatureEffect
from soorma_ai.kernel.ports import StoreKey
from soorma_ai.kernel.sql.connection import Connection, Reader, Removal
from soorma_ai.kernel.sql.database import StorePart

_MADE = re.compile(r"(?:^|\n)\s*CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX) (\w+)")


class Table(Struct, frozen=True):
    """A table, and the row-level security of its rows. A row belongs to a tenant.

    `tenant`: SQL of a row's tenant, for a table without a column `tenant`; it names the row `{row}` and depends on
    `columns`. `seen`: condition to see and write a row, of `{own}` (its tenant) and `{users}` (its user). `shared`:
    condition of the rows for every tenant to read. `is_numbered`: a row without a number gets one.
    """

    name: str
    columns: str = ""
    tenant: str = ""
    seen: str = "{own}"
    shared: str = ""
    is_numbered: bool = True


class TextIndex(Struct, frozen=True):
    """Full-text index of a table; see `FullTextIndex`. `tenant`: SQL of a word's tenant, as in `Table`."""

    table: str
    tenant: str


class Storage(Struct, frozen=True, kw_only=True):
    """Storage of one feature, and its work in the transactions of the kernel.

    `statements` make its tables and indexes; opening a store runs those of missing ones. `appliers` apply its effects.
    `closing` are statements about a closed question, with its id. `Features` explains the other hooks.
    """

    statements: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    text_indexes: tuple[TextIndex, ...] = ()
    parts: Mapping[StoreKey[Any], type[StorePart]] = {}
    appliers: Mapping[type[FeatureEffect], Callable[[Connection, Any], None]] = {}
    closing: tuple[str, ...] = ()
    tidy: Callable[[Connection, datetime], object] | None = None
    check_users: Callable[[Reader, Iterable[tuple[str, str]]], None] | None = None
    find_leaving: Callable[[Reader], set[tuple[str, str]]] | None = None
    removal: Removal | None = None


class FeatureSet:
    """Features of a store, by name: those switched on."""

    def __init__(self, storages: Mapping[str, Storage]) -> None:
        all_of = [*storages.values()]
        self._storages = dict(storages)
        self._appliers = {kind: apply for one in all_of for kind, apply in one.appliers.items()}
        self._tidies = [one.tidy for one in all_of if one.tidy]
        self._checks = [one.check_users for one in all_of if one.check_users]
        self._leaving = [one.find_leaving for one in all_of if one.find_leaving]
        self.names = frozenset(storages)
        self.parts = {key: part for one in all_of for key, part in one.parts.items()}
        self.tables = tuple(table for one in all_of for table in one.tables)
        self.text_indexes = tuple(one for storage in all_of for one in storage.text_indexes)
        self.closing = tuple(statement for one in all_of for statement in one.closing)
        self.removals = tuple(one.removal for one in all_of if one.removal)

    def missing(self, there: Collection[str]) -> list[str]:
        """Return the statements for missing tables and indexes. `there`: the names of the existing ones."""
        wanted = (statement for one in self._storages.values() for statement in one.statements)
        return [statement for statement in wanted if _name_made_by(statement) not in there]

    def missing_text_indexes(self, there: Collection[str], make: Callable[[str], Sequence[str]]) -> list[str]:
        """Return the statements for missing full-text indexes. `make` returns those of the index of a table."""
        made = (make(index.table) for index in self.text_indexes)
        return [one for statements in made if _name_made_by(statements[0]) not in there for one in statements]

    def among(self, there: Collection[str]) -> "FeatureSet":
        """Return the features with all their tables among these names."""
        found = {name: one for name, one in self._storages.items() if all(table.name in there for table in one.tables)}
        return self if len(found) == len(self._storages) else FeatureSet(found)

    def apply(self, db: Connection, effect: FeatureEffect) -> None:
        apply = self._appliers.get(type(effect))
        if apply is None:
            raise LocalProtocolError(
                f"{type(effect).__name__} is an effect of feature {effect.feature!r}, which is off in this store: "
                "switch it on, or do without"
            )
        apply(db, effect)

    def check_users(self, db: Reader, users: Iterable[tuple[str, str]]) -> None:
        for check in self._checks:
            check(db, users)

    def find_leaving(self, db: Reader) -> set[tuple[str, str]]:
        return set[tuple[str, str]]().union(*(find(db) for find in self._leaving))

    def tidy(self, db: Connection, now: datetime) -> None:
        for tidy in self._tidies:
            tidy(db, now)


NO_FEATURES = FeatureSet({})


def part_missing(key: StoreKey[Any]) -> LocalProtocolError:
    """Return the error for a part of a feature that is off."""
    whose = f"feature {key.feature!r}" if key.feature else "the feature that brings it"
    return LocalProtocolError(f"this store has no part {key.name!r}: {whose} is off; switch it on, or do without")


def _name_made_by(statement: str) -> str:
    found = _MADE.search(statement)
    assert found is not None, statement
    return found[1]
