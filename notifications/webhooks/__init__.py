"""The providers' way in: believe, keep as received, answer, apply later."""
