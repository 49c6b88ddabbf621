"""How one number differs from another: exact decimal arithmetic on literals, never binary fractions."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

Number = int | Decimal

SAFE_INTEGER = 2**53  # the largest integer up to which a double holds every one
RUNAWAY_DIGITS = 20
PRECISION_DIGITS = 15  # decimal digits that a double always keeps

_ABSOLUTE_DRIFT = Decimal("1e-9")
_RELATIVE_DRIFT = Decimal("1e-6")
_PLAIN_DIGITS = 400  # literals with larger exponents are not written out
# Exact for sums and products of any two literals, whose exponents are bounded where they are read.
_ARITHMETIC = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def number_class(gold: Number, got: Number) -> str | None:
    """The label of a number that is not equal to gold: the first of `precision_loss`, `lost_digits`, `float_drift`
    and `runaway_digits` that applies, or None where it is another number altogether."""
    wanted, given = Decimal(gold), Decimal(got)
    if _precision_loss(wanted, given):
        return "precision_loss"
    if _lost_digits(wanted, given):
        return "lost_digits"
    if _drift(wanted, given):
        return "float_drift"
    if _digit_count(given) - _digit_count(wanted) >= RUNAWAY_DIGITS:
        return "runaway_digits"
    return None


def within(value: Decimal, gold: Decimal, tolerance: Decimal) -> bool:
    """Whether |value - gold| <= tolerance, computed exactly."""
    return _ARITHMETIC.abs(_ARITHMETIC.subtract(value, gold)) <= tolerance


def is_integral(value: Number) -> bool:
    """Whether a number has no fraction, however it is spelled."""
    return isinstance(value, int) or value == value.to_integral_value()


def _precision_loss(gold: Decimal, got: Decimal) -> bool:
    """Beyond 2^53, as many integer digits, and the first 15 of them the same."""
    if gold.copy_abs() <= SAFE_INTEGER or gold.is_signed() != got.is_signed():
        return False
    return gold.adjusted() == got.adjusted() and _leading(gold) == _leading(got)


def _lost_digits(gold: Decimal, got: Decimal) -> bool:
    """A proper subsequence of gold's digits, at least half as long, and no fraction that gold lacks."""
    if gold.is_signed() != got.is_signed() or max(abs(gold.adjusted()), abs(got.adjusted())) > _PLAIN_DIGITS:
        return False
    (gold_whole, gold_fraction), (got_whole, got_fraction) = _plain(gold), _plain(got)
    if got_fraction and not gold_fraction:
        return False
    wanted, given = (gold_whole + gold_fraction), (got_whole + got_fraction)
    if not given or given == wanted or 2 * len(given) < len(wanted):
        return False
    digits = iter(wanted)
    return all(digit in digits for digit in given)


def _drift(gold: Decimal, got: Decimal) -> bool:
    """A difference of at most max(1e-9, 1e-6 |gold|), where one of the two has a fraction."""
    if is_integral(gold) and is_integral(got):
        return False
    bound = max(_ABSOLUTE_DRIFT, _ARITHMETIC.multiply(_RELATIVE_DRIFT, gold.copy_abs()))
    return within(got, gold, bound)


def _leading(value: Decimal) -> tuple[int, ...]:
    """The first 15 digits of a number that has more before the point."""
    digits = value.as_tuple().digits[:PRECISION_DIGITS]
    return digits + (0,) * (PRECISION_DIGITS - len(digits))


def _plain(value: Decimal) -> tuple[str, str]:
    """Digits before and after the point, without leading zeros of the whole and trailing zeros of the fraction."""
    whole, _, fraction = format(value.copy_abs(), "f").partition(".")
    return whole.lstrip("0"), fraction.rstrip("0")


def _digit_count(value: Decimal) -> int:
    """Digits as written, leading zeros aside."""
    return len(value.as_tuple().digits)
