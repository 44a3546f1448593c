"""Authenticators: callers of bearer tokens. `signed.SignedTokens` needs the extra `server`."""

from soorma_ai.adapters.tokens.api_keys import ApiKeys, new_key
from soorma_ai.adapters.tokens.others import ByFunction, FirstOf

__all__ = ["ApiKeys", "ByFunction", "FirstOf", "new_key"]
