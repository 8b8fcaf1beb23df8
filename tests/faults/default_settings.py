"""The same with every setting of Celery at its default: what is promised may depend on none of them.

Workers keep the socket timeouts that config/celery.py gives them, or a frozen broker would be a wait without an end.
"""

from tests.faults.settings import *  # noqa: F403

NEEDED = {"CELERY_BROKER_URL", "CELERY_BEAT_SCHEDULER"}  # where the broker is, and what beat reads

for _name in [name for name in globals() if name.startswith("CELERY_") and name not in NEEDED]:
    del globals()[_name]
