"""When a scheduled action is due: ``at(…)``, ``rate(…)`` and ``cron(…)``.

https://docs.aws.amazon.com/autoscaling/application/userguide/scheduled-scaling-using-cron-expressions.html
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_FORM = re.compile(r"(?P<kind>at|rate|cron)\((?P<rest>[^()]*)\)")
_RATE = re.compile(r"(?P<number>[1-9]\d{0,8}) (?P<unit>minute|hour|day)s?")
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (1, 7), (1970, 2199))
_MOST_MINUTES = 1440  # that are caught up with after a pause, such as a closed laptop's

Schedule = Callable[[float, float], bool]
"""Whether it is due after the first time and not after the second one; both in seconds since 1970."""


class UnreadableScheduleError(ValueError):
    """The expression is not one that can be followed here."""


def read_schedule(text: str, timezone: str, origin: float) -> Schedule:
    """The schedule of an expression.

    Args:
        timezone: of ``at`` and ``cron``, as in "Europe/Zurich"; "" is UTC.
        origin: seconds since 1970 that a rate is counted from.

    Raises:
        UnreadableScheduleError: with a sentence.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UnreadableScheduleError(f"The schedule {text[:200]!r} is none of at(…), rate(…) and cron(…)")
    try:
        zone = ZoneInfo(timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnreadableScheduleError(f"There is no time zone {timezone[:200]!r}") from None
    rest = found["rest"].strip()
    return {"at": _at, "rate": _rate, "cron": _cron}[found["kind"]](rest, zone, origin)


def is_due(action: Mapping[str, Any], after: float, until: float) -> bool:
    """Whether an action of DescribeScheduledActions is due after the first time and not after the second one."""
    created, start, end = (_seconds(action.get(name)) for name in ("CreationTime", "StartTime", "EndTime"))
    after = max(after, created or 0, (start or 0) - 1)
    until = min(until, end or until)
    schedule = read_schedule(action["Schedule"], action.get("Timezone") or "", start or created or 0)
    return after < until and schedule(after, until)


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _at(rest: str, zone: ZoneInfo, _origin: float) -> Schedule:
    try:
        moment = datetime.strptime(rest, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        raise UnreadableScheduleError(f"at({rest[:200]}) must be at(yyyy-mm-ddThh:mm:ss)") from None
    return lambda after, until: after < moment <= until


def _rate(rest: str, _zone: ZoneInfo, origin: float) -> Schedule:
    found = _RATE.fullmatch(rest)
    if found is None:
        raise UnreadableScheduleError(
            f"rate({rest[:200]}) must be a number and minutes, hours or days, such as rate(5 minutes)"
        )
    seconds = int(found["number"]) * _UNITS[found["unit"]]
    return lambda after, until: max(0, (until - origin) // seconds) > max(0, (after - origin) // seconds)


def _cron(rest: str, zone: ZoneInfo, _origin: float) -> Schedule:
    fields = rest.upper().split()
    if len(fields) not in (5, 6):
        raise UnreadableScheduleError(
            f"cron({rest[:200]}) must have minutes, hours, day of month, month, day of week and year"
        )
    fields[3], fields[4] = _numbers(fields[3], _MONTHS), _numbers(fields[4], _DAYS)
    minutes, hours, days, months, weekdays, years = (
        _values(field, *limits) for field, limits in zip([*fields, "*"][:6], _RANGES, strict=True)
    )

    def matches(minute: int) -> bool:
        time = datetime.fromtimestamp(minute * 60, UTC).astimezone(zone)
        of_week = time.isoweekday() % 7 + 1
        return (
            time.minute in minutes
            and time.hour in hours
            and time.day in days
            and time.month in months
            and of_week in weekdays
            and time.year in years
        )

    def due(after: float, until: float) -> bool:
        first, last = int(after // 60) + 1, int(until // 60)
        return any(map(matches, range(max(first, last - _MOST_MINUTES), last + 1)))

    return due


def _numbers(field: str, names: Sequence[str]) -> str:
    """The field with numbers from 1 on in place of names."""
    return re.sub("|".join(names), lambda found: str(names.index(found[0]) + 1), field)


def _values(field: str, least: int, most: int) -> set[int]:
    """The numbers that a field stands for, as in "0/15", "1-5" or "2,4"."""
    if re.search(r"[LW#]", field):
        raise UnreadableScheduleError("L, W and # in cron expressions are not supported locally")
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{least}-{most}" if span in ("*", "?") else span).partition("-")
        last = last or (str(most) if step else first)
        if not all(re.fullmatch(r"\d{1,4}", each) for each in (first, last, step or "1")):
            raise UnreadableScheduleError(f"{field[:200]!r} in a cron expression cannot be read")
        if not least <= int(first) <= int(last) <= most or int(step or 1) == 0:
            raise UnreadableScheduleError(f"{field[:200]!r} in a cron expression must be from {least} to {most}")
        values |= set(range(int(first), int(last) + 1, int(step or 1)))
    return values
