"""The way straight to a server that speaks OpenAI's wire format, with httpx and nothing else."""
