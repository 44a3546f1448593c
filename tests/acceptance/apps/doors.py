"""Authenticators, and an object unfit as one."""

from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.people import Person

ROLES = {"maria's": frozenset[str](), "root's": frozenset({"operator", "manager"})}


class Keys:
    async def authenticate(self, token: str) -> Caller:
        if token not in ROLES:
            raise Unauthenticated("no such token")
        return Caller(Person("default", token.removesuffix("'s"), ROLES[token]))


keys = Keys
number = 7
