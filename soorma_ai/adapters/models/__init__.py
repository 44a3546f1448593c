"""Models of every provider: one reasoner, and two ways to reach them."""

from soorma_ai.adapters.models.guard import cassette_in_place, forbid_model_calls
from soorma_ai.adapters.models.reasoner import LiteLLMReasoner

__all__ = ["LiteLLMReasoner", "cassette_in_place", "forbid_model_calls"]
