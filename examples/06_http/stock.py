"""The stock of the shop as a process of its own. It has no store: the process of the shop leases its deliveries to it.

soorma serve agents:beside --role manager        in one shell, then in a second:
python stock.py http://127.0.0.1:8700            and in a third:
sh order.sh http://127.0.0.1:8700
"""

import sys

from agents import stock

stock.run(url=sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8700")
