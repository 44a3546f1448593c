"""The small shop of `orders` with an A2A gateway. `agents` is the argument of `soorma serve partners:agents`."""

from orders import agents as shop

from soorma_ai.gateways.a2a import A2AGateway

agents = [A2AGateway(default="order.place"), *shop]
