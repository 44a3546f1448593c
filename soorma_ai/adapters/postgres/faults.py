"""Errors of psycopg, in our words."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from pydantic_core import PydanticSerializationError

from soorma_ai.errors import ConfigError, LocalProtocolError, SoormaError, StoreUnavailable, VersionConflict

_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
_TOO_MUCH = (
    *(errors.ProgramLimitExceeded, errors.StatementTooComplex, errors.TooManyColumns, errors.TooManyArguments),
)
_CANNOT_BE_WRITTEN = (OverflowError, ValueError, PydanticSerializationError)


class Interrupted(StoreUnavailable):
    """Nothing of the transaction is stored; it may be done again at once."""


@contextmanager
def in_our_words() -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
    except _CANNOT_BE_WRITTEN as error:
        raise _cannot_be_written(error) from error


def translate(error: psycopg.Error) -> SoormaError:
    if isinstance(error, _AGAIN):
        return Interrupted(f"another transaction came between: {error}")
    if isinstance(error, psycopg.IntegrityError):
        return VersionConflict(f"somebody else wrote this row first ({error})")
    # A value that is too long for an index, as one, is no outage that ends.
    if isinstance(error, (psycopg.DataError, *_TOO_MUCH)):
        return _cannot_be_written(error)
    if isinstance(error, errors.InsufficientPrivilege | errors.UndefinedTable | errors.UndefinedFunction):
        return ConfigError(f"the database does not let this role do its work ({error}): look at its tables and grants")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | psycopg.InternalError):
        return StoreUnavailable(f"the database cannot be used now: {error}")
    return LocalProtocolError(f"the store refused a statement: {error}")


def _cannot_be_written(error: Exception) -> LocalProtocolError:
    return LocalProtocolError(f"this cannot be stored or looked for: {error}; give JSON values and 64-bit integers")
