"""Tell the story: one line per event as it happens, then a table, then the audit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from config.demo.house import House
from config.demo.scenes import TIMES_OUT, Scene, Step, scenes
from notifications import send
from notifications.explanation import explain
from notifications.models import Message, Notification, Suppression
from notifications.services.audit import audit
from notifications.timeline import timeline

SCENE_SECONDS = 25.0
PAUSE_SECONDS = 0.1

Say = Callable[[str], None]


@dataclass(frozen=True)
class Told:
    """What became of a scene. `faults` says where it was not as told."""

    scene: Scene
    notification: Notification
    way: str
    attempts: int
    seconds: float
    faults: list[str]


def tell(house: House, say: Say) -> bool:
    """Play all scenes. Returns whether everything went as told."""
    told = [_play(scene, house, say) for scene in scenes(house.begin_outage)]
    _say_table(told, say)
    report = audit()
    for line in report.lines()[-3 - len(report.faults) :]:
        say(line)
    faults = [f"{one.scene.title}: {fault}" for one in told for fault in one.faults]
    if Suppression.objects.count() != 1:
        faults.append("the number that does not exist is not suppressed")
    for fault in faults:
        say(f"NOT AS TOLD  {fault}")
    return not faults and report.is_sound


def _play(scene: Scene, house: House, say: Say) -> Told:
    say(f"\n{scene.title}")
    scene.before()
    accepted = send(**scene.request())
    notification = _follow(accepted.id, say)
    messages = list(notification.messages.order_by("step"))
    faults = _faults(scene, notification)
    if TIMES_OUT in scene.to.values() and (count := house.messages_on_the_wire(TIMES_OUT)) != 1:
        faults.append(f"{count} messages on the wire instead of 1")
    ended_at = notification.ended_at or notification.accepted_at
    return Told(
        scene,
        notification,
        " → ".join(f"{message.channel} {message.state}" for message in messages),
        sum(message.attempt_count for message in messages),
        (ended_at - notification.accepted_at).total_seconds(),
        faults,
    )


def _follow(notification_id: UUID, say: Say) -> Notification:
    """Say what happens to a notification until it ends."""
    said = 0
    give_up_at = time.monotonic() + SCENE_SECONDS
    while True:
        notification = Notification.objects.get(id=notification_id)
        moments = timeline(notification)
        for moment in moments[said:]:
            say(f"  {(moment.at - notification.accepted_at).total_seconds():5.2f} s  {moment.text}")
        said = len(moments)
        if notification.end is not None:
            return notification
        if time.monotonic() > give_up_at:
            say(f"  no end after {SCENE_SECONDS:.0f} s. {explain(notification)}")
            return notification
        time.sleep(PAUSE_SECONDS)


def _faults(scene: Scene, notification: Notification) -> list[str]:
    faults = []
    if notification.end != scene.end:
        faults.append(f"ended {notification.end}, not {scene.end}")
    found = [_step(message) for message in notification.messages.order_by("step")]
    if found != list(scene.steps):
        faults.append(f"went {found}, not {list(scene.steps)}")
    return faults


def _step(message: Message) -> Step:
    attempts = message.attempts.order_by("number").select_related("account")
    accounts = tuple(attempt.account.slug for attempt in attempts)
    return Step(message.channel, message.state, accounts, any(attempt.looked_up == "found" for attempt in attempts))


def _say_table(told: list[Told], say: Say) -> None:
    say(f"\n{'notification':<38}{'end':<12}{'way it took':<34}{'attempts':>8}{'time':>9}")
    for one in told:
        end = one.notification.end or "open"
        say(f"{one.notification.id!s:<38}{end:<12}{one.way:<34}{one.attempts:>8}{one.seconds:>7.2f} s")
    say("")
