"""The outside world: what each provider's API wants to hear and what its answers mean, knowing nothing of us."""
