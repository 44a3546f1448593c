"""Authenticators made of others, and of a function."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import cast

from soorma_ai.api.tokens import sources_of
from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.kernel.domain.identity import Caller, TokenSources
from soorma_ai.kernel.ports import Authenticator


class FirstOf:
    """Asks several authenticators in turn, and takes the first that knows the token."""

    def __init__(self, *authenticators: Authenticator) -> None:
        if not authenticators:
            raise ConfigError("FirstOf(): give one authenticator or more")
        self._authenticators = authenticators

    @property
    def token_sources(self) -> TokenSources:
        """The origins of all."""
        return sources_of(*self._authenticators)

    async def authenticate(self, token: str) -> Caller:
        """Return the caller of the first success. Raise Unauthenticated, with the words of all, without one."""
        words: list[str] = []
        for one in self._authenticators:
            try:
                return await one.authenticate(token)
            except Unauthenticated as error:
                words.append(str(error))
        raise Unauthenticated("; ".join(words))


class ByFunction:
    """Authenticates by a function or a coroutine function: the Caller, or None for an unknown one."""

    def __init__(self, find: Callable[[str], Caller | Awaitable[Caller | None] | None]) -> None:
        self._find = find

    async def authenticate(self, token: str) -> Caller:
        """Return the function's caller. Raise Unauthenticated, and ConfigError for another result, and for the root: no
        token stands for it."""
        found = self._find(token)
        caller = cast("object", await found if isawaitable(found) else found)
        if caller is None:
            raise Unauthenticated("this token is not known")
        if not isinstance(caller, Caller) or caller.person.roles is None:
            raise ConfigError(f"the authenticator's function returned {caller!r}: a Caller is wanted, with roles")
        return caller
