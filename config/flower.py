"""Flower's settings, read by Flower itself: what it shows, and that it never opens without a login."""

import os
import sys

from flower.views import BaseHandler

from notifications.lanes import Lane

tasks_columns = "name,kwargs,state,received,runtime,worker"  # the lane of a hint stands in kwargs
persistent = False

# Flower asks workers for their queues once, when it starts: its Broker page would leave out those that were not up yet.
BaseHandler.get_active_queue_names = lambda self: list(Lane.values)

if not (os.environ.get("FLOWER_BASIC_AUTH") or os.environ.get("FLOWER_AUTH")):
    sys.exit("Flower needs a login: set FLOWER_BASIC_AUTH=user:password.")
