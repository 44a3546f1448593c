"""The shop without a model, which `soorma dev` runs when it is given no agents. Here, that is:

soorma dev offline:agents --role manager
"""

from datetime import timedelta

from agents import manager_approval, shop
from planner import order_planner
from script import answer

from soorma_ai.testing.scripted import ScriptedReasoner

agents = (order_planner(ScriptedReasoner(answer)), *shop(manager_approval(timedelta(days=2))))
