from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is slow, which is no fault of what is tested.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
