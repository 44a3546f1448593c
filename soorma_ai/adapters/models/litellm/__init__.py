"""The way through litellm, which speaks every provider's wire format."""
