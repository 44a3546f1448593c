"""Questions to people, brought to where they are, and their answers."""

from soorma_ai.gateways.user_agent.agent import Channel, Question, Recipient, UserAgent
from soorma_ai.gateways.user_agent.channels import Console, Mail, Post
from soorma_ai.gateways.user_agent.links import Links

__all__ = ["Channel", "Console", "Links", "Mail", "Post", "Question", "Recipient", "UserAgent"]
