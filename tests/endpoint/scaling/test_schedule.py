"""When scheduled actions are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from triton_ensembles.endpoint.scaling.schedule import UnreadableScheduleError, is_due, read_schedule


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "zone", "due", "not_due"),
    [
        ("at(2026-03-02T09:30:00)", "", "2026-03-02T09:30:00", "2026-03-03T09:30:00"),
        ("at(2026-03-02T09:30:00)", "Asia/Tokyo", "2026-03-02T00:30:00", "2026-03-02T09:30:00"),
        ("rate(5 minutes)", "", "2026-03-02T00:05:00", "2026-03-02T00:04:00"),
        ("rate(1 day)", "", "2026-03-04T00:00:00", "2026-03-04T12:00:00"),
        ("cron(0 9 * * ? *)", "", "2026-03-02T09:00:00", "2026-03-02T09:01:00"),
        ("cron(0 9 * * ? *)", "Europe/Zurich", "2026-03-02T08:00:00", "2026-03-02T09:00:00"),
        ("cron(0/15 8-17 ? * MON-FRI *)", "", "2026-03-02T17:45:00", "2026-03-01T17:45:00"),  # a Monday, a Sunday
        ("cron(30 6 1,15 JAN,MAR ? 2026)", "", "2026-03-15T06:30:00", "2026-02-15T06:30:00"),
        ("cron(0 0 ? JUL 1 *)", "", "2026-07-05T00:00:00", "2026-07-06T00:00:00"),
    ],
)
def test_an_action_is_due_in_the_minute_of_its_schedule(schedule: str, zone: str, due: str, not_due: str) -> None:
    fires = read_schedule(schedule, zone, moment("2026-03-02T00:00:00"))
    assert fires(moment(due) - 30, moment(due))
    assert not fires(moment(due), moment(due) + 30)  # once
    assert not fires(moment(not_due) - 30, moment(not_due))


@pytest.mark.parametrize(
    ("schedule", "zone"),
    [
        ("every day", ""),
        ("at(tomorrow)", ""),
        ("rate(0 minutes)", ""),
        ("rate(5 seconds)", ""),
        ("cron(60 * * * ? *)", ""),
        ("cron(* * *)", ""),
        ("cron(0 0 L * ? *)", ""),
        ("cron(0 0 5-1 * ? *)", ""),
        ("cron(0/0 0 * * ? *)", ""),
        ("cron(0 0 * * ? *)", "Nowhere/At/All"),
        ("cron(0 0 * * ? *)", "../../etc/passwd"),
    ],
)
def test_what_cannot_be_followed_is_said(schedule: str, zone: str) -> None:
    with pytest.raises(UnreadableScheduleError):
        read_schedule(schedule, zone, 0)


def test_an_action_is_only_due_between_its_start_and_its_end_and_after_it_was_made() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    action: dict[str, Any] = {"Schedule": "cron(0 12 * * ? *)", "CreationTime": noon - timedelta(hours=1)}
    window = noon.timestamp() - 30, noon.timestamp() + 30
    assert is_due(action, *window)
    assert not is_due(action | {"CreationTime": noon + timedelta(seconds=1)}, *window)
    assert not is_due(action | {"StartTime": noon + timedelta(seconds=2)}, *window)
    assert is_due(action | {"StartTime": noon}, *window)
    assert not is_due(action | {"EndTime": noon - timedelta(seconds=1)}, *window)
