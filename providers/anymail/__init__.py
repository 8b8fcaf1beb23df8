"""Many e-mail vendors through one library, django-anymail."""

from providers.anymail.adapter import Anymail

__all__ = ["Anymail"]
