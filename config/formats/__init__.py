"""How the admin writes times: to the second, since that is what operators compare."""
