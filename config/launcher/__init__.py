"""Real PostgreSQL and Valkey servers for one command: started before it, gone after it."""

from config.launcher.postgres import Postgres
from config.launcher.processes import start_process, stop_process
from config.launcher.valkey import Valkey

__all__ = ["Postgres", "Valkey", "start_process", "stop_process"]
