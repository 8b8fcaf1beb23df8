"""The operators' way in from a shell."""
