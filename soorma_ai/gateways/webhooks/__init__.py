"""Webhooks: `Webhook` carries events to a URL, `Hook` takes what another system posts.

Both are agents, so that what they carry is leased, tried again and set aside like every other delivery.
"""

from soorma_ai.agents.mounts import Post
from soorma_ai.gateways.webhooks.incoming import Came, Hook
from soorma_ai.gateways.webhooks.outgoing import Webhook
from soorma_ai.gateways.webhooks.signatures import GitHub, Slack, StandardWebhooks, Stripe, Verifier

__all__ = ["Came", "GitHub", "Hook", "Post", "Slack", "StandardWebhooks", "Stripe", "Verifier", "Webhook"]
