"""The two ends of a range."""

from __future__ import annotations

from guardrails_plugins.core.values.numbers import Quantity


def share_unit(first: Quantity, second: Quantity) -> tuple[Quantity, Quantity]:
    """Both ends with the percent sign, currency and magnitude that either states (``10-12 %``)."""
    percent = first.percent or second.percent
    currency = first.currency or second.currency
    exponent = first.exponent or second.exponent
    return (
        first._replace(percent=percent, currency=currency, exponent=exponent),
        second._replace(percent=percent, currency=second.currency or currency, exponent=second.exponent),
    )


def short_year(first: Quantity, second: Quantity) -> str | None:
    """``2018-19`` ends in 2019 (a span of years abbreviated to two digits)."""
    whole, tail = first.plain[0].canonical, second.plain[0].surface
    if len(whole) == 4 and whole.isdigit() and len(tail) == 2 and tail.isdigit() and int(tail) > int(whole[2:]):
        return whole[:2] + tail
    return None
