"""The small shop of `orders`, whose door speaks A2A. `agents` is what `soorma serve partners:agents` takes."""

from orders import agents as shop

from soorma_ai.gateways.a2a import A2AGateway

agents = [A2AGateway(default="order.place"), *shop]
