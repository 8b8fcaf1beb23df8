"""MySMSGate: SMS through one's own Android phones.

There is no published specification and no SDK. Names are from the vendor's articles (https://dev.to/mysmsgate, read 2026-11)
and from public integrations, which do not agree; nothing here was checked against the vendor. What differs is a setting.
There is no idempotency key: posting twice sends twice. Nothing in a webhook proves that it is genuine.
"""

from providers.mysmsgate.adapter import MySmsGate

__all__ = ["MySmsGate"]
