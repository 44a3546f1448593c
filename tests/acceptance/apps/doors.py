"""Authenticators, and what is none."""

from soorma_ai.domain.identity import Caller
from soorma_ai.domain.people import Person
from soorma_ai.errors import Unauthenticated


class Keys:
    async def authenticate(self, token: str) -> Caller:
        if token != "maria's":
            raise Unauthenticated("no such token")
        return Caller(Person("default", "maria", frozenset()))


keys = Keys
number = 7
