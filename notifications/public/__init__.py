"""The recipients' way in: what a link in a mail leads to."""
