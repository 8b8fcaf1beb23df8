"""The settings, with every request and task traced: Sentry then gets transactions too."""

from config import sentry
from config.settings import *  # noqa: F403
from config.settings import SENTRY_DSN

sentry.start(SENTRY_DSN, traces_sample_rate=1.0)
