"""What a drain needs of the world around it: network, chance and time, handed in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from providers.transport.base import Transport
from providers.transport.inbox import Inbox


@dataclass(frozen=True)
class Runtime:
    """`monotonic` in seconds; `stopping` says that this process was told to end: nothing more may begin."""

    transport: Transport
    random: Random = field(default_factory=Random)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    stopping: Callable[[], bool] = lambda: False
    open_inbox: Callable[[], Inbox] = Inbox
