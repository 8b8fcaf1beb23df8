"""A story told live: real processes, a sandbox instead of the vendors, times shortened."""
