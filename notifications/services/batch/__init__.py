"""Many at once: a file of rows becomes notifications, all of them or none; and what can be done with them together."""
