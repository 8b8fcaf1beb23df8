"""The vendors it plays, one folder each: how it behaves, what it objects to, the shapes it speaks in."""
