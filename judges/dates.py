"""Calendar dates in the forms that cannot be mistaken for another date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<d>[0-9]{1,2})"
_CLOCK = (
    r"(?:[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?|[0-9]{1,2}[点时](?:[0-9]{1,2}分?(?:[0-9]{1,2}秒?)?)?"
    r"|(?<=T)(?:[0-9]{2}){2,3})"
)
_TIME = rf"(?:(?:T|\s+|\s*(?=[0-9]{{1,2}}[:点时]))(?P<time>{_CLOCK})\s*(?P<zone>Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_FORMS = tuple(
    re.compile(form + _TIME + r"\Z", re.IGNORECASE)
    for form in (
        r"(?P<y>[0-9]{4})(?P<sep>[-/.])(?P<m>[0-9]{1,2})(?P=sep)" + _DAY,
        r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})",
        r"(?P<y>[0-9]{4})\s*年\s*(?P<m>[0-9]{1,2})\s*月\s*" + _DAY + r"\s*[日号]",
        _NAME + r"\s+" + _DAY + r"(?:st|nd|rd|th)?,?\s+(?P<y>[0-9]{4})",
        _DAY + r"(?:st|nd|rd|th)?[\s/-]+(?:of\s+)?" + _NAME + r"[,\s/-]+(?P<y>[0-9]{4})",
        r"(?P<y>[0-9]{4})[\s/-]+" + _NAME + r"[\s/-]+" + _DAY,
        r"(?P<a>[0-9]{1,2})(?P<sep>[-/.])(?P<b>[0-9]{1,2})(?P=sep)(?P<y>[0-9]{4})",
    )
)
_LONGEST = 40
_HAN_DIGITS = "〇一二三四五六七八九"
_HAN_NUMBER = re.compile(r"[〇零一二三四五六七八九十]+(?=[年月日号])")
_COMPACT = re.compile(r"[0-9]{8}\Z")


@dataclass(frozen=True, slots=True)
class Moment:
    """A calendar date, with the digits of the time of day and the zone where they are given."""

    day: date
    time: str
    zone: str


def read_moment(text: str) -> Moment | None:
    """The date that `text` is, or None where it is no date or could be read as two (05/04/2026)."""
    match = _match(text)
    return _moment(match.groupdict()) if match else None


def is_date(text: str) -> bool:
    """Whether a text is written as a date, one that can be read as two or that no calendar has among them.

    Eight digits alone are one only where the calendar has that day: they may be a number as well.
    """
    return read_moment(text) is not None if _COMPACT.match(text) else _match(text) is not None


def same_date(gold: Moment, got: Moment) -> bool:
    """Whether two moments are one date, and one time of day where both have one (none counts as midnight)."""
    return (gold.day, gold.time or "000000", gold.zone) == (got.day, got.time or "000000", got.zone)


def _match(text: str) -> re.Match[str] | None:
    """The form in which a text is written, if it is one of a date."""
    if len(text) > _LONGEST or not text[:1].isalnum():
        return None
    text = _HAN_NUMBER.sub(lambda match: _han_number(match.group()), text)
    return next((match for form in _FORMS if (match := form.match(text))), None)


def _han_number(text: str) -> str:
    """Chinese numerals as digits: a year digit by digit, a month or day up to 99 (三十一)."""
    text = text.replace("零", "〇")
    tens, ten, ones = text.rpartition("十")
    digits = (tens or "一") + (ones or "〇") if ten else text
    return "".join(str(_HAN_DIGITS.find(digit)) for digit in digits)


def _moment(parts: dict[str, str | None]) -> Moment | None:
    year = int(parts["y"] or 0)
    if parts.get("a") is not None:
        first, second = int(parts["a"] or 0), int(parts["b"] or 0)
        if first <= 12 and second <= 12 and first != second:
            return None
        day, month = (first, second) if first > 12 else (second, first)
    else:
        name = (parts.get("name") or "")[:3].lower()
        month = _MONTHS.index(name) + 1 if name else int(parts["m"] or 0)
        day = int(parts["d"] or 0)
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Moment(found, _clock(parts.get("time")), _zone(parts.get("zone")))


def _clock(time: str | None) -> str:
    if not time:
        return ""
    time, _, fraction = time.partition(".")
    digits = re.sub(r"[0-9]+", lambda match: match.group().zfill(2), time)
    return f"{re.sub('[^0-9]', '', digits).ljust(6, '0')}.{fraction.rstrip('0')}".rstrip(".")


def _zone(zone: str | None) -> str:
    zone = (zone or "").upper().replace(":", "")
    return "Z" if zone in ("+0000", "-0000") else zone
