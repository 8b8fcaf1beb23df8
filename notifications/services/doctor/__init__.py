"""Doctor: what is misconfigured, and how to mend it. One theme per file; each check yields what it finds."""
