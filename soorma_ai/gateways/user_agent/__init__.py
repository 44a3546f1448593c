"""Questions to people, brought to where they are, and their answers."""

from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.gateways.user_agent.agent import Channel, Question, Recipient, UserAgent
from soorma_ai.gateways.user_agent.channels import Console, HttpPost, Mail

__all__ = ["Channel", "Console", "HttpPost", "Links", "Mail", "Question", "Recipient", "UserAgent"]
