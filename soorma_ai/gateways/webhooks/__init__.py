"""Webhooks: `Webhook` posts events to a URL, `Hook` receives posts of other systems.

Both are agents: their events are leased, tried again and set aside like every other delivery.
"""

from soorma_ai.agents.mounts import Post
from soorma_ai.gateways.webhooks.incoming import Came, Hook
from soorma_ai.gateways.webhooks.outgoing import Webhook
from soorma_ai.gateways.webhooks.signatures import GitHub, Slack, StandardWebhooks, Stripe, Verifier

__all__ = ["Came", "GitHub", "Hook", "Post", "Slack", "StandardWebhooks", "Stripe", "Verifier", "Webhook"]
