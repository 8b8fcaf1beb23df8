"""Clients that ask twice, cancel, or end an incident, just when it is being sent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import requests

from tests.faults.stage import Row, Stage

AT_ONCE = 50
BEGUN = """
SELECT a.message_id, i.key, a.began_at FROM attempt a JOIN message m ON m.id = a.message_id
JOIN notification n ON n.id = m.notification_id JOIN incident i ON i.id = n.incident_id WHERE n.reference = %s"""


def same_key_at_once(stage: Stage) -> None:
    """Fifty requests with one key at once: one notification. Another body with that key: 422."""
    house = stage.house
    url, headers = f"{house.web_url}/api/v1/notifications", {"Authorization": f"Bearer {house.api_key}"}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(stage.times(6)):
            key = f"{stage.load.label}-same-{number}"
            body: dict[str, Any] = {
                "to": {"sms": f"+49151{900_000 + stage.random.randrange(99_999)}01"},
                "content": {"sms": {"text": key}},
                "reference": f"{stage.load.label}-same",
            }

            def ask(_: int, key: str = key, body: dict[str, Any] = body) -> tuple[int, str]:
                answer = requests.post(url, json=body, headers={**headers, "Idempotency-Key": key}, timeout=30)
                return answer.status_code, answer.json().get("id", "")

            answers = list(pool.map(ask, range(AT_ONCE)))
            ids = {id for status, id in answers if status == 202}
            stage.demand(len(ids) == 1, f"one key gave {len(ids)} notifications: {answers[:3]}")
            stage.demand({status for status, _ in answers} <= {202, 409}, f"odd answers to one key: {set(answers)}")
            other = requests.post(
                url, json={**body, "reference": "x"}, headers={**headers, "Idempotency-Key": key}, timeout=30
            )
            stage.demand(other.status_code == 422, f"another body with the same key was answered {other.status_code}")
    stage.pause(1)


def cancel(stage: Stage) -> None:
    """What is told to be stopped is never on the wire."""
    house = stage.house
    headers = {"Authorization": f"Bearer {house.api_key}"}
    stopped: set[str] = set()
    seen: set[str] = set()
    for _ in range(stage.times(80)):
        stage.load.send(2)
        stage.pause(0.05)
        fresh = [id for id in list(stage.load.told.accepted) if id not in seen][-3:]
        for id in fresh:
            seen.add(id)
            answer = requests.post(f"{house.web_url}/api/v1/notifications/{id}/cancel", headers=headers, timeout=30)
            if answer.ok:
                stopped |= {row["id"] for row in answer.json()["messages"] if row["result"] == "stopped"}
    stage.house.recovery()
    wire = {str(message.attempt).rpartition("-")[0] for _, message in house.sandbox.messages()}
    broken = {id for id in stopped if id.replace("-", "") in wire}
    stage.note(f"{len(seen)} cancelled, {len(stopped)} messages stopped")
    stage.demand(not broken, f"{len(broken)} stopped and on the wire all the same, e.g. {sorted(broken)[:1]}")
    stage.demand(bool(stopped), "no cancel came in time: nothing was raced")


def end_incidents(stage: Stage) -> None:
    """Nothing of an incident begins once its end is on file, but what had had its last look a moment before."""
    from notifications.models import Incident
    from notifications.services.waves import LOOK_AGAIN_AFTER_SECONDS

    house, told = stage.house, {}
    for number in range(stage.times(8)):
        key = f"{stage.load.label}-{number}"
        Incident.objects.create(key=key)
        stage.load.send(20, incident=key)
        stage.pause_about(0.6)
        house.run(f"UPDATE incident SET ended_at = clock_timestamp() WHERE key = '{key}'")
        ((told[key],),) = house.rows("SELECT clock_timestamp()")
    late = [
        message
        for message, key, began_at in house.rows(BEGUN, stage.load.label)
        if began_at > told[key] + timedelta(seconds=LOOK_AGAIN_AFTER_SECONDS)
    ]
    stage.demand(not late, f"{len(late)} calls began after the end of their incident")


ROWS = [
    Row("50 requests at once with one key", same_key_at_once),
    Row("cancel racing with begin", cancel, per_second=15),
    Row("an incident's end racing with begin", end_incidents, per_second=15),
]
