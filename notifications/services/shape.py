"""What the fields of all requests have in common."""

from __future__ import annotations

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Strict(BaseModel):
    """Frozen, and no field that is not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def no(reason: str, accepted: str) -> PydanticCustomError:
    """Why a field is refused, and what is accepted there."""
    return PydanticCustomError("refused", "{reason}", {"reason": reason, "accepted": accepted})


def _one_line(value: str) -> str:
    if any(character in value for character in "\r\n"):
        raise no("has a line break", "one line")
    return value


OneLine = AfterValidator(
    _one_line
)  # behind the limits of a field: before them it would hide that they count characters
