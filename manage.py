#!/usr/bin/env python3
"""Django's command line for Landfall."""

import os
import sys

from django.core.management import execute_from_command_line

from config.env import InvalidEnvironment
from config.example import example


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except InvalidEnvironment as error:
        if not {"doctor", "--example"} <= set(sys.argv):
            print(error, file=sys.stderr)
            sys.exit(2)
        print(example(), end="")  # needed most while nothing is set


if __name__ == "__main__":
    main()
