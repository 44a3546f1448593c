"""Models of every provider, through litellm."""

from soorma_ai.adapters.litellm.guard import cassette_in_place, forbid_model_calls
from soorma_ai.adapters.litellm.reasoner import LiteLLMReasoner

__all__ = ["LiteLLMReasoner", "cassette_in_place", "forbid_model_calls"]
