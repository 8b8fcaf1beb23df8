"""The same with every setting of Celery at its default: what is promised may depend on none of them."""

from tests.faults.settings import *  # noqa: F403

NEEDED = {"CELERY_BROKER_URL", "CELERY_BEAT_SCHEDULER"}  # where the broker is, and what beat reads

for _name in [name for name in globals() if name.startswith("CELERY_") and name not in NEEDED]:
    del globals()[_name]
