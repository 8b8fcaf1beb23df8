from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from notifications.models.route import validate_steps


class TestValidateSteps:
    @pytest.mark.parametrize(
        "steps",
        [
            [{"channel": "sms"}],
            [{"channel": "sms", "wait_for": "delivered", "window_seconds": 90}, {"channel": "email"}],
            [{"channel": "email", "wait_for": "accepted", "window_seconds": 0.5}],
            [{"channels": ["push", "sms"]}, {"channels": ["sms", "email"], "need": "all", "wait_for": "accepted"}],
            [{"channels": ["push"], "need": "first", "window_seconds": 60}, {"channel": "webhook", "need": "all"}],
        ],
    )
    def test_takes_what_the_engine_can_run(self, steps):
        validate_steps(steps)

    @pytest.mark.parametrize(
        ("steps", "words"),
        [
            ([], "1 to 10"),
            ({"channel": "sms"}, "1 to 10"),
            ([{"channel": "sms"}] * 11, "1 to 10"),
            (["sms"], "Step 1"),
            ([{"channel": "sms"}, {"channel": "fax"}], "Step 2"),
            ([{}], "`channel`"),
            ([{"channel": "sms", "channels": ["email"]}], "either `channel` or"),
            ([{"channels": "sms"}], "`channels` must be a list"),
            ([{"channels": []}], "`channels` must be a list"),
            ([{"channels": ["sms", "fax"]}], "`channels` must be a list"),
            ([{"channels": ["sms", ["sms"]]}], "`channels` must be a list"),
            ([{"channels": ["sms", "email", "sms"]}], "each channel once"),
            ([{"channels": ["sms", "email"], "need": "both"}], "`need` must be one of first, all"),
            ([{"channel": ["sms"]}], "`channel` must be one of"),
            ([{"channel": "sms", "window": 90}], "window_seconds"),
            ([{"channel": "sms", "wait_for": "read"}], "delivered, accepted"),
            ([{"channel": "sms", "window_seconds": 0}], "above 0"),
            ([{"channel": "sms", "window_seconds": True}], "above 0"),
            ([{"channel": "sms", "window_seconds": "90"}], "above 0"),
            ([{"channel": "sms", "window_seconds": 10**9}], "604800"),
        ],
    )
    def test_refuses_what_it_cannot_and_says_why(self, steps, words):
        with pytest.raises(ValidationError, match=words):
            validate_steps(steps)
