"""The four checks, in the order in which their violations are listed."""

from __future__ import annotations

from guardrails_plugins.core.checks.base import Check, CheckContext
from guardrails_plugins.core.checks.citation_range import citation_range
from guardrails_plugins.core.checks.citation_required import citation_required
from guardrails_plugins.core.checks.grammatical_person import grammatical_person
from guardrails_plugins.core.checks.verbatim_support import verbatim_support

CHECKS: tuple[Check, ...] = (citation_range, citation_required, verbatim_support, grammatical_person)

__all__ = ["CHECKS", "Check", "CheckContext"]
