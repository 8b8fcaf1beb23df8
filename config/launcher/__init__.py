"""Real PostgreSQL and Valkey servers for one command: started before it, gone after it."""

from config.launcher.postgres import Postgres
from config.launcher.processes import start_process, stop_process
from config.launcher.valkey import Valkey

BROUGHT = "LAUNCHER_BROUGHT"  # a variable that names those the launcher added: what they lead to ends with it

__all__ = ["BROUGHT", "Postgres", "Valkey", "start_process", "stop_process"]
