"""The settings of a house in which things go wrong: points at which a process can be made to die."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.points.Points"]
